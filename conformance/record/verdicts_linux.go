package record

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/btf/check"
	"github.com/bpfrun/bpfrun/conformance/paced"
	"github.com/bpfrun/bpfrun/conformance/verdicts"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

const (
	statsLevel = 4 // BPF_LOG_STATS: messages and statistics, no states
	pathLevel  = 1 // BPF_LOG_LEVEL1: the path to the error
	fullLevel  = 2 // BPF_LOG_LEVEL2: every instruction
)

// maxLog limits the logs that are kept, so that lines can be read again (verdicts.ReadFile).
const maxLog = 4 << 20

// verdictLog returns the buffer for the kernel's log, which is large because paths can be long.
// Recording is single-threaded.
var verdictLog = sync.OnceValue(func() []byte { return make([]byte, 16<<20) })

// Verdicts loads each program of an object separately and calls emit with the verdict of the
// kernel's verifier. It does not run, attach or pin programs. target describes the running kernel.
func Verdicts(ctx context.Context, obj *loader.Object, target *loader.Target, cfg VerdictConfig, emit func(*verdicts.Line) error) error {
	var only []string
	for _, p := range obj.Programs {
		only = append(only, p.Name) // including those in sections that begin with ?
	}
	linked, err := obj.Load(target, loader.LoadOptions{Only: only, MapSizes: verdicts.Unsized(obj)})
	if err != nil {
		return err
	}
	k := &instance{linked: linked, types: -1, maps: map[*loader.Map]*liveMap{}, progs: map[string]int{}, bare: true}
	defer k.close()
	typesErr := k.loadObjectTypes(obj, uapi.ReleaseOf(target.Version))
	for _, p := range linked.Programs {
		if len(cfg.Only) > 0 && !cfg.Only[p.Name] {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		l := &verdicts.Line{
			Object: cfg.Name, SHA256: cfg.SHA256, Program: p.Name, Section: p.Section, ProgType: p.Type.String(), Attach: uint32(p.Attach),
			AttachTarget: p.AttachTo, ProgFlags: p.Flags, Insns: len(p.Insns), Kernel: Release(), CPUs: runtime.NumCPU(),
		}
		if typesErr != nil {
			l.Note = typesErr.Error()
		}
		for _, v := range cfg.variants(p, l) {
			k.dropProgArrays()
			k.verdict(p, v, cfg)
			if err := emit(v); err != nil {
				return err
			}
		}
	}
	return nil
}

// loadObjectTypes loads the object's BTF into the kernel. As in libbpf, kinds that an old kernel
// does not know are replaced. If the kernel refuses the BTF, programs are loaded without types.
func (k *instance) loadObjectTypes(obj *loader.Object, release uapi.Release) error {
	if obj.BTF == nil {
		return nil
	}
	raw, err := obj.KernelBTF()
	if err == nil {
		raw, _, err = check.Sanitise(raw, release)
	}
	if err != nil {
		return err
	}
	k.types, err = loadTypes(raw)
	return err
}

// dropProgArrays makes the next program create its own maps of programs: each such map takes only
// programs that are like the first one that used it.
func (k *instance) dropProgArrays() {
	for m, live := range k.maps {
		if m.Type == uapi.MapTypeProgArray {
			live.close()
			delete(k.maps, m)
		}
	}
}

// skip fills in a line for a program that the verifier did not see or did not finish.
func skip(l *verdicts.Line, class string, err error) {
	l.Verdict, l.Class, l.Note = verdicts.Skipped, class, err.Error()
}

// verdict fills in the line of one program.
func (k *instance) verdict(p *loader.LinkedProgram, l *verdicts.Line, cfg VerdictConfig) {
	if len(p.Insns) == 0 {
		class := verdicts.ByLoader
		if errors.Is(p.Err, loader.ErrNoHook) || errors.Is(p.Err, loader.ErrExtern) {
			class = verdicts.ByEnv
		}
		skip(l, class, fmt.Errorf("not linked: %v", p.Err))
		return
	}
	if err := k.mapsFor(p); err != nil {
		skip(l, verdicts.ByMap, err)
		return
	}
	switch {
	case p.AttachModule != "" && p.AttachModule != "vmlinux":
		skip(l, verdicts.ByEnv, fmt.Errorf("attaches to module %s", p.AttachModule))
		return
	case p.Type == uapi.ProgTypeStructOps && p.StructOps == nil:
		skip(l, verdicts.ByLoader, errors.New("no struct_ops map names the program"))
		return
	case attachesByType(p) && p.AttachID == 0:
		skip(l, verdicts.ByEnv, fmt.Errorf("attach target %s is not in this kernel", p.AttachTo))
		return
	case p.Type == uapi.ProgTypeExt:
		skip(l, verdicts.ByEnv, errors.New("needs a target program"))
		return
	}
	for _, r := range p.Refs {
		if r.Module != "" && r.Module != "vmlinux" {
			skip(l, verdicts.ByEnv, fmt.Errorf("refers to module %s", r.Module))
			return
		}
		if r.Kind == loader.RefKsym && !r.Resolved && !r.Weak {
			skip(l, verdicts.ByEnv, fmt.Errorf("symbol %s is not in this kernel", r.Name))
			return
		}
	}
	insns, err := k.bind(p)
	if err != nil {
		skip(l, verdicts.ByEnv, err)
		return
	}
	if insns, err = verdicts.Apply(insns, l.Patches); err != nil {
		skip(l, verdicts.ByLoader, err)
		return
	}
	newRequest(p, insns, k.types).judge(l, cfg)
}

// attachesByType reports whether loading the program requires the BTF id of its attach target.
func attachesByType(p *loader.LinkedProgram) bool {
	return progtype.Of(p.Type).Args == progtype.PointerArgs && p.AttachTo != ""
}

// mapsFor creates the maps that a program refers to, with their initial contents.
func (k *instance) mapsFor(p *loader.LinkedProgram) error {
	for _, r := range p.Refs {
		if r.Map == nil || k.maps[r.Map] != nil {
			continue
		}
		if _, err := k.createMap(r.Map); err != nil {
			return fmt.Errorf("map %s not created: %w", r.Map.Name, err)
		}
	}
	return nil
}

// judge loads the program and fills in the kernel's verdict.
func (r *request) judge(l *verdicts.Line, cfg VerdictConfig) {
	if cfg.Log {
		defer r.keepLog(l, cfg.Limit)
	}
	fd, text, cpu, slow, err := r.ask(statsLevel, cfg.Limit)
	var errno unix.Errno
	switch {
	case slow:
		skip(l, verdicts.ByTime, fmt.Errorf("the verifier takes more than %v", cfg.Limit))
	case err == nil:
		unix.Close(fd)
		l.Verdict, l.Class = verdicts.Accepted, verdicts.ByVerifier
		readLog(l, text)
		l.Reason, l.Messages = "", nil
		l.Usec = least(l.Usec, cpu)
		r.fastest(l, cfg)
	case errors.As(err, &errno):
		l.Errno = uapi.Errno(errno).Error()
		readLog(l, text)
		classify(l)
		if l.Class != verdicts.ByVerifier || !cfg.Where {
			return
		}
		fd, text, _, _, err := r.ask(pathLevel, cfg.Limit)
		if err == nil {
			unix.Close(fd)
		}
		if n, ok := lastInsn(text); ok {
			l.Where, l.WhereFrom = &n, "trace"
		}
	default:
		skip(l, verdicts.ByEnv, err)
	}
}

// keepLog loads a program with a verdict again and keeps the logs of levels 2, with statistics, and
// 1.
func (r *request) keepLog(l *verdicts.Line, limit time.Duration) {
	if l.Class != verdicts.ByVerifier {
		return
	}
	for level, log := range map[uint32]*string{fullLevel | statsLevel: &l.Log, pathLevel: &l.Path} {
		fd, text, _, slow, err := r.ask(level, limit)
		if err == nil {
			unix.Close(fd)
		}
		if !slow && len(text) <= maxLog {
			*log = text
		}
	}
}

// least returns the verification time that the kernel printed, or the CPU time of the whole load if
// that is less: the printed time includes waiting for a CPU.
func least(printed *int, cpu time.Duration) *int {
	if n := int(cpu.Microseconds()); printed != nil && n > 0 && n < *printed {
		return &n
	}
	return printed
}

// fastest loads an accepted program again cfg.Repeat times and keeps the shortest verification
// time.
func (r *request) fastest(l *verdicts.Line, cfg VerdictConfig) {
	for range cfg.Repeat {
		fd, text, cpu, _, err := r.ask(statsLevel, cfg.Limit)
		if err != nil {
			return
		}
		unix.Close(fd)
		var again verdicts.Line
		readLog(&again, text)
		again.Usec = least(again.Usec, cpu)
		if again.Usec != nil && l.Usec != nil && *again.Usec < *l.Usec {
			l.Usec = again.Usec
		}
	}
}

// ask loads the program once. cpu is the CPU time of the load; slow means that the load was
// interrupted at the limit.
func (r *request) ask(level uint32, limit time.Duration) (fd int, text string, cpu time.Duration, slow bool, err error) {
	pace()
	stop := func() bool { return false }
	if limit > 0 {
		stop = paced.Interrupt(limit)
	}
	runtime.LockOSThread()
	before := threadTime()
	fd, err = r.load(level, verdictLog())
	cpu = threadTime() - before
	runtime.UnlockOSThread()
	slow = stop() && errors.Is(err, unix.EAGAIN)
	n := bytes.IndexByte(verdictLog(), 0)
	return fd, string(verdictLog()[:max(n, 0)]), cpu, slow, err
}

// threadTime returns the CPU time of the current thread.
func threadTime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}

// ReadKallsyms returns the addresses of the running kernel's symbols. Without permission to read
// them, it returns none.
func ReadKallsyms() map[string]uint64 {
	raw, err := os.ReadFile("/proc/kallsyms")
	if err != nil {
		return nil
	}
	out := map[string]uint64{}
	for line := range bytes.Lines(raw) {
		f := bytes.Fields(line)
		if len(f) != 3 {
			continue // the symbol of a module
		}
		var at uint64
		for _, c := range f[0] {
			at = at<<4 | uint64(c&15) + 9*uint64(c>>6)
		}
		if at != 0 {
			out[string(f[2])] = at
		}
	}
	return out
}
