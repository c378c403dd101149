package helpers

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/subsys/hid"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// newHID is a rig with a default device, to which programs are attached that return these values by
// member.
func newHID(t *testing.T, rets map[string]int32) (*rig, *hid.Device) {
	t.Helper()
	b := btf.NewBuilder(nil)
	u32, ptr := b.Int("unsigned int", 4, 0), b.Ptr(0)
	b.Struct("hid_device", 16, btf.Member{Name: "id", Type: u32}, btf.Member{Name: "rdesc", Type: ptr, BitOffset: 64})
	b.Struct("hid_bpf_ctx", 16, btf.Member{Name: "hid", Type: ptr}, btf.Member{Name: "allocated_size", Type: u32, BitOffset: 64}, btf.Member{Name: "size", Type: u32, BitOffset: 96})
	spec, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	r := rigOf(t, uapi.VersionCode(7, 2), spec, object.NewTypes())
	d, err := r.kernel.HID.Add(hid.DefaultInfo())
	require.NoError(t, err)
	o := &hid.Ops{Name: "ops", Programs: map[string]string{}, Entries: map[string]uint64{}}
	for member, ret := range rets {
		img := r.lower([]decode.Insn{{Code: 0xb7, Imm: ret}, {Code: 0x95}}, nil)
		o.Programs[member], o.Entries[member] = member, img.FuncAddr(0)
	}
	require.Zero(t, d.Attach(o))
	require.NoError(t, r.kernel.HID.ProbeDevice(d))
	return r, d
}

// allocate is a context that a program allocated.
func (r *rig) hidContext() uint64 {
	r.t.Helper()
	ctx := r.kok("hid_bpf_allocate_context", 1)
	require.NotZero(r.t, ctx)
	return ctx
}

func neg32(e uapi.Errno) uint64 { return uint64(uint32(-int32(e))) }

func TestHIDContexts(t *testing.T) {
	r, _ := newHID(t, nil)
	assert.Zero(t, r.kok("hid_bpf_allocate_context", 2), "no such device")
	ctx := r.hidContext()
	assert.Zero(t, r.kok("hid_bpf_get_data", ctx, 0, 1), "it has no data")
	r.kok("hid_bpf_release_context", ctx)
	_, f := r.kfunc("hid_bpf_release_context", ctx)
	assert.NotNil(t, f)
}

func TestHIDDataOfAnEvent(t *testing.T) {
	r, d := newHID(t, map[string]int32{hid.DeviceEvent: 0})
	w, _, err := r.kernel.HID.Input(d, hid.InputReport, []byte{1, 2, 3, 4, 5}, 0, false, false)
	require.NoError(t, err)
	ctx := w.Ctx.Object.Addr()
	data := r.kok("hid_bpf_get_data", ctx, 0, 64)
	assert.Equal(t, []byte{1, 2, 3, 4, 5, 0}, r.bytes(data, 6))
	assert.Equal(t, data+60, r.kok("hid_bpf_get_data", ctx, 60, 4))
	assert.Zero(t, r.kok("hid_bpf_get_data", ctx, 60, 5))
	assert.Zero(t, r.kok("hid_bpf_get_data", ctx, 0xffffffff, 1))
	assert.Zero(t, r.kok("hid_bpf_get_data", ctx, 1, ^uint64(0)), "the sum overflows")
}

func TestHIDRequests(t *testing.T) {
	r, d := newHID(t, map[string]int32{hid.HWRequest: 0})
	d.SetReport(hid.FeatureReport, 3, []byte{3, 7, 8})
	ctx, buf := r.hidContext(), r.alloc([]byte{3, 0, 0, 0, 0, 0, 0, 0, 0, 0xee})
	const get, set = hid.GetReport, hid.SetReport
	feature := uint64(hid.FeatureReport)
	assert.EqualValues(t, 3, r.kok("hid_bpf_hw_request", ctx, buf, 10, feature, get))
	assert.Equal(t, []byte{3, 7, 8, 0}, r.bytes(buf, 4))
	assert.EqualValues(t, 9, r.kok("hid_bpf_hw_request", ctx, buf, 10, feature, set), "cut to what the report has")
	assert.Len(t, d.Requests[1].Data, 9)
	assert.True(t, d.Requests[1].BPF)
	for name, args := range map[string][]uint64{
		"type": {ctx, buf, 10, 3, get}, "size": {ctx, buf, 0, feature, get}, "class": {ctx, buf, 10, feature, 4}, "report": {ctx, r.alloc([]byte{9}), 1, feature, get},
	} {
		assert.Equal(t, neg32(uapi.EINVAL), r.kok("hid_bpf_hw_request", args...), name)
	}
	assert.Equal(t, neg32(uapi.EIO), r.kok("hid_bpf_hw_request", ctx, buf, 10, feature, 2), "GET_IDLE")
}

func TestHIDRequestsThatProgramsAnswer(t *testing.T) {
	r, d := newHID(t, map[string]int32{hid.HWRequest: -13, hid.OutputMember: 5})
	ctx, buf := r.hidContext(), r.alloc([]byte{3, 1, 2})
	assert.Equal(t, neg32(uapi.EACCES), r.kok("hid_bpf_hw_request", ctx, buf, 3, uint64(hid.FeatureReport), hid.GetReport))
	assert.EqualValues(t, 5, r.kok("hid_bpf_hw_output_report", ctx, r.alloc([]byte{2, 1}), 2))
	assert.Empty(t, d.Requests, "the device sees nothing of it")
}

func TestHIDOutput(t *testing.T) {
	r, d := newHID(t, nil)
	ctx := r.hidContext()
	assert.EqualValues(t, 2, r.kok("hid_bpf_hw_output_report", ctx, r.alloc([]byte{2, 1, 9, 9}), 4))
	assert.Equal(t, []byte{2, 1}, d.Requests[0].Data)
	assert.Equal(t, neg32(uapi.EINVAL), r.kok("hid_bpf_hw_output_report", ctx, r.alloc([]byte{1}), 1))
}

func TestHIDInputOfPrograms(t *testing.T) {
	r, d := newHID(t, map[string]int32{hid.DeviceEvent: 0})
	ctx, buf := r.hidContext(), r.alloc([]byte{1, 2, 0, 0, 0})
	assert.EqualValues(t, 0, r.kok("hid_bpf_input_report", ctx, 0, buf, 5))
	assert.EqualValues(t, 0, r.kok("hid_bpf_try_input_report", ctx, 0, buf, 5))
	require.Len(t, d.Deliveries, 2)
	assert.Equal(t, []byte{1, 2, 0, 0, 0}, d.Deliveries[0].Out)
	assert.True(t, d.Deliveries[0].BPF)

	w, _, err := r.kernel.HID.Input(d, hid.InputReport, []byte{1, 0, 0, 0, 0}, 0, false, false)
	require.NoError(t, err)
	assert.Equal(t, neg32(uapi.EBUSY), r.kok("hid_bpf_try_input_report", ctx, 0, buf, 5), "the lock is taken by an event")
	inside := w.Ctx.Object.Addr()
	assert.EqualValues(t, 0, r.kok("hid_bpf_try_input_report", inside, 0, buf, 5), "by the event that asks")

	nested, _, err := r.kernel.HID.Input(d, hid.InputReport, []byte{1, 0, 0, 0, 0}, 0, true, true)
	require.NoError(t, err)
	assert.Equal(t, neg32(uapi.EDEADLK), r.kok("hid_bpf_try_input_report", nested.Ctx.Object.Addr(), 0, buf, 5), "caused by a program already")
}
