// Package reference is a second, plain implementation of the BPF instruction set, written from RFC 9669 and the kernel's rules
// for what the RFC leaves open, for comparison with the engines. It is meant to be read: one instruction at a time, from the raw
// opcode fields, without tables, lowering or caches.
//
// It knows instructions, the stack of each frame, a few memory segments, packet loads, and two helpers. It
// does not know kernel objects, engines or speed, and shares with package vm nothing but package decode's Insn.
//
// Programs have passed decode.Check: fields that have to be zero are not looked at.
//
// Start at [Machine] and its Run method.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package reference

import (
	"fmt"

	"github.com/bpfrun/bpfrun/decode"
)

// Limits of the kernel.
const (
	StackSize  = 512     // bytes of stack of a frame
	MaxFrames  = 8       // deepest chain of calls
	MaxMayGoto = 8 << 20 // passes of may_goto per function activation
	MaxLoops   = 8 << 20 // iterations of bpf_loop
)

// Kinds of faults, in the words of package vm.
const (
	FaultMemory       = "memory"
	FaultCallDepth    = "call-depth"
	FaultBadTarget    = "bad-target"
	FaultInvalid      = "invalid-insn"
	FaultNotSimulated = "not-simulated"
	FaultBadArgument  = "bad-argument"
	FaultBudget       = "budget"
)

// Segment is a range of guest addresses backed by bytes. An access has to lie inside one segment.
type Segment struct {
	Addr  uint64
	Bytes []byte
}

// Machine is the environment of a program: one array map with one value, a context, a packet. Fill in the fields, then call
// Run as often as wanted.
type Machine struct {
	Insns []decode.Insn // the program

	MapAddr uint64  // what LD_IMM64 of the map gives; nothing can be loaded from there
	Value   Segment // the map's only value
	Context Segment // r1 at the start points to it
	Stacks  [MaxFrames]uint64
	// TextBase is the address of the first instruction; slots are 8 bytes apart.
	TextBase uint64
	Packet   []byte
	// NetworkHeader is the offset of the network header in Packet.
	NetworkHeader int
	// ArenaKernel and ArenaUser are where the kernel and user space map the program's arena; 0 without arena.
	ArenaKernel, ArenaUser uint64
	// Limit is the number of instructions a run may execute.
	Limit uint64
	// Trace is called before each instruction, when it is set.
	Trace func(pc int, regs *[11]uint64)

	r      [11]uint64
	pc     int
	insns  uint64
	frames []frame
	stacks [MaxFrames][StackSize]byte
}

// frame is one function activation.
type frame struct {
	ret   int       // slot to return to
	saved [4]uint64 // r6 to r9 of the caller
	may   int       // may_goto passes left
}

// Fault is why a program was stopped. The instruction at PC was not completed.
type Fault struct {
	Kind string
	PC   int
	Text string
}

// Error names kind and place.
func (f *Fault) Error() string { return fmt.Sprintf("%s at insn %d: %s", f.Kind, f.PC, f.Text) }

// fault is raised by panic inside the package, so that the code of instructions shows only their meaning.
func (m *Machine) fault(kind, format string, args ...any) {
	panic(&Fault{Kind: kind, PC: m.pc, Text: fmt.Sprintf(format, args...)})
}

// Run runs the program from slot 0 until it ends, and returns r0 or why it was stopped.
func (m *Machine) Run() (r0 uint64, fault *Fault) {
	m.r = [11]uint64{1: m.Context.Addr, 10: m.Stacks[0] + StackSize}
	m.pc, m.insns = 0, 0
	m.frames = append(m.frames[:0], frame{may: MaxMayGoto})
	m.stacks = [MaxFrames][StackSize]byte{}
	defer func() {
		if e := recover(); e != nil {
			f, ok := e.(*Fault)
			if !ok {
				panic(e)
			}
			fault = f
		}
	}()
	m.execute()
	return m.r[0], nil
}

// Executed returns the number of instructions the last run executed, LD_IMM64 counted as one.
func (m *Machine) Executed() uint64 { return m.insns }

// execute runs until the function whose frame is the innermost at the call of execute returns.
func (m *Machine) execute() {
	depth := len(m.frames)
	for len(m.frames) >= depth {
		if m.pc < 0 || m.pc >= len(m.Insns) {
			m.fault(FaultBadTarget, "outside of the program")
		}
		if m.insns == m.Limit {
			m.fault(FaultBudget, "%d instructions", m.insns)
		}
		if m.Trace != nil {
			m.Trace(m.pc, &m.r)
		}
		m.insns++
		m.step(m.Insns[m.pc])
	}
}

// step executes one instruction and moves pc on (RFC 9669 section 3, instruction classes).
func (m *Machine) step(in decode.Insn) {
	if in.Dst > 10 || in.Src > 10 {
		m.fault(FaultInvalid, "register number")
	}
	if in.Code == 0 && m.pc > 0 && m.Insns[m.pc-1].IsLdImm64() {
		m.fault(FaultBadTarget, "second slot of a 64-bit immediate load")
	}
	switch in.Code & 0x07 {
	case 0x00: // LD
		m.ld(in)
	case 0x01: // LDX
		m.ldx(in)
	case 0x02: // ST
		if in.Code&0xe0 != 0x60 {
			m.fault(FaultInvalid, "opcode %#x", in.Code)
		}
		m.store(m.r[in.Dst]+uint64(int64(in.Off)), sizeOf(in.Code), uint64(int64(in.Imm)))
		m.pc++
	case 0x03: // STX
		m.stx(in)
	case 0x04: // ALU
		m.alu32(in)
	case 0x07: // ALU64
		m.alu64(in)
	case 0x05: // JMP
		m.jump(in)
	case 0x06: // JMP32
		m.jump32(in)
	}
}

// sizeOf returns the size modifier of load and store opcodes (RFC 9669 section 5, table 14).
func sizeOf(code uint8) int {
	switch code & 0x18 {
	case 0x00: // W
		return 4
	case 0x08: // H
		return 2
	case 0x10: // B
		return 1
	}
	return 8 // DW
}
