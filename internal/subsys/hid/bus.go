package hid

import (
	"fmt"
	"maps"
	"slices"

	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/mem"
)

// Bus has the devices of one kernel and the contexts of their programs. Create it with [New].
type Bus struct {
	space    *object.Space `snapshot:"fixed"`
	devices  []*Device
	contexts map[uint64]*Context
}

// New returns a bus without devices.
func New(s *object.Space) *Bus { return &Bus{space: s, contexts: map[uint64]*Context{}} }

// Context is what programs of a device get: a struct hid_bpf_ctx with the bytes behind it (struct
// hid_bpf_ctx_kern).
type Context struct {
	Device *Device
	Object *object.Object
	// data is the buffer that hid_bpf_get_data hands out; nil if the context has none. own means
	// that it belongs to the context alone.
	data *mem.Region
	own  bool
	size uint32
	// bpf means that a program caused the call; it cannot cause further ones.
	bpf bool
}

// Snapshot is the state of a [Bus].
type Snapshot struct {
	devices  []*Device
	states   []Device
	contexts map[uint64]*Context
}

// Snapshot records the devices and contexts; their objects are part of the object space's.
func (b *Bus) Snapshot() *Snapshot {
	s := &Snapshot{devices: slices.Clone(b.devices), contexts: maps.Clone(b.contexts)}
	for _, d := range b.devices {
		state := *d
		state.Requests, state.Deliveries = slices.Clip(d.Requests), slices.Clip(d.Deliveries)
		s.states = append(s.states, state)
	}
	return s
}

// Restore restores a snapshot.
func (b *Bus) Restore(s *Snapshot) {
	b.devices = append(b.devices[:0], s.devices...)
	if len(b.contexts)+len(s.contexts) > 0 {
		b.contexts = maps.Clone(s.contexts)
	}
	for i, d := range b.devices {
		*d = s.states[i]
	}
}

// Device returns the device with a number, or nil.
func (b *Bus) Device(id uint32) *Device {
	for _, d := range b.devices {
		if d.ID == id {
			return d
		}
	}
	return nil
}

// Devices lists the devices.
func (b *Bus) Devices() []*Device { return b.devices }

// Add connects a device. The error is that of a kernel without HID devices in its BTF.
func (b *Bus) Add(info Info) (*Device, error) {
	o, err := b.space.NewObjectNamed(fmt.Sprintf("hid%d", info.ID), "hid_device")
	if err != nil {
		return nil, err
	}
	d := &Device{Info: info, Object: o, Fixed: info.Descriptor}
	f := object.Build(o)
	f.Num("id", uint64(info.ID))
	f.Num("bus", uint64(info.Bus))
	f.Num("group", uint64(info.Group))
	f.Num("vendor", uint64(info.Vendor))
	f.Num("product", uint64(info.Product))
	f.Num("version", uint64(info.Version))
	f.Text("name", info.Name)
	f.Text("phys", info.Phys)
	f.Text("uniq", info.Uniq)
	for rows, fields := range map[string]string{"dev_rsize": "dev_rdesc"} {
		f.Num(rows, uint64(len(info.Descriptor)))
		if raw, err := b.space.NewBytes("report descriptor", info.Descriptor); err == nil {
			f.Ptr(fields, raw)
		}
	}
	b.devices = append(b.devices, d)
	b.describe(d)
	return d, nil
}

// describe writes the current descriptor into the struct hid_device.
func (b *Bus) describe(d *Device) {
	f := object.Build(d.Object)
	for _, p := range [...][2]string{{"rsize", "rdesc"}, {"bpf_rsize", "bpf_rdesc"}} {
		if raw, err := b.space.NewBytes("report descriptor", d.Fixed); err == nil {
			f.Num(p[0], uint64(len(d.Fixed)))
			f.Ptr(p[1], raw)
		}
	}
}

// ProbeDevice parses the device's descriptor and, if programs want events, allocates what they see
// of a report: the longest one, rounded up to 64 bytes (hid_open_report, __hid_bpf_allocate_data).
func (b *Bus) ProbeDevice(d *Device) error {
	d.Parsed, d.ParseError = Parse(d.Fixed)
	b.describe(d)
	if d.data != nil || d.Parsed == nil || !d.implements(DeviceEvent) {
		return nil
	}
	const chunk = 64
	d.size = uint32((d.Parsed.Longest() + chunk - 1) / chunk * chunk)
	r, err := b.space.Mem().Alloc(uint64(max(d.size, 1)), mem.Region{Kind: mem.KernelObject, Name: "report buffer"})
	d.data = r
	return err
}

// context creates a struct hid_bpf_ctx.
func (b *Bus) context(d *Device, size, allocated uint32) (*Context, error) {
	o, err := b.space.NewObjectNamed("hid_bpf_ctx", "hid_bpf_ctx")
	if err != nil {
		return nil, err
	}
	f := object.Build(o)
	f.Ptr("hid", d.Object)
	f.Num("allocated_size", uint64(allocated))
	f.Num("size", uint64(size))
	c := &Context{Device: d, Object: o, size: allocated}
	b.contexts[o.Addr()] = c
	return c, nil
}

// Allocate creates a context without data, as hid_bpf_allocate_context does; nil if there is no
// such device.
func (b *Bus) Allocate(id uint32) (*Context, error) {
	d := b.Device(id)
	if d == nil {
		return nil, nil
	}
	return b.context(d, 0, 0)
}

// ContextAt returns the context at an address, or nil.
func (b *Bus) ContextAt(addr uint64) *Context { return b.contexts[addr] }

// Free ends a context.
func (b *Bus) Free(c *Context) {
	delete(b.contexts, c.Object.Addr())
	b.space.Discard(c.Object)
	if c.own {
		b.space.Mem().Free(c.data)
	}
}

// At returns the address of the context's bytes from an offset on, 0 if it has not that many
// (hid_bpf_get_data).
func (c *Context) At(off uint32, size uint64) uint64 {
	if c.data == nil || size > uint64(c.size) || uint64(off)+size > uint64(c.size) {
		return 0
	}
	return c.data.Base + uint64(off)
}

// Buffer returns where programs see the reports that the device sends, 0 if no program does.
func (d *Device) Buffer() (addr uint64, size int) {
	if d.data == nil {
		return 0, 0
	}
	return d.data.Base, int(d.size)
}

// FromBPF reports whether a program caused the call.
func (c *Context) FromBPF() bool { return c.bpf }

// InEvent reports whether the context is that of a device event (hid_bpf_try_input_report).
func (c *Context) InEvent() bool { return c.data != nil && c.data == c.Device.data }

// bytes returns the first n bytes behind the context.
func (b *Bus) bytes(c *Context, n int) []byte {
	if c.data == nil {
		return nil
	}
	all := b.space.Mem().Bytes(c.data)
	return slices.Clone(all[:min(n, len(all))])
}
