package btf

import "encoding/binary"

// layoutHeader is the size of a header with the fields for the layout section (struct btf_header of
// Linux 7.2).
const layoutHeader = 32

// WithLayout returns a copy of raw BTF with a layout section between types and strings, as libbpf
// 1.8 writes it: the sizes of every kind of type, so that readers can skip kinds they do not know.
// Linux accepts it from 7.2 on. BTF whose header is already longer is returned unchanged.
func WithLayout(raw []byte) ([]byte, error) {
	h, err := parseHeader(raw)
	if err != nil {
		return nil, err
	}
	if h.len != headerSize {
		return raw, nil
	}
	put := h.order.(binary.AppendByteOrder)
	const size = uint32(kindCount) * 4
	out := make([]byte, 0, layoutHeader+int(h.typeLen+h.strLen+size))
	out = append(out, raw[:8]...)
	h.order.PutUint32(out[4:8], layoutHeader)
	for _, v := range []uint32{0, h.typeLen, h.typeLen + size, h.strLen, h.typeLen, size} {
		out = put.AppendUint32(out, v)
	}
	out = append(out, raw[h.typeOff:h.typeOff+h.typeLen]...)
	for k := range kindCount {
		fixed, entry := k.Body()
		out = append(out, fixed, entry, 0, 0)
	}
	return append(out, raw[h.strOff:h.strOff+h.strLen]...), nil
}
