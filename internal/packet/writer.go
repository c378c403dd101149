package packet

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Writer writes packets to a file: pcapng, or pcap if the name ends in .pcap or .cap.
type Writer struct {
	file  *os.File
	buf   *bufio.Writer
	old   bool
	block []byte
}

// Verdict is the outcome for a packet. Only pcapng can store it.
type Verdict struct {
	// Comment is displayed with the packet: "XDP_DROP".
	Comment string
	// Kind identifies the kind of program whose return value is Value.
	Kind  VerdictKind
	Value uint32
}

// VerdictKind is a kind of program whose return value has an option in pcapng.
type VerdictKind uint8

// The kinds of verdicts, with their numbers in the option.
const (
	NoVerdict VerdictKind = iota
	TCVerdict
	XDPVerdict
)

// Create creates a capture file. It is complete only after Close.
func Create(path string) (*Writer, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	w, err := NewWriter(f, isOldPcap(path))
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	w.file = f
	return w, nil
}

// isOldPcap reports whether a file's name asks for the pcap format.
func isOldPcap(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".pcap", ".cap", ".dmp":
		return true
	}
	return false
}

// NewWriter writes packets to a stream, as pcap if oldPcap is set, else as pcapng.
func NewWriter(out io.Writer, oldPcap bool) (*Writer, error) {
	w := &Writer{buf: bufio.NewWriterSize(out, bufferSize), old: oldPcap}
	header := ngHeader()
	if oldPcap {
		header = recordFileHeader()
	}
	_, err := w.buf.Write(header)
	return w, err
}

// Write writes a packet with its verdict. Comments that the packet already has are kept before the
// verdict's.
func (w *Writer) Write(c Captured, data []byte, v Verdict) error {
	if c.Time.IsZero() {
		c.Time = time.Unix(0, 0)
	}
	wire := max(len(data), len(data)+c.Wire-len(c.Data))
	if w.old {
		w.block = appendRecord(w.block[:0], c.Time, len(data), wire)
		if _, err := w.buf.Write(w.block); err != nil {
			return err
		}
		_, err := w.buf.Write(data)
		return err
	}
	comments := c.Comments
	if v.Comment != "" {
		comments = append(comments[:len(comments):len(comments)], v.Comment)
	}
	w.block = appendPacket(w.block, c.Time, data, wire, comments, v)
	_, err := w.buf.Write(w.block)
	return err
}

// recordFileHeader returns the header of a pcap file of Ethernet packets with time stamps in
// nanoseconds.
func recordFileHeader() []byte {
	le := binary.LittleEndian
	b := []byte{0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0}
	b = append(b, make([]byte, 8)...) // time zone and accuracy, always 0
	b = le.AppendUint32(b, MaxSize)
	return le.AppendUint32(b, uint32(linkEthernet))
}

func appendRecord(b []byte, at time.Time, length, wire int) []byte {
	le := binary.LittleEndian
	b = le.AppendUint32(b, uint32(at.Unix()))
	b = le.AppendUint32(b, uint32(at.Nanosecond()))
	b = le.AppendUint32(b, uint32(length))
	return le.AppendUint32(b, uint32(wire))
}

// Close completes and closes the file.
func (w *Writer) Close() error {
	err := w.buf.Flush()
	if w.file != nil {
		err = errors.Join(err, w.file.Close())
	}
	if err != nil {
		return fmt.Errorf("packets: %w", err)
	}
	return nil
}
