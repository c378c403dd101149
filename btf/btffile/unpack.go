package btffile

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"debug/elf"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"github.com/bpfrun/bpfrun/btf"
)

const (
	// maxUnpacked limits decompressed bytes; a vmlinux with debug information has fewer.
	maxUnpacked = 1 << 30
	// tarHeader is the size in bytes of a file's header in a tar archive.
	tarHeader = 512
	// maxLayers limits nested containers.
	maxLayers = 4
	// maxWindow limits a decompressor's window in bytes, which the file chooses. xz -9 uses 64 MiB,
	// zstd --ultra --long 128 MiB.
	maxWindow = 128 << 20
	// chunkSize is the number of decompressed bytes read at a time.
	chunkSize = 4 << 20
)

var (
	magicXZ   = []byte("\xfd7zXZ\x00")
	magicGzip = []byte("\x1f\x8b")
	magicZstd = []byte("\x28\xb5\x2f\xfd")
	magicTar  = []byte("ustar")
)

// content is the innermost content: an ELF file, or in raw anything else, BTF or not.
type content struct {
	raw []byte
	elf io.ReaderAt
	len int64 // size of the ELF file
}

// unpack removes compression and archives, detected by content, until it finds BTF or ELF. It
// checks the first bytes before it decompresses the rest: other data is truncated after them.
func unpack(data []byte) (content, error) {
	if isELF(data) {
		return content{elf: bytes.NewReader(data), len: int64(len(data))}, nil
	}
	if isImage(data) && !isTar(data) {
		raw, err := KernelBTF(data)
		return content{raw: raw}, err
	}
	if !isContainer(data) {
		return content{raw: data}, nil
	}
	return unpackFrom(bufio.NewReaderSize(bytes.NewReader(data), tarHeader))
}

// unpackFrom is unpack for a reader. Other data than BTF, ELF and containers is truncated after the
// first bytes.
func unpackFrom(r *bufio.Reader) (content, error) {
	layers := []io.Reader{r}
	for n := 0; ; n++ {
		start, err := r.Peek(tarHeader)
		if err != nil && !errors.Is(err, io.EOF) {
			return content{}, unpackError(err)
		}
		if _, isBTF := btf.IsBTF(start); isBTF {
			raw, err := readToEnd(layers, btf.MaxRaw)
			return content{raw: raw.join()}, err
		}
		switch {
		case isELF(start):
			file, err := readToEnd(layers, maxUnpacked)
			return content{elf: file, len: file.len}, err
		case isImage(start) && !isTar(start):
			image, err := readToEnd(layers, maxImage)
			if err != nil {
				return content{}, err
			}
			raw, err := KernelBTF(image.join())
			return content{raw: raw}, err
		case !isContainer(start):
			return content{raw: bytes.Clone(start)}, nil
		case n == maxLayers:
			return content{}, failure(btf.ErrTooLarge, "more than %d layers of compression", maxLayers)
		}
		inner, done, err := openLayer(r)
		if err != nil {
			return content{}, err
		}
		defer done()
		r = bufio.NewReaderSize(inner, 64<<10)
		layers = append(layers, r)
	}
}

// spec parses what was unpacked.
func (c content) spec(name string, base *btf.Spec) (*btf.Spec, error) {
	if c.elf != nil {
		return btf.LoadELF(name, c.elf, c.len, base)
	}
	return btf.LoadBytes(name, c.raw, base)
}

func isELF(data []byte) bool { return bytes.HasPrefix(data, []byte(elf.ELFMAG)) }

func isTar(data []byte) bool {
	return len(data) >= tarHeader && bytes.Equal(data[257:262], magicTar)
}

// isContainer reports whether data is compressed, an archive, a package or a kernel image.
func isContainer(data []byte) bool {
	return bytes.HasPrefix(data, magicXZ) || bytes.HasPrefix(data, magicGzip) || bytes.HasPrefix(data, magicZstd) || isTar(data) || isDeb(data) || isImage(data)
}

// openLayer opens one container. done releases its resources.
func openLayer(r *bufio.Reader) (inner io.Reader, done func(), err error) {
	start, err := r.Peek(tarHeader)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, unpackError(err)
	}
	done = func() {}
	what := ""
	switch {
	case bytes.HasPrefix(start, magicXZ):
		what = "xz"
		if n := xzDictionary(start); n > maxWindow {
			return nil, nil, failure(btf.ErrTooLarge, "xz: a dictionary of %d bytes exceeds the limit of %d", n, maxWindow)
		}
		inner, err = xz.NewReader(r)
	case bytes.HasPrefix(start, magicGzip):
		what = "gzip"
		inner, err = gzip.NewReader(r)
	case bytes.HasPrefix(start, magicZstd):
		what = "zstd"
		var z *zstd.Decoder
		if z, err = zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow)); err == nil {
			inner, done = z, z.Close
		}
	case isDeb(start):
		return undeb(r)
	default:
		return untar(r)
	}
	if err != nil {
		return nil, nil, failure(btf.ErrTruncated, "%s: %v", what, err)
	}
	return &bounded{r: inner, what: what, left: maxUnpacked}, done, nil
}

// xzDictionary returns the dictionary size in bytes of an xz stream's first block (the .xz file
// format, sections 3.1 and 5.3.1), 0 when the block has filters other than LZMA2 or is truncated.
func xzDictionary(start []byte) int64 {
	const streamHeader, sizesPresent, lzma2 = 12, 0xc0, 0x21
	if len(start) < streamHeader+2 {
		return 0
	}
	flags, filter := start[streamHeader+1], start[streamHeader+2:]
	for f := flags & sizesPresent; f != 0; f &= f - 1 { // sizes of the block, variable-length integers
		for len(filter) > 0 && filter[0]&0x80 != 0 {
			filter = filter[1:]
		}
		filter = filter[min(1, len(filter)):]
	}
	if len(filter) < 3 || filter[0] != lzma2 {
		return 0
	}
	return dictionarySize(filter[2])
}

// dictionarySize decodes LZMA2's property byte to a dictionary size in bytes (section 5.3.1).
func dictionarySize(bits byte) int64 { return (2 | int64(bits&1)) << (min(bits, 40)/2 + 11) }

// bounded reads at most left bytes; its errors name what was unpacked.
type bounded struct {
	r    io.Reader
	what string
	left int64
	err  error // the first error, which decompressors do not repeat
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (n int, err error) {
	if b.err == nil {
		n, b.err = b.read(p)
	}
	return n, b.err
}

func (b *bounded) read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, failure(btf.ErrTooLarge, "%s: more than %d bytes", b.what, int64(maxUnpacked))
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	switch {
	case err == nil || errors.Is(err, io.EOF) || errors.Is(err, btf.ErrTooLarge) || errors.Is(err, btf.ErrTruncated):
		return n, err
	case errors.Is(err, zstd.ErrDecoderSizeExceeded), errors.Is(err, zstd.ErrWindowSizeExceeded):
		return n, failure(btf.ErrTooLarge, "%s: %v", b.what, err)
	}
	return n, failure(btf.ErrTruncated, "%s: %v after %d bytes", b.what, err, maxUnpacked-b.left)
}

// unpackError wraps an error of a decompressor in the error kind it means.
func unpackError(err error) error {
	if errors.Is(err, btf.ErrTooLarge) || errors.Is(err, btf.ErrTruncated) {
		return err
	}
	return failure(btf.ErrTruncated, "%v", err)
}

// untar finds the first file of an archive that looks like BTF, ELF or a compressed file.
func untar(r io.Reader) (io.Reader, func(), error) {
	t := tar.NewReader(r)
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil, nil, failure(btf.ErrNoBTF, "the archive contains no file with BTF")
		}
		if err != nil {
			return nil, nil, unpackError(fmt.Errorf("tar: %w", err))
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		body := bufio.NewReaderSize(t, tarHeader)
		start, err := body.Peek(tarHeader)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, nil, unpackError(fmt.Errorf("tar: %s: %w", h.Name, err))
		}
		_, isBTF := btf.IsBTF(start)
		if isBTF || isELF(start) || isContainer(start) && !isTar(start) {
			return &bounded{r: body, what: "tar: " + h.Name, left: maxUnpacked}, func() {}, nil
		}
	}
}

// chunks hold bytes in pieces of chunkSize. Unlike a growing buffer, reading them needs no extra
// memory.
type chunks struct {
	list [][]byte
	len  int64
}

// readToEnd reads the innermost layer and then the rest of the others, so that they verify their
// checksums.
func readToEnd(layers []io.Reader, limit int64) (*chunks, error) {
	c, err := readChunks(layers[len(layers)-1], limit)
	for i := len(layers) - 2; i >= 0 && err == nil; i-- {
		_, err = io.Copy(io.Discard, layers[i])
	}
	return c, err
}

// readChunks reads to the end, and at most limit bytes.
func readChunks(r io.Reader, limit int64) (*chunks, error) {
	c := &chunks{}
	for {
		part := make([]byte, chunkSize)
		n, err := io.ReadFull(r, part)
		if n > 0 {
			c.list = append(c.list, part[:n])
			c.len += int64(n)
		}
		switch {
		case c.len > limit:
			return &chunks{}, failure(btf.ErrTooLarge, "more than %d bytes after decompression", limit)
		case err == io.EOF, err == io.ErrUnexpectedEOF: // of ReadFull itself; those of decompressors are wrapped
			return c, nil
		case err != nil:
			return &chunks{}, unpackError(err)
		}
	}
}

// join returns the bytes as one slice.
func (c *chunks) join() []byte {
	if len(c.list) == 1 {
		return c.list[0]
	}
	return bytes.Join(c.list, nil)
}

// ReadAt implements io.ReaderAt.
func (c *chunks) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, errors.New("btffile: negative offset")
	}
	for n < len(p) {
		if off >= c.len {
			return n, io.EOF
		}
		m := copy(p[n:], c.list[off/chunkSize][off%chunkSize:])
		n, off = n+m, off+int64(m)
	}
	return n, nil
}
