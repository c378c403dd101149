package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/machine"
	"github.com/bpfrun/bpfrun/packet"
	"github.com/bpfrun/bpfrun/progtype"
	"github.com/bpfrun/bpfrun/report"
	"github.com/bpfrun/bpfrun/vm"
)

// packetFlag reads --packet.
func packetFlag(text string) ([]byte, error) {
	if text == "" {
		return nil, nil
	}
	p, err := packet.Load(text, "")
	if err != nil {
		return nil, usagef("--packet: %w", err)
	}
	return p, nil
}

// checkPackets checks the flags that say which packets programs get and where they go.
func (o *runOptions) checkPackets(targets, objects int) error {
	switch {
	case o.pcap == "" && o.pcapIndex != 0:
		return usagef("--pcap-index: it chooses a packet of --pcap FILE")
	case o.pcap != "" && o.packet != "":
		return usagef("--packet and --pcap: want one of them")
	case o.replays() && o.repeat != 1:
		return usagef("--repeat: each packet of a capture is run once")
	case o.replays() && o.trace:
		return usagef("--trace: want one packet of the capture, by --pcap-index N")
	case o.out == "":
		return nil
	case o.pcap == "" && o.packet == "":
		return usagef("--out: want --pcap FILE or --packet")
	case targets*objects != 1:
		return usagef("--out: want one object and one target")
	}
	return nil
}

// checkOut refuses to write packets over one of the files that are read.
func (a *app) checkOut(o runOptions, objects []string, sources []btfSource) error {
	out, err := os.Stat(o.out)
	if err != nil {
		return nil // there is nothing to lose
	}
	read := slices.Concat(objects, a.moduleBTF, []string{o.pcap, a.kconfig, a.kallsyms})
	for _, s := range sources {
		read = append(read, s.Path)
	}
	for _, bytes := range []string{o.packet, o.ctx} {
		if name, ok := strings.CutPrefix(strings.TrimSpace(bytes), "@"); ok {
			capture, _, _ := strings.Cut(name, "#")
			read = append(read, name, capture)
		}
	}
	for _, name := range read {
		if in, err := os.Stat(name); err == nil && os.SameFile(in, out) {
			return usagef("--out %s: that is the file that is read", o.out)
		}
	}
	return nil
}

// replays reports whether a whole capture is run.
func (o *runOptions) replays() bool { return o.pcap != "" && o.pcapIndex == 0 }

// packetPrograms are the programs that get packets: those chosen, else all of them.
func packetPrograms(obj *loader.Object, chosen []string) ([]string, error) {
	var names []string
	for _, p := range obj.Programs {
		if progtype.Of(p.Type).Takes.Has(progtype.TakesPacket) && len(chosen) == 0 {
			names = append(names, p.Name)
		}
	}
	for _, name := range chosen {
		if p, ok := obj.Program(name); ok && !progtype.Of(p.Type).Takes.Has(progtype.TakesPacket) {
			return nil, usagef("-p %s: %v programs get no packets", name, p.Type)
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return nil, usagef("--pcap: %s has no program that gets packets", obj.Name)
	}
	return names, nil
}

// checkFrame refuses a packet that one of the programs to run does not get.
func checkFrame(obj *loader.Object, chosen []string, flag string, p []byte) error {
	for _, prog := range obj.Programs {
		if !progtype.Of(prog.Type).Takes.Has(progtype.TakesPacket) || len(chosen) > 0 && !slices.Contains(chosen, prog.Name) {
			continue
		}
		if err := machine.CheckPacket(prog, len(p)); err != nil {
			return usagef("%s: program %s: %w", flag, prog.Name, err)
		}
	}
	return nil
}

// replay runs programs on all packets of a capture, one program after another.
func (a *app) replay(ctx context.Context, doc *report.RunDocument, m *machine.Machine, names []string, in machine.Input, o runOptions) error {
	if o.out != "" && len(names) > 1 {
		return usagef("--out: choose one of the programs with -p (%s)", join(names))
	}
	for _, name := range names {
		if err := a.replayProgram(ctx, doc, m, name, in, o); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) replayProgram(ctx context.Context, doc *report.RunDocument, m *machine.Machine, name string, in machine.Input, o runOptions) (err error) {
	r, res, err := m.Replay(name, in)
	if err != nil {
		return usageError{err}
	}
	if r == nil {
		doc.Add(m, res)
		return nil
	}
	file, err := packet.Open(o.pcap)
	if err != nil {
		r.Close()
		return usagef("--pcap: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	p := player{a: a, r: r, file: file, out: report.Replay{File: o.pcap, Out: o.out, Verdicts: map[string]int{}}}
	p.prog, _ = m.Linked().Program(name)
	if o.out != "" {
		if p.writer, err = packet.Create(o.out); err != nil {
			r.Close()
			return usagef("--out: %w", err)
		}
		defer func() { err = errors.Join(err, p.writer.Close()) }()
	}
	begin := time.Now()
	err = p.play(ctx)
	p.progress(begin, true)
	p.out.Seconds = time.Since(begin).Seconds()
	if p.out.Seconds > 0 {
		p.out.Rate = float64(p.out.Packets) / p.out.Seconds
	}
	p.out.Events = r.Events()
	doc.AddReplay(m, r.Close(), &p.out)
	return err
}

// player runs one program on a capture.
type player struct {
	a      *app
	r      *machine.Replay
	prog   *loader.LinkedProgram
	file   *packet.Reader
	writer *packet.Writer
	out    report.Replay

	verdicts map[uint64]*verdictCount
	fault    verdictCount
	last     time.Time
	shown    bool // progress is on the screen
}

// verdictCount counts one return value.
type verdictCount struct {
	name string
	n    int
}

// lookEvery is the number of packets after which the clock is looked at.
const lookEvery = 1 << 13

// play runs all packets.
func (p *player) play(ctx context.Context) error {
	begin := time.Now()
	p.verdicts = map[uint64]*verdictCount{}
	p.fault.name = "fault"
	defer func() {
		for _, v := range p.verdicts {
			p.out.Verdicts[v.name] += v.n
		}
		if p.fault.n > 0 {
			p.out.Verdicts[p.fault.name] = p.fault.n
		}
	}()
	for {
		c, err := p.file.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return usagef("--pcap: %w (%d packets before it were run)", err, p.out.Packets)
		}
		p.out.Packets++
		if err := p.packet(ctx, &c); err != nil {
			return err
		}
		if p.out.Packets%lookEvery == 0 {
			if err := ctx.Err(); err != nil {
				return codeError{exitInterrupted, fmt.Errorf("interrupted after %d packets", p.out.Packets)}
			}
			p.progress(begin, false)
		}
	}
}

// packet runs one packet.
func (p *player) packet(ctx context.Context, c *packet.Captured) error {
	// Simulated time passes as it did when the packets were captured.
	if gap := c.Time.Sub(p.last); !p.last.IsZero() && gap > 0 {
		res, err := p.r.Pass(ctx, gap)
		if err != nil {
			return err
		}
		if res != nil && res.Fault != nil && p.out.Fault == nil {
			p.out.Fault, p.out.FaultPacket = report.NewFault(res.Fault), c.Number
		}
		if res != nil && res.Fault != nil && res.Fault.Kind == vm.BudgetExceeded {
			return codeError{exitFault, fmt.Errorf("timers between packets %d and %d: %w (--max-insns N raises the limit)", c.Number-1, c.Number, res.Fault)}
		}
	}
	p.last = c.Time
	out, err := p.r.Run(ctx, c.Data)
	var size *machine.PacketSizeError
	switch {
	case errors.As(err, &size):
		return p.skip(c, size)
	case errors.Is(err, context.Canceled):
		return codeError{exitInterrupted, fmt.Errorf("interrupted while %s ran on packet %d", p.prog.Name, c.Number)}
	case err != nil:
		return usageError{err}
	}
	v := &p.fault
	if out.Fault != nil {
		if p.out.Fault == nil {
			p.out.Fault, p.out.FaultPacket = report.NewFault(out.Fault), c.Number
		}
	} else if v = p.verdicts[out.Ret]; v == nil {
		v = &verdictCount{name: p.verdictName(out.Ret)}
		p.verdicts[out.Ret] = v
	}
	v.n++
	if len(out.Trace) > 0 && len(p.out.Trace) < report.ListedTrace {
		p.out.Trace = append(p.out.Trace, out.Trace[:min(len(out.Trace), report.ListedTrace-len(p.out.Trace))]...)
	}
	var changes []string
	if string(out.Packet) != string(c.Data) {
		p.out.Changed++
		if p.writer != nil || len(p.out.Changes) < report.ListedChanges {
			changes = report.PacketDiff(c.Data, out.Packet)
		}
		if len(p.out.Changes) < report.ListedChanges {
			p.out.Changes = append(p.out.Changes, report.PacketChange{Packet: c.Number, Verdict: v.name, Changes: changes})
		}
	}
	if p.writer == nil {
		return nil
	}
	comment := v.name
	for _, e := range out.Effects {
		comment += fmt.Sprintf("; %s %d", e.Kind, e.Number)
	}
	if len(changes) > 0 {
		comment += "; " + strings.Join(changes, ", ")
	}
	verdict := packet.Verdict{Comment: comment, Value: uint32(out.Ret)}
	switch words := progtype.Of(p.prog.Type).Vocabulary; {
	case out.Fault != nil:
	case words == progtype.XDPActions:
		verdict.Kind = packet.XDPVerdict
	case words == progtype.TCActions:
		verdict.Kind = packet.TCVerdict
	}
	return p.write(c, out.Packet, verdict)
}

func (p *player) write(c *packet.Captured, data []byte, v packet.Verdict) error {
	if err := p.writer.Write(*c, data, v); err != nil {
		return usagef("--out: %w", err)
	}
	return nil
}

// skip notes a packet the program does not get.
func (p *player) skip(c *packet.Captured, why error) error {
	p.out.Skipped++
	if p.out.SkippedWhy == "" {
		p.out.SkippedWhy = fmt.Sprintf("packet %d: %v", c.Number, why)
	}
	if p.writer == nil {
		return nil
	}
	return p.write(c, c.Data, packet.Verdict{Comment: "not run: " + why.Error()})
}

func (p *player) verdictName(ret uint64) string {
	if name := progtype.VerdictName(p.prog.Type, int32(ret)); name != "" {
		return name
	}
	return fmt.Sprint(int32(uint32(ret)))
}

// progress says on the terminal how far the replay is, and at the end of a long one how fast it was.
func (p *player) progress(begin time.Time, last bool) {
	took := time.Since(begin)
	if p.a.quiet || took < time.Second/2 || !last && !isTerminal(p.a.stderr) {
		return
	}
	text := fmt.Sprintf("%s: %d packets in %.1f s, %.0f packets/s", p.prog.Name, p.out.Packets, took.Seconds(), float64(p.out.Packets)/took.Seconds())
	switch {
	case !last:
		fmt.Fprintf(p.a.stderr, "\r\x1b[K%s", text)
		p.shown = true
	case p.shown:
		fmt.Fprintf(p.a.stderr, "\r\x1b[K%s\n", text)
	default:
		fmt.Fprintln(p.a.stderr, text)
	}
}

// writeRun writes the packet of a single run as a file of one packet.
func writeRun(path string, res *machine.Result, prog *loader.LinkedProgram) error {
	w, err := packet.Create(path)
	if err != nil {
		return usagef("--out: %w", err)
	}
	v := packet.Verdict{Comment: progtype.VerdictName(prog.Type, int32(res.Ret)), Value: uint32(res.Ret)}
	if res.Fault != nil {
		v.Comment = "fault"
	} else if v.Comment == "" {
		v.Comment = fmt.Sprint(int32(uint32(res.Ret)))
	}
	if changes := report.PacketDiff(res.PacketIn, res.PacketOut); len(changes) > 0 {
		v.Comment += "; " + strings.Join(changes, ", ")
	}
	c := packet.Captured{Data: res.PacketIn, Wire: len(res.PacketIn)}
	if err := errors.Join(w.Write(c, res.PacketOut, v), w.Close()); err != nil {
		return usagef("--out: %w", err)
	}
	return nil
}
