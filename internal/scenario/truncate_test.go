package scenario

import (
	"testing"

	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A parser that forgets to check for the ports faults on the lengths that end within what it reads,
// and on no other.
func TestTruncatedPackets(t *testing.T) {
	for _, c := range []struct{ run, want string }{
		{"prog: ports, packet: eth/ip/tcp, truncate: all, expect: {ret: XDP_TX, truncated: {XDP_DROP: 24, XDP_TX: 16}}", ""},
		{"prog: ports, packet: eth/ip/tcp, truncate: [20, 50], expect: {truncated: {XDP_DROP: 1, XDP_TX: 1}}", ""},
		{"prog: ports, packet: eth/ip/tcp, truncate: all, expect: {truncated: XDP_DROP}", "truncated: want XDP_DROP for every length, got XDP_TX for 16"},
		{"prog: ports, packet: eth/ip/tcp, truncate: all, expect: {ret: XDP_DROP}", "ret: want XDP_DROP, got XDP_TX"},
		{"prog: err_ports, packet: eth/ip/tcp, truncate: [38]", ""},
		{"prog: err_ports, packet: eth/ip/tcp, truncate: all, expect: {ret: XDP_TX, truncated: {XDP_DROP: 20, XDP_TX: 16}}",
			"truncated to 34 bytes: want no fault\ntruncated to 35 bytes: want no fault\ntruncated to 36 bytes: want no fault\ntruncated to 37 bytes: want no fault"},
	} {
		r, err := onObject(t, "short", "runs: [{"+c.run+"}]")
		require.NoError(t, err, c.run)
		results, err := r.All(t.Context(), nil)
		require.NoError(t, err)
		var got string
		for i, e := range results[0].Failed() {
			if i > 0 {
				got += "\n"
			}
			got += e.What + ": want " + e.Want
			if e.Want != "no fault" {
				got += ", got " + e.Got
			} else {
				assert.Regexp(t, `^out-of-bounds: .*short.bpf.c:19`, e.Got)
			}
		}
		assert.Equal(t, c.want, got, c.run)
	}
}

// Runs on cut packets leave nothing: the whole packet finds maps, clock and random numbers as
// without them.
func TestTruncationLeavesNothing(t *testing.T) {
	const run = "runs: [{prog: firewall, packet: eth/ip/tcp(dport=23), TRUNCATE expect: {ret: XDP_DROP, maps: {decisions: {2: !sum 1, 4: !sum 0}}}}]"
	for _, truncate := range []string{"", "truncate: all,"} {
		r, err := openText(t, "firewall", replace(run, "TRUNCATE", truncate))
		require.NoError(t, err)
		results, err := r.All(t.Context(), nil)
		require.NoError(t, err)
		assert.Empty(t, failures(results[0]), truncate)
	}
}

func TestMistakesAboutTruncation(t *testing.T) {
	for _, c := range []struct{ run, want string }{
		{"prog: ports, packet: eth/ip/tcp, truncate: some", `1:52: truncate: want all, or a list of lengths in bytes, got "some"`},
		{"prog: ports, packet: eth/ip/tcp, truncate: []", "want all, or a list"},
		{"prog: ports, packet: eth/ip/tcp, truncate: [13]", "truncate: 13 bytes; the packet has 54, and the kernel passes at least 14"},
		{"prog: ports, packet: eth/ip/tcp, truncate: [54]", "truncate: 54 bytes; the packet has 54"},
		{"prog: ports, packet: eth/ip/tcp, truncate: [x]", "truncate: want a number"},
		{"prog: ports, pcap: x.pcap, truncate: all", "combined with pcap"},
		{"prog: ports, expect: {truncated: XDP_DROP}", "the run truncates no packet"},
		{"prog: ports, truncate: all, expect: {truncated: XDP_DRO}", `"XDP_DRO" is neither`},
	} {
		_, err := onObject(t, "short", "runs: [{"+c.run+"}]")
		var e *grammar.Error
		require.ErrorAs(t, err, &e, c.run)
		assert.Contains(t, err.Error(), c.want, c.run)
	}
	_, err := openText(t, "exec", "runs: [{prog: on_exec, truncate: all}]")
	assert.ErrorContains(t, err, "truncate: tracepoint programs take no packet")
}
