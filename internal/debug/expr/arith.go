package expr

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/bpfrun/bpfrun/internal/endian"
)

func (vs *Values) binary(op string, x, y *Value) (*Value, error) {
	if (x.IsText || y.IsText) && (op == "==" || op == "!=") {
		a, err := vs.textOf(x)
		if err != nil {
			return nil, err
		}
		b, err := vs.textOf(y)
		if err != nil {
			return nil, err
		}
		return vs.boolean((a == b) == (op == "==")), nil
	}
	if op == "==" || op == "!=" {
		if x.Type.IsComposite() && y.Type.IsComposite() {
			return vs.boolean(bytes.Equal(x.Data, y.Data) == (op == "==")), nil
		}
	}
	if op == "+" || op == "-" {
		if v, ok, err := vs.pointerArithmetic(op, x, y); ok || err != nil {
			return v, err
		}
	}
	a, as, err := vs.AsInt(x)
	if err != nil {
		return nil, err
	}
	b, bs, err := vs.AsInt(y)
	if err != nil {
		return nil, err
	}
	signed := vs.promoted(x, as) && vs.promoted(y, bs)
	switch { // a header's field is a number as people write it: 53, whatever the order of its bytes
	case x.Field != nil: // two fields are of no type of network order
		b = meant(y, b)
	case y.Field != nil:
		a = meant(x, a)
	}
	return vs.arith(op, a, b, signed)
}

// meant returns the number that a value in network byte order stands for; n for others.
func meant(v *Value, n uint64) uint64 {
	if bits := networkBits(v.Type); bits != 0 && int(bits) == 8*len(v.Data) && v.bitSize == 0 {
		return endian.Uint(binary.BigEndian, v.Data)
	}
	return n
}

func (vs *Values) arith(op string, a, b uint64, signed bool) (*Value, error) {
	less := a < b
	if signed {
		less = int64(a) < int64(b)
	}
	switch op {
	case "+":
		return vs.Number(a+b, signed), nil
	case "-":
		return vs.Number(a-b, signed), nil
	case "*":
		return vs.Number(a*b, signed), nil
	case "/", "%":
		if b == 0 {
			return nil, errors.New("division by zero")
		}
		switch {
		case signed && b == ^uint64(0): // also avoids the overflow of the smallest number
			if op == "/" {
				return vs.Number(-a, true), nil
			}
			return vs.Number(0, true), nil
		case signed && op == "/":
			return vs.Number(uint64(int64(a)/int64(b)), true), nil
		case signed:
			return vs.Number(uint64(int64(a)%int64(b)), true), nil
		case op == "/":
			return vs.Number(a/b, false), nil
		}
		return vs.Number(a%b, false), nil
	case "&":
		return vs.Number(a&b, signed), nil
	case "|":
		return vs.Number(a|b, signed), nil
	case "^":
		return vs.Number(a^b, signed), nil
	case "<<":
		return vs.Number(a<<(b&63), signed), nil
	case ">>":
		if signed {
			return vs.Number(uint64(int64(a)>>(b&63)), true), nil
		}
		return vs.Number(a>>(b&63), false), nil
	case "==":
		return vs.boolean(a == b), nil
	case "!=":
		return vs.boolean(a != b), nil
	case "<":
		return vs.boolean(less), nil
	case ">":
		return vs.boolean(!less && a != b), nil
	case "<=":
		return vs.boolean(less || a == b), nil
	case ">=":
		return vs.boolean(!less), nil
	}
	return nil, fmt.Errorf("unknown operator %s", op)
}

// pointerArithmetic adds to and subtracts pointers in units of their target's size; ok is false if
// neither operand is a pointer.
func (vs *Values) pointerArithmetic(op string, x, y *Value) (v *Value, ok bool, err error) {
	xt, xp := vs.pointee(x)
	yt, yp := vs.pointee(y)
	if !xp && !yp {
		return nil, false, nil
	}
	a, _, err := vs.AsInt(x)
	if err != nil {
		return nil, false, err
	}
	b, _, err := vs.AsInt(y)
	if err != nil {
		return nil, false, err
	}
	if xp && yp {
		if op != "-" {
			return nil, false, errors.New("two pointers cannot be added")
		}
		return vs.Number(uint64(int64(a-b)/int64(vs.stride(xt))), true), true, nil
	}
	if yp {
		if op == "-" {
			return nil, false, errors.New("a pointer cannot be subtracted from a number")
		}
		a, b, xt = b, a, yt
	}
	if op == "-" {
		b = -b
	}
	return vs.PointerTo(xt, a+b*vs.stride(xt)), true, nil
}

// repeated evaluates x@n: n consecutive values of x's type in memory.
func (vs *Values) repeated(x, n *Value) (*Value, error) {
	count, _, err := vs.AsInt(n)
	if err != nil {
		return nil, err
	}
	if x.Kind != InMemory || x.bitSize != 0 {
		return nil, errors.New("only values in memory can be repeated with @")
	}
	size, err := x.Type.Size()
	if err != nil {
		return nil, err
	}
	t := x.Type
	if t.Elems > 0 {
		return nil, errors.New("an array cannot be repeated with @")
	}
	if count == 0 || count > maxRead || size > 0 && count > maxRead/uint64(size) {
		return nil, fmt.Errorf("@%d: want a number of elements, at most %d bytes in all", int64(count), maxRead)
	}
	t.Elems = int(count)
	return vs.At(t, x.Addr)
}
