package kernel

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// event makes the context of the nth event of a raw tracepoint.
func rawEvent(t *testing.T, k *Kernel, name string, nth int) *hook.Context {
	t.Helper()
	c, err := k.NewContext(hook.ContextSpec{ProgType: uapi.ProgTypeRawTracepoint, AttachTo: name, Section: "raw_tp/" + name, Nth: nth})
	require.NoError(t, err)
	return c
}

func argValue(t *testing.T, c *hook.Context, name string) uint64 {
	t.Helper()
	a := c.Arg(name)
	require.NotNil(t, a, name)
	return a.Value
}

// TestSwitchesGoBack: the second switch leads back to the task the first one came from; only while
// it happens does the other task run.
func TestSwitchesGoBack(t *testing.T) {
	onTargets(t, func(t *testing.T, b targetBTF) {
		k := newKernel(t, b)
		me := k.Current()
		away := rawEvent(t, k, "sched_switch", 0)
		assert.Same(t, me, k.Current())
		other := away.Arg("next").Object
		require.NotNil(t, other)
		assert.Equal(t, me.Addr(), argValue(t, away, "prev"))
		assert.NotSame(t, me, other)
		assert.EqualValues(t, 1, uintAt(t, me, firstPath(me, "__state", "state")))
		away.Leave()
		assert.Zero(t, uintAt(t, me, firstPath(me, "__state", "state")), "it runs on")

		woken := rawEvent(t, k, "sched_wakeup", 0)
		assert.Same(t, other, woken.Args[0].Object, "the task that is woken is the one that runs next")
		woken.Leave()

		back := rawEvent(t, k, "sched_switch", 1)
		assert.Same(t, other, k.Current())
		assert.Equal(t, other.Addr(), argValue(t, back, "prev"))
		assert.Equal(t, me.Addr(), argValue(t, back, "next"))
		assert.EqualValues(t, 1, argValue(t, back, "preempt"), "it did not go to sleep")
		back.Leave()
		assert.Same(t, me, k.Current())
	})
}

func firstPath(o *object.Object, paths ...string) string {
	for _, p := range paths {
		if o.Has(p) {
			return p
		}
	}
	return ""
}

// TestProcessesEndWithTheirLeader: threads exit before the leader, which shares the process with
// them.
func TestProcessesEndWithTheirLeader(t *testing.T) {
	onTargets(t, func(t *testing.T, b targetBTF) {
		k := newKernel(t, b)
		me, err := k.NewTask("worker")
		require.NoError(t, err)
		require.NoError(t, me.Set("tgid", 4000))
		require.NoError(t, me.Set("pid", 4003))
		k.SetCurrent(me)
		pid, tgid := k.PidTgid()
		require.NotEqual(t, pid, tgid)
		thread := rawEvent(t, k, "sched_process_exit", 0)
		assert.Equal(t, me.Addr(), thread.Args[0].Value)
		thread.Leave()

		last := rawEvent(t, k, "sched_process_exit", 1)
		pid, last2 := k.PidTgid()
		assert.Equal(t, tgid, pid)
		assert.Equal(t, tgid, last2)
		leader := last.Args[0].Object
		for _, f := range []string{"real_parent", "cred", "mm", "signal", "nsproxy"} {
			assert.Equal(t, uintAt(t, me, f), uintAt(t, leader, f), f)
		}
		assert.NotEqual(t, uintAt(t, me, "thread_pid"), uintAt(t, leader, "thread_pid"))
		last.Leave()
	})
}

// TestConnectionsLiveOn: a connection is established and then reset, and its socket is in the state
// the event finds.
func TestConnectionsLiveOn(t *testing.T) {
	onTargets(t, func(t *testing.T, b targetBTF) {
		k := newKernel(t, b)
		state := func(c *hook.Context) uint64 { return uintAt(t, c.Arg("sk").Object, "__sk_common.skc_state") }
		for nth, want := range []struct{ from, to uint64 }{{net.TCPSynSent, net.TCPEstablished}, {net.TCPEstablished, net.TCPClose}, {net.TCPSynSent, net.TCPEstablished}} {
			c := rawEvent(t, k, "inet_sock_set_state", nth)
			assert.Equal(t, want.from, argValue(t, c, "oldstate"))
			assert.Equal(t, want.to, argValue(t, c, "newstate"))
			assert.Equal(t, want.from, state(c))
			c.Leave()
		}
		for function, want := range map[string]uint64{"tcp_v4_connect": net.TCPClose, "tcp_rcv_state_process": net.TCPSynSent, "tcp_rcv_established": net.TCPEstablished} {
			c, err := k.NewContext(hook.ContextSpec{ProgType: uapi.ProgTypeKprobe, AttachTo: function, Section: "kprobe/" + function})
			require.NoError(t, err)
			if c.Untyped {
				continue
			}
			assert.Equal(t, want, state(c), function)
			c.Leave()
		}
	})
}

// TestChosenStatesStay: what the user set is not a default.
func TestChosenStatesStay(t *testing.T) {
	onTargets(t, func(t *testing.T, b targetBTF) {
		k := newKernel(t, b)
		c := rawEvent(t, k, "inet_sock_set_state", 0)
		sk := c.Arg("sk").Object
		require.NoError(t, sk.Set("__sk_common.skc_state", 9))
		c.Leave()
		rawEvent(t, k, "inet_sock_set_state", 1).Leave()
		assert.EqualValues(t, 9, uintAt(t, sk, "__sk_common.skc_state"))

		mine, err := k.NewTask("mine")
		require.NoError(t, err)
		c, err = k.NewContext(hook.ContextSpec{ProgType: uapi.ProgTypeRawTracepoint, AttachTo: "sched_switch", Nth: 1, Current: mine})
		require.NoError(t, err)
		assert.Same(t, mine, k.Current())
		c.Leave()
	})
}

// TestForbiddenLoads: a program without typed pointers may copy kernel memory, and not load it; the
// next event starts afresh.
func TestForbiddenLoads(t *testing.T) {
	onTargets(t, func(t *testing.T, b targetBTF) {
		k := newKernel(t, b)
		c := rawEvent(t, k, "sched_switch", 0)
		task := k.Current()
		k.ForbidLoads()
		_, f := k.Mem().Load(task.Addr(), 4)
		require.NotNil(t, f)
		assert.Equal(t, mem.NotPermitted, f.Kind)
		assert.Nil(t, k.Mem().Read(task.Addr(), make([]byte, 4)))
		c.Leave()
		_, f = k.Mem().Load(task.Addr(), 4)
		assert.Nil(t, f)
	})
}

// TestEqualNamesOneObject: whatever a function calls its request or socket, it is the one the
// kernel has.
func TestEqualNamesOneObject(t *testing.T) {
	for _, tt := range []struct{ typ, a, b string }{
		{"request", "rq", "req"}, {"sock", "sk", "skaddr"}, {"sk_buff", "skb", "skbaddr"}, {"file", "file", "filp"}, {"page", "page", "page"},
	} {
		assert.Equal(t, object.OneName(tt.typ, tt.a), object.OneName(tt.typ, tt.b))
	}
	assert.NotEqual(t, object.OneName("sock", "sk"), object.OneName("sock", "newsk"))
	assert.Equal(t, "old_dentry", object.OneName("dentry", "old_dentry"))
	assert.Equal(t, "prev", object.OneName("task_struct", "prev"))
}
