// Package reference is a second, simple implementation of the BPF instruction set to compare the
// engines with. It follows RFC 9669 and, where the RFC leaves behaviour open, the kernel. It is
// written for readability: it executes one instruction at a time from the raw opcode fields,
// without tables, lowering or caches.
//
// It knows instructions, a stack for each frame, a few memory segments, packet loads, and two
// helpers. It does not know kernel objects or engines, is not optimised for speed, and shares only
// the type Insn of package decode with package vm.
//
// Programs must have passed decode.Check; fields that must be zero are ignored.
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
	StackSize  = 512     // stack size of a frame, in bytes
	MaxFrames  = 8       // maximum depth of calls
	MaxMayGoto = 8 << 20 // iterations of may_goto per function activation
	MaxLoops   = 8 << 20 // iterations of bpf_loop
)

// Kinds of faults, with the names that package vm uses.
const (
	FaultMemory       = "memory"
	FaultCallDepth    = "call-depth"
	FaultBadTarget    = "bad-target"
	FaultInvalid      = "invalid-insn"
	FaultNotSimulated = "not-simulated"
	FaultBadArgument  = "bad-argument"
	FaultBudget       = "budget"
)

// Segment is a range of guest addresses backed by bytes. An access must lie inside one segment.
type Segment struct {
	Addr  uint64
	Bytes []byte
}

// Machine is the environment of a program: an array map with one value, a context, and a packet.
// Set the fields, then call Run any number of times.
type Machine struct {
	Insns []decode.Insn // the program
	Big   bool          // a big-endian machine

	MapAddr uint64  // the address that LD_IMM64 of the map yields; loads from it fault
	Value   Segment // the map's only value
	Context Segment // r1 points to it at the start
	Stacks  [MaxFrames]uint64
	// TextBase is the address of the first instruction; slots are 8 bytes apart.
	TextBase uint64
	Packet   []byte
	// NetworkHeader is the offset of the network header in Packet.
	NetworkHeader int
	// ArenaKernel and ArenaUser are the addresses at which the kernel and user space map the
	// program's arena; 0 without an arena.
	ArenaKernel, ArenaUser uint64
	// Limit is the maximum number of instructions of a run.
	Limit uint64
	// Trace, if set, is called before each instruction.
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
	may   int       // may_goto iterations left
}

// Fault is the reason why a program was stopped. The instruction at PC did not complete.
type Fault struct {
	Kind string
	PC   int
	Text string
}

// Error returns the kind, the instruction and the description of the fault.
func (f *Fault) Error() string { return fmt.Sprintf("%s at insn %d: %s", f.Kind, f.PC, f.Text) }

// fault stops the program by a panic, which Run recovers, so that the code of instructions needs no
// error handling.
func (m *Machine) fault(kind, format string, args ...any) {
	panic(&Fault{Kind: kind, PC: m.pc, Text: fmt.Sprintf(format, args...)})
}

// Run runs the program from slot 0 and returns r0, or the fault that stopped it.
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

// Executed returns the number of instructions that the last run executed. LD_IMM64 counts as one.
func (m *Machine) Executed() uint64 { return m.insns }

// execute runs until the function whose frame is innermost when execute is called returns.
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

// step executes one instruction and advances pc (RFC 9669 section 3, instruction classes).
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

// sizeOf returns the access size of a load or store opcode, in bytes (RFC 9669 section 5, table
// 14).
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
