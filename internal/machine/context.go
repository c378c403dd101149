package machine

import (
	"encoding/binary"
	"errors"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/endian"
	"github.com/bpfrun/bpfrun/internal/kernel"
	khook "github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/vm"
)

// contexts creates the contexts of runs. Its state is the context of the previous run, or of the
// one that continues.
type contexts struct {
	*warnings `snapshot:"fixed"`
	reg       *registry      `snapshot:"fixed"`
	mem       *mem.Memory    `snapshot:"fixed"`
	kernel    *kernel.Kernel `snapshot:"fixed"`
	last      *khook.Context
}

// snapshot records that context.
func (cs *contexts) snapshot() (restore func()) {
	was := cs.last
	return func() { cs.last = was }
}

// newContext creates the context of a run according to the program's hook.
func (cs *contexts) newContext(p *program, in Input) (*khook.Context, error) {
	lp := p.lp
	if progtype.Of(lp.Type).Context.Layout == progtype.BytesLayout && in.Context == nil {
		in.Context = make([]byte, syscallContextSize(p.types(), lp.FuncType))
	}
	iter, err := cs.iteration(p, in)
	if err != nil {
		return nil, err
	}
	hook := in.Hook
	if hook == nil {
		hook = &Hook{AttachTo: cs.attachTo(p), Section: lp.Section}
	}
	c, err := cs.kernel.NewContext(khook.ContextSpec{
		Iter: iter, Passed: in.passed,
		ProgType: p.typ, Attach: lp.Attach, AttachTo: hook.AttachTo, Section: hook.Section, Nth: p.runs,
		ContextType: loader.ContextType(p.types(), lp.FuncType), Packet: in.Packet, Bytes: in.Context,
		Args: in.Args, Values: in.Values, Current: in.Current, NetSpec: in.Net, Unlisted: lp.Status == loader.StatusUnknownHook,
	})
	p.runs++
	if err == nil {
		err = cs.describeUSDT(p, c, in)
	}
	return c, err
}

// contextFor returns the context of a run: a new one in place of the last, or that one as the last
// run left it.
func (cs *contexts) contextFor(p *program, in Input) (*khook.Context, error) {
	if in.sameContext && cs.last != nil {
		cs.last.Resume()
		return cs.last, nil
	}
	cs.forgetLast()
	return cs.newContext(p, in)
}

// forgetLast frees the context of the previous run. It is kept until the next run begins, so that
// debuggers and checks can look at what the program left, but no longer: repeated runs need no
// additional memory.
func (cs *contexts) forgetLast() {
	if cs.last != nil {
		cs.last.Free()
		cs.last = nil
	}
}

// attachTo returns the hook of a program. A kprobe whose section names no function is attached by
// user space. Most are called like their function, so a function with that name, or with that name
// after two underscores, provides the types of the arguments. A warning states the assumption.
func (cs *contexts) attachTo(p *program) string {
	lp := p.lp
	if progtype.Of(lp.Type).Target == progtype.OtherProgram && lp.AttachProg == nil {
		return "" // a function of a program that is not loaded, which is no hook
	}
	if lp.SectionFlags.Has(progtype.Pattern) {
		if p.matched == "" {
			if p.matched = cs.matching(lp.AttachTo); p.matched != lp.AttachTo {
				cs.warnf("program %s: %s matches several functions; assuming %s (choose with --attach %s=FUNC)", lp.Name, lp.AttachTo, p.matched, lp.Name)
			}
		}
		return p.matched
	}
	if lp.AttachTo != "" || progtype.Of(lp.Type).Target != progtype.Probe || lp.SectionFlags.Has(progtype.User) {
		return lp.AttachTo
	}
	for _, name := range [...]string{lp.Name, "__" + lp.Name} {
		if cs.reg.linked.Target.HasFunc(name) {
			if p.runs == 0 {
				cs.warnf("program %s: its section names no function; assuming %s (choose with --attach %s=FUNC)", lp.Name, name, lp.Name)
			}
			return name
		}
	}
	return ""
}

// syscallContextSize returns the size in bytes of the default context of a syscall program: that of
// the declared argument's pointee, at least 64.
func syscallContextSize(spec *btf.Spec, fn btf.ID) int {
	const least, most = 64, 64 << 10 // the kernel accepts at most U16_MAX bytes
	if s := loader.ContextStruct(spec, fn); s != nil && s.Size > least && s.Size < most {
		return int(s.Size)
	}
	return least
}

// ContextStruct names the struct that a function's first parameter points to; "" if it is not a
// struct pointer.
func ContextStruct(spec *btf.Spec, fn btf.ID) string { return loader.ContextType(spec, fn) }

// contextRefused turns the reason why a context cannot be created into the status of the run: a
// hook that the target lacks, or a program type that is not simulated.
func (cs *contexts) contextRefused(res *Result, err error) (*Result, error) {
	var absent *object.AbsentError
	var ns *khook.NotSimulated
	p := cs.reg.byName[res.Program]
	switch {
	case errors.As(err, &absent):
		res.Status, p.err = StatusAbsent, err
	case errors.As(err, &ns):
		res.Status, p.err = StatusNotSimulated, err
	default:
		return nil, err
	}
	return res, nil
}

// skbLoad implements the packet loads LD_ABS and LD_IND of the running program.
func (m *Machine) skbLoad(_ *vm.Thread, off int32, size int) (uint64, bool) {
	if m.env.Run == nil || m.env.Run.Packet == nil {
		return 0, false
	}
	const link, network = 0, 14 // the types that may use these loads see the Ethernet header
	at, ok := vm.PacketOffset(off, link, network)
	pkt := m.env.Run.Packet()
	if !ok || at > len(pkt)-size {
		return 0, false
	}
	return endian.Uint(binary.BigEndian, pkt[at:at+size]), true
}
