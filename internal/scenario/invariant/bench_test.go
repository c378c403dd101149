package invariant_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/packet"
	"github.com/bpfrun/bpfrun/internal/scenario/invariant"
	"github.com/bpfrun/bpfrun/loader"
)

// BenchmarkInvariant evaluates one that compares the packet and an element of a map before and
// after a run, and simpler ones.
func BenchmarkInvariant(b *testing.B) {
	for name, spec := range map[string]invariant.Spec{
		"packet-and-element": {When: "has(buckets[pkt.ip.src])", Holds: "pkt.ip.ttl == old(pkt.ip.ttl) && buckets[pkt.ip.src].tokens == burst - 1"},
		"packet":             {Holds: "pkt.ip.ttl == old(pkt.ip.ttl)"},
		"unchanged":          {Holds: "unchanged(burst)"},
		"retval":             {Holds: "$retval == 0"},
	} {
		b.Run(name, func(b *testing.B) { benchInvariant(b, spec) })
	}
}

func benchInvariant(b *testing.B, s invariant.Spec) {
	obj, err := loader.Open("../../../examples/ratelimit/ratelimit.bpf.o")
	require.NoError(b, err)
	spec, err := embedded.Spec()
	require.NoError(b, err)
	linked, err := obj.Load(loader.NewTarget("k", spec), loader.LoadOptions{})
	require.NoError(b, err)
	m, err := machine.New(linked, machine.Config{})
	require.NoError(b, err)
	defer m.Close()
	c, err := invariant.New(m)
	require.NoError(b, err)
	require.NoError(b, c.Add(s))
	frame, err := packet.Parse("eth/ip(src=192.0.2.7)/udp(dport=53)")
	require.NoError(b, err)
	l, _, err := m.Loop("limit", machine.Input{Packet: frame})
	require.NoError(b, err)
	require.NotNil(b, l)
	defer l.Close()
	run := invariant.Run{Program: l.Program(), Context: l.Context()}
	out, err := l.Run(context.Background())
	require.NoError(b, err)
	require.Nil(b, out.Fault)
	b.ReportAllocs()
	for b.Loop() {
		c.Begin(run)
		require.Empty(b, c.End(run))
	}
}
