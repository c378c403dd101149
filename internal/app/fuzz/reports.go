package fuzz

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/bpfrun/bpfrun/internal/find/search"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/scenario"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/internal/subsys/hid"
	"github.com/bpfrun/bpfrun/internal/subsys/hid/device"
	"github.com/bpfrun/bpfrun/loader"
)

// A run on a HID device is one event of a search: the device is connected, what the scenario says
// happens, and then it sends the event's report, which is the event's plain bytes.

// deviceRun adds to a scenario of default runs one of the HID device that the object is for, if it
// is for one. Its programs are called together, so there is one run.
func (f *Fuzzer) deviceRun(ctx context.Context, root *grammar.Node, linked *loader.Linked) error {
	its := slices.DeleteFunc(device.Programs(linked), func(name string) bool {
		return len(f.opt.Programs) > 0 && !slices.Contains(f.opt.Programs, name)
	})
	if len(its) == 0 {
		return nil
	}
	cfg := f.opt.Scenario.Config
	if f.opt.Scenario.Verify != nil {
		cfg.Verify = f.opt.Scenario.Verify(linked)
	}
	m, err := machine.New(linked, cfg)
	if err != nil {
		return err
	}
	defer m.Close()
	its = slices.DeleteFunc(its, func(name string) bool { _, ok := m.Entry(name); return !ok })
	if len(its) == 0 {
		return nil // the report says of each program why
	}
	h, err := device.Default(ctx, m)
	if err != nil {
		f.skip = append(f.skip, Skipped{its[0], err.Error()})
		return ctx.Err()
	}
	if !h.Accepted {
		f.skip = append(f.skip, Skipped{its[0], "its probe accepts none of the devices that are tried: a scenario with hid: has one"})
		return nil
	}
	for _, prog := range its {
		if !slices.ContainsFunc(h.Results, func(r *machine.Result) bool { return r.Program == prog }) {
			f.skip = append(f.skip, Skipped{prog, "nothing that the default device does calls it: a scenario with hid: can"})
		}
	}
	name := h.EventProgram(its)
	n, events := &grammar.Node{Kind: grammar.Mapping}, &grammar.Node{Kind: grammar.Sequence}
	n.Put("name", grammar.Quote("reports for "+name))
	n.Put("prog", grammar.Word(name))
	if !bytes.Equal(h.Descriptor, hid.DefaultInfo().Descriptor) {
		n.Child("hid").Child("device").Put("descriptor", grammar.Quote(fmt.Sprintf("%x", h.Descriptor)))
	}
	for _, e := range h.Events() {
		events.Items = append(events.Items, eventNode(&e))
	}
	n.Child("hid").Put("events", events)
	runs := root.Get("runs")
	runs.Items = slices.DeleteFunc(runs.Items, func(n *grammar.Node) bool { // nothing calls them by themselves
		return n.Get("prog") != nil && slices.Contains(its, n.Get("prog").Text)
	})
	runs.Items = append(runs.Items, n)
	return nil
}

// eventNode is an event of a device as a scenario has it.
func eventNode(e *device.Event) *grammar.Node {
	n := &grammar.Node{Kind: grammar.Mapping}
	n.Put(e.Kind.String(), grammar.Quote(fmt.Sprintf("%x", e.Data)))
	if e.Kind == device.Get || e.Kind == device.Set {
		n.Put("type", grammar.Word([]string{"input", "output", "feature"}[e.Type]))
	}
	return n
}

// deviceOf is the HID device that a run has, nil for none.
func deviceOf(run *scenario.Run) *device.Planned {
	if run.Simulated == nil {
		return nil
	}
	d, _ := run.Simulated.Run.(*device.Planned)
	return d
}

// inputReports are reports of zeros, one of each id that a device sends.
func inputReports(h *device.HID) (out [][]byte) {
	if h == nil || h.Parsed == nil {
		return nil
	}
	for _, r := range h.Parsed.Reports {
		if r.Type != hid.InputReport || r.Len() == 0 {
			continue
		}
		b := make([]byte, r.Len())
		if r.ID != 0 {
			b[0] = r.ID
		}
		out = append(out, b)
	}
	return out
}

// deviceSpace finds the reports of the device of a run.
func (f *Fuzzer) deviceSpace(s *side, run *scenario.Run, sp *runSpace) {
	m := s.whole.Machine()
	was := m.Snapshot()
	_, h, err := deviceOf(run).Run(context.Background(), s.whole.Setting(run), nil, nil)
	m.Restore(was)
	if err != nil || h == nil {
		return
	}
	if sp.reports = inputReports(h); len(sp.reports) > 0 {
		sp.ctx = slices.Clone(sp.reports[0])
	}
}

// report makes an event of a HID device. The result is nil if the kernel has no such device.
func (s *side) report(ctx context.Context, r *scenario.Runner, run *scenario.Run, e *Event, trace machine.Tracer) (*machine.Result, error) {
	m := r.Machine()
	if after := s.after(e); after > 0 {
		if _, err := m.Settle(ctx, after); err != nil {
			return nil, err
		}
	}
	w := &s.watch
	w.prepare, w.checker = nil, nil
	if r == s.whole {
		w.checker = r.Checker()
	}
	m.Observe(w)
	defer m.Observe(nil)
	var reports [][]byte
	if e.Ctx != nil {
		reports = append(reports, e.Ctx)
	}
	res, h, err := deviceOf(run).Run(ctx, r.Setting(run), reports, trace)
	s.device = h
	if err != nil && ctx.Err() == nil {
		return nil, nil //nolint:nilerr // the kernel has no such device
	}
	return res, err
}

// inReport finds an operand in the report that the device sent last.
func (s *side) inReport(in *Input, w search.Wish) (spot, bool) {
	e := &in.Events[len(in.Events)-1]
	if deviceOf(s.runs[e.Run]) == nil || s.device == nil {
		return spot{}, false
	}
	data := []byte(e.Ctx)
	if data == nil {
		data = s.f.space.runs[e.Run].ctx
	}
	base, size := s.device.Buffer()
	at := int(w.Addr - base)
	if base == 0 || w.Addr < base || at+w.Size > min(size, len(data)) {
		return spot{}, false
	}
	return spot{part: Ctx, off: at, text: fmt.Sprintf("report[%d:%d]", at, at+w.Size)}, true
}
