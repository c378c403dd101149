package hid

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/testing/snaptest"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// newBus makes a bus with the two types that it needs.
func newBus(t *testing.T) *Bus {
	t.Helper()
	b := btf.NewBuilder(nil)
	u32 := b.Int("unsigned int", 4, 0)
	ptr := b.Ptr(0)
	b.Struct("hid_device", 16, btf.Member{Name: "id", Type: u32}, btf.Member{Name: "vendor", Type: u32, BitOffset: 32}, btf.Member{Name: "rdesc", Type: ptr, BitOffset: 64})
	b.Struct("hid_bpf_ctx", 16, btf.Member{Name: "hid", Type: ptr}, btf.Member{Name: "allocated_size", Type: u32, BitOffset: 64}, btf.Member{Name: "size", Type: u32, BitOffset: 96})
	spec, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	m, err := mem.New(mem.Config{})
	require.NoError(t, err)
	t.Cleanup(m.Close)
	return New(object.New(object.Config{Mem: m, BTF: spec, Types: object.NewTypes()}))
}

// connect adds a default device with programs that implement some members.
func connect(t *testing.T, b *Bus, members ...string) *Device {
	t.Helper()
	d, err := b.Add(DefaultInfo())
	require.NoError(t, err)
	o := &Ops{Programs: map[string]string{}, Entries: map[string]uint64{}}
	for _, m := range members {
		o.Programs[m] = "prog"
	}
	require.Zero(t, d.Attach(o))
	require.NoError(t, b.ProbeDevice(d))
	return d
}

func TestBusRestoresEveryField(t *testing.T) {
	b := newBus(t)
	d := connect(t, b)
	snaptest.Check(t, b, map[string]snaptest.Field{
		"devices": {Set: func(int) {
			_, err := b.Add(DefaultInfo())
			require.NoError(t, err)
		}, Get: func() any { return len(b.devices) }},
		"contexts": {Set: func(int) {
			_, err := b.Allocate(1)
			require.NoError(t, err)
		}, Get: func() any { return len(b.contexts) }},
	}, func() func() {
		s := b.Snapshot()
		return func() { b.Restore(s) }
	})
	s := b.Snapshot()
	d.Send([]byte{2, 1}, false)
	d.SetReport(FeatureReport, 3, []byte{3, 9})
	b.Restore(s)
	assert.Empty(t, d.Requests)
	assert.Equal(t, make([]byte, 8), d.answer(FeatureReport, 3)[1:])
}

// TestEventsByReturnValue: negative drops, 0 keeps, a size changes it, and one beyond the buffer is
// refused (dispatch_hid_bpf_device_event).
func TestEventsByReturnValue(t *testing.T) {
	for _, c := range []struct {
		ret  int32
		want int32
		out  int
	}{{0, 0, 5}, {-1, -1, 0}, {-90, -90, 0}, {9, 0, 9}, {64, 0, 64}, {65, -int32(uapi.EINVAL), 0}, {3, 0, 5}} {
		b := newBus(t)
		d := connect(t, b, DeviceEvent)
		w, ret, err := b.Input(d, InputReport, []byte{1, 0, 0, 0, 0}, 0, false, false)
		require.NoError(t, err)
		require.Zero(t, ret)
		_, ok := w.Next()
		require.True(t, ok)
		_, busy, _ := b.Input(d, InputReport, []byte{1}, 0, false, false)
		require.Equal(t, -int32(uapi.EBUSY), busy, "the device's lock is taken")
		w.Returned(c.ret)
		_, ok = w.Next()
		require.False(t, ok)
		require.Equal(t, c.want, w.EndInput(), "returned %d", c.ret)
		require.Len(t, d.Deliveries[0].Out, c.out, "returned %d", c.ret)
	}
}

func TestOrderOfPrograms(t *testing.T) {
	b := newBus(t)
	d := connect(t, b)
	for _, o := range []Ops{{Name: "a"}, {Name: "b", Before: true}, {Name: "c"}} {
		o.Programs = map[string]string{HWRequest: o.Name}
		require.Zero(t, d.Attach(&o))
	}
	w, _, err := b.Request(d, 3, []byte{3, 0}, FeatureReport, GetReport, 0, false)
	require.NoError(t, err)
	order := ""
	for {
		o, more := w.Next()
		if !more {
			break
		}
		order += o.Name
		if o.Name == "a" {
			w.Returned(2) // it answers itself: c is not asked, nor the device
		} else {
			w.Returned(0)
		}
	}
	ret, _ := w.EndRequest()
	assert.Equal(t, "ba", order)
	assert.EqualValues(t, 2, ret)
	assert.Empty(t, d.Requests)
}

func TestLimitsOfAttaching(t *testing.T) {
	b := newBus(t)
	d := connect(t, b, RdescFixup)
	assert.Equal(t, uapi.EINVAL, d.Attach(&Ops{Programs: map[string]string{RdescFixup: "second"}}))
	for range maxOps - 1 {
		require.Zero(t, d.Attach(&Ops{Programs: map[string]string{}}))
	}
	assert.Equal(t, uapi.E2BIG, d.Attach(&Ops{Programs: map[string]string{}}))
}

func TestFixupByReturnValue(t *testing.T) {
	for ret, want := range map[int32]int{0: len(basic), -22: len(basic), 20: 20, MaxDescriptor: MaxDescriptor, MaxDescriptor + 1: len(basic)} {
		b := newBus(t)
		d := connect(t, b, RdescFixup)
		w, err := b.Fixup(d)
		require.NoError(t, err)
		w.Next()
		w.Returned(ret)
		w.EndFixup()
		assert.Len(t, d.Fixed, want, "returned %d", ret)
	}
}
