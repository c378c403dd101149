package record

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bpfrun/bpfrun/internal/packet"
)

// Formats are the names of what can be read.
var Formats = []string{"strace", "perf", "ftrace", "bpftrace", "pcap"}

// parser turns lines of text into events. line reports whether a line belongs to an event.
type parser interface {
	line(text string) (bool, error)
}

// parserOf returns the parser of a text format.
func parserOf(format string, r *Recorder) parser {
	switch format {
	case "strace":
		return newStrace(r)
	case "perf", "ftrace":
		return newFtrace(r)
	case "bpftrace":
		return &bpftrace{r}
	}
	return nil
}

// Read reads all events of an input. format is one of [Formats], or empty to find out.
func Read(in io.Reader, format string, r *Recorder) (string, error) {
	if format != "" && !slices.Contains(Formats, format) {
		return "", fmt.Errorf("%w: no format %q: want %s", ErrInput, format, strings.Join(Formats, ", "))
	}
	b := bufio.NewReaderSize(in, 64<<10)
	head, err := b.Peek(4096)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return "", fmt.Errorf("%w: %w", ErrInput, err)
	}
	if format == "" {
		if format = detect(head); format == "" {
			return "", fmt.Errorf("%w: it looks like none of %s; --format NAME chooses one", ErrInput, strings.Join(Formats, ", "))
		}
	}
	if format == "pcap" {
		return format, r.capture(b)
	}
	return format, r.text(b, parserOf(format, r))
}

// detect returns the format whose parser understands most of the first lines.
func detect(head []byte) string {
	if packet.IsCapture(head) {
		return "pcap"
	}
	best, most := "", 0
	for _, format := range []string{"bpftrace", "strace", "perf"} {
		n := 0
		p := parserOf(format, NewRecorder(io.Discard, Options{}))
		for line := range bytes.Lines(head) {
			if ok, _ := p.line(strings.TrimRight(string(line), "\r\n")); ok {
				n++
			}
		}
		if n > most {
			best, most = format, n
		}
	}
	return best
}

// text reads lines. One that is too long is skipped, as one that tells of no event is.
func (r *Recorder) text(b *bufio.Reader, p parser) error {
	var line []byte
	for {
		part, err := b.ReadSlice('\n')
		long := len(line)+len(part) > maxLine
		if !long {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if len(line)+len(part) > 0 {
			r.sum.Lines++
			understood := false
			if !long {
				var perr error
				if understood, perr = p.line(strings.TrimRight(string(line), "\r\n")); errors.Is(perr, errEnough) {
					return nil
				} else if perr != nil {
					return perr
				}
			}
			if !understood {
				r.sum.Skipped++
			}
		}
		line = line[:0]
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("%w: %w", ErrInput, err)
		}
	}
}

// bpftrace parses lines that scripts of bpftrace print for bpfrun:
//
//	bpfrun NSECS PID TID CPU "COMM" HOOK NAME=VALUE ...
//
// Values are numbers or texts in double quotes. All other lines are ignored.
type bpftrace struct{ r *Recorder }

func (p *bpftrace) line(text string) (bool, error) {
	rest, ok := strings.CutPrefix(text, "bpfrun ")
	if !ok {
		return false, nil
	}
	var n [4]uint64
	for i := range n {
		word, after, ok := strings.Cut(rest, " ")
		v, err := strconv.ParseUint(word, 10, 63)
		if !ok || err != nil || i > 0 && v > 1<<31 {
			return false, nil
		}
		n[i], rest = v, after
	}
	if !strings.HasPrefix(rest, `"`) {
		return false, nil
	}
	comm, rest, ok := strings.Cut(rest[1:], `" `)
	if !ok {
		return false, nil
	}
	name, fields, _ := strings.Cut(rest, " ")
	if name == "" || strings.ContainsAny(name, "=\"") {
		return false, nil
	}
	e := Event{At: time.Duration(n[0]), Hook: name, Task: Task{TGID: int(n[1]), PID: int(n[2]), Comm: shortComm(comm)}, CPU: int(n[3])}
	if e.Task.TGID == e.Task.PID {
		e.Task.TGID = 0
	}
	for _, a := range assignments(fields) {
		if !isNumber(a.Text) {
			if a.Kind = Text; strings.Contains(a.Name, "comm") {
				a.Kind = Comm
			} else if strings.Contains(a.Name, "file") || strings.Contains(a.Name, "path") || strings.Contains(a.Name, "name") || strings.HasPrefix(a.Text, "/") {
				a.Kind = Path
			}
		}
		e.Args = append(e.Args, a)
	}
	return true, p.r.Add(e)
}

// ErrPackets means that packets cannot be redacted: addresses and names are anywhere in them.
var ErrPackets = errors.New("packets hold addresses and names in their data, which --redact cannot find")

// maxPacket limits the bytes of a packet in a file of events.
const maxPacket = 9216

// capture reads captured packets.
func (r *Recorder) capture(in io.Reader) error {
	if r.opt.Redact != (Redaction{}) {
		return fmt.Errorf("%w: %w", ErrInput, ErrPackets)
	}
	file, err := packet.NewReader(in, "the capture")
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInput, err)
	}
	defer file.Close()
	var first time.Time
	for {
		p, err := file.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w: %w", ErrInput, err)
		}
		r.sum.Lines++
		if len(p.Data) > maxPacket {
			r.sum.Skipped++
			continue
		}
		if first.IsZero() {
			first = p.Time
		}
		e := Event{At: p.Time.Sub(first), Hook: r.opt.PacketHook, CPU: -1, packet: hex.EncodeToString(p.Data)}
		if err := r.Add(e); errors.Is(err, errEnough) {
			return nil
		} else if err != nil {
			return err
		}
	}
}
