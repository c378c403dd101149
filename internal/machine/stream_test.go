package machine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/assembly"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// moods acts by the packet's time to live: it reads past the packet, or past short ones, loops forever, keeps a lock, leaves
// native code, sends a large record, changes the packet, moves its start, and otherwise counts and notes the
// time in native code.
const moods = `.map counts array 4 16 4
.map rb ringbuf 0 0 4096
.license GPL
.prog moods xdp
r6 = r1
r7 = *(u32 *)(r1 + 0)
r8 = *(u32 *)(r1 + 4)
r1 = r7
r1 += 34
if r1 > r8 goto out
r9 = *(u8 *)(r7 + 22)
*(u64 *)(r10 - 8) = 0
r2 = r10
r2 += -8
r1 = map_fd(counts)
call bpf_map_lookup_elem
if r0 == 0 goto out
r1 = *(u64 *)(r0 + 0)
r1 += r9
*(u64 *)(r0 + 0) = r1
r5 = r0
if r9 == 201 goto wild
if r9 == 202 goto forever
if r9 == 203 goto leaves
if r9 == 204 goto record
if r9 == 205 goto change
if r9 == 206 goto move
if r9 == 207 goto far
call bpf_ktime_get_ns
*(u64 *)(r10 - 8) = 1
r6 = r0
r2 = r10
r2 += -8
r1 = map_fd(counts)
call bpf_map_lookup_elem
if r0 == 0 goto out
r1 = *(u64 *)(r0 + 8)
r1 *= 3
r1 += r6
r3 = *(u64 *)(r10 - 304)
r1 += r3
*(u64 *)(r0 + 8) = r1
*(u64 *)(r10 - 304) = r9
out: r0 = 2
exit
far: r0 = *(u8 *)(r7 + 150)
exit
wild: r1 = *(u8 *)(r8 + 3)
r0 = r1
exit
forever: r9 += 1
if r9 != 0 goto forever
goto out
leaves: call bpf_get_prandom_u32
r0 &= 3
exit
record: r1 = map_fd(rb)
r2 = 512
r3 = 0
call bpf_ringbuf_reserve
if r0 == 0 goto out
*(u64 *)(r0 + 0) = r9
r1 = r0
r2 = 0
call bpf_ringbuf_submit
r0 = 1
exit
change: *(u8 *)(r7 + 22) = 7
r0 = 3
exit
move: r1 = r6
r2 = 4
call bpf_xdp_adjust_head
r0 = 3
exit
`

// streamed is a packet, and how long after the one before it comes.
type streamed struct {
	data []byte
	gap  time.Duration
}

// streamedPackets are packets of a few lengths, some too short, with all moods.
func streamedPackets(seed uint64, n int) []streamed {
	rnd := rand.New(rand.NewPCG(seed, 7))
	var out []streamed
	size := 64
	for range n {
		if rnd.IntN(8) == 0 {
			size = []int{64, 60, 54, 34, 20, 14, 5, 200, 1400, 5000}[rnd.IntN(10)]
		}
		p := make([]byte, max(size, 64))
		copy(p, net.DefaultPacket())
		p[22] = byte(rnd.IntN(200))
		if rnd.IntN(30) == 0 {
			p[22] = byte(201 + rnd.IntN(7))
		}
		if rnd.IntN(12) == 0 {
			p[22] = 207
		}
		p[26+rnd.IntN(12)] = byte(rnd.Uint32())
		p[0], p[6] = 2, 2
		out = append(out, streamed{p[:size], time.Duration(rnd.IntN(3)) * time.Microsecond})
	}
	return out
}

// streamOutcome is what can be seen of a replay.
type streamOutcome struct {
	Outs   []string
	Total  machine.Result
	Time   uint64
	Maps   map[string]any
	Events map[string]int
}

func replayAll(t *testing.T, l *loader.Linked, prog string, cfg machine.Config, packets []streamed, together bool) streamOutcome {
	t.Helper()
	ctx := context.Background()
	m := compose(t, l, cfg)
	machine.Untracked(m, true) // tracked runs begin on the interpreter
	r, res, err := m.Replay(prog, machine.Input{})
	require.NoError(t, err)
	require.Nil(t, res)
	var s streamOutcome
	at, called := 0, 0
	keep := func(out *machine.Outcome) {
		text := fmt.Sprintf("packet %d: %d, %d instructions, %x, %d effects, %v", at, out.Ret, out.Insns, out.Packet, len(out.Effects), out.Trace)
		if out.Fault != nil {
			text += ", " + out.Fault.Error()
		}
		s.Outs = append(s.Outs, text)
	}
	then := func(out *machine.Outcome) ([]byte, time.Duration, bool) {
		called++
		keep(out)
		if at+1 == len(packets) || at%97 == 0 || r.Waits() {
			return nil, 0, false
		}
		at++
		return packets[at].data, packets[at].gap, true
	}
	if !together {
		then = nil
	}
	for ; at < len(packets); at++ {
		_, err := r.Pass(ctx, packets[at].gap)
		require.NoError(t, err)
		out, err := r.RunThen(ctx, packets[at].data, then)
		if size := (*machine.PacketSizeError)(nil); errors.As(err, &size) {
			s.Outs = append(s.Outs, fmt.Sprintf("packet %d: %v", at, err))
		} else if require.NoError(t, err); out != nil {
			keep(out)
		}
	}
	if together && cfg.Engine == machine.EngineJIT && prog == "moods" {
		assert.Greater(t, called, len(packets)/2, "native code runs most packets without coming back")
	}
	s.Total, s.Events = *r.Close(), r.Events()
	s.Total.StackReads, s.Total.Changes = nil, nil
	s.Time, s.Maps = m.Kernel().Clock().Mono(), map[string]any{}
	for _, def := range l.Object.Maps {
		if b, ok := m.MapByName(def.Name); ok && def.Type != uapi.MapTypeProgArray {
			s.Maps[def.Name] = b.Entries()
		}
	}
	return s
}

// TestPacketsRunTogetherAreRunAlone: results, faults and whose they are, times, maps and totals are
// those of packets that are run one by one, whatever happens to some of them.
func TestPacketsRunTogetherAreRunAlone(t *testing.T) {
	spec, err := embedded.Spec()
	require.NoError(t, err)
	data, err := assembly.Object("moods.s", moods, spec)
	require.NoError(t, err)
	o, err := loader.OpenBytes("moods.o", data)
	require.NoError(t, err)
	own, err := o.Load(target(t, embedded.Name), loader.LoadOptions{})
	require.NoError(t, err)
	for _, c := range []struct {
		linked *loader.Linked
		prog   string
		n      int
	}{
		{own, "moods", 6000},
		{load(t, "../../examples/xdp/xdp.bpf.o", target(t, embedded.Name)), "filter", 3000},
		{load(t, "../../examples/firewall/firewall.bpf.o", target(t, embedded.Name)), "", 3000},
		{load(t, "../../examples/lb/lb.bpf.o", target(t, embedded.Name)), "", 3000},
		{load(t, "../../examples/nat/nat.bpf.o", target(t, embedded.Name)), "", 1000},
		{load(t, "../../examples/tailcall/tailcall.bpf.o", target(t, embedded.Name)), "", 1000},
		{load(t, "../../testdata/objects/clang-14/packets.o", target(t, embedded.Name)), "encapsulate", 1000},
		{load(t, "../../testdata/objects/clang-14/packets.o", target(t, embedded.Name)), "truncate", 1000},
		{load(t, "../../testdata/objects/clang-14/packets.o", target(t, embedded.Name)), "meta", 1000},
	} {
		if c.prog == "" {
			c.prog = c.linked.Programs[0].Name
		}
		packets := streamedPackets(3, c.n)
		for _, uncovered := range []bool{false, true} {
			cfg := machine.Config{Seed: 5, MaxInsns: 20_000, Uncovered: uncovered}
			want := replayAll(t, c.linked, c.prog, cfg, packets, false)
			cfg.Engine = machine.EngineJIT
			for _, together := range []bool{false, true} {
				got := replayAll(t, c.linked, c.prog, cfg, packets, together)
				for i := range want.Outs {
					require.Equal(t, want.Outs[i], got.Outs[i], c.prog)
				}
				require.Equal(t, want, got, "%s, together %v", c.prog, together)
			}
		}
	}
}
