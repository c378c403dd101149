package btf

import (
	"encoding/binary"
)

const (
	magic      = 0xeb9f
	headerSize = 24
	typeSize   = 12
	// MaxRaw bounds raw BTF; string offsets and type offsets are 32 bit, and
	// the largest kernels have less than 10 MB.
	MaxRaw = 256 << 20
)

// header is struct btf_header with absolute offsets.
type header struct {
	order            binary.ByteOrder
	flags            uint8
	len              uint32
	typeOff, typeLen uint32
	strOff, strLen   uint32
}

// byteOrderOf derives the byte order from the magic.
func byteOrderOf(raw []byte) (binary.ByteOrder, bool) {
	if len(raw) < 2 {
		return nil, false
	}
	switch uint16(raw[0]) | uint16(raw[1])<<8 {
	case magic:
		return binary.LittleEndian, true
	case magic>>8 | magic&0xff<<8:
		return binary.BigEndian, true
	}
	return nil, false
}

// parseHeader checks what libbpf's btf_parse_hdr checks: sections lie within the data, types are
// aligned, nothing overlaps. The header may be longer than the known one.
func parseHeader(raw []byte) (header, error) {
	var h header
	if len(raw) > MaxRaw {
		return h, headerError(ErrTooLarge, "%d bytes of BTF exceed the limit of %d", len(raw), MaxRaw)
	}
	bo, ok := byteOrderOf(raw)
	if !ok {
		if len(raw) < 2 {
			return h, headerError(ErrTruncated, "%d bytes, a header has %d", len(raw), headerSize)
		}
		return h, headerError(ErrNotBTF, "starts with %02x %02x, want 9f eb or eb 9f", raw[0], raw[1])
	}
	if len(raw) < headerSize {
		return h, headerError(ErrTruncated, "%d bytes, a header has %d", len(raw), headerSize)
	}
	if raw[2] != 1 {
		return h, headerError(ErrVersion, "version %d, want 1", raw[2])
	}
	h.order, h.flags = bo, raw[3]
	h.len = bo.Uint32(raw[4:])
	if h.len < headerSize {
		return h, headerError(ErrHeader, "header length %d is less than %d", h.len, headerSize)
	}
	if uint64(h.len) > uint64(len(raw)) {
		return h, headerError(ErrTruncated, "header length %d of %d bytes", h.len, len(raw))
	}
	typeOff, typeLen := uint64(bo.Uint32(raw[8:])), uint64(bo.Uint32(raw[12:]))
	strOff, strLen := uint64(bo.Uint32(raw[16:])), uint64(bo.Uint32(raw[20:]))
	avail := uint64(len(raw)) - uint64(h.len)
	switch {
	case typeOff%4 != 0:
		return h, headerError(ErrHeader, "type section at offset %d is not aligned to 4", typeOff)
	case typeOff+typeLen > avail:
		return h, headerError(ErrTruncated, "types need %d bytes after the header, but there are only %d", typeOff+typeLen, avail)
	case strOff+strLen > avail:
		return h, headerError(ErrTruncated, "strings need %d bytes after the header, but there are only %d", strOff+strLen, avail)
	case typeLen > 0 && strLen > 0 && typeOff < strOff+strLen && strOff < typeOff+typeLen:
		return h, headerError(ErrHeader, "types %d+%d and strings %d+%d overlap", typeOff, typeLen, strOff, strLen)
	}
	h.typeOff, h.typeLen = h.len+uint32(typeOff), uint32(typeLen)
	h.strOff, h.strLen = h.len+uint32(strOff), uint32(strLen)
	return h, nil
}
