package scopes

import "errors"

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
	lastLitOrReg  = 0x1f // 32 of each kind
	StackSlotSize = 8
	framePointer  = 10
)

// WhereKind is the kind of location.
type WhereKind uint8

const (
	Computed WhereKind = iota
	InMemory
	InRegister
)

// Where is the result of a location expression: an address in memory, a register, or the value itself.
type Where struct {
	Kind  WhereKind
	Addr  uint64
	Reg   int
	Value uint64
	Bytes []byte // an implicit value of any size
	From  *int   // the register that a computed value comes from
}

// State provides the registers and memory that location expressions refer to.
type State struct {
	Reg   func(n int) (uint64, error)
	Frame func() (uint64, error) // returns the address of the lowest byte of the stack frame
	Read  func(addr uint64, size int) (uint64, error)
}

// errOptimizedOut: the variable has no location at this address.
var errOptimizedOut = errors.New("optimized out here")

// ErrUnreadable means that the location is malformed or uses an unknown operation.
var ErrUnreadable = errors.New("its location is malformed")

// uleb decodes a ULEB128 number and returns the remaining bytes.
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

// Location returns the location expression of a variable at an address. Errors include [ErrUnreadable].
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

// address returns an entry of .debug_addr.
func (d *Info) address(u *unit, n uint64) uint64 {
	at := u.addrBase + 8*n
	if n > uint64(len(d.addr)) || at+8 > uint64(len(d.addr)) {
		return 0
	}
	return d.order.Uint64(d.addr[at:])
}
