package hook

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
)

// TestSocketsHaveTheProtocolOfTheirHooks: a function of UDP is called with, and returns, a UDP
// socket; other functions share a TCP socket.
func TestSocketsHaveTheProtocolOfTheirHooks(t *testing.T) {
	types, err := embedded.Spec()
	require.NoError(t, err)
	h := hooksOn(t, types)
	spec, proto, ok := h.proto(&Context{}, "tcp_sendmsg")
	require.True(t, ok)
	sock := func(hook string) Arg { return h.argument(hook, "sk", spec, proto.Params[0].Type) }
	for hook, want := range map[string]string{
		"skb_consume_udp": "udp_sock", "udp_sendmsg": "udp_sock", "udpv6_sendmsg": "udp6_sock", "__udp6_lib_rcv": "udp6_sock",
		"tcp_sendmsg": "tcp_sock", "sk_udpate": "tcp_sock", // not a word of UDP
	} {
		a := sock(hook)
		require.NotNil(t, a.Object, hook)
		assert.Equal(t, want, a.Object.Storage().Name, hook)
	}
	assert.Equal(t, sock("udp_sendmsg").Value, sock("skb_consume_udp").Value, "one socket in all hooks of UDP")
	assert.NotEqual(t, sock("tcp_sendmsg").Value, sock("udp_sendmsg").Value)
	ret := h.defaultReturn("udp4_lib_lookup", spec, proto.Params[0].Type)
	require.NotNil(t, ret.Object)
	assert.Equal(t, "udp_sock", ret.Object.Storage().Name)
}
