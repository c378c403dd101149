package btf

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/elf"
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

const (
	// maxUnpacked bounds decompressed data: a vmlinux with debug information
	// has less.
	maxUnpacked = 1 << 30
	// tarHeader is the size of the header of a file in an archive.
	tarHeader = 512
	// maxLayers bounds containers inside of containers.
	maxLayers = 4
)

var (
	magicXZ   = []byte("\xfd7zXZ\x00")
	magicGzip = []byte("\x1f\x8b")
	magicZstd = []byte("\x28\xb5\x2f\xfd")
	magicTar  = []byte("ustar")
)

// unpack removes compression and archives, by content, until BTF or ELF shows.
func unpack(data []byte) ([]byte, error) {
	for range maxLayers {
		var err error
		switch {
		case bytes.HasPrefix(data, magicXZ):
			data, err = inflate("xz", data, func(r io.Reader) (io.Reader, error) { return xz.NewReader(r) })
		case bytes.HasPrefix(data, magicGzip):
			data, err = inflate("gzip", data, func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) })
		case bytes.HasPrefix(data, magicZstd):
			data, err = unzstd(data)
		case isTar(data):
			data, err = untar(data)
		default:
			return data, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, headerError(ErrTooLarge, "more than %d layers of compression", maxLayers)
}

func isTar(data []byte) bool {
	return len(data) >= tarHeader && bytes.Equal(data[257:262], magicTar)
}

// isContainer reports whether data is compressed or an archive.
func isContainer(data []byte) bool {
	return bytes.HasPrefix(data, magicXZ) || bytes.HasPrefix(data, magicGzip) || bytes.HasPrefix(data, magicZstd) || isTar(data)
}

func inflate(what string, data []byte, open func(io.Reader) (io.Reader, error)) ([]byte, error) {
	r, err := open(bytes.NewReader(data))
	if err != nil {
		return nil, headerError(ErrTruncated, "%s: %v", what, err)
	}
	// Kernel BTF compresses to about a quarter.
	var out bytes.Buffer
	out.Grow(min(5*len(data), 64<<20))
	n, err := out.ReadFrom(io.LimitReader(r, maxUnpacked+1))
	if err != nil {
		return nil, headerError(ErrTruncated, "%s: %v after %d bytes", what, err, n)
	}
	if n > maxUnpacked {
		return nil, headerError(ErrTooLarge, "%s: more than %d bytes", what, int64(maxUnpacked))
	}
	return out.Bytes(), nil
}

func unzstd(data []byte) ([]byte, error) {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxUnpacked))
	if err != nil {
		return nil, headerError(ErrHeader, "zstd: %v", err)
	}
	defer d.Close()
	out, err := d.DecodeAll(data, nil)
	switch {
	case errors.Is(err, zstd.ErrDecoderSizeExceeded), errors.Is(err, zstd.ErrWindowSizeExceeded):
		return nil, headerError(ErrTooLarge, "zstd: %v", err)
	case err != nil:
		return nil, headerError(ErrTruncated, "zstd: %v", err)
	}
	return out, nil
}

// untar returns the first file of an archive that looks like BTF, ELF or
// something compressed.
func untar(data []byte) ([]byte, error) {
	t := tar.NewReader(bytes.NewReader(data))
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil, headerError(ErrNoBTF, "the archive holds no file with BTF")
		}
		if err != nil {
			return nil, headerError(ErrTruncated, "tar: %v", err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		body, err := io.ReadAll(io.LimitReader(t, int64(len(data))))
		if err != nil {
			return nil, headerError(ErrTruncated, "tar: %s: %v", h.Name, err)
		}
		_, isBTF := byteOrderOf(body)
		if isBTF || bytes.HasPrefix(body, []byte(elf.ELFMAG)) || bytes.HasPrefix(body, magicXZ) ||
			bytes.HasPrefix(body, magicGzip) || bytes.HasPrefix(body, magicZstd) {
			return body, nil
		}
	}
}
