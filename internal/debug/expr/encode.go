package expr

import (
	"encoding/binary"
	"fmt"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/endian"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/packet"
)

// encodeInto writes v over the bytes of dst; for a bitfield, only its bits.
func (vs *Values) encodeInto(v, dst *Value, data []byte) error {
	if dst.Field != nil {
		return vs.encodeField(v, *dst.Field, data)
	}
	if dst.bitSize == 0 {
		return vs.encode(v, dst.Type, data)
	}
	n, _, err := vs.AsInt(v)
	if err != nil {
		return err
	}
	if w := dst.bitSize; w < 64 && n>>w != 0 && int64(n)>>(w-1) != -1 {
		return fmt.Errorf("%d does not fit in %d bits", int64(n), w)
	}
	endian.PutBits(vs.m.Memory().ByteOrder(), data, uint64(dst.bitOff), uint32(dst.bitSize), n)
	return nil
}

// forAllCPUs returns a value as user space passes it: for per-CPU maps, one copy per CPU, rounded
// up to 8 bytes.
func (vs *Values) forAllCPUs(m maps.Map, data []byte) []byte {
	if !m.Spec().Type.PerCPU() {
		return data
	}
	stride := (len(data) + 7) &^ 7
	out := make([]byte, 0, stride*vs.m.Kernel().CPUs())
	for range vs.m.Kernel().CPUs() {
		out = append(out, data...)
		out = append(out, make([]byte, stride-len(data))...)
	}
	return out
}

// EncodeText encodes a value given as text.
func (vs *Values) EncodeText(t Type, text string, dst []byte) error {
	if t.Ptr > 0 || t.Elems > 0 {
		return fmt.Errorf("a value of type %s cannot be written in braces", t)
	}
	return t.Spec.EncodeText(t.ID, text, dst)
}

// encode writes a value converted to another type.
func (vs *Values) encode(v *Value, t Type, dst []byte) error {
	switch {
	case v.IsText:
		if el, ok := t.Elem(); ok && t.Kind() == btf.KindArray && len(v.Text) <= len(dst) && vs.stride(el) == 1 {
			clear(dst)
			copy(dst, v.Text)
			return nil
		}
		if t.Ptr > 0 || t.Elems > 0 {
			return fmt.Errorf("a string does not fit %s", t)
		}
		return t.Spec.EncodeValue(t.ID, v.Text, dst)
	case t.IsComposite() || t.Kind() == btf.KindArray:
		if len(v.Data) == len(dst) && v.bitSize == 0 {
			copy(dst, v.Data)
			return nil
		}
		if n, _, err := vs.AsInt(v); err == nil && len(dst) <= 8 && !v.Type.IsComposite() {
			return vs.putFitting(dst, n, t)
		}
		return fmt.Errorf("a value of type %s does not fit %s", v.Type, t)
	}
	n, signed, err := vs.AsInt(v)
	if err != nil {
		return err
	}
	if bits := networkBits(t); v.Field != nil && bits != 0 && bits == uint32(v.Field.Bits) {
		endian.PutUint(binary.BigEndian, dst, n)
		return nil
	}
	if k := t.Kind(); k.IsEnum() || k == btf.KindInt {
		if signed && int64(n) < 0 {
			return t.Spec.EncodeValue(t.ID, int64(n), dst)
		}
		return t.Spec.EncodeValue(t.ID, n, dst)
	}
	return vs.putFitting(dst, n, t)
}

// networkBits returns the width of a number in network byte order (__be16, __be32, __be64), 0 for
// other types.
func networkBits(t Type) uint32 {
	if t.Spec == nil || t.Ptr > 0 || t.Elems > 0 {
		return 0
	}
	return t.Spec.NetworkBits(t.ID)
}

func (vs *Values) putFitting(dst []byte, n uint64, t Type) error {
	switch len(dst) {
	case 1, 2, 4:
		if n>>(8*len(dst)) != 0 && int64(n)>>(8*len(dst)-1) != -1 {
			return fmt.Errorf("%d does not fit %s", n, t)
		}
	case 8:
	default:
		return fmt.Errorf("a number does not fit %s", t)
	}
	vs.PutUint(dst, n)
	return nil
}

// encodeField writes v over the bytes of a packet field: a number, or text in the notation of
// packets.
func (vs *Values) encodeField(v *Value, f packet.Field, data []byte) error {
	if v.IsText {
		raw, err := f.Parse(v.Text)
		if err != nil {
			return err
		}
		f.PutRaw(data, raw)
		return nil
	}
	n, _, err := vs.AsInt(v)
	if err != nil {
		return err
	}
	switch {
	case f.Bits > 64 || len(data) > 8:
		return fmt.Errorf("%s takes a string, as in %q", f.Path(), f.Text(data))
	case f.Bits < 64 && n>>f.Bits != 0:
		return fmt.Errorf("%d does not fit into the %d bits of %s", int64(n), f.Bits, f.Path())
	}
	f.Put(data, n)
	return nil
}
