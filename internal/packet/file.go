package packet

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/klauspost/compress/zstd"
)

// Captured is a packet read from a file.
type Captured struct {
	// Data begins with an Ethernet header. It is valid until the next packet is read.
	Data []byte
	// Number counts the packets of the file from 1.
	Number int
	Time   time.Time
	// Wire is the packet's original length in bytes, at least that of Data, which may be truncated.
	Wire     int
	Comments []string
}

// Reader reads the packets of a pcap or pcapng file one by one.
type Reader struct {
	name    string
	in      *meter
	buf     *bufio.Reader
	ng      *blocks  // set for a pcapng file
	old     *records // set for a pcap file
	number  int
	frame   []byte
	closers []func() error
	failed  error
}

// FileError reports an error in a capture file.
type FileError struct {
	Name string
	// Packet is the number of the packet that could not be read, from 1, or 0 for the file's
	// header.
	Packet int
	// Offset is the byte offset at which that packet, or data before it, begins; for a compressed
	// file, the offset in the decompressed data.
	Offset int64
	Why    string
	Err    error
}

// Error names the file, the packet and the offset.
func (e *FileError) Error() string {
	s := e.Name + ": "
	if e.Packet > 0 {
		s += fmt.Sprintf("packet %d, at byte %d: ", e.Packet, e.Offset)
	}
	return s + e.Why
}

// Unwrap returns Err.
func (e *FileError) Unwrap() error { return e.Err }

// meter counts the bytes read and refuses to exceed its limit.
type meter struct {
	r     io.Reader
	n     int64
	allow int64
}

var errTooMuch = errors.New("a block of more than 16 MiB")

// maxRecord limits the bytes read between two packets.
const maxRecord = 16 << 20

func (m *meter) Read(p []byte) (int, error) {
	if m.allow <= 0 {
		return 0, errTooMuch
	}
	n, err := m.r.Read(p[:min(int64(len(p)), m.allow)])
	m.n += int64(n)
	m.allow -= int64(n)
	return n, err
}

// Open opens a pcap or pcapng file, which may be compressed with gzip or zstd. The error is a
// [*FileError] or one of the file system.
func Open(path string) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		f.Close()
		return nil, &FileError{Name: path, Why: "a directory, not a capture file"}
	}
	r, err := NewReader(f, path)
	if err != nil {
		f.Close()
		return nil, err
	}
	r.closers = append(r.closers, f.Close)
	return r, nil
}

// Magic numbers of files.
var (
	gzipMagic = [4]byte{0x1f, 0x8b}
	zstdMagic = [4]byte{0x28, 0xb5, 0x2f, 0xfd}
	ngMagic   = [4]byte{0x0a, 0x0d, 0x0d, 0x0a}
)

var pcapMagics = [...][4]byte{{0xd4, 0xc3, 0xb2, 0xa1}, {0xa1, 0xb2, 0xc3, 0xd4}, {0x4d, 0x3c, 0xb2, 0xa1}, {0xa1, 0xb2, 0x3c, 0x4d}}

// IsCapture reports whether [NewReader] can read a file that begins with these bytes.
func IsCapture(head []byte) bool {
	var m [4]byte
	if copy(m[:], head) < 4 {
		return false
	}
	if m == ngMagic || m == zstdMagic || m[0] == gzipMagic[0] && m[1] == gzipMagic[1] {
		return true
	}
	for _, x := range pcapMagics {
		if m == x {
			return true
		}
	}
	return false
}

const bufferSize = 64 << 10

// NewReader reads packets from a stream; name is used in errors.
func NewReader(in io.Reader, name string) (*Reader, error) {
	r := &Reader{name: name}
	plain := bufio.NewReaderSize(in, bufferSize)
	head, err := plain.Peek(4)
	if err != nil {
		return nil, r.wrong(0, err, "%d bytes: not a pcap or pcapng file", len(head))
	}
	var unpacked io.Reader = plain
	switch {
	case head[0] == gzipMagic[0] && head[1] == gzipMagic[1]:
		z, err := gzip.NewReader(plain)
		if err != nil {
			return nil, r.wrong(0, err, "gzip: %v", err)
		}
		unpacked = z
	case [4]byte(head) == zstdMagic:
		z, err := zstd.NewReader(plain, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20))
		if err != nil {
			return nil, r.wrong(0, err, "zstd: %v", err)
		}
		r.closers = append(r.closers, func() error { z.Close(); return nil })
		unpacked = z
	}
	r.in = &meter{r: unpacked, allow: maxRecord}
	r.buf = bufio.NewReaderSize(r.in, bufferSize)
	if err := r.begin(); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// begin reads the file's header.
func (r *Reader) begin() error {
	head, err := r.buf.Peek(4)
	if err != nil && err != io.EOF {
		return r.wrong(0, err, "not a pcap or pcapng file: %s", cause(err))
	}
	if err != nil {
		return r.wrong(0, err, "%d bytes: not a pcap or pcapng file", len(head))
	}
	if [4]byte(head) == ngMagic {
		r.ng = &blocks{}
		if _, _, err := r.ng.block(r.buf); err != nil { // the section's header
			return r.wrong(0, err, "pcapng: %s", cause(err))
		}
		return nil
	}
	if !IsCapture(head) {
		return r.wrong(0, nil, "begins with % x: not a pcap or pcapng file", head)
	}
	old, err := newRecords(r.buf)
	if err != nil {
		return r.wrong(0, err, "pcap: %s", cause(err))
	}
	if why := linkRefused(old.link); why != "" {
		return r.wrong(0, nil, "%s", why)
	}
	r.old = old
	return nil
}

// offset returns the offset at which reading continues.
func (r *Reader) offset() int64 {
	at := r.in.n - int64(r.buf.Buffered())
	if r.old != nil {
		return at + int64(r.old.used)
	}
	return at + int64(r.ng.used)
}

func (r *Reader) wrong(offset int64, err error, format string, args ...any) error {
	return &FileError{Name: r.name, Packet: r.number, Offset: offset, Why: fmt.Sprintf(format, args...), Err: err}
}

// cause describes a format error.
func cause(err error) string {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return "the file is truncated"
	}
	return err.Error()
}

// Next reads the next packet. It returns io.EOF at the end of the file, and a [*FileError] if the
// data is not a packet or the file is truncated. After an error, reading cannot continue.
func (r *Reader) Next() (c Captured, err error) {
	if err = r.Read(&c); err != nil {
		return Captured{}, err
	}
	return c, nil
}

// Read is Next into c.
func (r *Reader) Read(c *Captured) error {
	if r.failed == nil {
		if c.Comments != nil {
			c.Comments = nil
		}
		r.failed = r.next(c)
	}
	return r.failed
}

func (r *Reader) next(c *Captured) error {
	r.in.allow = maxRecord
	var link linkType
	var err error
	from := r.offset()
	if r.old != nil {
		link, err = r.old.link, r.old.next(r.buf, c)
	} else {
		link, err = r.ng.next(r.buf, c)
	}
	if err == io.EOF {
		return io.EOF
	}
	r.number++
	c.Number = r.number
	if err != nil {
		return r.wrong(from, err, "%s", cause(err))
	}
	if len(c.Data) > MaxSize {
		return r.wrong(from, nil, "%d bytes, at most %d", len(c.Data), MaxSize)
	}
	if link != linkEthernet {
		frame, why := r.toEthernet(link, c.Data)
		if why != "" {
			return r.wrong(from, nil, "%s", why)
		}
		c.Wire += len(frame) - len(c.Data)
		c.Data = frame
	}
	c.Wire = max(c.Wire, len(c.Data))
	return nil
}

// Close closes the file.
func (r *Reader) Close() error {
	var err error
	for _, c := range r.closers {
		err = errors.Join(err, c())
	}
	r.closers = nil
	return err
}

// ReadPacket reads packet number n of a file, counted from 1.
func ReadPacket(path string, n int) ([]byte, error) {
	r, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for {
		c, err := r.Next()
		if err == io.EOF {
			return nil, &FileError{Name: path, Why: fmt.Sprintf("has no packet %d: it has %d", n, r.number)}
		}
		if err != nil {
			return nil, err
		}
		if c.Number == n {
			return append([]byte{}, c.Data...), nil
		}
	}
}
