package dwarfloc

// Operations of location expressions (DWARF 5 section 7.7.1).
const (
	OpAddr        = 0x03
	OpDeref       = 0x06
	OpConst1u     = 0x08
	OpConst1s     = 0x09
	OpConst2u     = 0x0a
	OpConst2s     = 0x0b
	OpConst4u     = 0x0c
	OpConst4s     = 0x0d
	OpConst8u     = 0x0e
	OpConst8s     = 0x0f
	OpConstu      = 0x10
	OpConsts      = 0x11
	OpDup         = 0x12
	OpDrop        = 0x13
	OpOver        = 0x14
	OpPick        = 0x15
	OpSwap        = 0x16
	OpAnd         = 0x1a
	OpDiv         = 0x1b
	OpMinus       = 0x1c
	OpMul         = 0x1e
	OpNeg         = 0x1f
	OpNot         = 0x20
	OpOr          = 0x21
	OpPlus        = 0x22
	OpPlusUconst  = 0x23
	OpShl         = 0x24
	OpShr         = 0x25
	OpShra        = 0x26
	OpXor         = 0x27
	OpBra         = 0x28
	OpEq          = 0x29
	OpNe          = 0x2e
	OpSkip        = 0x2f
	OpLit0        = 0x30 // to 0x4f
	OpReg0        = 0x50 // to 0x6f
	OpBreg0       = 0x70 // to 0x8f
	OpRegx        = 0x90
	OpFbreg       = 0x91
	OpBregx       = 0x92
	OpPiece       = 0x93
	OpDerefSize   = 0x94
	OpXderefSize  = 0x95
	OpNop         = 0x96
	OpPushObject  = 0x97
	OpCall2       = 0x98
	OpCall4       = 0x99
	OpCallRef     = 0x9a
	OpTLSAddress  = 0x9b
	OpFrameCFA    = 0x9c
	OpBitPiece    = 0x9d
	OpImplicit    = 0x9e
	OpStackValue  = 0x9f
	OpImplicitPtr = 0xa0
	OpAddrx       = 0xa1
	OpConstx      = 0xa2
	OpEntryValue  = 0xa3
	OpConstType   = 0xa4
	OpRegvalType  = 0xa5
	OpDerefType   = 0xa6
	OpXderefType  = 0xa7
	OpConvert     = 0xa8
	OpReinterpret = 0xa9

	opGNUTLSAddress  = 0xe0
	opGNUUninit      = 0xf0
	opGNUImplicitPtr = 0xf2
	OpGNUEntryValue  = 0xf3
	opGNUConstType   = 0xf4
	opGNURegvalType  = 0xf5
	opGNUDerefType   = 0xf6
	opGNUConvert     = 0xf7
	opGNUReinterpret = 0xf9
	opGNUParamRef    = 0xfa
	OpGNUAddrIndex   = 0xfb
	opGNUConstIndex  = 0xfc
	opGNUVariable    = 0xfd

	// PerKind is the number of operations that each of OpLit0, OpReg0 and OpBreg0 begins.
	PerKind = 32
)

// Op is an operation of a location expression.
type Op struct {
	Code byte
	// Value is the first operand, if it is a number. Signed operands are extended to 64 bits.
	Value uint64
	// Block is an operand of bytes: an implicit value, or the expression of an entry value.
	Block []byte
}

// IsReg reports whether the operation names a register as the location.
func (o Op) IsReg() bool { return o.Code >= OpReg0 && o.Code < OpReg0+PerKind }

// IsBreg reports whether the operation adds a constant to a register.
func (o Op) IsBreg() bool { return o.Code >= OpBreg0 && o.Code < OpBreg0+PerKind }

// IsConstant reports whether the operation is a constant of those that compilers use for values.
func (o Op) IsConstant() bool {
	return o.Code >= OpLit0 && o.Code < OpLit0+PerKind || o.Code == OpConstu || o.Code == OpConsts
}

// operands returns the encoding of an operation's operands, a letter each: a number of that many
// bytes (1, 2, 4, 8), an address, an offset, a ULEB128 (u) or SLEB128 (s) number, or bytes after a
// count of one byte (c) or a ULEB128 count (b).
func operands(code byte) (string, bool) {
	switch code {
	case OpAddr:
		return "a", true
	case OpConst1u, OpConst1s, OpPick, OpDerefSize, OpXderefSize:
		return "1", true
	case OpConst2u, OpConst2s, OpBra, OpSkip, OpCall2:
		return "2", true
	case OpConst4u, OpConst4s, OpCall4, opGNUParamRef:
		return "4", true
	case OpConst8u, OpConst8s:
		return "8", true
	case OpConstu, OpPlusUconst, OpRegx, OpPiece, OpAddrx, OpConstx, OpConvert, OpReinterpret, opGNUConvert, opGNUReinterpret, OpGNUAddrIndex, opGNUConstIndex:
		return "u", true
	case OpConsts, OpFbreg:
		return "s", true
	case OpBregx:
		return "us", true
	case OpBitPiece, OpRegvalType, opGNURegvalType:
		return "uu", true
	case OpCallRef, opGNUVariable:
		return "o", true
	case OpImplicit, OpEntryValue, OpGNUEntryValue:
		return "b", true
	case OpImplicitPtr, opGNUImplicitPtr:
		return "os", true
	case OpConstType, opGNUConstType:
		return "uc", true
	case OpDerefType, OpXderefType, opGNUDerefType:
		return "1u", true
	case OpDeref, OpDup, OpDrop, OpOver, OpNop, OpPushObject, OpTLSAddress, OpFrameCFA, OpStackValue, opGNUTLSAddress, opGNUUninit:
		return "", true
	}
	switch {
	case code >= OpBreg0 && code < OpBreg0+PerKind:
		return "s", true
	case code >= OpLit0 && code < OpReg0+PerKind, code >= OpSwap && code <= OpXor, code >= OpEq && code <= OpNe:
		return "", true
	}
	return "", false
}

// Ops appends the operations of an expression to ops. After an error, those before it are returned.
// Errors are [ErrMalformed] and [ErrOperation].
func (u *Unit) Ops(ops []Op, expr []byte) ([]Op, error) {
	r := reader{unit: u, b: expr}
	for len(r.b) > 0 {
		op := Op{Code: r.b[0]}
		r.b = r.b[1:]
		layout, ok := operands(op.Code)
		if !ok {
			return ops, ErrOperation
		}
		for i := range len(layout) {
			v, err := r.operand(layout[i], &op)
			if err != nil {
				return ops, err
			}
			if i == 0 {
				op.Value = v
			}
		}
		ops = append(ops, op)
	}
	return ops, nil
}

func (r *reader) operand(letter byte, op *Op) (v uint64, err error) {
	switch letter {
	case 'a':
		return r.address()
	case 'o':
		if r.unit.Version < 3 {
			return r.address()
		}
		return r.fixed(r.unit.OffSize)
	case 'u':
		return r.uleb()
	case 's':
		var s int64
		s, r.b, err = Sleb(r.b)
		return uint64(s), err
	case 'b', 'c':
		if letter == 'b' {
			v, err = r.uleb()
		} else {
			v, err = r.fixed(1)
		}
		if err == nil {
			op.Block, err = r.take(v)
		}
		return v, err
	}
	return r.fixed(letter - '0')
}
