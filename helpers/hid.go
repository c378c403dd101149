package helpers

import (
	"github.com/bpfrun/bpfrun/helpers/held"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/subsys/hid"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// Functions for programs of HID devices (drivers/hid/bpf/hid_bpf_dispatch.c). What they send passes
// through the programs of the device, as in the kernel; those programs run within the call.
var hidKfuncs = []kfuncRow{
	{Name: "hid_bpf_get_data", Wide: true, Args: []proto.Arg{argObject, argAny, argAny}, Do: onHID(hidGetData)},
	{Name: "hid_bpf_allocate_context", Wide: true, Args: []proto.Arg{argAny}, Do: hidAllocateContext},
	{Name: "hid_bpf_release_context", Args: []proto.Arg{argObject}, Do: onHID(hidReleaseContext)},
	{Name: "hid_bpf_hw_request", Args: []proto.Arg{argObject, argBuf, argSize, argAny, argAny}, Do: onHID(hidHWRequest), Note: "the device answers what it was set to, else zeros"},
	{Name: "hid_bpf_hw_output_report", Args: []proto.Arg{argObject, argBuf, argSize}, Do: onHID(hidHWOutputReport)},
	{Name: "hid_bpf_input_report", Args: []proto.Arg{argObject, argAny, argBuf, argSize}, Do: onHID(hidInputReport)},
	{Name: "hid_bpf_try_input_report", Args: []proto.Arg{argObject, argAny, argBuf, argSize}, Do: onHID(hidTryInputReport)},
}

// onHID turns functions of the struct hid_bpf_ctx in their first argument into implementations.
func onHID(do func(*Call, *hid.Context) (uint64, *vm.Action)) Impl {
	return func(c *Call) (uint64, *vm.Action) {
		x := c.Kernel.HID.ContextAt(c.Args[0])
		if x == nil {
			return 0, badArg("%#x is not a struct hid_bpf_ctx", c.Args[0])
		}
		return do(c, x)
	}
}

func hidGetData(c *Call, x *hid.Context) (uint64, *vm.Action) {
	return x.At(uint32(c.Args[1]), c.Args[2]), nil
}

func hidAllocateContext(c *Call) (uint64, *vm.Action) {
	x, err := c.Kernel.HID.Allocate(uint32(c.Args[0]))
	if err != nil {
		return 0, notSimulated("hid_bpf_allocate_context: " + err.Error())
	}
	if x == nil {
		return 0, nil
	}
	return c.take(x.Object, "context")
}

func hidReleaseContext(c *Call, x *hid.Context) (uint64, *vm.Action) {
	if f := c.give("hid_bpf_release_context", held.Reference, c.Args[0]); f != nil {
		return 0, f
	}
	c.Kernel.HID.Free(x)
	return 0, nil
}

// hidBuffer checks the buffer of a request: it must contain a report that the device declares, and
// is cut to its length (__hid_bpf_hw_check_params). request means that the first byte is an id even
// if the device has none.
func (c *Call) hidBuffer(x *hid.Context, t hid.ReportType, addr, size uint64, request bool) ([]byte, uapi.Errno, *vm.Action) {
	d := x.Device.Parsed
	switch {
	case x.FromBPF():
		return nil, uapi.EDEADLK, nil
	case t > hid.FeatureReport || size < 1 || d == nil:
		return nil, uapi.EINVAL, nil
	}
	buf, f := c.guest.Read(addr, size)
	if f != nil {
		return nil, 0, f
	}
	r := d.Report(t, buf)
	if r == nil {
		return nil, uapi.EINVAL, nil
	}
	n := r.Len()
	if request && !d.Numbered(t) {
		n++
	}
	return append([]byte(nil), buf[:min(len(buf), n)]...), 0, nil
}

func hidHWRequest(c *Call, x *hid.Context) (uint64, *vm.Action) {
	t, class := hid.ReportType(min(c.Args[3]&0xffffffff, 0xff)), int(uint32(c.Args[4]))
	buf, errno, f := c.hidBuffer(x, t, c.Args[1], c.Args[2], true)
	if f != nil || errno != 0 {
		return errnoRet(errno), f
	}
	switch class {
	case 1, 2, 3, 9, 10, 11: // enum hid_class_request: get and set of report, idle and protocol
	default:
		return errnoRet(uapi.EINVAL), nil
	}
	w, ret, err := c.Kernel.HID.Request(x.Device, buf[0], buf, t, class, c.Args[0], true)
	return c.hidWalk(w, ret, err, c.Args[1])
}

func hidHWOutputReport(c *Call, x *hid.Context) (uint64, *vm.Action) {
	buf, errno, f := c.hidBuffer(x, hid.OutputReport, c.Args[1], c.Args[2], true)
	if f != nil || errno != 0 {
		return errnoRet(errno), f
	}
	w, ret, err := c.Kernel.HID.Output(x.Device, buf, c.Args[0], true)
	return c.hidWalk(w, ret, err, 0)
}

// hidInputReport waits for the device's lock; a program that runs while it is taken would wait
// forever.
func hidInputReport(c *Call, x *hid.Context) (uint64, *vm.Action) {
	return c.hidInput(x, false)
}

// hidTryInputReport fails if the device's lock is taken by others than the event that the program
// is part of.
func hidTryInputReport(c *Call, x *hid.Context) (uint64, *vm.Action) {
	return c.hidInput(x, x.InEvent())
}

func (c *Call) hidInput(x *hid.Context, haveLock bool) (uint64, *vm.Action) {
	t := hid.ReportType(min(c.Args[1]&0xffffffff, 0xff))
	buf, errno, f := c.hidBuffer(x, t, c.Args[2], c.Args[3], false)
	if f != nil || errno != 0 {
		return errnoRet(errno), f
	}
	w, ret, err := c.Kernel.HID.Input(x.Device, t, buf, c.Args[0], true, haveLock)
	return c.hidWalk(w, ret, err, 0)
}

// hidWalk runs the programs of a call within the running one. out is where the answer to a request
// goes.
func (c *Call) hidWalk(w *hid.Walk, ret int32, err error, out uint64) (uint64, *vm.Action) {
	if err != nil {
		return 0, notSimulated(err.Error())
	}
	if w == nil {
		return uint64(int64(ret)), nil
	}
	return hidWalking{walk: *w, out: out}.next(c.Thread)
}

// hidWalking is the state between two programs of a call.
type hidWalking struct {
	walk hid.Walk
	args *mem.Region // the context of the program that runs
	out  uint64
}

// next runs the next program, or ends the call.
func (s hidWalking) next(t *vm.Thread) (uint64, *vm.Action) {
	e := envOf(t)
	o, more := s.walk.Next()
	if !more {
		return s.end(e)
	}
	args := append([]uint64{s.walk.Ctx.Object.Addr()}, s.walk.Args...)
	r, err := e.Mem.Alloc(8*uint64(len(args)), mem.Region{Kind: mem.Context, Name: "args", ReadOnly: true})
	if err != nil {
		return 0, notSimulated("a program of the device: " + err.Error())
	}
	b := e.Mem.Bytes(r)
	for i, v := range args {
		e.Mem.ByteOrder().PutUint64(b[8*i:], v)
	}
	s.args = r
	return 0, t.Invoke(o.Entries[s.walk.Member], [5]uint64{r.Base}, s)
}

// end returns what the call returns, after an answer was copied to the program's buffer.
func (s hidWalking) end(e *Env) (uint64, *vm.Action) {
	if s.walk.Member != hid.HWRequest {
		return uint64(int64(s.walk.End())), nil
	}
	ret, buf := s.walk.EndRequest()
	ret = min(ret, int32(len(buf)))
	if ret > 0 {
		if f := e.guest.Write(s.out, buf[:ret]); f != nil {
			return 0, f
		}
	}
	return uint64(int64(ret)), nil
}

// Resume implements [vm.Continuation].
func (s hidWalking) Resume(t *vm.Thread, ret uint64) (uint64, *vm.Action) {
	envOf(t).Mem.Free(s.args)
	s.walk.Returned(int32(uint32(ret)))
	v, act := s.next(t)
	return uint64(uint32(v)), act
}
