package pass

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

// linked links an example for the embedded kernel.
func linked(t *testing.T, path string) *loader.Linked {
	t.Helper()
	spec, err := embedded.Spec()
	require.NoError(t, err)
	obj, err := loader.Open(path)
	require.NoError(t, err)
	l, err := Link(obj, loader.NewTarget(embedded.Name, spec), loader.LoadOptions{})
	require.NoError(t, err)
	return l
}

// Ran sees a machine that has executed what the document says, also where a changed input got
// further and the plain run is made again.
func TestRanSeesTheRunOfTheDocument(t *testing.T) {
	for _, path := range []string{"../../../examples/firewall/firewall.bpf.o", "../../../examples/tailcall/tailcall.bpf.o", "../../../examples/iter/iter.bpf.o", "../../../examples/exec/exec.bpf.o"} {
		executed := map[string]int{}
		doc, err := Run(context.Background(), linked(t, path), "embedded", Options{Ran: func(m *machine.Machine, program string) {
			for _, c := range m.Covered(program) {
				if c.Executed {
					executed[program]++
				}
			}
		}})
		require.NoError(t, err)
		reached := 0
		for _, p := range doc.Programs {
			if p.Coverage != nil {
				assert.Equal(t, p.Coverage.Executed, executed[p.Name], "%s in %s", p.Name, path)
			}
			for _, r := range p.Runs {
				if r.Reached != nil {
					reached++
				}
			}
		}
		if path == "../../../examples/firewall/firewall.bpf.o" {
			assert.Positive(t, reached, "inputs that were changed")
		}
	}
}

func TestCancelledRunIsInterrupted(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	stop()
	l := linked(t, "../../../examples/xdp/xdp.bpf.o")
	_, err := Run(ctx, l, "embedded", Options{})
	var i *Interrupted
	require.ErrorAs(t, err, &i)
	require.ErrorIs(t, err, context.Canceled)
	_, err = Verify(ctx, l.Object, l.Target, "embedded", []string{"filter"}, VerifyOptions{})
	require.ErrorAs(t, err, &i)
}
