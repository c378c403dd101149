package isa

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/jit"
	"github.com/bpfrun/bpfrun/vm"
)

// Mode selects how programs are executed. It must not affect their results.
type Mode struct {
	Name  string
	Fuse  bool   // use superinstructions
	Cover bool   // record coverage
	Slice uint64 // instructions per entry into the engine; 0 means no limit
	JIT   bool   // compile to native code
	Loops bool   // optimise loops from the first run on, not only after a program has run for long
	Big   bool   // big-endian memory and programs: results differ from those of other modes
}

// Modes lists the modes of the interpreter. The first is the default.
var Modes = []Mode{
	{Name: "fused", Fuse: true},
	{Name: "plain"},
	{Name: "step", Fuse: true, Slice: 1},
	{Name: "slices", Fuse: true, Slice: 701},
	{Name: "cover", Fuse: true, Cover: true},
}

// BigModes lists the modes of the interpreter for big-endian programs.
var BigModes = bigModes()

func bigModes() []Mode {
	list := slices.Clone(Modes)
	for i := range list {
		list[i].Name, list[i].Big = "big-"+list[i].Name, true
	}
	return list
}

// JITModes lists the modes of native code, first without and then with optimised loops. The first
// mode of each half is the default.
var JITModes = []Mode{
	{Name: "jit", Fuse: true, JIT: true},
	{Name: "jit-slices", Fuse: true, JIT: true, Slice: 1009},
	{Name: "jit-cover", Fuse: true, JIT: true, Cover: true},
	{Name: "jit-loops", Fuse: true, JIT: true, Loops: true},
	{Name: "jit-loops-slices", Fuse: true, JIT: true, Loops: true, Slice: 307},
	{Name: "jit-loops-cover", Fuse: true, JIT: true, Loops: true, Cover: true},
}

// NativeModes returns Modes followed by JITModes, if native code is available.
func NativeModes() []Mode {
	if !jit.Supported() {
		return Modes
	}
	return append(slices.Clone(Modes), JITModes...)
}

// Interpreter runs programs on package vm. It reuses its memory between programs. Create it with
// [NewInterpreter] and release it with Close. It is not safe for concurrent use.
type Interpreter struct {
	Mode  Mode
	Limit uint64 // maximum number of instructions of a run

	mem    *mem.Memory
	handle *mem.Region // the region that map references point to
	value  *mem.Region // the map's value
	ctx    *mem.Region
	stacks []*mem.Region // of all frames, once Layout was called
	thread *vm.Thread
	packet []byte
	img    *vm.Image
	lookup *vm.Func
	insns  uint64
	engine *jit.Engine
}

// NewInterpreter creates an interpreter and its implicit map.
func NewInterpreter(mode Mode) (*Interpreter, error) {
	cfg := mem.Config{Size: 16 << 20}
	if mode.Big {
		cfg.ByteOrder = binary.BigEndian
	}
	memory, err := mem.New(cfg)
	if err != nil {
		return nil, err
	}
	it := &Interpreter{Mode: mode, Limit: DefaultLimit, mem: memory}
	it.lookup = &vm.Func{Name: "bpf_map_lookup_elem", ID: helperLookup, Fn: it.mapLookup}
	if err := it.setup(); err != nil {
		it.Close()
		return nil, err
	}
	return it, nil
}

func (it *Interpreter) setup() (err error) {
	if it.handle, err = it.mem.Alloc(16, mem.Region{Kind: mem.MapHandle, Name: "map", View: opaque{}}); err != nil {
		return err
	}
	if it.value, err = it.mem.Alloc(ValueSize, mem.Region{Kind: mem.MapValue, Name: "map value"}); err != nil {
		return err
	}
	if it.ctx, err = it.mem.Alloc(192, mem.Region{Kind: mem.Context, Name: "context"}); err != nil {
		return err
	}
	it.thread = vm.NewThread(it.mem, vm.ThreadConfig{})
	it.thread.Skb = it.skb
	it.thread.SetArena(arenaKernel, arenaUser)
	if it.Mode.Cover {
		p := vm.NewPatches(true)
		p.RecordWays()
		it.thread.SetPatches(p)
	}
	if it.Mode.JIT {
		if it.engine, err = jit.New(it.mem); err != nil {
			return err
		}
		if it.Mode.Loops {
			it.engine.SetEager(0)
		}
		it.thread.SetEngine(it.engine)
		if it.Mode.Cover {
			it.engine.Cover(it.thread.Patches())
		}
	}
	return nil
}

// Close releases the interpreter's memory.
func (it *Interpreter) Close() {
	if it.engine != nil {
		it.engine.Close()
	}
	it.mem.Close()
}

// Name returns the name of the mode.
func (it *Interpreter) Name() string { return it.Mode.Name }

// Load sets the program that Run runs.
func (it *Interpreter) Load(p *Program) error {
	img, err := vm.Lower(vm.LowerConfig{Name: p.Name, Insns: p.Insns, Fuse: it.Mode.Fuse, Big: it.Mode.Big, Imm64: it.imm64(p.Insns), Call: it.call})
	if err != nil {
		return err
	}
	it.img, it.packet = img, p.packet()
	return nil
}

// imm64 resolves the references of LD_IMM64. All map references resolve to the implicit map,
// whatever their file descriptor.
func (it *Interpreter) imm64(insns []decode.Insn) func(int) (uint64, error) {
	return func(pc int) (uint64, error) {
		switch op := insns[pc].Op(); op {
		case decode.OpLdMapFD, decode.OpLdMapIdx:
			return it.handle.Base, nil
		case decode.OpLdMapValue, decode.OpLdMapIdxValue:
			return it.value.Base + uint64(uint32(insns[pc+1].Imm)), nil
		default:
			return 0, fmt.Errorf("%v: vectors have one map and no other object", op)
		}
	}
}

// Numbers of the helpers that vectors call.
const (
	helperLookup = 1   // bpf_map_lookup_elem
	helperLoop   = 181 // bpf_loop
	maxLoops     = 8 << 20
)

var loopFunc = &vm.Func{Name: "bpf_loop", ID: helperLoop, Fn: loop}

// call binds the helpers that tests of the instruction set need: one returns a pointer that may be
// null, the other calls callbacks.
func (it *Interpreter) call(_ int, in decode.Insn) (*vm.Func, error) {
	if in.Op() == decode.OpCallHelper {
		switch in.Imm {
		case helperLookup:
			return it.lookup, nil
		case helperLoop:
			return loopFunc, nil
		}
	}
	return nil, fmt.Errorf("%s is not part of instruction set vectors", decode.Disassemble([]decode.Insn{in}, 0, nil))
}

func (it *Interpreter) mapLookup(_ *vm.Thread, args *[5]uint64) (uint64, *vm.Action) {
	if args[0] != it.handle.Base {
		return 0, vm.FaultAction(&vm.Fault{Kind: vm.BadArgument, Text: fmt.Sprintf("%#x is not a map", args[0])})
	}
	key, f := it.mem.Load(args[1], 4)
	if f != nil {
		return 0, vm.MemFault(f)
	}
	if key != 0 {
		return 0, nil
	}
	return it.value.Base, nil
}

// loop implements bpf_loop. For -E2BIG it returns the zero-extended 32-bit value, as in the
// verifier's inlined form.
func loop(t *vm.Thread, args *[5]uint64) (uint64, *vm.Action) {
	n := args[0] & 0xffffffff
	switch {
	case args[3] != 0:
		return ^uint64(22) + 1, nil // -EINVAL
	case n > maxLoops:
		return 0xfffffff9, nil // -E2BIG
	case n == 0:
		return 0, nil
	}
	s := loopState{n: n, entry: args[1], ctx: args[2]}
	return 0, t.Invoke(s.entry, [5]uint64{0, s.ctx}, s)
}

// loopState is the state of a bpf_loop while its callback runs.
type loopState struct{ n, i, entry, ctx uint64 }

// Resume continues bpf_loop after a callback has returned.
func (s loopState) Resume(t *vm.Thread, ret uint64) (uint64, *vm.Action) {
	s.i++
	if ret != 0 || s.i >= s.n {
		return s.i, nil
	}
	return 0, t.Invoke(s.entry, [5]uint64{s.i, s.ctx}, s)
}

// opaque is the memory behind a map reference. Programs of vectors cannot access struct bpf_map, so
// every access faults.
type opaque struct{}

func (opaque) refuse() *mem.Fault { return &mem.Fault{Kind: mem.NotPermitted} }

// Load always faults.
func (o opaque) Load(uint64, int) (uint64, *mem.Fault) { return 0, o.refuse() }

// Store always faults.
func (o opaque) Store(uint64, int, uint64) *mem.Fault { return o.refuse() }

// Read always faults.
func (o opaque) Read(uint64, []byte) *mem.Fault { return o.refuse() }

// Write always faults.
func (o opaque) Write(uint64, []byte) *mem.Fault { return o.refuse() }

// skb loads from the packet, for LD_ABS and LD_IND.
func (it *Interpreter) skb(_ *vm.Thread, off int32, size int) (uint64, bool) {
	at, ok := vm.PacketOffset(off, 0, NetworkHeader)
	if !ok || at+size > len(it.packet) {
		return 0, false
	}
	var b [8]byte
	copy(b[8-size:], it.packet[at:])
	return binary.BigEndian.Uint64(b[:]), true
}

// Run runs the loaded program with in as the value of the map.
func (it *Interpreter) Run(in *Value) Outcome {
	value := it.mem.Bytes(it.value)
	copy(value, in[:])
	clear(it.mem.Bytes(it.ctx))
	// Arithmetic on another pointer reaches the stacks of frames that this program does not enter.
	for _, s := range it.stacks {
		clear(it.mem.Bytes(s))
	}
	it.thread.Start(it.img, it.ctx.Base)
	o := run(it.thread, it.Mode.Slice, it.Limit)
	copy(o.Value[:], value)
	it.insns = it.thread.Insns()
	return o
}

// Insns returns the number of instructions that the last run executed.
func (it *Interpreter) Insns() uint64 { return it.insns }

// run runs a started thread to completion, slice instructions at a time.
func run(t *vm.Thread, slice, limit uint64) Outcome {
	if slice == 0 {
		slice = limit
	}
	for {
		s := t.Run(min(slice, limit-t.Insns()))
		switch {
		case s == vm.Budget && t.Insns() < limit:
			continue
		case s == vm.Done:
			return Outcome{Ret: t.Ret()}
		case s == vm.Faulted:
			f := t.Fault()
			o := Outcome{Fault: f.Kind.String(), PC: f.PC, Text: f.Text}
			if f.Mem != nil {
				o.Text = f.Mem.Error()
			}
			return o
		}
		return Outcome{Fault: vm.BudgetExceeded.String(), PC: t.PC(), Text: fmt.Sprintf("%d instructions", t.Insns())}
	}
}
