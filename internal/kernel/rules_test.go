package kernel

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// TestWrappersTakeRegisters: the name of a system call's wrapper makes a function one only if its
// prototype is unknown or has no other parameter than struct pt_regs.
func TestWrappersTakeRegisters(t *testing.T) {
	k := newEmbedded(t)
	proto := func(name string) btf.ID {
		ids := k.BTF().IDs(btf.KindFunc, name)
		require.NotEmpty(t, ids, name)
		return k.BTF().MustType(ids[0]).Ref
	}
	const wrapper = "__x64_sys_openat"
	for _, tt := range []struct {
		fn, like  string // whose prototype it has
		typ       string // of the first argument
		unwrapped bool   // arguments are those of the system call
	}{
		{wrapper, wrapper, "pt_regs", true},
		{wrapper, "wake_up_process", "task_struct", false},
		{wrapper, "vfs_read", "file", false},
		{"vfs_read", wrapper, "pt_regs", false},
	} {
		at := func(s hook.ContextSpec) *hook.Context {
			s.AttachTo, s.Proto = tt.fn, proto(tt.like)
			return newContext(t, k, s)
		}
		for _, section := range []string{"kprobe/x", "kretprobe/x"} {
			c := at(hook.ContextSpec{ProgType: uapi.ProgTypeKprobe, Section: section})
			assert.Equal(t, tt.unwrapped, c.TakesArg("dfd"), "%s of %s as %s", section, tt.fn, tt.like)
			if !tt.unwrapped {
				assert.Equal(t, tt.typ, c.Args[0].Object.TypeName(), "%s of %s as %s", section, tt.fn, tt.like)
			}
		}
		for _, when := range []uapi.AttachType{uapi.AttachTraceFentry, uapi.AttachTraceFexit} {
			c := at(hook.ContextSpec{ProgType: uapi.ProgTypeTracing, Attach: when})
			assert.Equal(t, tt.unwrapped, c.TakesArg("dfd"), "%v of %s as %s", when, tt.fn, tt.like)
			assert.Equal(t, tt.typ, c.Args[0].Object.TypeName(), "%v of %s as %s", when, tt.fn, tt.like)
		}
	}
}

// TestObjectsOfArguments: an argument that points to a struct gets an object, others are refused by
// their type, and by their name if they have none.
func TestObjectsOfArguments(t *testing.T) {
	k := newEmbedded(t)
	c := newContext(t, k, hook.ContextSpec{ProgType: uapi.ProgTypeTracing, Attach: uapi.AttachTraceFentry, AttachTo: "vfs_read"})
	o, err := k.PointeeOf("role", c.Arg("file"))
	require.NoError(t, err)
	assert.Equal(t, "file", o.TypeName())
	for a, typ := range map[*hook.Arg]string{c.Arg("count"): "size_t", {Name: "arg3"}: "argument arg3"} {
		_, err := k.PointeeOf("role", a)
		var wrong *object.TypeError
		require.ErrorAs(t, err, &wrong, typ)
		assert.Equal(t, [2]string{typ, "role"}, [2]string{wrong.Type, wrong.Role})
	}
}

// TestDevicesOfTheNamespace: an interface with the index of one that the network namespace has is
// that one, where objects have default content; others are their own.
func TestDevicesOfTheNamespace(t *testing.T) {
	for _, mode := range []object.Mode{object.ModeDefault, object.ModeScenario, object.ModeStrict} {
		k := newEmbedded(t, func(c *Config) { c.Mode = mode })
		if mode != object.ModeDefault {
			require.NoError(t, k.Singleton("net").Set("loopback_dev.name", "mine"))
		}
		lo := k.Interface(net.Device{Index: net.LoopbackIndex, Name: "lo"})
		other := k.Interface(net.Device{Index: 9, Name: "wg0"})
		require.NotNil(t, lo)
		require.NotNil(t, other)
		assert.Equal(t, mode == object.ModeDefault, uintAt(t, k.Singleton("net"), "loopback_dev") == lo.Addr(), mode)
		if mode != object.ModeDefault {
			name, err := k.Singleton("net").String("loopback_dev.name")
			require.NoError(t, err)
			assert.Equal(t, "mine", name, "what was set stays")
		}
		assert.Same(t, lo, k.Interface(net.Device{Index: net.LoopbackIndex, Name: "lo"}))
		assert.NotSame(t, lo, other)
		name, err := other.String("name")
		require.NoError(t, err)
		assert.Equal(t, "wg0", name)
		assert.EqualValues(t, 9, uintAt(t, other, "ifindex"))
	}
}
