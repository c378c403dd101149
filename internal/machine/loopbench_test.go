package machine_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/packet"
)

// noCover receives coverage and drops it: branches are recorded.
type noCover struct{}

func (noCover) Begin(*machine.Machine) func([]machine.Covered) { return func([]machine.Covered) {} }

var loopPrograms = []struct{ object, prog string }{
	{"xdp", "filter"}, {"openat", "enter"}, {"exec", "on_exec"}, {"fentry", "vfs_read_enter"}, {"lsm", "check_exec"}, {"tp_btf", "on_wakeup"}, {"rawtp", "on_signal"}, {"nat", "outbound"}, {"ratelimit", ""}, {"taskstorage", ""}, {"firewall", ""},
}

// benchPrograms calls f for each of these programs on a machine with native code that records
// branches.
func benchPrograms(b *testing.B, f func(b *testing.B, m *machine.Machine, name string)) {
	benchOn(b, machine.Config{Engine: machine.EngineJIT, Cover: noCover{}, Restores: true}, f)
}

func benchOn(b *testing.B, cfg machine.Config, f func(b *testing.B, m *machine.Machine, name string)) {
	for _, c := range loopPrograms {
		m := compose(b, load(b, "../../examples/"+c.object+"/"+c.object+".bpf.o", target(b, embedded.Name)), cfg)
		name := c.prog
		if name == "" {
			name = m.Names()[0]
		}
		b.Run(c.object+"/"+name, func(b *testing.B) { f(b, m, name) })
	}
}

// BenchmarkRestore is a run of [machine.Machine.Run] and the restore of the state before it.
func BenchmarkRestore(b *testing.B) {
	benchPrograms(b, func(b *testing.B, m *machine.Machine, name string) {
		s := m.Snapshot()
		b.ReportAllocs()
		for b.Loop() {
			_, err := m.Run(context.Background(), name, machine.Input{})
			require.NoError(b, err)
			m.Restore(s)
		}
	})
}

// BenchmarkLoop is a run of a [machine.Loop] with the rewind before it, and with the question
// whether it reached something new.
func BenchmarkLoop(b *testing.B) {
	benchPrograms(b, func(b *testing.B, m *machine.Machine, name string) {
		// Shorter packets than the first are put into its context.
		l, _, err := m.Loop(name, machine.Input{Packet: packets[1]})
		require.NoError(b, err)
		require.NoError(b, l.Warm(context.Background()))
		b.ReportAllocs()
		for b.Loop() {
			l.Rewind()
			if l.Context().Packet != nil {
				if err := l.SetPacket(packets[0]); err != nil {
					b.Fatal(err)
				}
			}
			if _, err := l.Run(context.Background()); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// packets are TCP packets, the second of the usual largest size.
var packets = func() (out [2][]byte) {
	for i, expr := range [...]string{"eth/ip/tcp(flags=S)", "eth/ip/tcp(flags=PA)/'x'*1446"} {
		out[i], _ = packet.Parse(expr)
	}
	return out
}()
