package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"os/exec"

	"github.com/klauspost/compress/zstd"
)

var errNoBTF = errors.New("no BTF found")

// minKernelBTF is below the size of any kernel's BTF and above anything else that looks like a header by chance.
const minKernelBTF = 1 << 20

// kernelBTF returns the raw BTF of a kernel image. The image may be wrapped: a decompressor in front of a gzip, xz,
// zstd or LZ4 stream. All streams whose magic occurs are tried.
func kernelBTF(image []byte) ([]byte, error) {
	if raw := findBTF(image); raw != nil {
		return raw, nil
	}
	for _, f := range []struct {
		magic  []byte
		expand func([]byte) []byte
	}{
		{[]byte{0x28, 0xb5, 0x2f, 0xfd}, unzstd},
		{[]byte{0xfd, '7', 'z', 'X', 'Z', 0}, unxz},
		{[]byte{0x1f, 0x8b, 0x08}, gunzip},
		{[]byte{0x02, 0x21, 0x4c, 0x18}, unlz4},
	} {
		for at := 0; ; {
			i := bytes.Index(image[at:], f.magic)
			if i < 0 {
				break
			}
			at += i
			if raw := findBTF(f.expand(image[at:])); raw != nil {
				return raw, nil
			}
			at++
		}
	}
	return nil, errNoBTF
}

// findBTF looks for a BTF header (magic 0xeb9f, version 1, flags 0, header length 24) and returns header, types and
// strings, in the byte order they are in.
func findBTF(b []byte) []byte {
	for _, bo := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		head := make([]byte, 8)
		bo.PutUint16(head, 0xeb9f)
		head[2] = 1
		bo.PutUint32(head[4:], 24)
		for at := 0; ; at++ {
			i := bytes.Index(b[at:], head)
			if i < 0 {
				break
			}
			at += i
			if raw := cutBTF(b[at:], bo); raw != nil {
				return raw
			}
		}
	}
	return nil
}

func cutBTF(b []byte, bo binary.ByteOrder) []byte {
	if len(b) < 24 {
		return nil
	}
	typeOff, typeLen := uint64(bo.Uint32(b[8:])), uint64(bo.Uint32(b[12:]))
	strOff, strLen := uint64(bo.Uint32(b[16:])), uint64(bo.Uint32(b[20:]))
	end := 24 + strOff + strLen
	if typeOff != 0 || strOff != typeLen || end > uint64(len(b)) || end < minKernelBTF || strLen == 0 {
		return nil
	}
	// The string section begins and ends with a NUL.
	if b[24+strOff] != 0 || b[end-1] != 0 {
		return nil
	}
	return b[:end]
}

// The streams are followed by other bytes, so every expander keeps what it got before an error.

func gunzip(b []byte) []byte {
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil
	}
	r.Multistream(false)
	out, _ := io.ReadAll(r)
	return out
}

func unzstd(b []byte) []byte {
	r, err := zstd.NewReader(bytes.NewReader(b), zstd.WithDecoderMaxWindow(1<<30))
	if err != nil {
		return nil
	}
	defer r.Close()
	out, _ := io.ReadAll(r)
	return out
}

// unxz uses the xz command: kernels are compressed with a filter for machine code (BCJ).
func unxz(b []byte) []byte {
	cmd := exec.Command("xz", "-dc", "--single-stream")
	cmd.Stdin = bytes.NewReader(b)
	out, _ := cmd.Output()
	return out
}
