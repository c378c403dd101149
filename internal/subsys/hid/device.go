package hid

import (
	"slices"

	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Info describes a device as its bus reports it.
type Info struct {
	ID                       uint32 // the number that user space knows it by (hid_device.id)
	Bus, Group               uint16
	Vendor, Product, Version uint32
	Name, Phys, Uniq         string
	Descriptor               []byte
}

// Buses as in include/uapi/linux/input.h.
const (
	BusUSB       = 3
	BusBluetooth = 5
	BusVirtual   = 6
	BusI2C       = 0x18
)

// The members of struct hid_bpf_ops that the kernel calls.
const (
	DeviceEvent  = "hid_device_event"
	RdescFixup   = "hid_rdesc_fixup"
	HWRequest    = "hid_hw_request"
	OutputMember = "hid_hw_output_report"
)

// maxOps limits the programs of a device (HID_BPF_MAX_PROGS_PER_DEV).
const maxOps = 64

// Ops is a struct hid_bpf_ops that is attached to a device.
type Ops struct {
	Name string
	// Before puts it in front of those attached earlier (BPF_F_BEFORE).
	Before bool
	// Programs are the programs by member, Entries the addresses of their code.
	Programs map[string]string
	Entries  map[string]uint64
}

// Request is a report that the device was asked for or sent, in the order in which it happened.
type Request struct {
	Kind string // "get", "set" or "output"
	Type ReportType
	Data []byte // as the device got it, or what it answered
	// BPF means that a program made it, otherwise the kernel.
	BPF bool
	Ret int32
}

// Delivery is an input report after all programs.
type Delivery struct {
	Type ReportType
	In   []byte // as it arrived
	// Out is what the input layer got; nil if the report was dropped, and Errno says why: -EPERM
	// and so on of a program, or the kernel's reason.
	Out   []byte
	Errno int32
	Why   string
	BPF   bool // a program injected it
}

// Device is a simulated device.
type Device struct {
	Info
	// Object is its struct hid_device.
	Object *object.Object
	// Fixed is the descriptor after programs changed it, Parsed what it declares; nil if the kernel
	// refuses it: the device has no driver then.
	Fixed  []byte
	Parsed *Descriptor
	// ParseError is why.
	ParseError error

	Requests   []Request
	Deliveries []Delivery

	ops    []*Ops
	rdesc  *Ops               // the one that changes the descriptor
	values map[[2]byte][]byte // reports by type and id, as the device has them
	data   *mem.Region        // what device events see (hid_bpf.device_data)
	size   uint32             // its size
	locked bool               // driver_input_lock
}

// Attach adds programs to the device (hid_bpf_reg). It returns the kernel's error.
func (d *Device) Attach(o *Ops) uapi.Errno {
	if len(d.ops) >= maxOps {
		return uapi.E2BIG
	}
	if o.Programs[RdescFixup] != "" {
		if d.rdesc != nil {
			return uapi.EINVAL
		}
		d.rdesc = o
	}
	if o.Before {
		d.ops = slices.Insert(slices.Clone(d.ops), 0, o)
	} else {
		d.ops = append(slices.Clone(d.ops), o)
	}
	return 0
}

// Ops lists what is attached, in the order of calls.
func (d *Device) Ops() []*Ops { return d.ops }

// Fixup returns the programs that change the descriptor, or nil.
func (d *Device) Fixup() *Ops { return d.rdesc }

// implements reports whether any attached program implements a member.
func (d *Device) implements(member string) bool {
	return slices.ContainsFunc(d.ops, func(o *Ops) bool { return o.Programs[member] != "" })
}

// SetReport makes the device answer with these bytes, which begin with the report's id if it has
// one.
func (d *Device) SetReport(t ReportType, id uint8, data []byte) {
	values := map[[2]byte][]byte{}
	for k, v := range d.values {
		values[k] = v
	}
	values[[2]byte{byte(t), id}] = slices.Clone(data)
	d.values = values
}

// Classes of requests (enum hid_class_request).
const (
	GetReport = 1
	SetReport = 9
)

// Ask sends a request to the device itself. It answers like one on USB (usbhid_raw_request): the
// first byte of buf is the report's id, also where reports have none.
func (d *Device) Ask(num byte, buf []byte, t ReportType, class int, bpf bool) int32 {
	req := Request{Kind: "get", Type: t, BPF: bpf}
	switch class {
	case GetReport:
		value := d.answer(t, num)
		buf[0] = num
		at := 0
		if num == 0 {
			at = 1
		}
		req.Ret = int32(copy(buf[at:], value) + at)
		req.Data = slices.Clone(buf[:req.Ret])
	case SetReport:
		buf[0] = num
		data := buf
		if num == 0 {
			data = buf[1:]
		}
		d.SetReport(t, num, data)
		req.Kind, req.Data, req.Ret = "set", slices.Clone(buf), int32(len(buf))
	default:
		return -int32(uapi.EIO)
	}
	d.Requests = append(d.Requests, req)
	return req.Ret
}

// answer returns the report as the device has it: what was set, else zeros.
func (d *Device) answer(t ReportType, num byte) []byte {
	if v, ok := d.values[[2]byte{byte(t), num}]; ok {
		return v
	}
	if d.Parsed == nil {
		return nil
	}
	r := d.Parsed.ByID(t, num)
	if r == nil {
		return nil
	}
	b := make([]byte, r.Len())
	if num != 0 {
		b[0] = num
	}
	return b
}

// Send sends an output report to the device itself, over its interrupt endpoint
// (usbhid_output_report); devices without output reports have none.
func (d *Device) Send(buf []byte, bpf bool) int32 {
	if d.Parsed == nil || !slices.ContainsFunc(d.Parsed.Reports, func(r *Report) bool { return r.Type == OutputReport }) {
		return -int32(uapi.ENOSYS)
	}
	d.Requests = append(d.Requests, Request{Kind: "output", Type: OutputReport, Data: slices.Clone(buf), BPF: bpf, Ret: int32(len(buf))})
	return int32(len(buf))
}
