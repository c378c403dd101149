package packet

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
)

// Writer writes packets to a file: pcapng, or pcap when the name ends in .pcap or .cap.
type Writer struct {
	file *os.File
	buf  *bufio.Writer
	old  *pcapgo.Writer // nil: pcapng
	ng   *pcapgo.NgWriter
}

// Verdict is what became of a packet. Only pcapng keeps it.
type Verdict struct {
	// Comment is shown with the packet: "XDP_DROP".
	Comment string
	// Kind says whose return value Value is.
	Kind  VerdictKind
	Value uint32
}

// VerdictKind is a kind of program whose return value pcapng has an option for.
type VerdictKind uint8

// The kinds of verdicts.
const (
	NoVerdict VerdictKind = iota
	TCVerdict
	XDPVerdict
)

// Create makes a file of packets. It must be closed for the file to be complete.
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

// isOldPcap reports whether the name of a file asks for the old format.
func isOldPcap(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".pcap", ".cap", ".dmp":
		return true
	}
	return false
}

// NewWriter writes packets to a stream, in the old format or as pcapng.
func NewWriter(out io.Writer, oldPcap bool) (*Writer, error) {
	w := &Writer{buf: bufio.NewWriterSize(out, bufferSize)}
	if oldPcap {
		w.old = pcapgo.NewWriterNanos(w.buf)
		return w, w.old.WriteFileHeader(MaxSize, layers.LinkTypeEthernet)
	}
	var err error
	w.ng, err = pcapgo.NewNgWriterInterface(w.buf, pcapgo.NgInterface{Name: "bpfrun", LinkType: layers.LinkTypeEthernet, TimestampResolution: 9},
		pcapgo.NgWriterOptions{SectionInfo: pcapgo.NgSectionInfo{Application: "bpfrun"}})
	return w, err
}

// Write writes a packet with what became of it. Comments the packet came with are kept before that.
func (w *Writer) Write(c Captured, data []byte, v Verdict) error {
	if c.Time.IsZero() {
		c.Time = time.Unix(0, 0)
	}
	ci := gopacket.CaptureInfo{Timestamp: c.Time, CaptureLength: len(data), Length: max(len(data), len(data)+c.Wire-len(c.Data))}
	if w.old != nil {
		return w.old.WritePacket(ci, data)
	}
	var opt pcapgo.NgPacketOptions
	opt.Comments = c.Comments
	if v.Comment != "" {
		opt.Comments = append(opt.Comments[:len(opt.Comments):len(opt.Comments)], v.Comment)
	}
	if v.Kind != NoVerdict {
		// A native-endian number of 64 bits; the files are little endian.
		value := [8]byte{byte(v.Value), byte(v.Value >> 8), byte(v.Value >> 16), byte(v.Value >> 24)}
		kind := pcapgo.NgEpbVerdictTypeLinuxeBPFTC
		if v.Kind == XDPVerdict {
			kind = pcapgo.NgEpbVerdictTypeLinuxeBPFXDP
		}
		opt.Verdicts = []pcapgo.NgEpbVerdict{{Type: kind, Data: value[:]}}
	}
	return w.ng.WritePacketWithOptions(ci, data, opt)
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
