package decode

import (
	"errors"
	"strconv"
)

// Kinds of structural errors, for errors.Is; every *CheckError wraps one of them.
var (
	ErrEmpty         = errors.New("program has no instructions")
	ErrTooLong       = errors.New("program is too long")
	ErrOpcode        = errors.New("unknown opcode")
	ErrReserved      = errors.New("reserved field is used")
	ErrRegister      = errors.New("no such register")
	ErrFramePointer  = errors.New("frame pointer is read only")
	ErrLdImm64       = errors.New("invalid 64-bit immediate load")
	ErrAtomic        = errors.New("invalid atomic operation")
	ErrAtomicSize    = errors.New("invalid atomic operand size")
	ErrAddrSpace     = errors.New("invalid address space cast")
	ErrShift         = errors.New("shift out of range")
	ErrDivByZero     = errors.New("division by constant zero")
	ErrJump          = errors.New("jump out of range")
	ErrJumpIntoImm64 = errors.New("jump into the middle of a 64-bit immediate load")
	ErrFallThrough   = errors.New("last instruction is not an exit or jump")
	ErrUnreachable   = errors.New("unreachable instruction")
	ErrCallTarget    = errors.New("call to invalid destination")
	ErrCallDepth     = errors.New("call stack is too deep")
	ErrSubprograms   = errors.New("too many subprograms")
	ErrStackDepth    = errors.New("combined stack is too large")
	ErrStackAccess   = errors.New("invalid stack access")
	ErrTailCallStack = errors.New("tail call with too much stack in use")
	ErrUnknownFunc   = errors.New("unknown function")
	ErrNewerKernel   = errors.New("instruction is newer than the kernel")
)

// CheckError is a structural error at an instruction.
type CheckError struct {
	Insn   int    // slot
	Kind   error  // one of the Err variables of this package
	Detail string // what was found
}

// Error returns "insn N: kind: detail".
func (e *CheckError) Error() string {
	s := "insn " + strconv.Itoa(e.Insn) + ": " + e.Kind.Error()
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	return s
}

// Unwrap returns Kind.
func (e *CheckError) Unwrap() error { return e.Kind }
