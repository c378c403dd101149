package hid

import (
	"slices"

	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Walk is one call of a hook: the programs that implement it, one after the other, on one context.
// A Walk is a value, so that a run that waits for the next program can be part of a snapshot.
type Walk struct {
	Member string
	Ctx    *Context
	// Args are the arguments after the context.
	Args []uint64

	bus    *Bus
	left   []*Ops
	ret    int32
	in     []byte
	rtype  ReportType
	num    byte
	class  int
	locked bool // the caller had the lock already
}

// Values returns the arguments of a program by position: the context's object, then numbers.
func (w *Walk) Values() []any {
	out := []any{w.Ctx.Object}
	for _, v := range w.Args {
		out = append(out, v)
	}
	return out
}

// Next returns the programs whose turn it is; ok is false at the end.
func (w *Walk) Next() (o *Ops, ok bool) {
	for len(w.left) > 0 {
		o, w.left = w.left[0], w.left[1:]
		if o.Programs[w.Member] != "" {
			return o, true
		}
	}
	return nil, false
}

// Returned takes what the program returned (dispatch_hid_bpf_device_event,
// dispatch_hid_bpf_raw_requests).
func (w *Walk) Returned(ret int32) {
	switch {
	case w.Member == DeviceEvent && ret > 0:
		object.Build(w.Ctx.Object).Num("size", uint64(uint32(ret)))
	case ret != 0:
		w.ret, w.left = ret, nil
	}
}

// walk begins a call. It copies data to the buffer that the programs see.
func (b *Bus) walk(d *Device, member string, data []byte, size, allocated uint32, buf *mem.Region) (*Walk, error) {
	c, err := b.context(d, size, allocated)
	if err != nil {
		return nil, err
	}
	if c.data = buf; buf == nil {
		if c.data, err = b.space.Mem().Alloc(uint64(max(allocated, 1)), mem.Region{Kind: mem.KernelObject, Name: "report"}); err != nil {
			return nil, err
		}
		c.own = true
	}
	room := b.space.Mem().Bytes(c.data)
	clear(room)
	copy(room, data)
	return &Walk{Member: member, Ctx: c, bus: b, left: d.ops, in: slices.Clone(data)}, nil
}

// Fixup begins the call that changes a descriptor; nil if no program does.
func (b *Bus) Fixup(d *Device) (*Walk, error) {
	if d.rdesc == nil {
		return nil, nil
	}
	w, err := b.walk(d, RdescFixup, d.Descriptor[:min(len(d.Descriptor), MaxDescriptor)], uint32(len(d.Descriptor)), MaxDescriptor, nil)
	if w != nil {
		w.left = []*Ops{d.rdesc}
	}
	return w, err
}

// EndFixup takes the descriptor that the program left (call_hid_bpf_rdesc_fixup).
func (w *Walk) EndFixup() int32 {
	d, ret := w.Ctx.Device, w.ret
	switch {
	case ret < 0 || ret > MaxDescriptor:
		d.Fixed = d.Descriptor
	case ret > 0:
		d.Fixed = w.bus.bytes(w.Ctx, int(ret))
	default:
		d.Fixed = w.bus.bytes(w.Ctx, len(d.Descriptor))
	}
	w.bus.Free(w.Ctx)
	return ret
}

// Reasons why an input report is dropped or refused.
const (
	whyProgram = "by a program"
	whyNoID    = "the descriptor declares no such report"
	whyEmpty   = "it is empty"
	whyShort   = "it is shorter than the descriptor declares"
	whyLong    = "it is longer than the buffer"
	whyDriver  = "the device has no driver: its descriptor is refused"
)

// Input begins an input report: of the device, or of a program (hid_bpf_input_report). A nil Walk
// means that it ended at once, with that error (__hid_input_report).
func (b *Bus) Input(d *Device, t ReportType, data []byte, source uint64, bpf, haveLock bool) (*Walk, int32, error) {
	drop := func(errno int32, why string) (*Walk, int32, error) {
		d.Deliveries = append(d.Deliveries, Delivery{Type: t, In: slices.Clone(data), Errno: errno, Why: why, BPF: bpf})
		return nil, errno, nil
	}
	switch {
	case haveLock && !d.locked:
		return nil, -int32(uapi.EINVAL), nil
	case !haveLock && d.locked:
		return nil, -int32(uapi.EBUSY), nil
	case d.Parsed == nil:
		return drop(-int32(uapi.ENODEV), whyDriver)
	}
	if d.data == nil { // no program wants events
		buf := slices.Clone(data)
		if !bpf { // the transport's buffer has room for the longest report
			buf = append(buf, make([]byte, max(d.Parsed.Longest()-len(data), 0))...)
		}
		errno, why, out := deliver(d, t, buf, len(data))
		d.Deliveries = append(d.Deliveries, Delivery{Type: t, In: slices.Clone(data), Out: out, Errno: errno, Why: why, BPF: bpf})
		return nil, errno, nil
	}
	if len(data) > int(d.size) {
		return drop(-int32(uapi.EINVAL), whyLong)
	}
	w, err := b.walk(d, DeviceEvent, data, uint32(len(data)), d.size, d.data)
	if w == nil {
		return nil, 0, err
	}
	w.Ctx.bpf, w.rtype, w.Args, w.locked = bpf, t, []uint64{uint64(t), source}, haveLock
	d.locked = true
	return w, 0, nil
}

// EndInput passes the report to the input layer, if no program dropped it.
func (w *Walk) EndInput() int32 {
	d := w.Ctx.Device
	d.locked = w.locked
	n := int(uint32(w.Ctx.Object.Num("size")))
	e := Delivery{Type: w.rtype, In: w.in, BPF: w.Ctx.bpf}
	switch {
	case w.ret < 0:
		e.Errno, e.Why = w.ret, whyProgram
	case n > int(d.size) || n < 0:
		e.Errno, e.Why = -int32(uapi.EINVAL), whyLong
	default:
		if n == 0 { // the kernel keeps the size that the report had
			n = len(w.in)
		}
		all := w.bus.bytes(w.Ctx, int(d.size))
		e.Errno, e.Why, e.Out = deliver(d, w.rtype, all, n)
	}
	d.Deliveries = append(d.Deliveries, e)
	w.bus.Free(w.Ctx)
	return e.Errno
}

// deliver checks a report as hid-core does before the input layer gets it (hid_report_raw_event):
// buf holds it, and may be longer.
func deliver(d *Device, t ReportType, buf []byte, n int) (errno int32, why string, out []byte) {
	if n == 0 {
		return -1, whyEmpty, nil
	}
	r := d.Parsed.Report(t, buf[:n])
	if r == nil {
		return -1, whyNoID, nil
	}
	if want := r.Len(); n < want {
		if len(buf) < want {
			return -int32(uapi.EINVAL), whyShort, nil
		}
		buf = append(slices.Clone(buf[:n]), make([]byte, want-n)...)
		return 0, "", buf
	}
	return 0, "", slices.Clone(buf[:n])
}

// Request begins a request for a report, of the kernel or of a program. A nil Walk means that it
// ended at once, with that error.
func (b *Bus) Request(d *Device, num byte, buf []byte, t ReportType, class int, source uint64, bpf bool) (*Walk, int32, error) {
	if len(buf) < 1 || len(buf) > MaxBuffer || t >= reportTypes {
		return nil, -int32(uapi.EINVAL), nil
	}
	w, err := b.walk(d, HWRequest, buf, uint32(len(buf)), uint32(len(buf)), nil)
	if w == nil {
		return nil, 0, err
	}
	w.Ctx.bpf, w.rtype, w.num, w.class = bpf, t, num, class
	w.Args = []uint64{uint64(num), uint64(t), uint64(uint32(class)), source}
	return w, 0, nil
}

// EndRequest asks the device, if no program answered or refused, and returns the bytes of the
// answer (__hid_hw_raw_request).
func (w *Walk) EndRequest() (ret int32, buf []byte) {
	d := w.Ctx.Device
	buf = w.bus.bytes(w.Ctx, len(w.in))
	if ret = w.ret; ret == 0 {
		ret = d.Ask(w.num, buf, w.rtype, w.class, w.Ctx.bpf)
	}
	w.bus.Free(w.Ctx)
	return ret, buf
}

// Output begins an output report. A nil Walk means that it ended at once, with that error.
func (b *Bus) Output(d *Device, buf []byte, source uint64, bpf bool) (*Walk, int32, error) {
	if len(buf) < 1 || len(buf) > MaxBuffer {
		return nil, -int32(uapi.EINVAL), nil
	}
	w, err := b.walk(d, OutputMember, buf, uint32(len(buf)), uint32(len(buf)), nil)
	if w == nil {
		return nil, 0, err
	}
	w.Ctx.bpf, w.rtype, w.Args = bpf, OutputReport, []uint64{source}
	return w, 0, nil
}

// EndOutput sends the report to the device, if no program sent or refused it
// (__hid_hw_output_report).
func (w *Walk) EndOutput() int32 {
	ret := w.ret
	if ret == 0 {
		ret = w.Ctx.Device.Send(w.bus.bytes(w.Ctx, len(w.in)), w.Ctx.bpf)
	}
	w.bus.Free(w.Ctx)
	return ret
}

// End ends the call, whatever it is.
func (w *Walk) End() int32 {
	switch w.Member {
	case RdescFixup:
		return w.EndFixup()
	case DeviceEvent:
		return w.EndInput()
	case HWRequest:
		ret, _ := w.EndRequest()
		return ret
	}
	return w.EndOutput()
}

// Clone returns a copy that proceeds on its own.
func (w *Walk) Clone() *Walk {
	c := *w
	return &c
}
