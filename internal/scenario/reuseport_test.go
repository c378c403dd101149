package scenario

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const sharedSockets = `objects:
  a: !sock {protocol: udp, source: 10.0.0.1, sport: 53, state: TCP_CLOSE, reuseport: true}
  b: !sock {protocol: udp, source: 10.0.0.1, sport: 53, state: TCP_CLOSE, reuseport: true}
  connected: !sock {protocol: udp, source: 10.0.0.1, sport: 53, state: TCP_ESTABLISHED, reuseport: true}
  alone: !sock {protocol: udp, source: 10.0.0.1, sport: 53, state: TCP_CLOSE}
`

// TestReceiver: who gets the packet, and what is wrong if it is another socket.
func TestReceiver(t *testing.T) {
	for _, c := range []struct{ name, payload, want, failed string }{
		{"selected", "1", "b", ""},
		{"another than selected", "1", "a", "receiver: want a, got b"},
		{"dropped", "!", "null", ""},
		{"dropped, not received", "!", "a", "receiver: want a, got none"},
		{"received, not dropped", "0", "null", "receiver: want none, got a"},
		{"a connected socket can be selected", "2", "connected", ""},
	} {
		r, err := openScenario(t, "../../examples/reuseport/reuseport.bpf.o", sharedSockets+"maps: {socks: {0: $a, 1: $b, 2: $connected}}\nruns: [{prog: choose, context: {sk: $a}, "+
			`packet: "eth/ip(dst=10.0.0.1)/udp(dport=53)/'`+c.payload+`'", expect: {receiver: `+c.want+"}}]")
		require.NoError(t, err, c.name)
		results, err := r.All(t.Context(), nil)
		require.NoError(t, err, c.name)
		assert.Equal(t, c.failed, failures(results[0]), c.name)
	}
}

// TestReceiverByHash: the hash chooses among all that are not connected
// (reuseport_select_sock_by_hash).
func TestReceiverByHash(t *testing.T) {
	r, err := openScenario(t, "../../examples/reuseport/reuseport.bpf.o", sharedSockets+
		`runs: [{prog: choose, context: {sk: $b}, packet: "eth/ip(dst=10.0.0.1)/udp(dport=53)/'?'", expect: {receiver: a}}]`)
	require.NoError(t, err)
	g, err := r.groupOf(r.file.Runs[0], r.file.Runs[0].ProgNode)
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "b", "connected"}, g.names)
	for hash, want := range map[uint32]string{0: "a", 1 << 30: "a", 1 << 31: "b", 1<<32 - 1: "a"} {
		assert.Equal(t, want, g.byHash(hash), "%#x", hash)
	}
	assert.Empty(t, (&group{}).byHash(1))
}

func TestReceiverMistakes(t *testing.T) {
	const packet = `packet: "eth/ip(dst=10.0.0.1)/udp(dport=53)/'?'"`
	for _, c := range []struct{ text, want string }{
		{"maps: {socks: {0: $alone}}\nruns: [{prog: choose}]", "alone must share its port"},
		{"maps: {socks: {0: 7}}\nruns: [{prog: choose}]", "want the $name of a !sock object"},
		{"runs: [{prog: choose, " + packet + ", expect: {receiver: a}}]", "context: {sk: $SOCKET}"},
		{"runs: [{prog: choose, context: {sk: $alone}, " + packet + ", expect: {receiver: a}}]", "the socket of the context must share its port"},
		{"runs: [{prog: choose, context: {sk: $a}, " + packet + ", expect: {receiver: alone}}]", `unknown socket that shares the port "alone"`},
		{"runs: [{prog: choose, context: {sk: $a}, expect: {receiver: a}}]", "the run has no packet"},
	} {
		_, err := openScenario(t, "../../examples/reuseport/reuseport.bpf.o", sharedSockets+c.text)
		assert.ErrorContains(t, err, c.want, c.text)
	}
}
