// Package capture runs a program on every packet of a capture file. It reports verdicts, changes
// and faults, and can write the resulting packets to a file.
package capture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/packet"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/replay"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/vm"
)

// Config describes the replay of a capture.
type Config struct {
	// File is the path of the capture; Out is the path of the file to write the resulting packets
	// to, "" for none.
	File, Out string
	// Progress is called from time to time, and once at the end with last set. It may be nil.
	Progress func(packets int, took time.Duration, last bool)
}

// WriteError means that the output file cannot be written.
type WriteError struct{ Err error }

// Error returns the message of the underlying error.
func (e *WriteError) Error() string { return e.Err.Error() }

// Unwrap returns the underlying error.
func (e *WriteError) Unwrap() error { return e.Err }

// StoppedError means that the replay ended before its capture did.
type StoppedError struct {
	// Packet is the number of the packet at which the replay ended.
	Packet int
	// Fault is set if a callback that ran between this packet and the previous one exceeded the
	// instruction limit. It is nil if the context ended.
	Fault *machine.Fault
	Err   error
}

// Error names the packet and the cause.
func (e *StoppedError) Error() string {
	if e.Fault != nil {
		return fmt.Sprintf("timers between packets %d and %d: %v (--max-insns N raises the limit)", e.Packet-1, e.Packet, e.Fault)
	}
	return fmt.Sprintf("interrupted at packet %d", e.Packet)
}

// Unwrap returns the cause.
func (e *StoppedError) Unwrap() error { return e.Err }

// Run runs a program on all packets of a capture, adds the results to doc, and writes the resulting
// packets. A program that cannot run is added with its status. Errors are [*replay.ReadError],
// [*WriteError], [*StoppedError], and those of [machine.Machine.Replay].
func Run(ctx context.Context, doc *report.RunDocument, m *machine.Machine, name string, in machine.Input, cfg Config) (err error) {
	r, res, err := m.Replay(name, in)
	if err != nil {
		return err
	}
	if r == nil {
		doc.Add(m, res)
		return nil
	}
	file, err := packet.Open(cfg.File)
	if err != nil {
		r.Close()
		return &replay.ReadError{Err: err}
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	c := capture{cfg: cfg, run: r, out: report.Replay{File: cfg.File, Out: cfg.Out, Verdicts: map[string]int{}}, verdicts: map[uint64]*verdictCount{}}
	c.prog, _ = m.Linked().Program(name)
	if cfg.Out != "" {
		if c.writer, err = packet.Create(cfg.Out); err != nil {
			r.Close()
			return &WriteError{err}
		}
		defer func() { err = errors.Join(err, c.writer.Close()) }()
	}
	begin := time.Now()
	err = c.play(ctx, replay.NewPlayer(r, file), begin)
	took := time.Since(begin)
	c.progress(took, true)
	if c.out.Seconds = took.Seconds(); c.out.Seconds > 0 {
		c.out.Rate = float64(c.out.Packets) / c.out.Seconds
	}
	c.count()
	c.out.Events = r.Events()
	doc.AddReplay(m, r.Close(), &c.out)
	return err
}

// capture is the state of a replay.
type capture struct {
	cfg    Config
	run    *machine.Replay
	prog   *loader.LinkedProgram
	writer *packet.Writer
	out    report.Replay

	frame    packet.Captured          // the packet that is run
	verdicts map[uint64]*verdictCount // by return value
	last     *verdictCount            // of them, that of lastRet
	lastRet  uint64
	faults   int
}

type verdictCount struct {
	name string
	n    int
}

// lookEvery is the number of packets between two looks at the clock.
const lookEvery = 1 << 13

func (c *capture) play(ctx context.Context, p *replay.Player, begin time.Time) error {
	var failed error
	// Most packets are run one after the other without coming back here.
	then := func(out *machine.Outcome) (data []byte, gap time.Duration, more bool) {
		if failed = c.ran(&c.frame, out); failed != nil || c.out.Packets%lookEvery == 0 {
			return nil, 0, false
		}
		if gap, more = p.Follow(&c.frame); more {
			c.out.Packets++
		}
		return c.frame.Data, gap, more
	}
	for {
		late, err := p.Next(ctx, &c.frame)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return c.stopped(&c.frame, err)
		}
		c.out.Packets++
		if late != nil && late.Fault != nil {
			c.fault(late.Fault, c.frame.Number)
			if late.Fault.Kind == vm.BudgetExceeded {
				return &StoppedError{Packet: c.frame.Number, Fault: late.Fault}
			}
		}
		out, err := c.run.RunThen(ctx, c.frame.Data, then)
		switch {
		case err != nil:
			err = c.refused(&c.frame, err)
		case out != nil:
			err = c.ran(&c.frame, out)
		default:
			err = failed
		}
		if err != nil {
			return err
		}
		if c.out.Packets%lookEvery == 0 {
			if err := ctx.Err(); err != nil {
				return &StoppedError{Packet: c.frame.Number, Err: err}
			}
			c.progress(time.Since(begin), false)
		}
	}
}

// stopped is the error of a capture whose next packet cannot be run.
func (c *capture) stopped(frame *packet.Captured, err error) error {
	if unreadable := (*replay.ReadError)(nil); errors.As(err, &unreadable) {
		return &replay.ReadError{Err: fmt.Errorf("%w (%d packets before it were run)", unreadable.Err, c.out.Packets)}
	}
	c.out.Packets++
	return &StoppedError{Packet: frame.Number, Err: err}
}

func (c *capture) progress(took time.Duration, last bool) {
	if c.cfg.Progress != nil {
		c.cfg.Progress(c.out.Packets, took, last)
	}
}

// fault records the first fault.
func (c *capture) fault(f *machine.Fault, number int) {
	if c.out.Fault == nil {
		c.out.Fault, c.out.FaultPacket = report.NewFault(f), number
	}
}

// count copies the verdict counts to the result.
func (c *capture) count() {
	for _, v := range c.verdicts {
		c.out.Verdicts[v.name] += v.n
	}
	if c.faults > 0 {
		c.out.Verdicts[Fault] = c.faults
	}
}

// Fault is the verdict of a packet on which the program faulted.
const Fault = "fault"

// verdict returns the count of a return value.
func (c *capture) verdict(ret uint64) *verdictCount {
	if c.last != nil && c.lastRet == ret {
		return c.last
	}
	v := c.verdicts[ret]
	if v == nil {
		v = &verdictCount{name: verdictName(c.prog.Type, ret)}
		c.verdicts[ret] = v
	}
	c.last, c.lastRet = v, ret
	return v
}

// ran records what a run did.
func (c *capture) ran(frame *packet.Captured, out *machine.Outcome) error {
	name := Fault
	if out.Fault != nil {
		c.faults++
		c.fault(out.Fault, frame.Number)
	} else {
		v := c.verdict(out.Ret)
		v.n++
		name = v.name
	}
	if room := report.ListedTrace - len(c.out.Trace); len(out.Trace) > 0 && room > 0 {
		c.out.Trace = append(c.out.Trace, out.Trace[:min(len(out.Trace), room)]...)
	}
	var changes []string
	if string(out.Packet) != string(frame.Data) {
		c.out.Changed++
		if c.writer != nil || len(c.out.Changes) < report.ListedChanges {
			changes = report.PacketDiff(frame.Data, out.Packet)
		}
		if len(c.out.Changes) < report.ListedChanges {
			c.out.Changes = append(c.out.Changes, report.PacketChange{Packet: frame.Number, Verdict: name, Changes: changes})
		}
	}
	if c.writer == nil {
		return nil
	}
	for _, e := range out.Effects {
		name += fmt.Sprintf("; %s %d", e.Kind, e.Number)
	}
	return c.write(frame, out.Packet, verdict(c.prog, out.Ret, out.Fault != nil, comment(name, changes)))
}

// refused decides what becomes of a packet whose run failed with an error.
func (c *capture) refused(frame *packet.Captured, err error) error {
	var size *machine.PacketSizeError
	switch {
	case errors.As(err, &size):
		return c.skip(frame, size)
	case errors.Is(err, context.Canceled):
		return &StoppedError{Packet: frame.Number, Err: err}
	}
	return err
}

// skip records a packet that cannot be given to the program.
func (c *capture) skip(frame *packet.Captured, why error) error {
	c.out.Skipped++
	if c.out.SkippedWhy == "" {
		c.out.SkippedWhy = fmt.Sprintf("packet %d: %v", frame.Number, why)
	}
	if c.writer == nil {
		return nil
	}
	return c.write(frame, frame.Data, packet.Verdict{Comment: "not run: " + why.Error()})
}

func (c *capture) write(frame *packet.Captured, data []byte, v packet.Verdict) error {
	if err := c.writer.Write(*frame, data, v); err != nil {
		return &WriteError{err}
	}
	return nil
}

// WriteRun writes the packet of a single run to a capture file. The error is a [*WriteError].
func WriteRun(path string, res *machine.Result, prog *loader.LinkedProgram) error {
	w, err := packet.Create(path)
	if err != nil {
		return &WriteError{err}
	}
	name := Fault
	if res.Fault == nil {
		name = verdictName(prog.Type, res.Ret)
	}
	v := verdict(prog, res.Ret, res.Fault != nil, comment(name, report.PacketDiff(res.PacketIn, res.PacketOut)))
	frame := packet.Captured{Data: res.PacketIn, Wire: len(res.PacketIn)}
	if err := errors.Join(w.Write(frame, res.PacketOut, v), w.Close()); err != nil {
		return &WriteError{err}
	}
	return nil
}

// verdictName returns the name of a return value for the program type, or the number if it has
// none.
func verdictName(t uapi.ProgType, ret uint64) string {
	if name := progtype.VerdictName(t, int32(ret)); name != "" {
		return name
	}
	return strconv.Itoa(int(int32(uint32(ret))))
}

func comment(name string, changes []string) string {
	if len(changes) == 0 {
		return name
	}
	return name + "; " + strings.Join(changes, ", ")
}

// verdict returns the comment for a packet and, for program types that have a pcapng option, the
// return value.
func verdict(prog *loader.LinkedProgram, ret uint64, faulted bool, comment string) packet.Verdict {
	v := packet.Verdict{Comment: comment, Value: uint32(ret)}
	switch words := progtype.Of(prog.Type).Vocabulary; {
	case faulted:
	case words == progtype.XDPActions:
		v.Kind = packet.XDPVerdict
	case words == progtype.TCActions:
		v.Kind = packet.TCVerdict
	}
	return v
}
