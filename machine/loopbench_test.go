package machine_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/machine"
)

var loopPrograms = []struct{ object, prog string }{
	{"xdp", "filter"}, {"openat", "enter"}, {"exec", ""}, {"fentry", ""}, {"lsm", ""}, {"tp_btf", ""},
}

// BenchmarkRestore is a run of [machine.Machine.Run] and the restore of the state before it.
func BenchmarkRestore(b *testing.B) {
	for _, c := range loopPrograms {
		m := compose(b, load(b, "../examples/"+c.object+"/"+c.object+".bpf.o", target(b, embedded.Name)), machine.Config{Engine: machine.EngineJIT})
		name := c.prog
		if name == "" {
			name = m.Names()[0]
		}
		b.Run(c.object+"/"+name, func(b *testing.B) {
			s := m.Snapshot()
			b.ReportAllocs()
			for b.Loop() {
				_, err := m.Run(context.Background(), name, machine.Input{})
				require.NoError(b, err)
				m.Restore(s)
			}
		})
		b.Run(c.object+"/"+name+"/restore", func(b *testing.B) {
			s := m.Snapshot()
			b.ReportAllocs()
			for b.Loop() {
				m.Restore(s)
			}
		})
	}
}
