package debug

import (
	"strings"
	"testing"

	"github.com/bpfrun/bpfrun/internal/debug/expr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// steps is the way of a value as text, one step a line.
func steps(o *Origin) string {
	var b strings.Builder
	var walk func(o *Origin)
	walk = func(o *Origin) {
		for _, f := range o.From {
			b.WriteString(f.Text + "\n")
			walk(f)
		}
	}
	walk(o)
	return b.String()
}

// TestWhy: where values came from, in an ended run and in the middle of one; the session stays
// where it was.
func TestWhy(t *testing.T) {
	exec := started(t, "examples/exec/exec.bpf.o", "on_exec")
	st, err := exec.Continue(bg)
	require.NoError(t, err)
	xdp := started(t, "examples/xdp/xdp.bpf.o", "filter")
	_, err = xdp.Continue(bg)
	require.NoError(t, err)
	locals := started(t, "internal/debug/testdata/locals-O2-dwarf5.o", "locals")
	_, err = locals.Continue(bg)
	require.NoError(t, err)
	for _, tt := range []struct {
		s    *Session
		text string
		want []string
	}{
		{exec, "events[0].ppid", []string{"bpf_ringbuf_submit", "bpf_probe_read_kernel", "kernel field task_struct.tgid of current.real_parent"}},
		{exec, "events[0].comm", []string{"bpf_get_current_comm", "task_struct.comm of current"}},
		{exec, "execs_by_uid[" + exec.uidText() + "]", []string{"bpf_map_update_elem", "r8 = 1"}},
		{exec, "events[0].pid + events[0].ppid", []string{"kernel field task_struct.tgid of current,", "current.real_parent"}},
		{exec, "$retval", []string{"w0 = 0"}},
		{exec, "current->comm", []string{"kernel field task_struct.comm of current"}},
		{xdp, "pkt.ip.ttl", []string{"packet byte 22 (ip.ttl)"}},
		{locals, "seen.delta", []string{"call fill, where it is argument 2", "input (.rodata)"}},
		{locals, "seen.first", []string{"*(u64 *)"}},
		{locals, "input", []string{"global data input (.rodata)"}},
		{locals, "7", []string{"a constant"}},
	} {
		before := tt.s.Pos()
		o, err := tt.s.Why(bg, tt.text)
		require.NoError(t, err, tt.text)
		got := steps(o)
		for _, w := range tt.want {
			assert.Contains(t, got, w, tt.text)
		}
		assert.Equal(t, before, tt.s.Pos(), tt.text)
		assert.Equal(t, Ended, tt.s.State(), tt.text)
	}
	for text, want := range map[string]string{"execs_by_uid": "is a map", "nonsense": "no symbol", "1 ? 2 : 3": "choose one side", "$r1 = 2": "an assignment"} {
		_, err := exec.Why(bg, text)
		require.ErrorContains(t, err, want, text)
	}
	assert.NotZero(t, st.Pos)
}

// TestWhyOfChanges: what the user set is an origin of its own.
func TestWhyOfChanges(t *testing.T) {
	s := started(t, "examples/exec/exec.bpf.o", "on_exec")
	_, err := s.GoTo(bg, 18)
	require.NoError(t, err)
	_, err = s.Assign("current->real_parent->tgid = 4711")
	require.NoError(t, err)
	_, err = s.Assign("$r1 = 5")
	require.NoError(t, err)
	_, err = s.Continue(bg)
	require.NoError(t, err)
	o, err := s.Why(bg, "events[0].ppid")
	require.NoError(t, err)
	assert.Contains(t, steps(o), "set by you after 18 instructions: current->real_parent->tgid = 4711")
	o, err = s.Why(bg, "events[0].uid")
	require.NoError(t, err)
	assert.Contains(t, steps(o), "set by you after 18 instructions: $r1 = 5")
}

// TestWhyInLoops: a long run is followed to a bounded number of steps.
func TestWhyInLoops(t *testing.T) {
	s := started(t, "internal/debug/testdata/long.o", "loop")
	_, err := s.Continue(bg)
	require.NoError(t, err)
	o, err := s.Why(bg, "$retval")
	require.NoError(t, err)
	assert.Contains(t, steps(o), "further back")
	s = started(t, "examples/loop/loop.bpf.o", "")
	_, err = s.Break("climb_one", false)
	require.NoError(t, err)
	_, err = s.Continue(bg)
	require.NoError(t, err)
	o, err = s.Why(bg, "$r1")
	require.NoError(t, err)
	assert.Contains(t, steps(o), "passed it to the callback as argument 1")
	assert.Equal(t, Running, s.State())
}

// TestTrace: what is executed is told once, in order, and nothing without being asked for.
func TestTrace(t *testing.T) {
	s := started(t, "examples/exec/exec.bpf.o", "on_exec")
	got := map[Tracing][]string{}
	s.OnTrace = func(x Traced) { got[x.Kind] = append(got[x.Kind], x.Text) }
	s.Tracing = TraceLines | TraceInsns | TraceHelpers | TraceKernel | TraceEvents
	st, err := s.Continue(bg)
	require.NoError(t, err)
	require.Equal(t, Exited, st.Reason)
	assert.Len(t, got[TraceInsns], int(st.Pos))
	assert.Len(t, got[TraceHelpers], 13)
	assert.Equal(t, "bpf_get_current_task() = current", got[TraceHelpers][0])
	assert.Equal(t, "reads task_struct.cred of current (8 bytes)", got[TraceKernel][0])
	assert.Len(t, got[TraceEvents], 1)
	assert.Greater(t, len(got[TraceLines]), 10)
	s.Tracing = 0
	clear(got)
	_, err = s.Restart()
	require.NoError(t, err)
	_, err = s.Continue(bg)
	require.NoError(t, err)
	assert.Empty(t, got)
	_, err = ParseTracing("nothing")
	require.Error(t, err)
	all := Tracing(0)
	for _, n := range TracingNames() {
		x, err := ParseTracing(n[:2])
		require.NoError(t, err)
		all |= x
	}
	assert.Equal(t, "lines, insns, helpers, kernel, events", all.String())
}

// TestPacketFields: fields by the names of packets, read and assigned.
func TestPacketFields(t *testing.T) {
	s := started(t, "examples/xdp/xdp.bpf.o", "filter")
	for text, want := range map[string]string{
		"pkt.ip.ttl": "64", "pkt.ip.src": "192.0.2.1", "pkt.tcp.dport + 1": "81", "pkt.tcp.flags": "SA", "pkt.eth.dst": "02:00:00:00:00:01",
		"pkt.ip.src == \"192.0.2.1\"": "1", "pkt.tcp.dest": "20480 (htons(80))", "pkt.payload[0]": "48", "sizeof(pkt.ip)": "20",
	} {
		assert.Equal(t, want, print(t, s, text), text)
	}
	for text, want := range map[string]string{
		"pkt.ip.ttl = 1": "1", "pkt.ip.src = \"10.0.0.1\"": "10.0.0.1", "pkt.tcp.flags = \"S\"": "S", "pkt.ip.ttl += 4": "5", "pkt.eth.dst = \"02:00:00:00:00:09\"": "02:00:00:00:00:09",
	} {
		v, err := s.Assign(text)
		require.NoError(t, err, text)
		if text != "pkt.ip.ttl += 4" { // the order of a map is not fixed
			assert.Equal(t, want, s.Format(v, expr.FormatOptions{}), text)
		}
	}
	assert.Equal(t, "10.0.0.1", print(t, s, "pkt.ip.src"))
	for _, bad := range []string{"pkt.ip.tll", "pkt.ipp", "pkt.ip[1]", "pkt.ip.ttl = 256", "pkt.ip.src = \"x\"", "pkt.ip.src.x"} {
		var err error
		if strings.Contains(bad, "=") {
			_, err = s.Assign(bad)
		} else {
			_, err = s.Eval(bad)
		}
		require.Error(t, err, bad)
	}
	_, err := s.Eval("pkt.ip.tll")
	require.ErrorContains(t, err, "nearest: ttl")
}
