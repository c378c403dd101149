package btffile

import "encoding/binary"

// lz4BlockSize is the maximum decompressed size of a block of the legacy format.
const lz4BlockSize = 8 << 20

// unlz4 decompresses a stream of the legacy LZ4 frame format, which the kernel uses: the magic
// number, then blocks, each after its compressed size. It returns the data up to the end of the
// stream or the first bytes that are not a block.
func unlz4(b []byte) []byte {
	var out []byte
	for b = b[4:]; len(b) > 4; {
		n := binary.LittleEndian.Uint32(b)
		b = b[4:]
		if n == 0 || uint64(n) > uint64(len(b)) {
			break
		}
		var ok bool
		if out, ok = lz4Block(out, b[:n]); !ok {
			break
		}
		b = b[n:]
	}
	return out
}

// lz4Block appends one decompressed block to out. Matches refer to the same block only.
func lz4Block(out, b []byte) ([]byte, bool) {
	start := len(out)
	length := func(nibble int) (int, bool) {
		if nibble < 15 {
			return nibble, true
		}
		for len(b) > 0 {
			c := b[0]
			b = b[1:]
			if nibble += int(c); nibble > lz4BlockSize {
				return 0, false
			}
			if c != 255 {
				return nibble, true
			}
		}
		return 0, false
	}
	for len(b) > 0 {
		token := int(b[0])
		b = b[1:]
		n, ok := length(token >> 4)
		if !ok || n > len(b) {
			return out, false
		}
		out, b = append(out, b[:n]...), b[n:]
		if len(b) == 0 {
			return out, true // the last sequence is literals only
		}
		if len(b) < 2 {
			return out, false
		}
		back := int(binary.LittleEndian.Uint16(b))
		b = b[2:]
		n, ok = length(token & 15)
		if !ok || back == 0 || back > len(out)-start || len(out)-start+n+4 > lz4BlockSize {
			return out, false
		}
		for n += 4; n > 0; n-- {
			out = append(out, out[len(out)-back])
		}
	}
	return out, true
}
