package hid

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// minimalDevice has one input report of eight bytes and no ids.
func minimalDevice(t *testing.T, b *Bus) *Device {
	t.Helper()
	info := DefaultInfo()
	info.Descriptor = minimal
	d, err := b.Add(info)
	require.NoError(t, err)
	require.NoError(t, b.ProbeDevice(d))
	return d
}

// TestReportsThatNoProgramSees are checked as by hid_report_raw_event: what arrives, and why not.
func TestReportsThatNoProgramSees(t *testing.T) {
	for _, tt := range []struct {
		name string
		data []byte
		bpf  bool
		want int32
		why  string
		out  int
	}{
		{"as long as declared", make([]byte, 8), false, 0, "", 8},
		{"longer", make([]byte, 9), false, 0, "", 9},
		{"shorter, of the device", make([]byte, 7), false, 0, "", 8},
		{"shorter, of a program", make([]byte, 7), true, -int32(uapi.EINVAL), whyShort, 0},
		{"empty", nil, false, -1, whyEmpty, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBus(t)
			d := minimalDevice(t, b)
			w, ret, err := b.Input(d, InputReport, tt.data, 0, tt.bpf, false)
			require.NoError(t, err)
			assert.Nil(t, w)
			assert.Equal(t, tt.want, ret)
			require.Len(t, d.Deliveries, 1)
			got := d.Deliveries[0]
			assert.Equal(t, tt.why, got.Why)
			assert.Equal(t, tt.want, got.Errno)
			assert.Len(t, got.Out, tt.out)
			assert.Equal(t, tt.bpf, got.BPF)
		})
	}
	b := newBus(t)
	d := minimalDevice(t, b)
	_, ret, err := b.Input(d, OutputReport, make([]byte, 8), 0, false, false)
	require.NoError(t, err)
	assert.EqualValues(t, -1, ret)
	assert.Equal(t, whyNoID, d.Deliveries[0].Why)
	info := DefaultInfo()
	info.Descriptor = []byte{0xff}
	broken, err := b.Add(info)
	require.NoError(t, err)
	require.NoError(t, b.ProbeDevice(broken))
	_, ret, err = b.Input(broken, InputReport, []byte{1}, 0, false, false)
	require.NoError(t, err)
	assert.Equal(t, -int32(uapi.ENODEV), ret)
	assert.Equal(t, whyDriver, broken.Deliveries[0].Why)
	assert.Equal(t, -int32(uapi.ENOSYS), broken.Send([]byte{1}, false))
}

// TestReportsThatProgramsSee are at most as long as their buffer, and one at a time.
func TestReportsThatProgramsSee(t *testing.T) {
	b := newBus(t)
	d := connect(t, b, DeviceEvent)
	at, size := d.Buffer()
	require.NotZero(t, at)
	_, ret, err := b.Input(d, InputReport, make([]byte, size+1), 0, false, false)
	require.NoError(t, err)
	assert.Equal(t, -int32(uapi.EINVAL), ret)
	assert.Equal(t, whyLong, d.Deliveries[0].Why)
	_, ret, err = b.Input(d, InputReport, []byte{1}, 0, false, true)
	require.NoError(t, err)
	assert.Equal(t, -int32(uapi.EINVAL), ret, "no one has the lock")
	assert.Len(t, d.Deliveries, 1)
	w, ret, err := b.Input(d, InputReport, make([]byte, size), 7, false, false)
	require.NoError(t, err)
	assert.Zero(t, ret)
	assert.Equal(t, []uint64{uint64(InputReport), 7}, w.Args)
	assert.True(t, w.Ctx.InEvent())
	assert.Equal(t, at, w.Ctx.At(0, uint64(size)))
	assert.Equal(t, at+uint64(size)-1, w.Ctx.At(uint32(size)-1, 1))
	assert.Zero(t, w.Ctx.At(0, uint64(size)+1))
	assert.Zero(t, w.Ctx.At(1, uint64(size)))
	assert.Zero(t, w.Ctx.At(1, ^uint64(0)))
	inner, ret, err := b.Input(d, InputReport, []byte{1}, 0, true, true)
	require.NoError(t, err)
	assert.Zero(t, ret, "whoever has the lock may")
	inner.EndInput()
	_, ret, err = b.Input(d, InputReport, []byte{1}, 0, false, false)
	require.NoError(t, err)
	assert.Equal(t, -int32(uapi.EBUSY), ret, "it still has the lock")
	w.EndInput()
	bare := &Context{Device: d}
	assert.Zero(t, bare.At(0, 0))
	assert.False(t, bare.InEvent())
	at, size = minimalDevice(t, b).Buffer()
	assert.Zero(t, at)
	assert.Zero(t, size)
	request, _, err := b.Request(d, 3, []byte{3}, FeatureReport, GetReport, 0, false)
	require.NoError(t, err)
	assert.False(t, request.Ctx.InEvent(), "its bytes are its own")
}

// TestLengthsOfRequests: at least a byte, at most as many as a buffer of the kernel has.
func TestLengthsOfRequests(t *testing.T) {
	b := newBus(t)
	d := connect(t, b)
	for n, want := range map[int]int32{0: -int32(uapi.EINVAL), 1: 0, MaxBuffer: 0, MaxBuffer + 1: -int32(uapi.EINVAL)} {
		w, ret, err := b.Request(d, 3, make([]byte, n), FeatureReport, GetReport, 0, false)
		require.NoError(t, err)
		assert.Equal(t, want, ret, "%d", n)
		assert.Equal(t, want == 0, w != nil, "%d", n)
		w, ret, err = b.Output(d, make([]byte, n), 0, false)
		require.NoError(t, err)
		assert.Equal(t, want, ret, "%d", n)
		assert.Equal(t, want == 0, w != nil, "%d", n)
	}
	_, ret, err := b.Request(d, 3, []byte{3}, reportTypes-1, GetReport, 0, false)
	require.NoError(t, err)
	assert.Zero(t, ret)
	_, ret, err = b.Request(d, 3, []byte{3}, reportTypes, GetReport, 0, false)
	require.NoError(t, err)
	assert.Equal(t, -int32(uapi.EINVAL), ret)
	w, _, err := b.Output(d, []byte{2, 5}, 0, false)
	require.NoError(t, err)
	assert.EqualValues(t, 2, w.EndOutput(), "no program sent it")
	require.Len(t, d.Requests, 1)
	assert.Equal(t, []byte{2, 5}, d.Requests[0].Data)
	w, _, err = b.Output(d, []byte{2, 5}, 0, false)
	require.NoError(t, err)
	w.Returned(-5)
	assert.EqualValues(t, -5, w.EndOutput())
	assert.Len(t, d.Requests, 1)
}

// TestAnswersOfDevices begin with the report's id, also where reports have none (usbhid_get_raw_report).
func TestAnswersOfDevices(t *testing.T) {
	b := newBus(t)
	d := connect(t, b)
	buf := make([]byte, 10)
	assert.EqualValues(t, 9, d.Ask(3, buf, FeatureReport, GetReport, false))
	assert.Equal(t, []byte{3, 0}, buf[:2])
	assert.EqualValues(t, 3, d.Ask(3, []byte{9, 1, 2}, FeatureReport, SetReport, true))
	assert.EqualValues(t, 3, d.Ask(3, buf, FeatureReport, GetReport, false))
	assert.Equal(t, []byte{3, 1, 2}, buf[:3])
	assert.EqualValues(t, 0, d.Ask(9, buf, FeatureReport, GetReport, false), "there is no such report")
	assert.Equal(t, -int32(uapi.EIO), d.Ask(3, buf, FeatureReport, 5, false))
	assert.Len(t, d.Requests, 4)
	m := minimalDevice(t, b)
	assert.EqualValues(t, 9, m.Ask(0, buf, InputReport, GetReport, false))
	assert.EqualValues(t, 3, m.Ask(0, []byte{0, 7, 8}, InputReport, SetReport, false))
	assert.EqualValues(t, 3, m.Ask(0, buf, InputReport, GetReport, false))
	assert.Equal(t, []byte{0, 7, 8}, buf[:3])
	assert.Equal(t, -int32(uapi.ENOSYS), m.Send([]byte{1}, false), "it has no output report")
	assert.Zero(t, m.Ask(5, buf[:1], InputReport, GetReport, false))
	assert.True(t, d.Parsed.Numbered(InputReport))
	assert.False(t, m.Parsed.Numbered(InputReport))
	assert.False(t, m.Parsed.Numbered(reportTypes))
	assert.Nil(t, d.Parsed.Report(InputReport, nil))
	for typ, name := range map[ReportType]string{InputReport: "input", OutputReport: "output", FeatureReport: "feature"} {
		assert.Equal(t, name, typ.String())
	}
	assert.NotPanics(t, func() { _ = reportTypes.String() })
}

// TestProgramsThatRunAlone get a device, and what it is asked or sends.
func TestProgramsThatRunAlone(t *testing.T) {
	for member, args := range map[string][]uint64{
		RdescFixup: nil, DeviceEvent: {0, 0}, HWRequest: {3, uint64(FeatureReport), GetReport, 0}, OutputMember: {0},
	} {
		b := newBus(t)
		w, ok, err := b.DefaultCall(member)
		require.NoError(t, err)
		require.True(t, ok)
		assert.Equal(t, args, w.Args, member)
		assert.Len(t, b.devices, 1)
		_, ok = w.Next()
		assert.True(t, ok)
		w.End()
		_, ok, err = b.DefaultCall(member)
		require.NoError(t, err)
		assert.True(t, ok)
		assert.Len(t, b.devices, 1, "it is used again")
	}
	_, ok, err := newBus(t).DefaultCall("hid_other")
	require.NoError(t, err)
	assert.False(t, ok)
}
