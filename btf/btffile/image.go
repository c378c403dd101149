package btffile

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/bpfrun/bpfrun/btf"
)

const (
	// minKernelBTF is smaller than any kernel's BTF and larger than data that looks like a header
	// by chance.
	minKernelBTF = 1 << 20
	// maxImage limits the bytes of kernel images, compressed and decompressed.
	maxImage = 512 << 20
	// maxStreams limits the candidate streams tried for each compression format; real images have a
	// few.
	maxStreams = 64
)

// isImage reports whether data begins like a bootable kernel image: for x86 (the boot sector
// signature at 510, Documentation/arch/x86/boot.rst), arm64 and riscv (the magic of their Image
// headers), arm (zImage), or EFI zboot.
func isImage(data []byte) bool {
	at := func(off int, magic string) bool {
		return len(data) >= off+len(magic) && string(data[off:off+len(magic)]) == magic
	}
	return at(0x1fe, "\x55\xaa") || at(56, "ARM\x64") || at(56, "RSC\x05") || at(0x24, "\x18\x28\x6f\x01") || at(0, "MZ") && at(4, "zimg")
}

// KernelBTF returns the raw BTF of a bootable kernel image: plain, or a decompressor followed by a
// gzip, xz, zstd or LZ4 stream. It tries every stream whose magic number occurs. The error is
// btf.ErrNoBTF: the kernel was built without BTF or is compressed in another format (bzip2, lzma,
// lzo).
func KernelBTF(image []byte) ([]byte, error) {
	if raw := findBTF(image); raw != nil {
		return raw, nil
	}
	for _, f := range []struct {
		magic  []byte
		expand func([]byte) []byte
	}{
		{magicZstd, unzstd},
		{magicXZ, unxz},
		{[]byte{0x1f, 0x8b, 0x08}, gunzip},
		{[]byte{0x02, 0x21, 0x4c, 0x18}, unlz4},
	} {
		for at, tries := 0, 0; tries < maxStreams; tries++ {
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
	return nil, failure(btf.ErrNoBTF, "no BTF in the kernel image: it was built without CONFIG_DEBUG_INFO_BTF, or its compression is not supported (gzip, xz, zstd and LZ4 are)")
}

// findBTF searches for a BTF header (magic 0xeb9f, version 1, flags 0, header length 24) and
// returns the raw BTF, in its own byte order.
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

// The streams are followed by other bytes, so every decompressor returns what it has when an error
// occurs.

func gunzip(b []byte) []byte {
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil
	}
	r.Multistream(false)
	out, _ := io.ReadAll(io.LimitReader(r, maxImage))
	return out
}

func unzstd(b []byte) []byte {
	r, err := zstd.NewReader(bytes.NewReader(b), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil
	}
	defer r.Close()
	out, _ := io.ReadAll(io.LimitReader(r, maxImage))
	return out
}
