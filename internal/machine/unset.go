package machine

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/kernel"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/vm"
)

// StackRead is a read of stack bytes that were never written. Kernels that have [since.UninitStack]
// read whatever is there; others refuse it.
type StackRead struct {
	Program string
	Insn    int
	// Source is "file:line:col", empty without line information.
	Source string
	// Offsets are the offsets of the bytes from r10 of the function, negative and ascending.
	Offsets []int
	// Text names the reader, the bytes and, if types are known, what they are.
	Text string
	// Leaves means that the bytes leave the program, as a finding says.
	Leaves bool
}

const (
	// trackedRuns is the number of runs of a program that are tracked, whatever they cost.
	trackedRuns = 16
	// trackedTotal is the number of instructions of a program's tracked runs after which few of the
	// later ones are: some 20 ms.
	trackedTotal = 1 << 21
	// trackedEvery: one in this many of the later runs is tracked.
	trackedEvery = 1024
	// trackedInsns limits the tracked instructions of one run if there is native code: some
	// milliseconds.
	trackedInsns = 1 << 19
)

// tracking selects the runs of a program, or the packets of a replay, that begin on the interpreter,
// which tracks stack writes; native code does not.
type tracking struct {
	runs  uint64 // that have begun
	insns uint64 // that tracked runs have executed
}

// next reports whether the run that begins is tracked.
func (t *tracking) next() bool {
	n := t.runs
	t.runs++
	return n < trackedRuns || t.insns < trackedTotal || n%trackedEvery == 0
}

// due reports whether the next run is tracked.
func (t *tracking) due() bool {
	is := *t
	return is.next()
}

// spend counts the instructions of a tracked run.
func (t *tracking) spend(insns uint64) { t.insns += min(insns, trackedInsns) }

// tracksRun reports whether a run is tracked: on the interpreter every one is. An engine that is
// being compared with the interpreter must execute everything.
func (m *Machine) tracksRun(p *program, in Input) bool {
	next := p.tracking.next()
	switch {
	case m.untracked:
		return false
	case m.engine == nil:
		return true
	}
	return m.cfg.Engine != EngineBoth && !in.IgnoreUnset && (m.cfg.Tracked || next)
}

// trackedFor returns how many of the next n instructions are tracked, after done instructions: a
// tracked run on a machine with native code is tracked up to trackedInsns.
func (m *Machine) trackedFor(n, done uint64) uint64 {
	if m.engine == nil || !m.thread.Tracks() {
		return n
	}
	if done >= trackedInsns {
		m.thread.Track(false)
		m.endScratch(m.run.prog, &m.run.leaks)
		return n
	}
	return min(n, trackedInsns-done)
}

// garbage returns the initial contents of stacks: no byte is 0, because zeros look initialised.
func garbage(k *kernel.Kernel) *[vm.StackSize]byte {
	var b [vm.StackSize]byte
	for i := 0; i < len(b); i += 8 {
		binary.LittleEndian.PutUint64(b[i:], k.Hash("stack", strconv.Itoa(i)))
	}
	for i := range b {
		if b[i] == 0 {
			b[i] = 0xa5
		}
	}
	return &b
}

// unset records a read of stack bytes that were never written.
func (rec *recorder) unset(u mem.Unset) {
	const most = 1 << 10 // a loop must not grow the record without bound
	st := rec.run
	if st == nil || rec.quiet || st.ignoreUnset || len(st.result.StackReads) >= most {
		return
	}
	p, ok := owner(rec.thread.Image())
	if !ok {
		return
	}
	r := StackRead{Program: p.lp.Name, Insn: rec.thread.PC(), Leaves: rec.unwritten(u)}
	for _, off := range u.Offsets {
		r.Offsets = append(r.Offsets, int(off)-int(u.Region.Size))
	}
	r.Source, _ = p.lineOf(r.Insn)
	reader, what := rec.reader(p, r.Insn, u)
	r.Text = fmt.Sprintf("%s reads stack bytes that were never written: %s%s", reader, stackBytes(r.Offsets), what)
	if slices.ContainsFunc(st.result.StackReads, func(o StackRead) bool { return o.Program == r.Program && o.Insn == r.Insn && o.Text == r.Text }) {
		return
	}
	st.result.StackReads = append(st.result.StackReads, r)
	if r.Leaves {
		return
	}
	st.warn(r.warning())
}

// warning is what a run says of the read.
func (r StackRead) warning() string {
	return fmt.Sprintf("%s; %s read whatever was there, other kernels refuse that", r, since.UninitStack.Kernels())
}

// tellOnce drops the warnings about reads at an instruction: a finding says what became of the
// bytes.
func (st *runState) tellOnce(program string, insn int) {
	for i := range st.result.StackReads {
		r := &st.result.StackReads[i]
		if r.Program == program && r.Insn == insn {
			r.Leaves = true
			st.result.Warnings = slices.DeleteFunc(st.result.Warnings, func(text string) bool { return text == r.warning() })
		}
	}
}

// String returns Text with the source line.
func (r StackRead) String() string {
	if r.Source == "" {
		return r.Text
	}
	return r.Text + " at " + r.Source
}

// stackBytes lists bytes by their offset from the frame pointer: "r10-16..r10-13, r10-3".
func stackBytes(offsets []int) string {
	var out []string
	for i := 0; i < len(offsets); {
		j := i
		for j+1 < len(offsets) && offsets[j+1] == offsets[j]+1 {
			j++
		}
		if text := fmt.Sprintf("r10%d", offsets[i]); i == j {
			out = append(out, text)
		} else {
			out = append(out, fmt.Sprintf("%s..r10%d", text, offsets[j]))
		}
		i = j + 1
	}
	return strings.Join(out, ", ")
}

// reader names the reader, and what it uses the bytes as.
func (rec *recorder) reader(p *program, pc int, u mem.Unset) (reader, what string) {
	in := p.lp.Insns[pc]
	if in.Op() != decode.OpCallHelper {
		if in.Op() == decode.OpCallKfunc {
			return "the kfunc", ""
		}
		return "the program", ""
	}
	h, ok := proto.Lookup(uapi.FuncID(in.Imm))
	if !ok {
		return "the helper", ""
	}
	at := u.Region.Base + u.Offsets[0]
	for i, a := range h.Common().Args {
		if rec.thread.Reg(1+i) != u.Addr {
			continue
		}
		switch a.Kind {
		case proto.MapKey, proto.MapValue:
			if b := rec.mapOf(rec.thread.Reg(1)); b != nil {
				name, typ := "key", b.def.KeyType
				if a.Kind == proto.MapValue {
					name, typ = "value", b.def.ValueType
				}
				return h.Name(), fmt.Sprintf(" (%s of map %s)", rec.partOf(typ, name, uint32(at-u.Addr)), b.def.Name)
			}
		case proto.Mem:
			return h.Name(), fmt.Sprintf(" (from byte %d of the %d bytes at its argument %d)", at-u.Addr, u.Size, 1+i)
		}
	}
	return h.Name(), ""
}

// mapOf returns the map at an address, or nil.
func (rec *recorder) mapOf(addr uint64) *boundMap {
	found, ok := rec.env.ByAddr(addr)
	for b := range rec.reg.maps.All() {
		if ok && b.m == found {
			return b
		}
	}
	return nil
}

// partOf names the byte at an offset of a type, the key or value of a map.
func (rec *recorder) partOf(typ btf.ID, name string, off uint32) string {
	spec := rec.reg.linked.Object.BTF
	if spec == nil || typ == 0 {
		return fmt.Sprintf("byte %d of the %s", off, name)
	}
	path, f, _ := spec.FieldAt(typ, off, 1)
	in := spec.SkipMods(f.Type)
	switch {
	case in.Kind == btf.KindStruct && in.Name != "":
		return fmt.Sprintf("padding of struct %s, the %s", in.Name, name)
	case in.Kind == btf.KindStruct:
		return "padding of the " + name
	case path == "":
		return fmt.Sprintf("byte %d of the %s", off, name)
	}
	return fmt.Sprintf("%s of the %s", path, name)
}
