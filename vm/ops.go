package vm

import "github.com/bpfrun/bpfrun/decode"

// The ops of the interpreter are the dense ops of package decode, followed by these.
const (
	opCallFunc   = uint16(decode.NumOps) + iota // call of a bound helper or kfunc: imm indexes Image.funcs
	opTrap                                      // faults: imm indexes Image.traps
	opEnd                                       // after the last slot
	opSecondSlot                                // second slot of LD_IMM64
	opStep                                      // end of a single step
	opBreak                                     // breakpoint (patched code only)
	opCover                                     // not executed yet (patched code only)
	opFused                                     // first superinstruction
)
