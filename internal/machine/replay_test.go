package machine_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/loader"
)

func replayMachine(t *testing.T, object string) *machine.Machine {
	t.Helper()
	return compose(t, load(t, "../../testdata/objects/clang-14/"+object+".o", target(t, embedded.Name)), machine.Config{})
}

// replayed are packets of several lengths, with the default one in between.
func replayed() [][]byte {
	var out [][]byte
	for _, n := range []int{64, 14, 200, 1500, 60, 3520, 64, 33, 5, 64} {
		p := make([]byte, max(n, 64))
		copy(p, net.DefaultPacket())
		p[22] = byte(n) // the TTL
		out = append(out, p[:n])
	}
	return append(out, net.DefaultPacket())
}

func TestAReplayDoesWhatRunsDo(t *testing.T) {
	for _, c := range []struct{ object, prog string }{
		{"packets", "encapsulate"}, {"packets", "truncate"}, {"packets", "meta"}, {"packets", "redirect"}, {"packets", "vlan"}, {"packets", "copies"},
	} {
		one, all := replayMachine(t, c.object), replayMachine(t, c.object)
		r, res, err := all.Replay(c.prog, machine.Input{})
		require.NoError(t, err)
		require.Nil(t, res)
		var insns uint64
		for i, p := range replayed() {
			out, err := r.Run(context.Background(), p)
			var size *machine.PacketSizeError
			if len(p) < 14 {
				require.ErrorAs(t, err, &size, c.prog)
				continue
			}
			require.NoError(t, err, c.prog)
			want, err := one.Run(context.Background(), c.prog, machine.Input{Packet: p})
			require.NoError(t, err)
			assert.Equal(t, want.Ret, out.Ret, "%s, packet %d", c.prog, i)
			assert.Equal(t, want.Insns, out.Insns, "%s, packet %d", c.prog, i)
			assert.Equal(t, want.PacketOut, out.Packet, "%s, packet %d", c.prog, i)
			assert.Equal(t, len(want.Effects), len(out.Effects), "%s, packet %d", c.prog, i)
			assert.Equal(t, want.Fault == nil, out.Fault == nil, "%s, packet %d", c.prog, i)
			insns += out.Insns
		}
		total := r.Close()
		assert.Equal(t, insns, total.Insns)
		assert.NotZero(t, total.Coverage.Executed)
		_, err = all.Run(context.Background(), c.prog, machine.Input{})
		assert.NoError(t, err, "the machine goes on afterwards")
	}
}

func TestReplaysDoNotGrow(t *testing.T) {
	for _, prog := range []string{"encapsulate", "vlan"} { // of a kind whose context is kept, and of one whose is not
		m := replayMachine(t, "packets")
		r, _, err := m.Replay(prog, machine.Input{})
		require.NoError(t, err)
		packets := replayed()
		regions := func() (n int) {
			m.Memory().Regions(func(*mem.Region) bool { n++; return true })
			return n
		}
		run := func(n int) {
			for i := range n {
				if p := packets[i%len(packets)]; len(p) >= 14 {
					_, err := r.Run(context.Background(), p)
					require.NoError(t, err)
				}
			}
		}
		run(1000)
		before := regions()
		run(20000)
		assert.Equal(t, before, regions(), prog)
		r.Close()
	}
}

func TestTimePassesBetweenPackets(t *testing.T) {
	m := replayMachine(t, "packets")
	r, _, err := m.Replay("truncate", machine.Input{})
	require.NoError(t, err)
	before := m.Kernel().Clock().Mono()
	res, err := r.Pass(context.Background(), time.Second)
	require.NoError(t, err)
	assert.Nil(t, res)
	assert.Equal(t, before+uint64(time.Second), m.Kernel().Clock().Mono())
	r.Close()
}

func TestReplaysOfProgramsWithoutPackets(t *testing.T) {
	m := replayMachine(t, "events")
	_, _, err := m.Replay(m.Names()[0], machine.Input{})
	assert.ErrorContains(t, err, "take no packet")
	_, _, err = m.Replay("nothing", machine.Input{})
	assert.ErrorIs(t, err, machine.ErrNoProgram)
}

// TestReplaysThatCannotBegin: a replay without a context is refused as a run is.
func TestReplaysThatCannotBegin(t *testing.T) {
	m := replayMachine(t, "packets")
	for _, in := range []machine.Input{
		{CPU: 99},
		{Net: hook.NetSpec{Fields: map[string]uint64{"nosuch": 1}}},
	} {
		_, want := m.Run(t.Context(), "truncate", in)
		require.Error(t, want)
		r, res, err := m.Replay("truncate", in)
		assert.Nil(t, r)
		assert.Nil(t, res)
		assert.EqualError(t, err, want.Error())
	}
}

// watcher counts what an observer is told.
type watcher struct{ begun, ended int }

func (w *watcher) Begun(*loader.LinkedProgram, *hook.Context)         { w.begun++ }
func (w *watcher) Ended(*loader.LinkedProgram, *hook.Context, uint64) { w.ended++ }

// TestObserversOfReplays: an observer is told of every packet, and of the end of programs that did
// not fault.
func TestObserversOfReplays(t *testing.T) {
	for _, tt := range []struct {
		object, prog string
		ends         bool
	}{{"packets", "truncate", true}, {"packets", "vlan", true}, {"budget", "copies", false}} {
		m := compose(t, load(t, "../../testdata/objects/clang-14/"+tt.object+".o", target(t, embedded.Name)), machine.Config{MaxInsns: 1000})
		w := &watcher{}
		m.Observe(w)
		r, res, err := m.Replay(tt.prog, machine.Input{})
		require.NoError(t, err)
		require.Nil(t, res)
		for range 3 {
			out, err := r.Run(t.Context(), net.DefaultPacket())
			require.NoError(t, err)
			assert.Equal(t, tt.ends, out.Fault == nil, tt.prog)
		}
		r.Close()
		want := watcher{begun: 3}
		if tt.ends {
			want.ended = 3
		}
		assert.Equal(t, want, *w, tt.prog)
	}
}
