package scenario

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/subsys/hid"
	"github.com/bpfrun/bpfrun/internal/subsys/hid/device"
)

var hidForm = &form{"hid", "A HID device on which the program runs, with all other HID programs of the object: the device is connected, the object's probe is asked, the programs are attached, the descriptor is fixed, then events happen.", []member{
	{name: "device", doc: "The device. The default is one that fits what the object names (HID_BPF_CONFIG), with a mouse, a keyboard and a feature.", shape: formOf(hidDeviceForm)},
	{name: "events", doc: "What happens, in order.", shape: listOf(formOf(hidEventForm))},
}}

var hidDeviceForm = &form{"HID device", "A simulated HID device.", []member{
	{name: "bus", doc: "usb, bluetooth, i2c, virtual, or a number as in linux/input.h.", shape: oneOf(text, integer)},
	{name: "group", doc: "The device's group (hid_device.group).", shape: integer},
	{name: "vendor", doc: "The vendor's number.", shape: integer},
	{name: "product", doc: "The product's number.", shape: integer},
	{name: "version", doc: "The device's version.", shape: integer},
	{name: "name", doc: "The name.", shape: text},
	{name: "phys", doc: "Where it is plugged in.", shape: text},
	{name: "uniq", doc: "Its serial number.", shape: text},
	{name: "descriptor", doc: "The report descriptor: hex digits or @FILE.", shape: text},
	{name: "features", doc: "Feature reports that it answers with, by id: hex digits that begin with the id, if it is not 0. The others are zeros.", shape: mapOf(text)},
}}

var hidEventForm = &form{"HID event", "One thing that happens to a device: exactly one of input, get, set and output.", []member{
	{name: "input", doc: "The device sends a report: hex digits, beginning with the id if there is one, or fields of the device's descriptor ({id: 1, button1: 1, x: 5}; usages without a name are written 0x00010030).", shape: oneOf(text, mapOf(integer))},
	{name: "get", doc: "User space asks for a report: hex digits of the buffer, whose first byte is the id or 0.", shape: text},
	{name: "set", doc: "User space sets a report: hex digits. The first byte is the report id, or 0.", shape: text},
	{name: "output", doc: "User space sends an output report, as for set.", shape: text},
	{name: "type", doc: "Of get and set: feature (the default), input or output.", shape: text},
	{name: "after", doc: "Simulated time that passes before.", shape: duration},
}}

var hidExpectForm = &form{"expected HID", "What became of a HID device and its reports.", []member{
	{name: "accepted", doc: "Whether the object's probe program accepts the device.", shape: shapeOf(shapeBool)},
	{name: "descriptor", doc: "The report descriptor after the fixup: hex digits, or unchanged.", shape: text},
	{name: "reports", doc: "Lengths in bytes of the reports that it declares, by type and id ({input 1: 5}); null for none.", shape: mapOf(integer)},
	{name: "input", doc: "What the input layer gets of each input report, in order: hex digits, fields of the fixed descriptor ({x: 5}), or dropped.", shape: listOf(oneOf(text, mapOf(integer)))},
	{name: "requests", doc: "What the device is asked and sent, in order: kind, type and bytes (set feature 03 01).", shape: listOf(text)},
	{name: "answers", doc: "What requests of user space return, in order: hex digits for bytes that were read, a number, or an error (-EPERM).", shape: listOf(oneOf(text, integer))},
}}

// HIDSpec is the device of a run.
type HIDSpec struct {
	Node     *Node
	device   *Node // nil for the default
	features []Pair
	events   []*Node
}

func (f *File) decodeHID(n *Node) (*HIDSpec, error) {
	if err := n.fields(hidForm); err != nil {
		return nil, err
	}
	s := &HIDSpec{Node: n, device: n.Get("device")}
	var wrong mistakes
	if d := s.device; d != nil {
		wrong.add(d.fields(hidDeviceForm))
		var err error
		s.features, err = d.Get("features").pairs("features")
		wrong.add(err)
	}
	if e := n.Get("events"); e != nil {
		if e.Kind != Sequence {
			return nil, e.errorf("events: want a list of events, got %s", e.describe())
		}
		s.events = e.Items
	}
	for _, e := range s.events {
		wrong.add(e.fields(hidEventForm))
	}
	return s, wrong.err()
}

// hidDevice returns the device of a run and its events, or the mistakes in them.
func (r *Runner) hidDevice(run *Run) (hid.Info, []device.Event, error) {
	s := run.HID
	info := device.Info(r.m.Linked().Object)
	var wrong mistakes
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
				x, err := v.int(name, 0, most)
				wrong.add(err)
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
			wrong.add(err)
			info.Descriptor = b
		}
	}
	info.ID = uint32(len(r.m.Kernel().HID.Devices()) + 1)
	var events []device.Event
	for _, n := range s.events {
		e, err := hidEvent(n, info.Descriptor)
		wrong.add(err)
		events = append(events, e)
	}
	return info, events, wrong.err()
}

// hidEvent decodes an event of a device with that descriptor.
func hidEvent(n *Node, desc []byte) (e device.Event, err error) {
	kinds := []device.EventKind{device.Input, device.Get, device.Set, device.Output}
	var at *Node
	for _, k := range kinds {
		if v := n.Get(k.String()); v != nil {
			if at != nil {
				return e, v.errorf("an event is one of input, get, set and output, not several")
			}
			at, e.Kind = v, k
		}
	}
	if at == nil {
		return e, n.errorf("an event needs one of input, get, set and output")
	}
	e.Type = hid.FeatureReport
	if t := n.Get("type"); t != nil {
		types := []string{"input", "output", "feature"}
		i := slices.Index(types, t.Text)
		if i < 0 {
			return e, t.unknown("type of report", t.Text, types)
		}
		e.Type = hid.ReportType(i)
	}
	if d := n.Get("after"); d != nil {
		if e.After, err = d.duration("after"); err != nil {
			return e, err
		}
	}
	if at.Kind == Mapping && e.Kind == device.Input {
		e.Data, err = hidFields(at, desc)
		return e, err
	}
	if e.Data, err = at.hex(e.Kind.String()); err == nil && len(e.Data) == 0 && e.Kind != device.Input {
		err = at.errorf("%v: want at least the id, 0 if there is none", e.Kind)
	}
	return e, err
}

// hidFields encodes an input report from its fields.
func hidFields(n *Node, desc []byte) ([]byte, error) {
	d, err := hid.Parse(desc)
	if err != nil {
		return nil, n.wrap("input", err)
	}
	id := 0
	if v := n.Get("id"); v != nil {
		if id, err = v.int("id", 0, 255); err != nil {
			return nil, err
		}
	}
	rep := d.ByID(hid.InputReport, uint8(id))
	if rep == nil {
		return nil, n.errorf("input: the descriptor declares no input report %d", id)
	}
	data := make([]byte, rep.Len())
	if id != 0 {
		data[0] = byte(id)
	}
	var wrong mistakes
	for _, p := range n.Pairs {
		if p.Key.Text == "id" {
			continue
		}
		v, err := p.Value.int(p.Key.Text, -1<<31, 1<<32-1)
		if wrong.add(err) {
			if err := rep.Put(data, p.Key.Text, int64(v)); err != nil {
				wrong.add(p.Key.wrap("", err))
			}
		}
	}
	return data, wrong.err()
}

// checkHID finds mistakes in the device of a run.
func (r *Runner) checkHID(run *Run) error {
	if run.HID == nil {
		return nil
	}
	var wrong mistakes
	if its := device.Programs(r.m.Linked()); !slices.Contains(its, run.Prog) {
		wrong.add(run.HID.Node.errorf("hid: program %s belongs to no HID device; those that do: %s", run.Prog, strings.Join(its, ", ")))
	}
	_, _, err := r.hidDevice(run)
	wrong.add(err)
	for _, p := range run.HID.features {
		_, err := p.Value.hex(p.Key.Text)
		wrong.add(err)
		_, err = p.Key.int("id", 0, 255)
		wrong.add(err)
	}
	return wrong.err()
}

// runHID executes a run on a device. The result is that of the run's program, with the records of
// all programs.
func (r *Runner) runHID(ctx context.Context, run *Run) (*machine.Result, *device.HID, error) {
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
		id, _ := p.Key.int("id", 0, 255)
		answers[uint8(id)], _ = p.Value.hex(p.Key.Text)
	}
	h, err := device.New(ctx, r.m, info, false, answers)
	if err == nil {
		err = h.Do(ctx, events...)
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
		return n.errorf("hid: the run has no device; add hid: {} to it")
	}
	if err := n.fields(hidExpectForm); err != nil || j.hid == nil {
		return err
	}
	var wrong mistakes
	for _, step := range []func(*Node) error{j.hidDescriptor, j.hidReports, j.hidInput, j.hidRequests, j.hidAnswers} {
		wrong.add(step(n))
	}
	if a := n.Get("accepted"); a != nil {
		got := fmt.Sprint(j.hid.Accepted)
		j.expect(a.Pos, "hid.accepted", a.Text == got, a.Text, got)
	}
	return wrong.err()
}

func hexText(b []byte) string { return strings.TrimSpace(fmt.Sprintf("% x", b)) }

func (j *judge) hidDescriptor(n *Node) error {
	d := n.Get("descriptor")
	if d == nil {
		return nil
	}
	want := j.hid.Info.Descriptor
	if d.Text != "unchanged" {
		b, err := d.hex("descriptor")
		if err != nil {
			return err
		}
		want = b
	}
	j.expect(d.Pos, "hid.descriptor", slices.Equal(want, j.hid.Fixed), hexText(want), hexText(j.hid.Fixed))
	return nil
}

func (j *judge) hidReports(n *Node) error {
	pairs, err := n.Get("reports").pairs("reports")
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
		if p.Value.Kind == Null {
			want = "none"
		}
		j.expect(p.Value.Pos, "hid.reports."+p.Key.Text, want == got, want, got)
	}
	return nil
}

func (j *judge) hidInput(n *Node) error {
	list := n.Get("input")
	if list == nil {
		return nil
	}
	j.count(list, "hid.input", len(j.hid.Deliveries))
	var wrong mistakes
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
		case item.Kind == Mapping:
			j.hidValues(item, what, d, got)
		case item.Text == "dropped":
			j.expect(item.Pos, what, d.Out == nil, "dropped", got)
		default:
			want, err := item.hex(what)
			if wrong.add(err) {
				j.expect(item.Pos, what, d.Out != nil && slices.Equal(want, d.Out), hexText(want), got)
			}
		}
	}
	return wrong.err()
}

// hidValues compares fields of a delivered report.
func (j *judge) hidValues(item *Node, what string, d hid.Delivery, all string) {
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
		if v, ok := number(want); ok {
			want = v.String()
		}
		j.expect(p.Value.Pos, what+"."+p.Key.Text, want == got, want, got)
	}
}

func (j *judge) hidRequests(n *Node) error {
	list := n.Get("requests")
	if list == nil {
		return nil
	}
	j.count(list, "hid.requests", len(j.hid.Device.Requests))
	for i, item := range list.Items {
		if i >= len(j.hid.Device.Requests) {
			break
		}
		q := j.hid.Device.Requests[i]
		got := fmt.Sprintf("%s %v %s", q.Kind, q.Type, hexText(q.Data))
		j.expect(item.Pos, fmt.Sprintf("hid.requests[%d]", i), item.Text == got, item.Text, got)
	}
	return nil
}

func (j *judge) hidAnswers(n *Node) error {
	list := n.Get("answers")
	if list == nil {
		return nil
	}
	j.count(list, "hid.answers", len(j.hid.Answers))
	var wrong mistakes
	for i, item := range list.Items {
		if i >= len(j.hid.Answers) {
			break
		}
		a, what := j.hid.Answers[i], fmt.Sprintf("hid.answers[%d]", i)
		got := fmt.Sprint(a.Ret)
		switch {
		case strings.HasPrefix(item.Text, "-E"):
			e, err := item.errno(what)
			if wrong.add(err) {
				j.expect(item.Pos, what, a.Ret == -int32(e), fmt.Sprint(-int32(e)), got)
			}
		case a.Data != nil && a.Ret > 0:
			want, err := item.hex(what)
			if wrong.add(err) {
				j.expect(item.Pos, what, slices.Equal(want, a.Data), hexText(want), hexText(a.Data))
			}
		default:
			j.expect(item.Pos, what, item.Text == got, item.Text, got)
		}
	}
	return wrong.err()
}

// count compares the length of a list that is expected completely.
func (j *judge) count(list *Node, what string, got int) {
	if want := len(list.Items); want != got {
		j.expect(list.Pos, "number of "+what, false, itoa(want), itoa(got))
	}
}
