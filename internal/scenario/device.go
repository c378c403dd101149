package scenario

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/internal/subsys/hid"
	"github.com/bpfrun/bpfrun/internal/subsys/hid/device"
)

var hidForm = &grammar.Form{Name: "hid", Doc: "A HID device on which the program runs, with all other HID programs of the object: the device is connected, the object's probe is asked, the programs are attached, the descriptor is fixed, then events happen.", Members: []grammar.Member{
	{Name: "device", Doc: "The device. The default is one that fits what the object names (HID_BPF_CONFIG), with a mouse, a keyboard and a feature.", Shape: grammar.FormOf(hidDeviceForm)},
	{Name: "events", Doc: "What happens, in order.", Shape: grammar.ListOf(grammar.FormOf(hidEventForm))},
}}

var hidDeviceForm = &grammar.Form{Name: "HID device", Doc: "A simulated HID device.", Members: []grammar.Member{
	{Name: "bus", Doc: "usb, bluetooth, i2c, virtual, or a number as in linux/input.h.", Shape: grammar.OneOf(grammar.Text, grammar.Integer)},
	{Name: "group", Doc: "The device's group (hid_device.group).", Shape: grammar.Integer},
	{Name: "vendor", Doc: "The vendor's number.", Shape: grammar.Integer},
	{Name: "product", Doc: "The product's number.", Shape: grammar.Integer},
	{Name: "version", Doc: "The device's version.", Shape: grammar.Integer},
	{Name: "name", Doc: "The name.", Shape: grammar.Text},
	{Name: "phys", Doc: "Where it is plugged in.", Shape: grammar.Text},
	{Name: "uniq", Doc: "Its serial number.", Shape: grammar.Text},
	{Name: "descriptor", Doc: "The report descriptor: hex digits or @FILE.", Shape: grammar.Text},
	{Name: "features", Doc: "Feature reports that it answers with, by id: hex digits that begin with the id, if it is not 0. The others are zeros.", Shape: grammar.MapOf(grammar.Text)},
}}

var hidEventForm = &grammar.Form{Name: "HID event", Doc: "One thing that happens to a device: exactly one of input, get, set and output.", Members: []grammar.Member{
	{Name: "input", Doc: "The device sends a report: hex digits, beginning with the id if there is one, or fields of the device's descriptor ({id: 1, button1: 1, x: 5}; usages without a name are written 0x00010030).", Shape: grammar.OneOf(grammar.Text, grammar.MapOf(grammar.Integer))},
	{Name: "get", Doc: "User space asks for a report: hex digits of the buffer, whose first byte is the id or 0.", Shape: grammar.Text},
	{Name: "set", Doc: "User space sets a report: hex digits. The first byte is the report id, or 0.", Shape: grammar.Text},
	{Name: "output", Doc: "User space sends an output report, as for set.", Shape: grammar.Text},
	{Name: "type", Doc: "Of get and set: feature (the default), input or output.", Shape: grammar.Text},
	{Name: "after", Doc: "Simulated time that passes before.", Shape: grammar.Duration},
}}

var hidExpectForm = &grammar.Form{Name: "expected HID", Doc: "What became of a HID device and its reports.", Members: []grammar.Member{
	{Name: "accepted", Doc: "Whether the object's probe program accepts the device.", Shape: grammar.ShapeOf(grammar.ShapeBool)},
	{Name: "descriptor", Doc: "The report descriptor after the fixup: hex digits, or unchanged.", Shape: grammar.Text},
	{Name: "reports", Doc: "Lengths in bytes of the reports that it declares, by type and id ({input 1: 5}); null for none.", Shape: grammar.MapOf(grammar.Integer)},
	{Name: "input", Doc: "What the input layer gets of each input report, in order: hex digits, fields of the fixed descriptor ({x: 5}), or dropped.", Shape: grammar.ListOf(grammar.OneOf(grammar.Text, grammar.MapOf(grammar.Integer)))},
	{Name: "requests", Doc: "What the device is asked and sent, in order: kind, type and bytes (set feature 03 01).", Shape: grammar.ListOf(grammar.Text)},
	{Name: "answers", Doc: "What requests of user space return, in order: hex digits for bytes that were read, a number, or an error (-EPERM).", Shape: grammar.ListOf(grammar.OneOf(grammar.Text, grammar.Integer))},
}}

// HIDSpec is the device of a run.
type HIDSpec struct {
	Node     *grammar.Node
	device   *grammar.Node // nil for the default
	features []grammar.Pair
	events   []*grammar.Node
}

func (f *File) decodeHID(n *grammar.Node) (*HIDSpec, error) {
	if err := n.Fields(hidForm); err != nil {
		return nil, err
	}
	s := &HIDSpec{Node: n, device: n.Get("device")}
	var wrong grammar.Mistakes
	if d := s.device; d != nil {
		wrong.Add(d.Fields(hidDeviceForm))
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
		wrong.Add(e.Fields(hidEventForm))
	}
	return s, wrong.Err()
}

// hidDevice returns the device of a run and its events, or the mistakes in them.
func (r *Runner) hidDevice(run *Run) (hid.Info, []device.Event, error) {
	s := run.HID
	info := device.Info(r.m.Linked().Object)
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
			b, err := r.file.bytes("descriptor", v)
			wrong.Add(err)
			info.Descriptor = b
		}
	}
	info.ID = uint32(len(r.m.Kernel().HID.Devices()) + 1)
	var events []device.Event
	for _, n := range s.events {
		e, err := hidEvent(n, info.Descriptor)
		wrong.Add(err)
		events = append(events, e)
	}
	return info, events, wrong.Err()
}

// hidEvent decodes an event of a device with that descriptor.
func hidEvent(n *grammar.Node, desc []byte) (e device.Event, err error) {
	kinds := []device.EventKind{device.Input, device.Get, device.Set, device.Output}
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
	if at.Kind == grammar.Mapping && e.Kind == device.Input {
		e.Data, err = hidFields(at, desc)
		return e, err
	}
	if e.Data, err = at.Hex(e.Kind.String()); err == nil && len(e.Data) == 0 && e.Kind != device.Input {
		err = at.Errorf("%v: want at least the id, 0 if there is none", e.Kind)
	}
	return e, err
}

// hidFields encodes an input report from its fields.
func hidFields(n *grammar.Node, desc []byte) ([]byte, error) {
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

// checkHID finds mistakes in the device of a run.
func (r *Runner) checkHID(run *Run) error {
	if run.HID == nil {
		return nil
	}
	var wrong grammar.Mistakes
	if its := device.Programs(r.m.Linked()); !slices.Contains(its, run.Prog) {
		wrong.Add(run.HID.Node.Errorf("hid: program %s belongs to no HID device; those that do: %s", run.Prog, strings.Join(its, ", ")))
	}
	_, _, err := r.hidDevice(run)
	wrong.Add(err)
	for _, p := range run.HID.features {
		_, err := p.Value.Hex(p.Key.Text)
		wrong.Add(err)
		_, err = p.Key.Int("id", 0, 255)
		wrong.Add(err)
	}
	return wrong.Err()
}

// runHID executes a run on a device. The result is that of the run's program, with the records of
// all programs.
func (r *Runner) runHID(ctx context.Context, run *Run) (*machine.Result, *device.HID, error) {
	return r.RunDevice(ctx, run, nil, nil)
}

// RunDevice executes a run on its HID device, which sends further reports after the run's events.
// trace follows the programs that get these; nil runs them at full speed.
func (r *Runner) RunDevice(ctx context.Context, run *Run, reports [][]byte, trace machine.Tracer) (*machine.Result, *device.HID, error) {
	if _, ok := r.m.Entry(run.Prog); !ok {
		res, err := r.m.Run(ctx, run.Prog, machine.Input{})
		return res, nil, err
	}
	info, events, err := r.hidDevice(run)
	if err != nil {
		return nil, nil, err
	}
	answers := map[uint8][]byte{}
	for _, p := range run.HID.features {
		id, _ := p.Key.Int("id", 0, 255)
		answers[uint8(id)], _ = p.Value.Hex(p.Key.Text)
	}
	h, err := device.New(ctx, r.m, info, false, answers)
	if err == nil {
		err = h.Do(ctx, events...)
	}
	if err == nil {
		h.Trace = trace
	}
	for _, data := range reports {
		if err == nil {
			err = h.Do(ctx, device.Event{Kind: device.Input, Data: data})
		}
	}
	if err != nil && !device.IsFault(err) {
		return nil, nil, run.failed(err)
	}
	return h.Result(run.Prog), h, nil
}

// device compares what became of a device.
func (j *judge) device(e *Expect) error {
	n := e.HID
	if n == nil {
		return nil
	}
	if j.run.HID == nil {
		return n.Errorf("hid: the run has no device; add hid: {} to it")
	}
	if err := n.Fields(hidExpectForm); err != nil || j.hid == nil {
		return err
	}
	var wrong grammar.Mistakes
	for _, step := range []func(*grammar.Node) error{j.hidDescriptor, j.hidReports, j.hidInput, j.hidRequests, j.hidAnswers} {
		wrong.Add(step(n))
	}
	if a := n.Get("accepted"); a != nil {
		got := fmt.Sprint(j.hid.Accepted)
		j.Expect(a.Pos, "hid.accepted", a.Text == got, a.Text, got)
	}
	return wrong.Err()
}

func hexText(b []byte) string { return strings.TrimSpace(fmt.Sprintf("% x", b)) }

func (j *judge) hidDescriptor(n *grammar.Node) error {
	d := n.Get("descriptor")
	if d == nil {
		return nil
	}
	want := j.hid.Info.Descriptor
	if d.Text != "unchanged" {
		b, err := d.Hex("descriptor")
		if err != nil {
			return err
		}
		want = b
	}
	j.Expect(d.Pos, "hid.descriptor", slices.Equal(want, j.hid.Fixed), hexText(want), hexText(j.hid.Fixed))
	return nil
}

func (j *judge) hidReports(n *grammar.Node) error {
	pairs, err := n.Get("reports").Members("reports")
	if err != nil {
		return err
	}
	for _, p := range pairs {
		got := "none"
		if j.hid.Parsed == nil {
			got = j.hid.ParseError.Error()
		} else {
			for _, r := range j.hid.Parsed.Reports {
				if fmt.Sprintf("%v %d", r.Type, r.ID) == p.Key.Text {
					got = itoa(r.Len())
				}
			}
		}
		want := p.Value.Text
		if p.Value.Kind == grammar.Null {
			want = "none"
		}
		j.Expect(p.Value.Pos, "hid.reports."+p.Key.Text, want == got, want, got)
	}
	return nil
}

func (j *judge) hidInput(n *grammar.Node) error {
	list := n.Get("input")
	if list == nil {
		return nil
	}
	j.Length(list, "hid.input", len(j.hid.Deliveries))
	var wrong grammar.Mistakes
	for i, item := range list.Items {
		if i >= len(j.hid.Deliveries) {
			break
		}
		d, what := j.hid.Deliveries[i], fmt.Sprintf("hid.input[%d]", i)
		got := "dropped: " + d.Why
		if d.Out != nil {
			got = hexText(d.Out)
		}
		switch {
		case item.Kind == grammar.Mapping:
			j.hidValues(item, what, d, got)
		case item.Text == "dropped":
			j.Expect(item.Pos, what, d.Out == nil, "dropped", got)
		default:
			want, err := item.Hex(what)
			if wrong.Add(err) {
				j.Expect(item.Pos, what, d.Out != nil && slices.Equal(want, d.Out), hexText(want), got)
			}
		}
	}
	return wrong.Err()
}

// hidValues compares fields of a delivered report.
func (j *judge) hidValues(item *grammar.Node, what string, d hid.Delivery, all string) {
	var rep *hid.Report
	if d.Out != nil {
		rep = j.hid.Parsed.Report(d.Type, d.Out)
	}
	for _, p := range item.Pairs {
		got := all
		if rep != nil && p.Key.Text == "id" {
			got = itoa(int(rep.ID))
		} else if rep != nil {
			v, err := rep.Get(d.Out, p.Key.Text)
			if got = fmt.Sprint(v); err != nil {
				got = err.Error()
			}
		}
		want := p.Value.Text
		if v, ok := grammar.Number(want); ok {
			want = v.String()
		}
		j.Expect(p.Value.Pos, what+"."+p.Key.Text, want == got, want, got)
	}
}

func (j *judge) hidRequests(n *grammar.Node) error {
	list := n.Get("requests")
	if list == nil {
		return nil
	}
	j.Length(list, "hid.requests", len(j.hid.Device.Requests))
	for i, item := range list.Items {
		if i >= len(j.hid.Device.Requests) {
			break
		}
		q := j.hid.Device.Requests[i]
		got := fmt.Sprintf("%s %v %s", q.Kind, q.Type, hexText(q.Data))
		j.Expect(item.Pos, fmt.Sprintf("hid.requests[%d]", i), item.Text == got, item.Text, got)
	}
	return nil
}

func (j *judge) hidAnswers(n *grammar.Node) error {
	list := n.Get("answers")
	if list == nil {
		return nil
	}
	j.Length(list, "hid.answers", len(j.hid.Answers))
	var wrong grammar.Mistakes
	for i, item := range list.Items {
		if i >= len(j.hid.Answers) {
			break
		}
		a, what := j.hid.Answers[i], fmt.Sprintf("hid.answers[%d]", i)
		got := fmt.Sprint(a.Ret)
		switch {
		case strings.HasPrefix(item.Text, "-E"):
			e, err := item.Errno(what)
			if wrong.Add(err) {
				j.Expect(item.Pos, what, a.Ret == -int32(e), fmt.Sprint(-int32(e)), got)
			}
		case a.Data != nil && a.Ret > 0:
			want, err := item.Hex(what)
			if wrong.Add(err) {
				j.Expect(item.Pos, what, slices.Equal(want, a.Data), hexText(want), hexText(a.Data))
			}
		default:
			j.Expect(item.Pos, what, item.Text == got, item.Text, got)
		}
	}
	return wrong.Err()
}
