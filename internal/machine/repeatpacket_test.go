package machine_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// TestARepetitionFindsWhatTheLastRunLeft: the packet is not renewed, as in a test run of the kernel
// with repeat. The program puts 20 bytes in front of the packet, until the headroom of 256 bytes is
// used up.
func TestARepetitionFindsWhatTheLastRunLeft(t *testing.T) {
	const tx, drop = 3, 1
	m := replayMachine(t, "packets")
	r, _, err := m.Replay("encapsulate", machine.Input{})
	require.NoError(t, err)
	out, err := r.Run(context.Background(), net.DefaultPacket())
	require.NoError(t, err)
	size := len(out.Packet)
	require.Equal(t, len(net.DefaultPacket())+20, size)
	out, err = r.Repeat(context.Background(), 3)
	require.NoError(t, err)
	assert.EqualValues(t, tx, out.Ret)
	assert.Len(t, out.Packet, size+3*20)
	out, err = r.Repeat(context.Background(), 100)
	require.NoError(t, err)
	assert.EqualValues(t, drop, out.Ret)
	assert.Less(t, len(out.Packet), size+256)
	out, err = r.Run(context.Background(), net.DefaultPacket())
	require.NoError(t, err)
	assert.Len(t, out.Packet, size, "the next run gets a packet of its own")
	r.Close()
}

// TestRepetitionsCountAsRuns: results, instructions, calls, time and maps are those of as many
// runs, on either engine.
func TestRepetitionsCountAsRuns(t *testing.T) {
	for _, c := range []struct {
		object, prog string
		alike        bool // all runs do the same
	}{
		{"../../examples/xdp/xdp.bpf.o", "filter", true}, {"../../examples/firewall/firewall.bpf.o", "firewall", true}, {"../../examples/lb/lb.bpf.o", "balance", false},
		{"../../testdata/objects/clang-14/packets.o", "truncate", false},
	} {
		linked := load(t, c.object, target(t, embedded.Name))
		if _, ok := linked.Object.Program(c.prog); !ok {
			c.prog = linked.Programs[0].Name
		}
		type seen struct {
			outs  []machine.Outcome
			total machine.Result
			time  uint64
			maps  map[string]any
		}
		measure := func(e machine.Engine, repeat bool) (s seen) {
			m := compose(t, linked, machine.Config{Engine: e, Uncovered: true})
			r, res, err := m.Replay(c.prog, machine.Input{})
			require.NoError(t, err)
			require.Nil(t, res)
			keep := func(out *machine.Outcome, err error) {
				require.NoError(t, err)
				o := *out
				o.Packet, o.Effects = append([]byte(nil), out.Packet...), nil
				s.outs = append(s.outs, o)
			}
			ctx := context.Background()
			keep(r.Run(ctx, net.DefaultPacket()))
			for n := 1; n < 3000; n *= 7 {
				if repeat {
					keep(r.Repeat(ctx, n))
					continue
				}
				for range n - 1 {
					_, err := r.Run(ctx, net.DefaultPacket())
					require.NoError(t, err)
				}
				keep(r.Run(ctx, net.DefaultPacket()))
			}
			s.total = *r.Close()
			s.total.Changes, s.total.Warnings, s.total.StackReads = nil, nil, nil
			s.time, s.maps = m.Kernel().Clock().Mono(), map[string]any{}
			for _, def := range linked.Object.Maps {
				if b, ok := m.MapByName(def.Name); ok && def.Type != uapi.MapTypeProgArray { // its elements are the machine's
					s.maps[def.Name] = b.Entries()
				}
			}
			return s
		}
		want := measure(machine.EngineInterpreter, true)
		require.Equal(t, want, measure(machine.EngineJIT, true), c.prog)
		if c.alike {
			require.Equal(t, want, measure(machine.EngineInterpreter, false), c.prog)
		}
	}
}

// TestRepetitionsEnd: a fault ends them, and so does whoever asked for them.
func TestRepetitionsEnd(t *testing.T) {
	m := example(t, "xdp")
	r, _, err := m.Replay("filter", machine.Input{})
	require.NoError(t, err)
	defer r.Close()
	_, err = r.Run(context.Background(), net.DefaultPacket())
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	stop()
	_, err = r.Repeat(ctx, 1<<30)
	require.ErrorIs(t, err, context.Canceled)
}
