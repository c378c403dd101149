package hid

// basic is a descriptor with the reports that most programs are about: a mouse (report 1), a
// keyboard with lights (report 2), a feature of eight bytes (report 3). mouse and minimal are
// shorter ones.
var (
	basic   = append(append(mouseItems(1), keyboardItems(2)...), featureItems(3)...)
	mouse   = mouseItems(0)
	minimal = []byte{
		0x06, 0x00, 0xff, 0x09, 0x01, 0xa1, 0x01, // vendor page, application
		0x15, 0x00, 0x75, 0x08, 0x95, 0x08, 0x09, 0x01, 0x81, 0x02, // eight bytes of input
		0xc0,
	}
)

func reportID(id byte) []byte {
	if id == 0 {
		return nil
	}
	return []byte{0x85, id}
}

// mouseItems are three buttons, x, y and a wheel.
func mouseItems(id byte) []byte {
	b := append([]byte{0x05, 0x01, 0x09, 0x02, 0xa1, 0x01}, reportID(id)...)
	b = append(b, 0x09, 0x01, 0xa1, 0x00)
	b = append(b, 0x05, 0x09, 0x19, 0x01, 0x29, 0x03, 0x15, 0x00, 0x25, 0x01, 0x95, 0x03, 0x75, 0x01, 0x81, 0x02)
	b = append(b, 0x95, 0x01, 0x75, 0x05, 0x81, 0x03)
	b = append(b, 0x05, 0x01, 0x09, 0x30, 0x09, 0x31, 0x09, 0x38, 0x15, 0x81, 0x25, 0x7f, 0x75, 0x08, 0x95, 0x03, 0x81, 0x06)
	return append(b, 0xc0, 0xc0)
}

// keyboardItems are modifiers, lights and six keys.
func keyboardItems(id byte) []byte {
	b := append([]byte{0x05, 0x01, 0x09, 0x06, 0xa1, 0x01}, reportID(id)...)
	b = append(b, 0x05, 0x07, 0x19, 0xe0, 0x29, 0xe7, 0x15, 0x00, 0x25, 0x01, 0x75, 0x01, 0x95, 0x08, 0x81, 0x02)
	b = append(b, 0x75, 0x08, 0x95, 0x01, 0x81, 0x03)
	b = append(b, 0x05, 0x08, 0x19, 0x01, 0x29, 0x05, 0x75, 0x01, 0x95, 0x05, 0x91, 0x02, 0x75, 0x03, 0x95, 0x01, 0x91, 0x03)
	b = append(b, 0x05, 0x07, 0x19, 0x00, 0x29, 0x65, 0x25, 0x65, 0x75, 0x08, 0x95, 0x06, 0x81, 0x00)
	return append(b, 0xc0)
}

func featureItems(id byte) []byte {
	b := append([]byte{0x06, 0x00, 0xff, 0x09, 0x01, 0xa1, 0x01}, reportID(id)...)
	return append(b, 0x15, 0x00, 0x26, 0xff, 0x00, 0x75, 0x08, 0x95, 0x08, 0x09, 0x01, 0xb1, 0x02, 0xc0)
}

// DefaultDescriptor returns the descriptor of a device that nobody described: with a mouse, a
// keyboard and a feature. If size is not 0, it has that many bytes: items without effect are added
// to the longest one that fits; nil if none does.
func DefaultDescriptor(size int) []byte {
	if size == 0 {
		return append([]byte(nil), basic...)
	}
	for _, from := range [][]byte{basic, mouse, minimal} {
		if len(from) > size || size > MaxDescriptor {
			continue
		}
		const unit, empty = 0x65, 0x64 // no unit, with and without a byte of data
		var pad []byte
		for len(from)+len(pad)+2 <= size {
			pad = append(pad, unit, 0)
		}
		if len(from)+len(pad) < size {
			pad = append(pad, empty)
		}
		return append(pad, from...)
	}
	return nil
}

// DefaultInfo describes such a device.
func DefaultInfo() Info {
	return Info{ID: 1, Bus: BusUSB, Group: 1, Vendor: 0x1234, Product: 0x5678, Version: 0x0110, Name: "Simulated device", Phys: "usb-0000:00:14.0-1/input0", Descriptor: DefaultDescriptor(0)}
}

// DefaultCall begins a call of a member on the first device, which is created if there is none: for
// programs that run alone. ok is false for other members.
func (b *Bus) DefaultCall(member string) (w *Walk, ok bool, err error) {
	var d *Device
	if len(b.devices) > 0 {
		d = b.devices[0]
	} else if d, err = b.Add(DefaultInfo()); err != nil {
		return nil, true, err
	}
	if d.ops == nil {
		d.ops = []*Ops{{Programs: map[string]string{member: member}}}
	}
	if err := b.ProbeDevice(d); err != nil {
		return nil, true, err
	}
	switch member {
	case RdescFixup:
		d.rdesc = d.ops[0]
		w, err = b.Fixup(d)
	case DeviceEvent:
		report := []byte{1, 1, 5, 0xfb, 0}
		w, err = b.walk(d, member, report, uint32(len(report)), d.size, d.data)
		if w != nil {
			w.Args = []uint64{uint64(InputReport), 0}
		}
	case HWRequest:
		w, _, err = b.Request(d, 3, append([]byte{3}, make([]byte, 8)...), FeatureReport, GetReport, 0, false)
	case OutputMember:
		w, _, err = b.Output(d, []byte{2, 0}, 0, false)
	default:
		return nil, false, nil
	}
	return w, true, err
}
