package conformance

import (
	"encoding/binary"
	"fmt"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/helpers"
	"github.com/bpfrun/bpfrun/maps"
	"github.com/bpfrun/bpfrun/mem"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// Mode is a way to execute programs that must not change their results.
type Mode struct {
	Name  string
	Fuse  bool   // superinstructions
	Cover bool   // coverage marks
	Slice uint64 // instructions per entry into the engine, 0 for all at once
}

// Modes are the ways the interpreter executes programs. The first is the default.
var Modes = []Mode{
	{Name: "fused", Fuse: true},
	{Name: "plain"},
	{Name: "step", Fuse: true, Slice: 1},
	{Name: "slices", Fuse: true, Slice: 701},
	{Name: "cover", Fuse: true, Cover: true},
}

// Interpreter runs programs on package vm. It keeps its memory between programs. Construct it with
// NewInterpreter, give it back with Close. It is not safe for concurrent use.
type Interpreter struct {
	Mode  Mode
	Limit uint64 // instructions a run may execute

	mem    *mem.Memory
	m      maps.Map
	value  []byte // host view of the map's value
	addr   uint64 // its address
	ctx    *mem.Region
	thread *vm.Thread
	packet []byte
	img    *vm.Image
	funcs  map[int32]*vm.Func
	insns  uint64
}

// NewInterpreter makes an interpreter with the implicit map.
func NewInterpreter(mode Mode) (*Interpreter, error) {
	memory, err := mem.New(mem.Config{Size: 16 << 20})
	if err != nil {
		return nil, err
	}
	it := &Interpreter{Mode: mode, Limit: DefaultLimit, mem: memory, funcs: map[int32]*vm.Func{}}
	if err := it.setup(); err != nil {
		memory.Close()
		return nil, err
	}
	return it, nil
}

func (it *Interpreter) setup() error {
	env := &maps.Env{Mem: it.mem, CPUs: 1}
	m, err := maps.New(env, maps.Spec{Name: "vector", Type: uapi.MapTypeArray, KeySize: 4, ValueSize: ValueSize, MaxEntries: 1})
	if err != nil {
		return err
	}
	it.m = m
	addr, errno := m.Lookup(0, make([]byte, 4))
	if errno != 0 {
		return fmt.Errorf("conformance: value of the implicit map: %w", errno)
	}
	r := it.mem.Find(addr)
	it.addr = addr
	it.value = it.mem.Bytes(r)[addr-r.Base:][:ValueSize]
	if it.ctx, err = it.mem.Alloc(192, mem.Region{Kind: mem.Context, Name: "context"}); err != nil {
		return err
	}
	it.thread = vm.NewThread(it.mem, vm.ThreadConfig{})
	it.thread.Skb = it.skb
	it.thread.User = &helpers.Env{Mem: it.mem, Version: 7 << 16, MapAt: env.ByAddr, Run: helpers.NewRun(uapi.ProgTypeSchedCls, 0)}
	if it.Mode.Cover {
		it.thread.SetPatches(vm.NewPatches(true))
	}
	return nil
}

// Close releases the memory.
func (it *Interpreter) Close() { it.mem.Close() }

// Name is the name of the mode.
func (it *Interpreter) Name() string { return it.Mode.Name }

// Load makes p the program that Run runs.
func (it *Interpreter) Load(p *Program) error {
	img, err := vm.Lower(vm.LowerConfig{Name: p.Name, Insns: p.Insns, Fuse: it.Mode.Fuse, Imm64: it.imm64(p.Insns), Call: it.call})
	if err != nil {
		return err
	}
	it.img, it.packet = img, p.packet()
	return nil
}

// imm64 binds what LD_IMM64 refers to: the one map, whatever its file descriptor is.
func (it *Interpreter) imm64(insns []decode.Insn) func(int) (uint64, error) {
	return func(pc int) (uint64, error) {
		switch op := insns[pc].Op(); op {
		case decode.OpLdMapFD, decode.OpLdMapIdx:
			return it.m.Addr(), nil
		case decode.OpLdMapValue, decode.OpLdMapIdxValue:
			return it.addr + uint64(uint32(insns[pc+1].Imm)), nil
		default:
			return 0, fmt.Errorf("%v: vectors have one map and no other object", op)
		}
	}
}

// call binds the helpers that need nothing but the map.
func (it *Interpreter) call(_ int, in decode.Insn) (*vm.Func, error) {
	if f := it.funcs[in.Imm]; f != nil && in.Op() == decode.OpCallHelper {
		return f, nil
	}
	id := uapi.FuncID(in.Imm)
	h, ok := helpers.Lookup(id)
	if in.Op() != decode.OpCallHelper || !ok || h.Topic != "maps" && id != uapi.FuncLoop {
		return nil, fmt.Errorf("%s is not part of instruction set vectors", decode.Disassemble([]decode.Insn{in}, 0, nil))
	}
	f := &vm.Func{Name: h.Name(), ID: in.Imm, Fn: h.Fn}
	it.funcs[in.Imm] = f
	return f, nil
}

// skb loads from the packet for LD_ABS and LD_IND.
func (it *Interpreter) skb(_ *vm.Thread, off int32, size int) (uint64, bool) {
	at, ok := vm.PacketOffset(off, 0, NetworkHeader)
	if !ok || at+size > len(it.packet) {
		return 0, false
	}
	var b [8]byte
	copy(b[8-size:], it.packet[at:])
	return binary.BigEndian.Uint64(b[:]), true
}

// Run runs the loaded program with in as the map's value.
func (it *Interpreter) Run(in *Value) Outcome {
	copy(it.value, in[:])
	it.thread.Start(it.img, it.ctx.Base)
	it.insns = 0
	o := run(it.thread, it.Mode.Slice, it.Limit)
	copy(o.Value[:], it.value)
	it.insns = it.thread.Insns()
	return o
}

// Insns is the number of instructions the last run executed.
func (it *Interpreter) Insns() uint64 { return it.insns }

// run runs a started thread to its end, slice instructions at a time.
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
