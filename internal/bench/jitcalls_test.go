package bench

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/jit"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/vm"
)

// The loops of testdata/net/costs.bpf.c: their turns, and the work of one.
const (
	costTurns = 1000
	costWork  = 16
)

// callCost is the time of a call: of a loop with it over the same loop without it. The work in
// between keeps the program native code, which is left to the interpreter if it is left for calls
// every few instructions.
type callCost struct {
	what       string
	with, work *vm.Image
	args       []uint64
	inline     bool // the call is native code too
}

// measure gives the times on native code and on the interpreter, in nanoseconds a call.
func (c *callCost) measure(t *testing.T, th *vm.Thread, e *jit.Engine) (native, interpreted float64) {
	t.Helper()
	run := func(img *vm.Image) {
		th.Start(img, c.args...)
		stop := th.Run(1 << 40)
		for stop == vm.Stopped { // the machine's pause after much work of helpers
			stop = th.Run(1 << 40)
		}
		if stop != vm.Done {
			t.Fatal(stop, th.Fault())
		}
	}
	cost := func() float64 {
		var with, without float64
		for range 20 { // in turn, so that both meet the same neighbours
			a, b := window(func() { run(c.with) }), window(func() { run(c.work) })
			if with == 0 || a < with {
				with = a
			}
			if without == 0 || b < without {
				without = b
			}
		}
		return (with - without) / costTurns
	}
	th.SetEngine(e)
	native = cost()
	for _, img := range []*vm.Image{c.work, c.with} { // as they were measured
		before := e.Executed()
		run(img)
		least := th.Insns()
		if img == c.with && !c.inline {
			least -= costTurns
		}
		require.GreaterOrEqual(t, e.Executed()-before, least-costWork, "%s: instructions of %s that ran as native code, of %d", c.what, img.Name, th.Insns())
	}
	th.SetEngine(nil)
	return native, cost()
}

func (c *callCost) print(t *testing.T, th *vm.Thread, e *jit.Engine) {
	t.Helper()
	native, interpreted := c.measure(t, th, e)
	fmt.Printf("| %s, ns | %.1f | %.1f |\n", c.what, native, interpreted)
}

// printCallCosts measures calls of helpers as machines have them, and of one that does nothing.
func printCallCosts(t *testing.T) {
	t.Helper()
	obj, err := loader.Open("testdata/net/costs.bpf.o")
	require.NoError(t, err)
	linked, err := obj.Load(target(t), loader.LoadOptions{})
	require.NoError(t, err)
	m, err := machine.New(linked, machine.Config{Uncovered: true})
	require.NoError(t, err)
	defer m.Close()
	e, err := jit.New(m.Memory())
	require.NoError(t, err)
	defer e.Close()
	image := func(name string) *vm.Image {
		img, ok := m.ImageOf(name)
		require.True(t, ok, name)
		return img
	}
	work := image("work")
	nothing := emptyCalls(t, work)
	none := callCost{what: "call of a helper that does nothing", with: nothing, work: work}
	th := vm.NewThread(m.Memory(), vm.ThreadConfig{})
	none.print(t, th, e)

	r, _, err := m.Replay("work", machine.Input{})
	require.NoError(t, err)
	defer r.Close()
	_, err = r.Run(context.Background(), net.DefaultPacket())
	require.NoError(t, err)
	m.Thread().Track(false) // as its first runs are: they are the interpreter's
	args := []uint64{r.Context().Addr}
	for _, c := range []callCost{
		{what: "bpf_map_lookup_elem on an array, with the three instructions of its arguments", with: image("lookup"), work: work, args: args, inline: true},
		{what: "bpf_ktime_get_ns", with: image("clock"), work: work, args: args, inline: true},
	} {
		c.print(t, m.Thread(), e)
	}
}

// emptyCalls is a loop of the costs with a call of a helper that does nothing in it.
func emptyCalls(t *testing.T, work *vm.Image) *vm.Image {
	t.Helper()
	insns := slices.Clone(work.Insns())
	last := slices.IndexFunc(insns, func(in decode.Insn) bool { return in.Op() == decode.OpJne64Imm })
	require.Positive(t, last)
	first := last + 1 + int(insns[last].Off)
	insns[last].Off--
	call := decode.Insn{Code: 0x85, Imm: 7}
	insns = slices.Insert(insns, first, call)
	f := &vm.Func{Name: "nothing", Fn: func(*vm.Thread, *[5]uint64) (uint64, *vm.Action) { return 0, nil }}
	img, err := vm.Lower(vm.LowerConfig{Name: "nothing", Insns: insns, Fuse: true, Call: func(int, decode.Insn) (*vm.Func, error) { return f, nil }})
	require.NoError(t, err)
	return img
}
