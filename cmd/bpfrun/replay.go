package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/bpfrun/bpfrun/internal/app/capture"
	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/packet"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/replay"
	"github.com/bpfrun/bpfrun/internal/visible"
	"github.com/bpfrun/bpfrun/loader"
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

// checkPackets checks the flags for the input and output of packets.
func (o *runOptions) checkPackets(targets, objects int) error {
	switch {
	case o.pcap == "" && o.pcapIndex != 0:
		return usagef("--pcap-index chooses a packet of --pcap FILE: add --pcap")
	case o.pcap != "" && o.packet != "":
		return usagef("--packet and --pcap cannot be combined")
	case o.replays() && o.repeat != 1:
		return usagef("--repeat cannot be combined with --pcap: each packet of a capture runs once")
	case o.replays() && o.trace:
		return usagef("--trace needs a single packet of the capture: add --pcap-index N")
	case o.out == "":
		return nil
	case o.pcap == "" && o.packet == "":
		return usagef("--out needs --pcap FILE or --packet")
	case targets*objects != 1:
		return usagef("--out takes one object and one kernel")
	}
	return nil
}

// checkOut refuses to write packets over one of the files that are read.
func (c *runCommand) checkOut(objects []string, sources []btfSource) error {
	out, err := os.Stat(c.out)
	if err != nil {
		return nil // no file to lose
	}
	read := slices.Concat(objects, c.kernels.moduleBTF, []string{c.pcap, c.kernels.kconfig, c.kernels.kallsyms})
	for _, s := range sources {
		read = append(read, s.File())
	}
	for _, bytes := range []string{c.packet, c.ctx} {
		if name, ok := strings.CutPrefix(strings.TrimSpace(bytes), "@"); ok {
			capture, _, _ := strings.Cut(name, "#")
			read = append(read, name, capture)
		}
	}
	for _, name := range read {
		if in, err := os.Stat(name); err == nil && os.SameFile(in, out) {
			return usagef("--out %s: this is the input file", c.out)
		}
	}
	return nil
}

// replays reports whether a whole capture is replayed.
func (o *runOptions) replays() bool { return o.pcap != "" && o.pcapIndex == 0 }

// packetPrograms returns the programs that get packets: those selected, else all of them.
func packetPrograms(obj *loader.Object, chosen []string) ([]string, error) {
	var names []string
	for _, p := range obj.Programs {
		if progtype.Of(p.Type).Takes.Has(progtype.TakesPacket) && len(chosen) == 0 {
			names = append(names, p.Name)
		}
	}
	for _, name := range chosen {
		if p, ok := obj.Program(name); ok && !progtype.Of(p.Type).Takes.Has(progtype.TakesPacket) {
			return nil, usagef("-p %s: %v programs take no packet", name, p.Type)
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return nil, usagef("--pcap: %s has no program that takes packets", obj.Name)
	}
	return names, nil
}

// checkFrame refuses a packet that one of the selected programs does not accept.
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
func (c *runCommand) replay(ctx context.Context, doc *report.RunDocument, m *machine.Machine, names []string, in machine.Input) error {
	if c.out != "" && len(names) > 1 {
		return usagef("--out: choose one of the programs with -p (%s)", join(names))
	}
	for _, name := range names {
		if err := capture.Run(ctx, doc, m, name, in, capture.Config{File: c.pcap, Out: c.out, Progress: c.replayProgress(name)}); err != nil {
			return packetsError(err)
		}
	}
	return nil
}

// packetsError adds the flag and the exit code to an error of a replay.
func packetsError(err error) error {
	var unreadable *replay.ReadError
	var unwritable *capture.WriteError
	var stopped *capture.StoppedError
	switch {
	case errors.As(err, &unreadable):
		return usagef("--pcap: %w", err)
	case errors.As(err, &unwritable):
		return usagef("--out: %w", err)
	case errors.As(err, &stopped) && stopped.Fault != nil:
		return codeError{exitFault, err}
	case errors.As(err, &stopped):
		return codeError{exitInterrupted, err}
	}
	return usageError{err}
}

// replayProgress shows the progress of a replay on the terminal, and after a long one its rate.
func (c *console) replayProgress(name string) func(packets int, took time.Duration, last bool) {
	shown := false
	return func(packets int, took time.Duration, last bool) {
		if c.quiet || took < time.Second/2 || !last && !isTerminal(c.stderr) {
			return
		}
		text := fmt.Sprintf("%s: %d packets in %.1f s, %.0f packets/s", name, packets, took.Seconds(), float64(packets)/took.Seconds())
		switch {
		case !last:
			visible.Fprintf(fileOf(c.stderr), "\r\x1b[K%s", visible.Text(text))
			shown = true
		case shown:
			visible.Fprintf(fileOf(c.stderr), "\r\x1b[K%s\n", visible.Text(text))
		default:
			visible.Fprintln(c.stderr, text)
		}
	}
}
