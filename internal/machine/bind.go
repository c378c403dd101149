package machine

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/corerelo"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/helpers"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/endian"
	"github.com/bpfrun/bpfrun/internal/kernel"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/vm"
)

// program is a linked program with its code and bound references.
type program struct {
	id     uint32 // from 1 on, in the order of loading
	lp     *loader.LinkedProgram
	typ    uapi.ProgType // the type it runs as: that of lp, except for extensions
	status Status
	err    error
	img    *vm.Image // nil if the program cannot run
	// reach marks the slots that constant propagation cannot rule out.
	reach []bool
	// calls names the functions the program is bound to.
	calls []string
	// typed means that the program obtains BTF-typed kernel pointers.
	typed bool
	// locks means that the program takes spin locks.
	locks bool
	// matched is the function that a multi probe runs for, "" before the first run.
	matched string
	// runs counts the contexts created for the program.
	runs int
	// tracking is not restored by snapshots.
	tracking tracking
	// accesses caches how the addresses of instructions that read kernel memory were computed.
	accesses map[int]loader.Address
	// tables holds the memory of the program's jump tables.
	tables map[*loader.Map]*mem.Region
	// arena is the arena whose pointers the program converts, or nil.
	arena maps.Arena
}

// NotSimulatedError lists what a program needs that is not simulated.
type NotSimulatedError struct {
	Program string
	What    []string
}

// Error names everything that is missing.
func (e *NotSimulatedError) Error() string {
	return fmt.Sprintf("not simulated: %s", strings.Join(e.What, ", "))
}

// binder turns linked programs into code: it resolves what their instructions refer to. Its state
// is which programs of the object obtain typed pointers.
type binder struct {
	reg    *registry
	mem    *mem.Memory
	kernel *kernel.Kernel
	text   *vm.Text
	cfg    *Config
	// instrument is called for every bound call and may wrap it.
	instrument func(p *program, pc int, f *vm.Func)
	typed      *typedObject
	attached   *trampolines
}

// bind creates a program's code. If that fails, the program's status and error say why.
func (bin *binder) bind(lp *loader.LinkedProgram) *program {
	p := &program{lp: lp, typ: lp.Type}
	switch lp.Status {
	case loader.StatusAbsent:
		p.status, p.err = StatusAbsent, lp.Err
		return p
	case loader.StatusRefused:
		p.status, p.err = StatusRefused, lp.Err
		return p
	case loader.StatusDisabled:
		p.status = StatusDisabled
		return p
	case loader.StatusUnknownHook:
		p.status, p.err = StatusUnknownHook, lp.Err
	default:
		p.status = StatusOK
	}
	if bin.extension(p); p.status == StatusAbsent {
		return p
	}
	var verdict loader.Verified
	if bin.cfg.Verify != nil {
		verdict = bin.cfg.Verify(lp)
	}
	if err := lp.Refusal(verdict); err != nil {
		p.status, p.err = StatusRefused, err
		return p
	}
	p.reach = lp.Reachable()
	if missing := bin.missing(p, verdict.Reached); len(missing) > 0 {
		p.status, p.err = StatusNotSimulated, &NotSimulatedError{lp.Name, missing}
		return p
	}
	p.typed, p.locks = bin.obtainsTypedPointers(lp), takesLock(lp)
	if err := bin.placeJumpTables(p); err != nil {
		p.status, p.err = StatusRefused, err
		return p
	}
	img, err := bin.lower(p)
	if err != nil {
		p.status, p.err = StatusRefused, err
		return p
	}
	p.img, p.arena = img, bin.reg.arenaOf(lp)
	bin.fillJumpTables(p)
	return p
}

// lower makes the program's code, in the place of that which it has.
func (bin *binder) lower(p *program) (*vm.Image, error) {
	return vm.Lower(vm.LowerConfig{
		Name: p.lp.Name, Insns: p.lp.Insns, Fuse: true, Big: endian.IsBig(bin.mem.ByteOrder()), Text: bin.text, Owner: p,
		Imm64:             func(pc int) (uint64, error) { return bin.imm64(p, pc) },
		Call:              func(pc int, in decode.Insn) (*vm.Func, error) { return bin.function(p, pc, in) },
		Divert:            func(target int) *vm.Func { return bin.attached.divert(p, target) },
		ExceptionCallback: p.lp.ExceptionCallback,
		Replaces:          p.img,
	})
}

// placeJumpTables allocates the memory of the program's instruction arrays: eight bytes per slot,
// the address of an instruction, read-only (kernel/bpf/bpf_insn_array.c).
func (bin *binder) placeJumpTables(p *program) error {
	p.tables = map[*loader.Map]*mem.Region{}
	for _, def := range p.lp.JumpTables {
		r, err := bin.mem.Alloc(8*uint64(len(def.Slots)), mem.Region{Kind: mem.MapValue, Name: def.Name})
		if err != nil {
			return &MapError{Map: def.Name, Err: err}
		}
		p.tables[def] = r
	}
	return nil
}

// fillJumpTables stores the instructions' addresses when they are known.
func (bin *binder) fillJumpTables(p *program) {
	for def, r := range p.tables {
		b := bin.mem.Bytes(r)
		for i, slot := range def.Slots {
			bin.mem.ByteOrder().PutUint64(b[8*i:], p.img.FuncAddr(int(slot)))
		}
		bin.mem.SetReadOnly(r, true)
	}
}

// SysBPFBigEndian names what is not simulated: attributes of bpf(2) in big-endian byte order.
const SysBPFBigEndian = "bpf_sys_bpf from big-endian programs"

// missing names everything reachable in the program that is not simulated, so that the program is
// refused before it runs instead of in the middle. reached are the slots that the verifier reached,
// nil if it did not walk the program.
func (bin *binder) missing(p *program, reached []bool) []string {
	var out []string
	seen := map[string]bool{}
	add := func(what string) {
		if !seen[what] {
			seen[what] = true
			out = append(out, what)
		}
	}
	if !bin.kernel.Simulates(p.typ) {
		add("program type " + p.typ.String())
	} else if what, ok := hookNotSimulated(p.lp, bin.cfg); ok {
		add(what)
	}
	for pc, in := range p.lp.Insns {
		if !p.reach[pc] || reached != nil && !reached[pc] {
			continue
		}
		switch in.Op() {
		case decode.OpCallHelper:
			if _, _, poison := corerelo.ParsePoison(in); poison {
				continue
			}
			id := uapi.FuncID(in.Imm)
			switch _, ok := helpers.Lookup(id); {
			case !ok:
				add("helper " + id.String())
			case id == uapi.FuncSysBpf && endian.IsBig(bin.mem.ByteOrder()):
				add(SysBPFBigEndian)
			}
		case decode.OpCallKfunc:
			ref := p.lp.Refs[pc]
			if _, ok := helpers.LookupKfunc(ref.Name); !ok {
				add("kfunc " + ref.Name)
			}
		default:
			if ref, ok := p.lp.Refs[pc]; ok && ref.Map != nil {
				if b := bin.reg.byDef[ref.Map]; b != nil && b.err != nil {
					add(fmt.Sprintf("map type %v (map %s)", ref.Map.Type, ref.Map.Name))
				}
			}
		}
	}
	return out
}

// obtainsTypedPointers reports whether the program can obtain typed pointers. Other programs of the
// object may have put them into maps (kptrs), and a tail call may continue with any of them.
func (bin *binder) obtainsTypedPointers(lp *loader.LinkedProgram) bool {
	s := bin.typedPrograms()
	return s.own[lp] || s.kptrs || s.any && calls(lp, uapi.FuncTailCall)
}

// typedObject records which programs of an object obtain typed pointers.
type typedObject struct {
	own        map[*loader.LinkedProgram]bool
	any, kptrs bool
}

// noteTyped adds a program loaded on its own, forgetTyped removes one.
func (bin *binder) noteTyped(lp *loader.LinkedProgram) {
	if bin.typed != nil {
		bin.typed.look(lp)
	}
}

func (bin *binder) forgetTyped(lp *loader.LinkedProgram) {
	if bin.typed != nil {
		delete(bin.typed.own, lp)
	}
}

// typedPrograms examines every program once.
func (bin *binder) typedPrograms() *typedObject {
	if bin.typed == nil {
		bin.typed = &typedObject{own: map[*loader.LinkedProgram]bool{}}
		for _, lp := range bin.reg.linked.Programs {
			bin.typed.look(lp)
		}
	}
	return bin.typed
}

// look examines a program.
func (s *typedObject) look(lp *loader.LinkedProgram) {
	if hasTypedSource(lp) {
		s.own[lp], s.any = true, true
	}
	s.kptrs = s.kptrs || calls(lp, uapi.FuncKptrXchg)
}

func calls(lp *loader.LinkedProgram, f uapi.FuncID) bool {
	return slices.ContainsFunc(lp.Insns, func(in decode.Insn) bool { return in.Op() == decode.OpCallHelper && uapi.FuncID(in.Imm) == f })
}

// hasTypedSource reports whether a program gets typed pointers from helpers, kfuncs or kernel
// variables.
func hasTypedSource(lp *loader.LinkedProgram) bool {
	for pc, in := range lp.Insns {
		switch in.Op() {
		case decode.OpCallKfunc:
			return true
		case decode.OpCallHelper:
			if h, ok := proto.Lookup(uapi.FuncID(in.Imm)); ok && h.GivesTyped() {
				return true
			}
		}
		if ref, ok := lp.Refs[pc]; ok && ref.Kind == loader.RefKsymBTF {
			return true
		}
	}
	return false
}

var errUnbound = errors.New("reference is not bound")

// imm64 returns the value of a symbolic LD_IMM64.
func (bin *binder) imm64(p *program, pc int) (uint64, error) {
	ref, ok := p.lp.Refs[pc]
	if !ok {
		return 0, errUnbound
	}
	switch ref.Kind {
	case loader.RefMap, loader.RefMapValue:
		b := bin.reg.byDef[ref.Map]
		if b == nil || b.m == nil {
			return 0, fmt.Errorf("map %s: %w", ref.Map.Name, errUnbound)
		}
		if ref.Kind == loader.RefMap {
			return b.m.Addr(), nil
		}
		direct, ok := b.m.(maps.ValueBase)
		if !ok {
			return 0, fmt.Errorf("map %s of type %v has no directly addressable values", ref.Map.Name, ref.Map.Type)
		}
		addr, errno := direct.DirectValue(uint32(ref.Off))
		if errno != 0 {
			return 0, fmt.Errorf("map %s offset %d: %w", ref.Map.Name, ref.Off, errno)
		}
		return addr, nil
	case loader.RefInsnArray:
		if r := p.tables[ref.Map]; r != nil {
			return r.Base + uint64(ref.Off), nil
		}
	case loader.RefKsym:
		if !ref.Resolved {
			return 0, nil // weak
		}
		if ref.Addr != 0 {
			return ref.Addr, nil
		}
		return bin.kernel.SymbolAddr(ref.Name), nil
	case loader.RefKsymBTF:
		if !ref.Resolved {
			return 0, nil
		}
		name := btf.EssentialName(ref.Name) // a kfunc may have a flavor
		if addr, ok := bin.kernel.KsymAddr(name); ok {
			return addr, nil
		}
		return bin.kernel.SymbolAddr(name), nil
	}
	return 0, fmt.Errorf("%s: %w", ref.Name, errUnbound)
}

// function binds a call.
func (bin *binder) function(p *program, pc int, in decode.Insn) (*vm.Func, error) {
	var f vm.Func
	if in.Op() == decode.OpCallKfunc {
		ref := p.lp.Refs[pc]
		k, ok := helpers.LookupKfunc(ref.Name)
		if !ok {
			return nil, fmt.Errorf("kfunc %s is not simulated", ref.Name)
		}
		f = vm.Func{Name: k.Name, ID: in.Imm, Fn: k.Fn, Kfunc: true}
	} else {
		h, ok := helpers.Lookup(uapi.FuncID(in.Imm))
		if !ok {
			return nil, fmt.Errorf("helper %v is not simulated", uapi.FuncID(in.Imm))
		}
		f = vm.Func{Name: h.Name(), ID: in.Imm, Fn: h.Fn}
	}
	if !slices.Contains(p.calls, f.Name) {
		p.calls = append(p.calls, f.Name)
	}
	bin.instrument(p, pc, &f)
	return &f, nil
}

// reachable reports whether a slot is an instruction that constant propagation cannot rule out.
func (p *program) reachable(pc int) bool { return p.reach[pc] && p.lp.Insns[pc].Code != 0 }
