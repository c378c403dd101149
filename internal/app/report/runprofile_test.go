package report_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/flame"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

// Every executed instruction is counted once, in the chain of calls and callbacks in which it ran.
func TestRunProfileCountsAllInstructions(t *testing.T) {
	o, err := loader.Open("../../../examples/loop/loop.bpf.o")
	require.NoError(t, err)
	spec, err := embedded.Spec()
	require.NoError(t, err)
	l, err := o.Load(loader.NewTarget("6.12", spec), loader.LoadOptions{})
	require.NoError(t, err)
	m, err := machine.New(l, machine.Config{})
	require.NoError(t, err)
	defer m.Close()
	var p report.RunProfile
	executed := 0
	for range 2 {
		res, err := m.Run(t.Context(), "on_exit", machine.Input{Trace: &p})
		require.NoError(t, err)
		require.Nil(t, res.Fault)
		executed += int(res.Insns)
	}
	sum, chains := 0, map[string]int{}
	require.Len(t, p.Flames(), 1)
	p.Flames()[0].Each(func(stack []flame.Place, values []int) {
		sum += values[0]
		var names []string
		for _, at := range stack {
			names = append(names, at.Func)
		}
		chains[strings.Join(names, "<")] += values[0]
	})
	assert.Equal(t, executed, sum)
	assert.Len(t, chains, 3)
	for _, chain := range []string{"on_exit", "climb_one<on_exit", "add_one<on_exit"} {
		assert.Positive(t, chains[chain], chain)
	}

	var b bytes.Buffer
	require.NoError(t, report.WriteRunProfile(&b, &p, report.TableOptions{}))
	assert.Contains(t, b.String(), "profile of on_exit: ")
	assert.Contains(t, b.String(), "loop.bpf.c:46  c->out->tgid[i] = tgid;")
	assert.Contains(t, b.String(), "more lines (-v shows all)")
	b.Reset()
	require.NoError(t, report.WriteRunHTML(&b, report.Documents{}, &p))
	assert.Contains(t, b.String(), `class="flame"`)
	assert.Contains(t, b.String(), ">climb_one</i>")
}
