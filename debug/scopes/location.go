package scopes

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/bpfrun/bpfrun/internal/endian"
)

// Operations of location expressions (DWARF 5 section 7.7.1).
const (
	opAddr        = 0x03
	opDeref       = 0x06
	opConst1u     = 0x08
	opConst1s     = 0x09
	opConst2u     = 0x0a
	opConst2s     = 0x0b
	opConst4u     = 0x0c
	opConst4s     = 0x0d
	opConst8u     = 0x0e
	opConst8s     = 0x0f
	opConstu      = 0x10
	opConsts      = 0x11
	opDup         = 0x12
	opDrop        = 0x13
	opSwap        = 0x16
	opAnd         = 0x1a
	opDiv         = 0x1b
	opMinus       = 0x1c
	opMul         = 0x1e
	opNeg         = 0x1f
	opNot         = 0x20
	opOr          = 0x21
	opPlus        = 0x22
	opPlusUconst  = 0x23
	opShl         = 0x24
	opShr         = 0x25
	opShra        = 0x26
	opXor         = 0x27
	opLit0        = 0x30
	opReg0        = 0x50
	opBreg0       = 0x70
	opRegx        = 0x90
	opFbreg       = 0x91
	opPiece       = 0x93
	opDerefSize   = 0x94
	opImplicit    = 0x9e
	opStackValue  = 0x9f
	opAddrx       = 0xa1
	opEntryValue  = 0xa3
	opConvert     = 0xa8
	opGNUEntry    = 0xf3
	lastLitOrReg  = 0x1f // 32 of each
	StackSlotSize = 8
	framePointer  = 10
)

// WhereKind is the kind of place that a location names.
type WhereKind uint8

const (
	Computed WhereKind = iota
	InMemory
	InRegister
)

// Where is what a location expression yields: a place in memory, a register, or the value itself.
type Where struct {
	Kind  WhereKind
	Addr  uint64
	Reg   int
	Value uint64
	Bytes []byte // an implicit value of any size
	From  *int   // the register a computed value comes from
}

// State is what location expressions refer to.
type State struct {
	Reg   func(n int) (uint64, error)
	Frame func() (uint64, error) // the lowest byte of the stack frame
	Read  func(addr uint64, size int) (uint64, error)
}

// errOptimizedOut is a variable without a location at a place.
var errOptimizedOut = errors.New("optimized out here")

// ErrUnreadable is a location that is damaged or unknown.
var ErrUnreadable = errors.New("its location cannot be read")

// leb reads a variable-length number.
func uleb(b []byte) (uint64, []byte, error) {
	var v uint64
	for i, shift := 0, 0; i < len(b) && shift < 64; i, shift = i+1, shift+7 {
		v |= uint64(b[i]&0x7f) << shift
		if b[i]&0x80 == 0 {
			return v, b[i+1:], nil
		}
	}
	return 0, nil, ErrUnreadable
}

func sleb(b []byte) (int64, []byte, error) {
	var v int64
	for i, shift := 0, 0; i < len(b) && shift < 64; i++ {
		v |= int64(b[i]&0x7f) << shift
		shift += 7
		if b[i]&0x80 == 0 {
			if shift < 64 && b[i]&0x40 != 0 {
				v |= -1 << shift
			}
			return v, b[i+1:], nil
		}
	}
	return 0, nil, ErrUnreadable
}

// Locate evaluates a location expression.
func Locate(expr []byte, order binary.ByteOrder, m State) (Where, error) {
	if len(expr) == 0 {
		return Where{}, errOptimizedOut
	}
	var stack []uint64
	push := func(v uint64) { stack = append(stack, v) }
	pop := func() uint64 {
		if len(stack) == 0 {
			return 0
		}
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		return v
	}
	result := Where{Kind: InMemory}
	var from *int
	for b := expr; len(b) > 0; {
		op := b[0]
		b = b[1:]
		var err error
		var u uint64
		var i int64
		switch {
		case op >= opLit0 && op <= opLit0+lastLitOrReg:
			push(uint64(op - opLit0))
		case op >= opReg0 && op <= opReg0+lastLitOrReg:
			result = Where{Kind: InRegister, Reg: int(op - opReg0)}
		case op == opRegx:
			u, b, err = uleb(b)
			result = Where{Kind: InRegister, Reg: int(u & 0xff)}
		case op >= opBreg0 && op <= opBreg0+lastLitOrReg:
			if i, b, err = sleb(b); err == nil {
				base := m.Reg
				if int(op-opBreg0) == framePointer && i >= 0 {
					base = func(int) (uint64, error) { return m.Frame() } // clang's rule, as for opFbreg
				}
				if u, err = base(int(op - opBreg0)); err == nil {
					push(u + uint64(i))
					reg := int(op - opBreg0)
					from = &reg
				}
			}
		case op == opFbreg:
			if i, b, err = sleb(b); err == nil {
				base := m.Frame
				if i < 0 {
					base = func() (uint64, error) { return m.Reg(framePointer) }
				}
				if u, err = base(); err == nil {
					push(u + uint64(i))
				}
			}
		case op >= opConst1u && op <= opConst8s:
			n := 1 << ((op - opConst1u) / 2)
			if len(b) < n {
				return result, ErrUnreadable
			}
			u = endian.Uint(order, b[:n])
			if op&1 != 0 { // the signed ones are odd
				u = uint64(int64(u<<(64-8*n)) >> (64 - 8*n))
			}
			push(u)
			b = b[n:]
		case op == opConstu:
			u, b, err = uleb(b)
			push(u)
		case op == opConsts:
			i, b, err = sleb(b)
			push(uint64(i))
		case op == opPlusUconst:
			u, b, err = uleb(b)
			push(pop() + u)
		case op == opDeref:
			if u, err = m.Read(pop(), 8); err == nil {
				push(u)
			}
		case op == opDerefSize:
			if len(b) == 0 || b[0] == 0 || b[0] > 8 {
				return result, ErrUnreadable
			}
			if u, err = m.Read(pop(), int(b[0])); err == nil {
				push(u)
			}
			b = b[1:]
		case op == opStackValue:
			result = Where{Kind: Computed, Value: pop(), From: from}
			push(result.Value)
		case op == opImplicit:
			if u, b, err = uleb(b); err == nil {
				if u > uint64(len(b)) {
					return result, ErrUnreadable
				}
				result = Where{Kind: Computed, Bytes: b[:u]}
				b = b[u:]
			}
		case op == opConvert: // the value keeps its bits
			_, b, err = uleb(b)
		case op == opEntryValue || op == opGNUEntry:
			return result, fmt.Errorf("%w: it was in a register when the function was called", errOptimizedOut)
		case op == opPiece:
			return result, fmt.Errorf("%w as a whole: it is split into parts", errOptimizedOut)
		default:
			if !arithmetic(op, &stack) {
				return result, fmt.Errorf("%w: operation %#x is not known", ErrUnreadable, op)
			}
		}
		if err != nil {
			return result, err
		}
	}
	if result.Kind == InMemory {
		if len(stack) == 0 {
			return result, ErrUnreadable
		}
		result.Addr = pop()
	}
	return result, nil
}

// arithmetic does the operations that only work on the stack; ok is false for others.
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

// Entries of location lists (DWARF 5 section 7.7.3).
const (
	lleEnd          = 0
	lleBaseAddressx = 1
	lleStartxEndx   = 2
	lleStartxLength = 3
	lleOffsetPair   = 4
	lleDefault      = 5
	lleBaseAddress  = 6
	lleStartEnd     = 7
	lleStartLength  = 8
)

// Location returns the location expression of a variable at an address.
func (d *Info) Location(v *Variable, addr uint64) ([]byte, error) {
	switch {
	case v.expr != nil:
		return v.expr, nil
	case v.list == nil:
		return nil, errOptimizedOut
	case v.v5:
		return d.listV5(v, addr)
	}
	return d.listV4(v, addr)
}

func (d *Info) listV5(v *Variable, addr uint64) ([]byte, error) {
	base, b := v.unit.base, v.list
	var fallback []byte
	for len(b) > 0 {
		kind := b[0]
		b = b[1:]
		var lo, hi uint64
		var err error
		switch kind {
		case lleEnd:
			if fallback != nil {
				return fallback, nil
			}
			return nil, errOptimizedOut
		case lleBaseAddressx:
			if lo, b, err = uleb(b); err != nil {
				return nil, err
			}
			base = d.address(v.unit, lo)
			continue
		case lleBaseAddress:
			if len(b) < 8 {
				return nil, ErrUnreadable
			}
			base, b = d.order.Uint64(b), b[8:]
			continue
		case lleStartxEndx, lleStartxLength, lleOffsetPair:
			if lo, b, err = uleb(b); err != nil {
				return nil, err
			}
			if hi, b, err = uleb(b); err != nil {
				return nil, err
			}
			switch kind {
			case lleStartxEndx:
				lo, hi = d.address(v.unit, lo), d.address(v.unit, hi)
			case lleStartxLength:
				lo = d.address(v.unit, lo)
				hi += lo
			default:
				lo, hi = lo+base, hi+base
			}
		case lleDefault:
		case lleStartEnd, lleStartLength:
			if len(b) < 8 {
				return nil, ErrUnreadable
			}
			lo, b = d.order.Uint64(b), b[8:]
			if kind == lleStartLength {
				if hi, b, err = uleb(b); err != nil {
					return nil, err
				}
				hi += lo
			} else {
				if len(b) < 8 {
					return nil, ErrUnreadable
				}
				hi, b = d.order.Uint64(b), b[8:]
			}
		default:
			return nil, ErrUnreadable
		}
		n, rest, err := uleb(b)
		if err != nil || n > uint64(len(rest)) {
			return nil, ErrUnreadable
		}
		expr := rest[:n]
		b = rest[n:]
		if kind == lleDefault {
			fallback = expr
		} else if addr >= lo && addr < hi {
			return expr, nil
		}
	}
	return nil, ErrUnreadable
}

func (d *Info) listV4(v *Variable, addr uint64) ([]byte, error) {
	base, b := v.unit.base, v.list
	for len(b) >= 16 {
		lo, hi := d.order.Uint64(b), d.order.Uint64(b[8:])
		b = b[16:]
		switch {
		case lo == 0 && hi == 0:
			return nil, errOptimizedOut
		case lo == ^uint64(0):
			base = hi
			continue
		}
		if len(b) < 2 {
			break
		}
		n := int(d.order.Uint16(b))
		if len(b) < 2+n {
			break
		}
		expr := b[2 : 2+n]
		b = b[2+n:]
		if addr >= lo+base && addr < hi+base {
			return expr, nil
		}
	}
	return nil, ErrUnreadable
}

// address is an entry of .debug_addr.
func (d *Info) address(u *unit, n uint64) uint64 {
	at := u.addrBase + 8*n
	if n > uint64(len(d.addr)) || at+8 > uint64(len(d.addr)) {
		return 0
	}
	return d.order.Uint64(d.addr[at:])
}
