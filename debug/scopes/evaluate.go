package scopes

import (
	"encoding/binary"
	"fmt"

	"github.com/bpfrun/bpfrun/internal/endian"
)

// Locate evaluates a location expression (DWARF 5 section 2.5). Errors include [ErrUnreadable].
func Locate(expr []byte, order binary.ByteOrder, m State) (Where, error) {
	if len(expr) == 0 {
		return Where{}, errOptimizedOut
	}
	e := evaluation{rest: expr, order: order, m: m, result: Where{Kind: InMemory}}
	for len(e.rest) > 0 {
		if err := e.step(); err != nil {
			return e.result, err
		}
	}
	if e.result.Kind == InMemory {
		if len(e.stack) == 0 {
			return e.result, ErrUnreadable
		}
		e.result.Addr = e.pop()
	}
	return e.result, nil
}

// evaluation is the state of evaluating a location expression.
type evaluation struct {
	rest   []byte
	order  binary.ByteOrder
	m      State
	stack  []uint64
	from   *int // the register from which the last address was computed
	result Where
}

func (e *evaluation) push(v uint64) { e.stack = append(e.stack, v) }

// pop returns 0 if the stack is empty.
func (e *evaluation) pop() uint64 {
	if len(e.stack) == 0 {
		return 0
	}
	v := e.stack[len(e.stack)-1]
	e.stack = e.stack[:len(e.stack)-1]
	return v
}

// take consumes n bytes of the expression.
func (e *evaluation) take(n uint64) ([]byte, error) {
	if n > uint64(len(e.rest)) {
		return nil, ErrUnreadable
	}
	b := e.rest[:n]
	e.rest = e.rest[n:]
	return b, nil
}

// uleb consumes a ULEB128 number.
func (e *evaluation) uleb() (v uint64, err error) {
	v, e.rest, err = uleb(e.rest)
	return v, err
}

func (e *evaluation) sleb() (v int64, err error) {
	v, e.rest, err = sleb(e.rest)
	return v, err
}

// step executes one operation (DWARF 5 section 2.5).
func (e *evaluation) step() error {
	op := e.rest[0]
	e.rest = e.rest[1:]
	switch {
	case op >= opLit0 && op <= opLit0+lastLitOrReg:
		e.push(uint64(op - opLit0))
	case op >= opReg0 && op <= opReg0+lastLitOrReg:
		e.result = Where{Kind: InRegister, Reg: int(op - opReg0)}
	case op == opRegx:
		n, err := e.uleb()
		e.result = Where{Kind: InRegister, Reg: int(n & 0xff)}
		return err
	case op >= opBreg0 && op <= opBreg0+lastLitOrReg:
		reg := int(op - opBreg0)
		e.from = &reg
		return e.based(reg == framePointer, func() (uint64, error) { return e.m.Reg(reg) })
	case op == opFbreg:
		return e.based(true, func() (uint64, error) { return e.m.Reg(framePointer) })
	case op >= opConst1u && op <= opConst8s:
		return e.constant(op)
	case op == opConstu:
		u, err := e.uleb()
		e.push(u)
		return err
	case op == opConsts:
		i, err := e.sleb()
		e.push(uint64(i))
		return err
	case op == opPlusUconst:
		u, err := e.uleb()
		e.push(e.pop() + u)
		return err
	case op == opDeref:
		return e.load(8)
	case op == opDerefSize:
		n, err := e.take(1)
		if err != nil || n[0] == 0 || n[0] > 8 {
			return ErrUnreadable
		}
		return e.load(int(n[0]))
	case op == opStackValue:
		e.result = Where{Kind: Computed, Value: e.pop(), From: e.from}
		e.push(e.result.Value)
	case op == opImplicit:
		n, err := e.uleb()
		if err != nil {
			return err
		}
		b, err := e.take(n)
		e.result = Where{Kind: Computed, Bytes: b}
		return err
	case op == opConvert: // the bits stay unchanged
		_, err := e.uleb()
		return err
	case op == opEntryValue || op == opGNUEntry:
		return fmt.Errorf("%w: it was in a register when the function was called", errOptimizedOut)
	case op == opPiece:
		return fmt.Errorf("%w as a whole: it is split into parts", errOptimizedOut)
	case !arithmetic(op, &e.stack):
		return fmt.Errorf("%w: operation %#x is not known", ErrUnreadable, op)
	}
	return nil
}

// based pushes an offset from the result of base; clang counts nonnegative frame offsets from the lowest byte of the frame.
func (e *evaluation) based(frame bool, base func() (uint64, error)) error {
	off, err := e.sleb()
	if err != nil {
		return err
	}
	if frame && off >= 0 {
		base = e.m.Frame
	}
	v, err := base()
	if err == nil {
		e.push(v + uint64(off))
	}
	return err
}

// constant pushes a constant of 1, 2, 4 or 8 bytes; the opcodes of signed ones are odd.
func (e *evaluation) constant(op byte) error {
	b, err := e.take(1 << ((op - opConst1u) / 2))
	if err != nil {
		return err
	}
	if op&1 != 0 {
		e.push(uint64(endian.Int(e.order, b)))
	} else {
		e.push(endian.Uint(e.order, b))
	}
	return nil
}

// load replaces an address by the value of size bytes there.
func (e *evaluation) load(size int) error {
	v, err := e.m.Read(e.pop(), size)
	if err == nil {
		e.push(v)
	}
	return err
}

// arithmetic executes the operations that only use the stack; ok is false for others.
func arithmetic(op byte, stack *[]uint64) (ok bool) {
	s := *stack
	n := len(s)
	need := 2
	switch op {
	case opNeg, opNot, opDup, opDrop:
		need = 1
	}
	if n < need {
		return false
	}
	top := s[n-1]
	switch op {
	case opNeg:
		s[n-1] = -top
		return true
	case opNot:
		s[n-1] = ^top
		return true
	case opDup:
		*stack = append(s, top)
		return true
	case opDrop:
		*stack = s[:n-1]
		return true
	case opSwap:
		s[n-1], s[n-2] = s[n-2], s[n-1]
		return true
	}
	a := s[n-2]
	var v uint64
	switch op {
	case opAnd:
		v = a & top
	case opOr:
		v = a | top
	case opXor:
		v = a ^ top
	case opPlus:
		v = a + top
	case opMinus:
		v = a - top
	case opMul:
		v = a * top
	case opDiv:
		if top == 0 || top == ^uint64(0) {
			return false
		}
		v = uint64(int64(a) / int64(top))
	case opShl:
		v = a << top
	case opShr:
		v = a >> top
	case opShra:
		v = uint64(int64(a) >> min(top, 63))
	default:
		return false
	}
	s[n-2] = v
	*stack = s[:n-1]
	return true
}
