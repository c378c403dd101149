package scenario

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	sockproxy  = "../../examples/sockproxy/sockproxy.bpf.o"
	proxySocks = "objects: {a: !sock {state: TCP_ESTABLISHED, dport: 1}, b: !sock {state: TCP_ESTABLISHED, dport: 2}, out: !sock {dport: 3, state: TCP_ESTABLISHED}}\nmaps: {backends: {0: $a, 1: $b}}\n"
	proxySteps = "{steps: [{to: a, data: !hex 04 01 78 79}]}"
)

// TestSocketsMove: bytes move as programs of a sockmap say; wrong expectations fail and say what
// became of the bytes.
func TestSocketsMove(t *testing.T) {
	for _, c := range []struct{ name, run, failures string }{
		{"egress", "sockets: " + proxySteps + ", expect: {sockets: {b: {sent: !hex 04 01 78 79}}}", ""},
		{"what left a socket arrives at its peer", "sockets: {peers: {b: out}, steps: [{to: a, data: !hex 04 01 78 79}]}, expect: {sockets: {out: {received: !hex 04 01 78 79}}}", ""},
		{"a socket in no map has no programs", "sockets: {steps: [{to: out, data: abc}, {from: out, data: X000}]}, expect: {sends: [4], sockets: {out: {received: abc, sent: X000}}}", ""},
		{"only some of the programs", "sockets: {attach: {backends: [route]}, steps: [{to: a, data: !hex 09 01}]}, expect: {sockets: {b: {sent: !hex 09 01}, a: {messages: []}}}", ""},
		{"without programs", "sockets: {attach: {backends: []}, steps: [{to: a, data: hi}]}, expect: {sockets: {a: {received: hi}}}", ""},
		{"a drop stays", "sockets: {steps: [{from: a, data: X000}, {from: a, data: abcd}]}, expect: {sends: [-EACCES, -EACCES], sockets: {a: {dropped: 8}}}", ""},
		{"a wrong expectation", "sockets: " + proxySteps + ", expect: {sockets: {b: {received: no}}}", `sockets.b.received: want "no", got ""`},
		{"a wrong result", "sockets: {steps: [{from: a, data: X000}]}, expect: {sends: [4]}", "sends: want 4, got -EACCES"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := openScenario(t, sockproxy, proxySocks+"runs: [{"+c.run+"}]")
			require.NoError(t, err)
			results, err := r.All(t.Context(), nil)
			require.NoError(t, err)
			if c.failures == "" {
				assert.Equal(t, "", failures(results[0]))
				return
			}
			assert.Contains(t, failures(results[0]), c.failures)
		})
	}
}

func TestSocketsMistakes(t *testing.T) {
	for _, c := range []struct{ object, run, want string }{
		{sockproxy, "sockets: {steps: [{to: x, data: a}]}", `"x"`},
		{sockproxy, "sockets: {steps: [{to: a, from: b, data: a}]}", "want one of to"},
		{sockproxy, "sockets: {peers: {a: y}, steps: []}", `"y"`},
		{sockproxy, "sockets: {attach: {other: [route]}, steps: []}", `"other"`},
		{sockproxy, "sockets: {attach: {backends: [route, route]}, steps: []}", "two programs of one kind"},
		{sockproxy, "sockets: {steps: []}, packet: '00'", "a run with sockets has no packet"},
		{sockproxy, "prog: cut, expect: {sends: [1]}", "the run has no sockets"},
		{sockproxy, "sockets: {steps: []}, expect: {sockets: {z: {sent: a}}}", `"z"`},
	} {
		_, err := openScenario(t, c.object, proxySocks+"runs: [{"+c.run+"}]")
		assert.ErrorContains(t, err, c.want, c.run)
	}
	_, err := openScenario(t, "../../examples/session/session.bpf.o", "runs: [{sockets: {steps: []}}]")
	assert.ErrorContains(t, err, "no sk_skb and no sk_msg program")
	// Sockets that cannot be created are told with the other mistakes of the file.
	for _, wrong := range []string{"!sock {sk_nothing: 1}", "!sock {dport: 70000}", "!sock {dport: {}}", "!skb 1", "!nonesuch {}"} {
		_, err := openScenario(t, sockproxy, "objects: {ok: !sock {dport: 1}, bad: "+wrong+"}\nruns: [{sockets: {steps: [{to: elsewhere, data: a}]}}]")
		assert.ErrorContains(t, err, "elsewhere", wrong)
		assert.ErrorContains(t, err, "s.yaml:1:", wrong)
	}
}
