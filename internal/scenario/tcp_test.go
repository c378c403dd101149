package scenario

import (
	"context"
	"testing"

	"github.com/bpfrun/bpfrun/internal/testing/testbtf"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func openReno(t *testing.T, text string) (*Runner, error) {
	t.Helper()
	const kernel = "../../testdata/btf/linux-7.2.13-amd64.btf.xz"
	f, parsed := Parse("s.yaml", []byte(text))
	if f == nil {
		return nil, parsed
	}
	obj, err := loader.Open("../../testdata/objects/clang-14/reno.o")
	require.NoError(t, err)
	spec, err := testbtf.Load(kernel)
	require.NoError(t, err)
	r, err := Open(f, obj, loader.NewTarget(kernel, spec), Options{})
	if err == nil {
		t.Cleanup(r.Close)
	}
	return r, err
}

// TestCongestionControls: what a congestion control made of a connection, and what is expected of it.
func TestCongestionControls(t *testing.T) {
	for _, c := range []struct{ name, run, expect, fails string }{
		{"holds", "{segments: 60, drops: [15]}", "{cwnd: !ge 12, ssthresh: 12, acked: 60, sent: 61, retransmitted: 1, lost: 1, recoveries: 1, timeouts: 0, undone: 0, most_cwnd: !le 64, least_cwnd: 10, windows: [10, 11, 12], rate: !gt 1mbit, mean_rtt: !ge 40ms, max_rtt: !le 120ms, time: !lt 1s, most_queue: !gt 0, calls: {ssthresh: 1, init: 1}}", ""},
		{"does not", "{segments: 60}", "{ssthresh: 12}", "tcp.ssthresh: want 12, got 2147483647"},
		{"windows", "{segments: 3}", "{windows: [10, 11, 12, 13, 14]}", "tcp.windows[4]: want 14, got nothing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := openReno(t, "runs:\n- tcp: "+c.run+"\n  expect: {globals: {inits: 1, releases: 1}, tcp: "+c.expect+"}\n")
			require.NoError(t, err)
			results, err := r.All(context.Background(), nil)
			require.NoError(t, err)
			require.Len(t, results, 1)
			assert.Equal(t, "reno", results[0].Run.Name)
			if c.fails == "" {
				assert.Empty(t, failures(results[0]))
				return
			}
			require.NotEmpty(t, results[0].Failed())
			assert.Equal(t, c.fails, results[0].Failed()[0].String())
		})
	}
}

func TestCongestionControlMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"- {tcp: {ops: renno}}":                         "the object has no congestion control renno (available: reno)",
		"- {tcp: {rate: fast}}":                         "s.yaml:2:16: rate: want bits per second",
		"- {tcp: {rate: 1}}":                            "rate: want 10000 to",
		"- {tcp: {queue: 0}}":                           "queue",
		"- {tcp: {drops: 3}}":                           "drops: want a list of segments",
		"- {tcp: {late: {0: 1ms}}}":                     "late",
		"- {tcp: {}, packet: eth}":                      "a run with tcp has no packet: the connection calls the programs",
		"- {tcp: {}, expect: {tcp: {window: 3}}}":       "unknown key of expect tcp",
		"- {tcp: {}, expect: {tcp: {calls: {xx: 3}}}}":  "unknown operation",
		"- {prog: reno_init, expect: {tcp: {cwnd: 3}}}": "tcp: the run has no connection",
	} {
		_, err := openReno(t, "runs:\n"+text+"\n")
		assert.ErrorContains(t, err, want, text)
	}
}
