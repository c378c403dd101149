package device

import (
	"context"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/internal/subsys/hid"
	"github.com/bpfrun/bpfrun/internal/subsys/scene"
	"github.com/bpfrun/bpfrun/loader"
)

// Planned is a device of a scenario file.
type Planned struct {
	device   *grammar.Node // nil for the default
	features []grammar.Pair
	events   []*grammar.Node
}

// read decodes a run's device.
func read(n *grammar.Node, _ scene.File) (scene.Run, error) {
	if err := n.Fields(runForm); err != nil {
		return nil, err
	}
	s := &Planned{device: n.Get("device")}
	var wrong grammar.Mistakes
	if d := s.device; d != nil {
		wrong.Add(d.Fields(deviceForm))
		var err error
		s.features, err = d.Get("features").Members("features")
		wrong.Add(err)
	}
	if e := n.Get("events"); e != nil {
		if e.Kind != grammar.Sequence {
			return nil, e.Errorf("events: want a list of events, got %s", e.Describe())
		}
		s.events = e.Items
	}
	for _, e := range s.events {
		wrong.Add(e.Fields(eventForm))
	}
	return s, wrong.Err()
}

// plan returns the device of a run and its events, or the mistakes in them.
func (s *Planned) plan(set *scene.Setting) (hid.Info, []Event, error) {
	info := Info(set.Machine.Linked().Object)
	var wrong grammar.Mistakes
	if n := s.device; n != nil {
		for _, m := range []struct {
			name string
			to   *string
		}{{"name", &info.Name}, {"phys", &info.Phys}, {"uniq", &info.Uniq}} {
			if v := n.Get(m.name); v != nil {
				*m.to = v.Text
			}
		}
		number := func(name string, most int64, set func(int)) {
			if v := n.Get(name); v != nil {
				x, err := v.Int(name, 0, most)
				wrong.Add(err)
				set(x)
			}
		}
		number("group", 0xffff, func(x int) { info.Group = uint16(x) })
		number("vendor", 0xffffffff, func(x int) { info.Vendor = uint32(x) })
		number("product", 0xffffffff, func(x int) { info.Product = uint32(x) })
		number("version", 0xffffffff, func(x int) { info.Version = uint32(x) })
		if b := n.Get("bus"); b != nil {
			buses := map[string]uint16{"usb": hid.BusUSB, "bluetooth": hid.BusBluetooth, "i2c": hid.BusI2C, "virtual": hid.BusVirtual}
			if v, ok := buses[b.Text]; ok {
				info.Bus = v
			} else {
				number("bus", 0xffff, func(x int) { info.Bus = uint16(x) })
			}
		}
		if v := n.Get("descriptor"); v != nil {
			b, err := set.Bytes("descriptor", v)
			wrong.Add(err)
			info.Descriptor = b
		}
	}
	info.ID = uint32(len(set.Machine.Kernel().HID.Devices()) + 1)
	var events []Event
	for _, n := range s.events {
		e, err := decodeEvent(n, info.Descriptor)
		wrong.Add(err)
		events = append(events, e)
	}
	return info, events, wrong.Err()
}

// decodeEvent decodes an event of a device with that descriptor.
func decodeEvent(n *grammar.Node, desc []byte) (e Event, err error) {
	kinds := []EventKind{Input, Get, Set, Output}
	var at *grammar.Node
	for _, k := range kinds {
		if v := n.Get(k.String()); v != nil {
			if at != nil {
				return e, v.Errorf("an event is one of input, get, set and output, not several")
			}
			at, e.Kind = v, k
		}
	}
	if at == nil {
		return e, n.Errorf("an event needs one of input, get, set and output")
	}
	e.Type = hid.FeatureReport
	if t := n.Get("type"); t != nil {
		types := []string{"input", "output", "feature"}
		i := slices.Index(types, t.Text)
		if i < 0 {
			return e, t.Unknown("type of report", t.Text, types)
		}
		e.Type = hid.ReportType(i)
	}
	if d := n.Get("after"); d != nil {
		if e.After, err = d.Duration("after"); err != nil {
			return e, err
		}
	}
	if at.Kind == grammar.Mapping && e.Kind == Input {
		e.Data, err = encodeFields(at, desc)
		return e, err
	}
	if e.Data, err = at.Hex(e.Kind.String()); err == nil && len(e.Data) == 0 && e.Kind != Input {
		err = at.Errorf("%v: want at least the id, 0 if there is none", e.Kind)
	}
	return e, err
}

// encodeFields encodes an input report from its fields.
func encodeFields(n *grammar.Node, desc []byte) ([]byte, error) {
	d, err := hid.Parse(desc)
	if err != nil {
		return nil, n.Wrap("input", err)
	}
	id := 0
	if v := n.Get("id"); v != nil {
		if id, err = v.Int("id", 0, 255); err != nil {
			return nil, err
		}
	}
	rep := d.ByID(hid.InputReport, uint8(id))
	if rep == nil {
		return nil, n.Errorf("input: the descriptor declares no input report %d", id)
	}
	data := make([]byte, rep.Len())
	if id != 0 {
		data[0] = byte(id)
	}
	var wrong grammar.Mistakes
	for _, p := range n.Pairs {
		if p.Key.Text == "id" {
			continue
		}
		v, err := p.Value.Int(p.Key.Text, -1<<31, 1<<32-1)
		if wrong.Add(err) {
			if err := rep.Put(data, p.Key.Text, int64(v)); err != nil {
				wrong.Add(p.Key.Wrap("", err))
			}
		}
	}
	return data, wrong.Err()
}

// Choose implements [scene.Run]: the run names its program.
func (s *Planned) Choose(*loader.Object) (prog, name string, err error) { return "", "", nil }

// Check implements [scene.Run].
func (s *Planned) Check(set *scene.Setting) error {
	var wrong grammar.Mistakes
	if its := Programs(set.Machine.Linked()); !slices.Contains(its, set.Prog) {
		wrong.Add(set.Node.Errorf("hid: program %s belongs to no HID device; those that do: %s", set.Prog, strings.Join(its, ", ")))
	}
	_, _, err := s.plan(set)
	wrong.Add(err)
	for _, p := range s.features {
		_, err := p.Value.Hex(p.Key.Text)
		wrong.Add(err)
		_, err = p.Key.Int("id", 0, 255)
		wrong.Add(err)
	}
	return wrong.Err()
}

// Simulate implements [scene.Run]. The result is that of the run's program, with the records of all
// programs.
func (s *Planned) Simulate(ctx context.Context, set *scene.Setting) (*scene.Outcome, error) {
	res, h, err := s.Run(ctx, set, nil, nil)
	if err != nil || h == nil {
		return &scene.Outcome{Result: res}, err
	}
	return &scene.Outcome{Result: res, Simulation: h}, nil
}

// Run executes a run on its device, which sends further reports after the run's events. trace
// follows the programs that get these; nil runs them at full speed. There is no device if the
// program cannot run.
func (s *Planned) Run(ctx context.Context, set *scene.Setting, reports [][]byte, trace machine.Tracer) (*machine.Result, *HID, error) {
	m := set.Machine
	if _, ok := m.Entry(set.Prog); !ok {
		res, err := m.Run(ctx, set.Prog, machine.Input{})
		return res, nil, err
	}
	info, events, err := s.plan(set)
	if err != nil {
		return nil, nil, err
	}
	answers := map[uint8][]byte{}
	for _, p := range s.features {
		id, _ := p.Key.Int("id", 0, 255)
		answers[uint8(id)], _ = p.Value.Hex(p.Key.Text)
	}
	h, err := New(ctx, m, info, false, answers)
	if err == nil {
		err = h.Do(ctx, events...)
	}
	if err == nil {
		h.Trace = trace
	}
	for _, data := range reports {
		if err == nil {
			err = h.Do(ctx, Event{Kind: Input, Data: data})
		}
	}
	if err != nil && !IsFault(err) {
		return nil, nil, err
	}
	return h.Result(set.Prog), h, nil
}
