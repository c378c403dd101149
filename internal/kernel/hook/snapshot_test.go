package hook

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/kernel/clock"
	"github.com/bpfrun/bpfrun/internal/kernel/model"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/kernel/window"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/subsys/hid"
	"github.com/bpfrun/bpfrun/internal/testing/snaptest"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// newHooks makes hooks of a kernel without types.
func newHooks(t *testing.T) *Hooks { return hooksOn(t, nil) }

// hooksOn makes hooks of a kernel with these types.
func hooksOn(t *testing.T, types *btf.Spec) *Hooks {
	t.Helper()
	m, err := mem.New(mem.Config{})
	require.NoError(t, err)
	t.Cleanup(m.Close)
	s := object.New(object.Config{Mem: m, Types: object.NewTypes(), BTF: types, CPUs: 1, Arch: "x86"})
	u, err := window.NewUser(s)
	require.NoError(t, err)
	p, err := window.NewPerCPU(s)
	require.NoError(t, err)
	c := clock.New(clock.Config{})
	y, err := window.NewSymbols(s, p, &c, nil)
	require.NoError(t, err)
	return New(s, u, y, model.NewModel(s, u), net.New(s), hid.New(s))
}

func snapshot(h *Hooks) func() func() {
	return func() func() {
		c := h.Snapshot()
		return func() { h.Restore(c) }
	}
}

func TestHooksRestoreEveryField(t *testing.T) {
	h := newHooks(t)
	snaptest.Check(t, h, map[string]snaptest.Field{
		"event":  snaptest.Value(&h.event, func(n int) event { return event{hook: strconv.Itoa(n), nth: n} }),
		"traced": snaptest.Number(&h.traced),
		"live": {Set: func(int) {
			_, err := h.NewContext(ContextSpec{ProgType: uapi.ProgTypeXDP})
			require.NoError(t, err)
		}, Get: func() any { return len(h.Contexts()) }},
	}, snapshot(h))
}

func TestContextsRestoreEveryField(t *testing.T) {
	h := newHooks(t)
	c, err := h.NewContext(ContextSpec{ProgType: uapi.ProgTypeSchedCls})
	require.NoError(t, err)
	snaptest.Check(t, c, map[string]snaptest.Field{
		"Addr": snaptest.Number(&c.Addr), "Region": snaptest.Pointer(&c.Region), "Size": snaptest.Number(&c.Size), "Type": snaptest.Text(&c.Type),
		"Func": snaptest.Text(&c.Func), "FuncAddr": snaptest.Number(&c.FuncAddr),
		"Args":    snaptest.Slice(&c.Args, func(n int) Arg { return Arg{Value: uint64(n)} }),
		"Ret":     snaptest.Value(&c.Ret, func(n int) Arg { return Arg{Value: uint64(n)} }),
		"Returns": {Set: func(n int) { c.Returns = n == 1 }, Get: func() any { return c.Returns }}, "Slots": snaptest.Number(&c.Slots),
		"inner":   snaptest.Slice(&c.inner, func(n int) Arg { return Arg{Value: uint64(n)} }),
		"calls":   {Set: func(n int) { c.calls = n == 1 }, Get: func() any { return c.calls }},
		"Untyped": {Set: func(n int) { c.Untyped = n == 1 }, Get: func() any { return c.Untyped }},
		"Record":  snaptest.Pointer(&c.Record), "Packet": snaptest.Pointer(&c.Packet),
		"spec":  snaptest.Value(&c.spec, func(n int) ContextSpec { return ContextSpec{Nth: n, Packet: []byte{byte(n)}} }),
		"more":  snaptest.Slice(&c.more, func(n int) *mem.Region { return &mem.Region{Name: strconv.Itoa(n)} }),
		"steps": snaptest.Value(&c.steps, func(n int) []step { return []step{{seq: uint64(n)}} }),
		"meta":  snaptest.Pointer(&c.meta), "own": snaptest.Pointer(&c.own), "header": snaptest.Pointer(&c.header), "optval": snaptest.Pointer(&c.optval), "keys": snaptest.Pointer(&c.keys),
		"room": snaptest.Number(&c.room),
		"sysctl": {Set: func(n int) {
			if c.sysctl == nil {
				c.sysctl = &Sysctl{New: []byte{0}}
			}
			c.sysctl.Replaced, c.sysctl.New[0] = n == 1, byte(n)
		}, Get: func() any { return Sysctl{Replaced: c.sysctl.Replaced, New: append([]byte(nil), c.sysctl.New...)} }},
	}, snapshot(h))
}

func TestViewsRestoreEveryField(t *testing.T) {
	h := newHooks(t)
	c, err := h.NewContext(ContextSpec{ProgType: uapi.ProgTypeSchedCls})
	require.NoError(t, err)
	v := c.view
	snaptest.Check(t, v, map[string]snaptest.Field{
		"Fields": snaptest.Slice(&v.Fields, func(n int) net.Field { return net.Field{Name: strconv.Itoa(n)} }),
		"Values": snaptest.Slice(&v.Values, func(n int) uint64 { return uint64(n) }),
		"Packet": snaptest.Pointer(&v.Packet), "Socket": snaptest.Pointer(&v.Socket),
	}, snapshot(h))
	require.Same(t, v, c.view, "what lies in memory is this view")
}
