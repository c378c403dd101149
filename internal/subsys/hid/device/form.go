package device

import (
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/internal/subsys/scene"
)

// Scene is how scenario files write HID devices.
func Scene() *scene.Form { return &form }

var form = scene.Form{
	Member: grammar.Member{Name: "hid", Doc: "A HID device that the program runs on, together with the object's other HID programs.", Shape: grammar.FormOf(runForm)},
	Expect: []grammar.Member{{Name: "hid", Doc: "What became of the HID device and its reports.", Shape: grammar.FormOf(expectForm)}},
	Parts:  []*grammar.Form{runForm, deviceForm, eventForm}, Judged: []*grammar.Form{expectForm},
	Without: []string{
		"chain", "functions", "packet", "pcap", "truncate", "ctx", "context", "args", "current", "cpu", "cookie", "usdt", "function", "elements", "map", "helpers",
		"repeat", "settle", "unset_stack",
	},
	Missing: "the run has no device; add hid: {} to it",
	Decode:  read,
}

var runForm = &grammar.Form{Name: "hid", Doc: "A HID device on which the program runs, with all other HID programs of the object: the device is connected, the object's probe is asked, the programs are attached, the descriptor is fixed, then events happen.", Members: []grammar.Member{
	{Name: "device", Doc: "The device. The default is one that fits what the object names (HID_BPF_CONFIG), with a mouse, a keyboard and a feature.", Shape: grammar.FormOf(deviceForm)},
	{Name: "events", Doc: "What happens, in order.", Shape: grammar.ListOf(grammar.FormOf(eventForm))},
}}

var deviceForm = &grammar.Form{Name: "HID device", Doc: "A simulated HID device.", Members: []grammar.Member{
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

var eventForm = &grammar.Form{Name: "HID event", Doc: "One thing that happens to a device: exactly one of input, get, set and output.", Members: []grammar.Member{
	{Name: "input", Doc: "The device sends a report: hex digits, beginning with the id if there is one, or fields of the device's descriptor ({id: 1, button1: 1, x: 5}; usages without a name are written 0x00010030).", Shape: grammar.OneOf(grammar.Text, grammar.MapOf(grammar.Integer))},
	{Name: "get", Doc: "User space asks for a report: hex digits of the buffer, whose first byte is the id or 0.", Shape: grammar.Text},
	{Name: "set", Doc: "User space sets a report: hex digits. The first byte is the report id, or 0.", Shape: grammar.Text},
	{Name: "output", Doc: "User space sends an output report, as for set.", Shape: grammar.Text},
	{Name: "type", Doc: "Of get and set: feature (the default), input or output.", Shape: grammar.Text},
	{Name: "after", Doc: "Simulated time that passes before.", Shape: grammar.Duration},
}}

var expectForm = &grammar.Form{Name: "expected HID", Doc: "What became of a HID device and its reports.", Members: []grammar.Member{
	{Name: "accepted", Doc: "Whether the object's probe program accepts the device.", Shape: grammar.ShapeOf(grammar.ShapeBool)},
	{Name: "descriptor", Doc: "The report descriptor after the fixup: hex digits, or unchanged.", Shape: grammar.Text},
	{Name: "reports", Doc: "Lengths in bytes of the reports that it declares, by type and id ({input 1: 5}); null for none.", Shape: grammar.MapOf(grammar.Integer)},
	{Name: "input", Doc: "What the input layer gets of each input report, in order: hex digits, fields of the fixed descriptor ({x: 5}), or dropped.", Shape: grammar.ListOf(grammar.OneOf(grammar.Text, grammar.MapOf(grammar.Integer)))},
	{Name: "requests", Doc: "What the device is asked and sent, in order: kind, type and bytes (set feature 03 01).", Shape: grammar.ListOf(grammar.Text)},
	{Name: "answers", Doc: "What requests of user space return, in order: hex digits for bytes that were read, a number, or an error (-EPERM).", Shape: grammar.ListOf(grammar.OneOf(grammar.Text, grammar.Integer))},
}}
