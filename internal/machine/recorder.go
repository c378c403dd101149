package machine

import (
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/internal/kernel"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/vm"
)

// recorder records what a run does to the kernel's memory, maps and stack, and what is sent to user
// space. It owns only the record of the active run.
type recorder struct {
	reg    *registry
	mem    *mem.Memory
	kernel *kernel.Kernel
	thread *vm.Thread
	env    *maps.Env
	cfg    *Config
	events *EventTypes

	scratches scratches
	rings     rings

	run   *runState // nil between runs
	quiet bool      // see Quietly
}

// EventTypes returns the index that finds the types of event records.
func (rec *recorder) EventTypes() *EventTypes { return rec.events }

// runState is what a run collects while it executes.
type runState struct {
	result    *Result
	prog      *program
	warned    map[string]bool
	overrides map[string]Override

	ignoreUnset bool
	leaks       leaks
	copies      copies
	// passing is a call of a traced function that the program makes or that has returned; passed
	// means that the programs at its entry ran.
	passing *passing
	passed  bool
}

// access records an access of a kernel object by the current instruction. Repeated reads of one
// field by one instruction are recorded once.
func (rec *recorder) access(a *object.Access) {
	st := rec.run
	if st == nil || inContext(a.Object) {
		return
	}
	list := &st.result.Reads
	if a.Write {
		list = &st.result.Writes
	}
	pc := rec.thread.PC()
	p, ok := owner(rec.thread.Image())
	if !ok {
		p = st.prog
	}
	if n := len(*list); n > 0 && (*list)[n-1].Program == p.lp.Name {
		last := &(*list)[n-1]
		if last.Insn == pc && last.Object == a.Object && last.Path == a.Path {
			last.Size = max(last.Size, int(a.Off)+a.Size-int(last.Off))
			return
		}
		// A helper that reads an array element by element has read the array.
		if array, ok := arrayOf(last, a, pc); ok {
			last.Path = array
			last.Size += a.Size
			return
		}
	}
	const most = 1 << 14 // a loop over kernel memory must not grow the record without bound
	if len(*list) >= most {
		return
	}
	*list = append(*list, KernelAccess{Program: p.lp.Name, Insn: pc, Access: *a, Relocated: len(p.addressAt(pc).Relocs) > 0})
	if !a.Set && !a.Default && !a.Write {
		what := a.Type
		if a.Path != "" {
			what += "." + a.Path
		}
		st.warn(fmt.Sprintf("%s of %s was never set: read as 0", what, a.Role))
	}
}

// arrayOf returns the path of the array of which one instruction read adjacent elements in two
// accesses.
func arrayOf(last *KernelAccess, a *object.Access, pc int) (string, bool) {
	if last.Insn != pc || last.Object != a.Object || last.Type != a.Type || last.Off+uint64(last.Size) != a.Off || !strings.HasSuffix(a.Path, "]") {
		return "", false
	}
	array := a.Path[:strings.LastIndexByte(a.Path, '[')]
	rest, ok := strings.CutPrefix(last.Path, array)
	return array, ok && array != "" && (rest == "" || rest[0] == '[' && strings.IndexByte(rest, ']') == len(rest)-1)
}

func (st *runState) warn(text string) {
	if !st.warned[text] {
		st.warned[text] = true
		st.result.Warnings = append(st.result.Warnings, text)
	}
}

// Quietly runs f without traces: its accesses are not attributed to the program, and watches do not
// report.
func (rec *recorder) Quietly(f func()) {
	watch := rec.mem.OnWatch
	rec.mem.OnWatch = nil
	rec.kernel.SetSink(nil)
	was := rec.quiet
	rec.quiet = true
	defer func() {
		rec.mem.OnWatch, rec.quiet = watch, was
		if rec.run != nil {
			rec.kernel.SetSink(rec.access)
		}
	}()
	f()
}

// inContext reports whether an object is the program's context and not kernel memory.
func inContext(o *object.Object) bool { return o.Region() != nil && o.Region().Kind == mem.Context }
