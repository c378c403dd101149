package scopes

import (
	"encoding/binary"
	"fmt"

	"github.com/bpfrun/bpfrun/internal/dwarfloc"
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
	if v, e.rest, err = dwarfloc.Uleb(e.rest); err != nil {
		return 0, ErrUnreadable
	}
	return v, nil
}

func (e *evaluation) sleb() (v int64, err error) {
	if v, e.rest, err = dwarfloc.Sleb(e.rest); err != nil {
		return 0, ErrUnreadable
	}
	return v, nil
}

// step executes one operation (DWARF 5 section 2.5).
func (e *evaluation) step() error {
	op := e.rest[0]
	e.rest = e.rest[1:]
	switch {
	case op >= dwarfloc.OpLit0 && op <= dwarfloc.OpLit0+(dwarfloc.PerKind-1):
		e.push(uint64(op - dwarfloc.OpLit0))
	case op >= dwarfloc.OpReg0 && op <= dwarfloc.OpReg0+(dwarfloc.PerKind-1):
		e.result = Where{Kind: InRegister, Reg: int(op - dwarfloc.OpReg0)}
	case op == dwarfloc.OpRegx:
		n, err := e.uleb()
		e.result = Where{Kind: InRegister, Reg: int(n & 0xff)}
		return err
	case op >= dwarfloc.OpBreg0 && op <= dwarfloc.OpBreg0+(dwarfloc.PerKind-1):
		reg := int(op - dwarfloc.OpBreg0)
		e.from = &reg
		return e.based(reg == framePointer, func() (uint64, error) { return e.m.Reg(reg) })
	case op == dwarfloc.OpFbreg:
		return e.based(true, func() (uint64, error) { return e.m.Reg(framePointer) })
	case op >= dwarfloc.OpConst1u && op <= dwarfloc.OpConst8s:
		return e.constant(op)
	case op == dwarfloc.OpConstu:
		u, err := e.uleb()
		e.push(u)
		return err
	case op == dwarfloc.OpConsts:
		i, err := e.sleb()
		e.push(uint64(i))
		return err
	case op == dwarfloc.OpPlusUconst:
		u, err := e.uleb()
		e.push(e.pop() + u)
		return err
	case op == dwarfloc.OpDeref:
		return e.load(8)
	case op == dwarfloc.OpDerefSize:
		n, err := e.take(1)
		if err != nil || n[0] == 0 || n[0] > 8 {
			return ErrUnreadable
		}
		return e.load(int(n[0]))
	case op == dwarfloc.OpStackValue:
		e.result = Where{Kind: Computed, Value: e.pop(), From: e.from}
		e.push(e.result.Value)
	case op == dwarfloc.OpImplicit:
		n, err := e.uleb()
		if err != nil {
			return err
		}
		b, err := e.take(n)
		e.result = Where{Kind: Computed, Bytes: b}
		return err
	case op == dwarfloc.OpConvert: // the bits stay unchanged
		_, err := e.uleb()
		return err
	case op == dwarfloc.OpEntryValue || op == dwarfloc.OpGNUEntryValue:
		return fmt.Errorf("%w: it was in a register when the function was called", errOptimizedOut)
	case op == dwarfloc.OpPiece:
		return fmt.Errorf("%w as a whole: it is split into parts", errOptimizedOut)
	case !arithmetic(op, &e.stack):
		return fmt.Errorf("%w: operation %#x is not known", ErrUnreadable, op)
	}
	return nil
}

// based pushes an offset from the result of base; clang counts nonnegative frame offsets from the
// lowest byte of the frame.
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
	b, err := e.take(1 << ((op - dwarfloc.OpConst1u) / 2))
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
	case dwarfloc.OpNeg, dwarfloc.OpNot, dwarfloc.OpDup, dwarfloc.OpDrop:
		need = 1
	}
	if n < need {
		return false
	}
	top := s[n-1]
	switch op {
	case dwarfloc.OpNeg:
		s[n-1] = -top
		return true
	case dwarfloc.OpNot:
		s[n-1] = ^top
		return true
	case dwarfloc.OpDup:
		*stack = append(s, top)
		return true
	case dwarfloc.OpDrop:
		*stack = s[:n-1]
		return true
	case dwarfloc.OpSwap:
		s[n-1], s[n-2] = s[n-2], s[n-1]
		return true
	}
	a := s[n-2]
	var v uint64
	switch op {
	case dwarfloc.OpAnd:
		v = a & top
	case dwarfloc.OpOr:
		v = a | top
	case dwarfloc.OpXor:
		v = a ^ top
	case dwarfloc.OpPlus:
		v = a + top
	case dwarfloc.OpMinus:
		v = a - top
	case dwarfloc.OpMul:
		v = a * top
	case dwarfloc.OpDiv:
		if top == 0 || top == ^uint64(0) {
			return false
		}
		v = uint64(int64(a) / int64(top))
	case dwarfloc.OpShl:
		v = a << top
	case dwarfloc.OpShr:
		v = a >> top
	case dwarfloc.OpShra:
		v = uint64(int64(a) >> min(top, 63))
	default:
		return false
	}
	s[n-2] = v
	*stack = s[:n-1]
	return true
}
