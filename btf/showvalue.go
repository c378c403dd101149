package btf

import (
	"fmt"
	"math/big"
	"strconv"

	"github.com/bpfrun/bpfrun/internal/endian"
)

// show prints a value by its kind. bits is its first bit within the first byte, for bitfields in
// the older encoding.
func (w *shower) show(t *Type, id ID, addr uint64, bits uint32) {
	if w.steps++; w.steps > maxShowSteps || w.depth > maxShowDepth {
		w.refuse("%s has too many values or too deep ones", w.spec.TypeString(id))
	}
	if w.refused != nil {
		return
	}
	switch t.Kind {
	case KindInt:
		w.showInt(t, id, addr, bits)
	case KindPtr:
		w.showPointer(t, id, addr)
	case KindEnum, KindEnum64:
		w.showEnum(t, id, addr)
	case KindStruct, KindUnion, KindArray:
		w.showAggregate(t, id, addr, bits)
	case KindTypedef, KindVolatile, KindConst, KindRestrict, KindTypeTag:
		w.show(w.spec.SkipMods(id), id, addr, bits) // the id stays that of the name
	case KindVar:
		to := w.spec.SkipID(t.Ref)
		w.show(w.spec.MustType(to), to, addr, bits)
	case KindDatasec:
		// The kernel resolves no size for a section.
		w.begin(t, id, addr)
	default:
		if w.checking == 0 {
			w.src.PutShown(fmt.Sprintf("<unsupported kind:%d>", t.Kind))
		}
	}
}

func (w *shower) showInt(t *Type, id ID, addr uint64, bits uint32) {
	data, ok := w.begin(t, id, addr)
	if !ok {
		return
	}
	defer w.end()
	width := uint32(t.Int.Bits)
	if bits != 0 || t.Int.Offset != 0 || width != 8 && width != 16 && width != 32 && width != 64 && width != 128 {
		first := bits + uint32(t.Int.Offset)
		skip := int(first / 8)
		if skip > len(data) {
			w.refuse("%s begins outside of its bytes", w.spec.TypeString(id))
			return
		}
		w.showBits(data[skip:], first%8, width)
		return
	}
	if width == 128 {
		w.showBits(data, 0, width)
		return
	}
	v := w.number(data, int(width/8))
	if width == 8 && w.chars {
		switch c := byte(v); {
		case w.ended:
			return
		case c == 0:
			w.ended = true
			return
		case c >= 0x20 && c < 0x7f, c >= 0xa0: // the kernel's isprint, which uses Latin-1
			w.value("'"+string([]byte{c})+"'", false)
			return
		}
	}
	if t.Int.Encoding&IntSigned != 0 {
		w.value(strconv.FormatInt(int64(v<<(64-width))>>(64-width), 10), v == 0)
		return
	}
	w.value(strconv.FormatUint(v, 10), v == 0)
}

// number reads an unsigned number of size bytes.
func (w *shower) number(data []byte, size int) uint64 {
	return endian.Uint(w.order(), w.take(data, size))
}

// showBits prints width bits, starting at bit first, as a hexadecimal number.
func (w *shower) showBits(data []byte, first, width uint32) {
	n := int(first+width+7) / 8
	if n > 16 {
		w.refuse("a bitfield of %d bits from bit %d", width, first)
		return
	}
	bytes := append([]byte(nil), w.take(data, n)...)
	shift := first
	if !endian.IsBig(w.order()) {
		for i, j := 0, len(bytes)-1; i < j; i, j = i+1, j-1 {
			bytes[i], bytes[j] = bytes[j], bytes[i]
		}
	} else {
		shift = uint32(8*n) - first - width
	}
	v := new(big.Int).SetBytes(bytes)
	v.Rsh(v, uint(shift))
	v.And(v, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(width)), big.NewInt(1)))
	w.value("0x"+v.Text(16), v.Sign() == 0)
}

func (w *shower) showPointer(t *Type, id ID, addr uint64) {
	data, ok := w.begin(t, id, addr)
	if !ok {
		return
	}
	defer w.end()
	size := w.spec.PointerSize()
	v := w.number(data, size)
	shown := v
	if w.flags&ShowPtrRaw == 0 {
		shown = w.src.PointerShown(v)
	}
	w.value(fmt.Sprintf("0x%0*x", 2*size, shown), v == 0)
}

// showEnum prints an enumerator's name, even for zero. The kernel reads four bytes of an enum and
// eight of an enum64, whatever their size.
func (w *shower) showEnum(t *Type, id ID, addr uint64) {
	data, ok := w.begin(t, id, addr)
	if !ok {
		return
	}
	defer w.end()
	var v uint64
	if t.Kind == KindEnum64 {
		v = w.number(data, 8)
	} else {
		v = w.number(data, 4)
	}
	for i := range t.Values {
		if e := t.Values[i].Value; e == v || t.Kind == KindEnum && uint32(e) == uint32(v) {
			w.value(t.Values[i].Name, false)
			return
		}
	}
	switch {
	case !t.Flag:
		w.value(strconv.FormatUint(v, 10), v == 0)
	case t.Kind == KindEnum:
		w.value(strconv.Itoa(int(int32(uint32(v)))), v == 0)
	default:
		w.value(strconv.FormatInt(int64(v), 10), v == 0)
	}
}

// showAggregate prints a struct, union or array. A nested one is first walked without printing, and
// left out if it has nothing to print.
func (w *shower) showAggregate(t *Type, id ID, addr uint64, bits uint32) {
	each := w.showMembers
	if t.Kind == KindArray {
		each = w.showElements
	}
	if w.depth > 0 && w.flags&ShowZero == 0 {
		member := w.member
		inner := w.checking != 0
		if !inner {
			w.checking, w.found = w.depth+1, 0
		}
		each(t, id, addr, bits)
		w.member = member
		if inner {
			return
		}
		w.checking = 0
		if w.found <= w.depth || w.refused != nil {
			return
		}
	}
	each(t, id, addr, bits)
}

// open starts an aggregate.
func (w *shower) open(t *Type, id ID, addr uint64) bool {
	if _, ok := w.begin(t, id, addr); !ok {
		return false
	}
	if w.checking == 0 {
		w.src.PutShown(w.indent() + w.name() + w.newline())
	}
	w.depth++
	return true
}

// close ends an aggregate.
func (w *shower) close(bracket string) {
	w.depth--
	if w.checking == 0 {
		w.src.PutShown(w.indent() + bracket + w.delim() + w.newline())
	}
	w.end()
}

func (w *shower) showMembers(t *Type, id ID, addr uint64, _ uint32) {
	if !w.open(t, id, addr) {
		return
	}
	for i := range t.Members {
		m := &t.Members[i]
		w.member = m
		mt := w.spec.MustType(m.Type)
		at, bit := addr+uint64(m.BitOffset/8), m.BitOffset%8
		if t.Flag && m.BitfieldSize != 0 {
			if data, ok := w.begin(mt, m.Type, at); ok {
				w.showBits(data, bit, m.BitfieldSize)
			}
			w.end()
		} else {
			w.show(mt, m.Type, at, bit)
		}
		w.member = nil
		if w.refused != nil {
			return
		}
	}
	w.close("}")
}

func (w *shower) showElements(t *Type, id ID, addr uint64, bits uint32) {
	elem := w.spec.SkipMods(t.Ref)
	step := uint64(0)
	switch elem.Kind {
	case KindInt, KindStruct, KindUnion, KindEnum, KindEnum64, KindFloat, KindDatasec:
		step = uint64(elem.Size)
	}
	w.chars = elem.Kind == KindInt && (elem.Size == 1 || elem.Int.Encoding == IntChar)
	w.ended = false
	if !w.open(t, id, addr) {
		return
	}
	for range t.Array.Nelems {
		w.inArray, w.member = true, nil
		w.show(elem, t.Ref, addr, bits)
		addr += step
		w.inArray, w.member = false, nil
		if w.ended || w.refused != nil {
			break
		}
	}
	w.chars, w.ended = false, false
	w.close("]")
}
