package machine_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/machine/finding"
	"github.com/bpfrun/bpfrun/internal/packet"
)

// TestBrokenPacketsAreFound: a packet that goes on has right checksums and lengths, a dropped one
// may be in any state.
func TestBrokenPacketsAreFound(t *testing.T) {
	frame, err := packet.Parse("eth/ip(ttl=64)/udp/'0123456789012345678901234567890123456789'")
	require.NoError(t, err)
	m := compose(t, load(t, "../../testdata/objects/clang-14/broken.o", target(t, embedded.Name)), machine.Config{})
	for program, want := range map[string][]string{
		"ttl_alone":    {"ip.csum is wrong after XDP_TX: 0x3c3e, right is 0x3d3e"},
		"ttl_and_sum":  nil,
		"ttl_and_drop": nil,
		"tail_alone":   {"ip.len is wrong after XDP_PASS: 68, right is 108"},
	} {
		res, err := m.Run(t.Context(), program, machine.Input{Packet: frame})
		require.NoError(t, err)
		var got []string
		for _, f := range res.Findings {
			assert.Equal(t, finding.Packet, f.Kind)
			assert.Equal(t, program, f.Program)
			got = append(got, f.Text)
		}
		assert.Equal(t, want, got, program)
	}
}
