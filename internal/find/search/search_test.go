package search

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/btffile"
	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

// barriers has programs that stop at one kind of input each.
const barriers = "../../../testdata/objects/clang-14/barriers.o"

func open(t testing.TB, path string) *machine.Machine {
	spec, err := embedded.Spec()
	require.NoError(t, err)
	return openOn(t, path, loader.NewTarget(embedded.Name, spec))
}

func openOn(t testing.TB, path string, target *loader.Target) *machine.Machine {
	obj, err := loader.Open(path)
	require.NoError(t, err)
	l, err := obj.Load(target, loader.LoadOptions{})
	require.NoError(t, err)
	m, err := machine.New(l, machine.Config{Seed: 1})
	require.NoError(t, err)
	t.Cleanup(m.Close)
	return m
}

// TestSolvesComparisons: each comparison of a computed value is solved both ways where there is a
// solution.
func TestSolvesComparisons(t *testing.T) {
	two := func(op decode.Op, c uint64) Step { return Step{Op: op, Constant: c} }
	for name, c := range map[string]struct {
		was   uint64
		size  int
		steps []Step
		op    decode.Op
		other uint64
		want  bool
		x     uint64
	}{
		"a port in network order":     {0x5000, 2, []Step{two(decode.OpBE16, 0)}, decode.OpJeq64Imm, 443, true, 0xbb01},
		"a bit under a mask":          {0x10, 1, []Step{two(decode.OpAnd64Imm, 2)}, decode.OpJeq64Imm, 0, false, 0x12},
		"a field of four bits":        {0x65, 1, []Step{two(decode.OpRsh64Imm, 4)}, decode.OpJeq64Imm, 4, true, 0x45},
		"the high half, such as tgid": {0x1_0000_0002, 8, []Step{two(decode.OpRsh64Imm, 32)}, decode.OpJeq64Imm, 42, true, 42<<32 | 2},
		"an addition":                 {3, 4, []Step{two(decode.OpAdd64Imm, 7)}, decode.OpJgt64Imm, 100, true, 94},
		"not this value":              {5, 1, nil, decode.OpJeq64Imm, 5, false, 6},
	} {
		v := &Value{From: &Source{Kind: Memory, Size: c.size}, Was: c.was, Steps: c.steps}
		x, ok := v.Solve(c.op, c.other, false, c.want)
		assert.True(t, ok, name)
		assert.Equal(t, c.x, x, name)
	}
	v := &Value{From: &Source{Kind: Memory, Size: 1}, Was: 3}
	_, ok := v.Solve(decode.OpJeq64Imm, 256, false, true)
	assert.False(t, ok, "one byte is never 256")
}

// TestGetsFurther: the search passes what stops a plain run, names what it changed, and repeats
// itself. Nothing is changed where nothing helps.
func TestGetsFurther(t *testing.T) {
	for _, c := range []struct{ object, program, changed string }{
		{"../../../testdata/objects/clang-14/filtered.o", "enter_openat", "[bpf_get_current_uid_gid() = 0]"},
		{"../../../testdata/objects/clang-14/filtered.o", "exit_openat", "[map started[17111] inserted]"},
		{"../../../testdata/objects/clang-14/filtered.o", "in_callback", "[bpf_get_prandom_u32() = 7]"},
		{"../../../examples/connect/connect.bpf.o", "connect4", "[map services[{ip = 198.51.100.2, port = 80}] inserted]"},
		{"../../../examples/firewall/firewall.bpf.o", "open_port_check", "[packet [0:4] = 0x03000000]"},
		{"../../../examples/xdp/xdp.bpf.o", "filter", "[]"},
		{barriers, "protocol", "[packet ip.proto = udp]"},
		{barriers, "port", "[packet tcp.dport = 8443 packet tcp.flags = F]"},
		{barriers, "length", "[packet of 200 bytes]"},
		{barriers, "version", "[packet ip.version = 6]"},
		{barriers, "mark", "[ctx mark = 7424]"},
		{barriers, "configured", "[map config[0].mode = 3 map config[0].flags = 256]"},
		{barriers, "known", "[map flows[7] inserted map flows[7].port = 13568]"},
		{barriers, "switched", "[global enabled = 2]"},
		{barriers, "counted", "[argument count = 4096]"},
		{barriers, "family", "[object sk.__sk_common.skc_family = 10]"},
		{barriers, "failed", "[argument ret = -2]"},
		{barriers, "from_root", "[bpf_get_current_uid_gid() = 0]"},
		{barriers, "never", "[]"},
	} {
		t.Run(c.program, func(t *testing.T) {
			found, err := Furthest(context.Background(), open(t, c.object), c.program, machine.Input{}, Options{})
			require.NoError(t, err)
			assert.Equal(t, c.changed, fmt.Sprint(found.Changed))
			plain, err := open(t, c.object).Run(context.Background(), c.program, machine.Input{})
			require.NoError(t, err)
			assert.Equal(t, len(found.Changed) > 0, found.Coverage.Executed > plain.Coverage.Executed)
			if len(found.Changed) == 0 {
				assert.Equal(t, plain.Insns, found.Insns)
			}
		})
	}
}

// TestTheSameAgain: equal machines give equal searches, and the run that is reported is one that
// the changed input makes again.
func TestTheSameAgain(t *testing.T) {
	var first []string
	for range 2 {
		var all []string
		for _, name := range open(t, barriers).Names() {
			m := open(t, barriers)
			found, err := Furthest(context.Background(), m, name, machine.Input{}, Options{})
			require.NoError(t, err)
			all = append(all, fmt.Sprint(name, found.Changed, found.Runs, found.Ret, found.Insns, found.Coverage, found.Changes))
		}
		if first != nil {
			assert.Equal(t, first, all)
		}
		first = all
	}
}

// TestWhatIsKeptStays: an input that is kept is not changed, and the branch that it decides is
// named.
func TestWhatIsKeptStays(t *testing.T) {
	for _, c := range []struct {
		program string
		keep    Input
		why     string
	}{
		{"configured", MapValue, "0 (map config[0].mode) against 3: 12 more instructions follow if they are equal"},
		{"switched", Global, "0 (global enabled) against 2: 9 more instructions follow if the first is not less"},
		{"mark", ContextField, "0 (ctx mark) against 7424: 11 more instructions follow if they are equal"},
		{"counted", Argument, "907 (argument count) against 4096: 7 more instructions follow if they are equal"},
	} {
		keep := func(o Override) bool { return o.Place.Input == c.keep }
		found, err := Furthest(context.Background(), open(t, barriers), c.program, machine.Input{}, Options{Keep: keep})
		require.NoError(t, err)
		assert.Empty(t, found.Changed, c.program)
		require.NotNil(t, found.Stop, c.program)
		lines := found.Stop.Lines()
		assert.Contains(t, lines[0], "decided by "+c.program+" at barriers.bpf.c:", c.program)
		assert.Equal(t, c.why, lines[1], c.program)

		// A plain run is explained in the same words.
		m := open(t, barriers)
		start := m.Snapshot()
		res, err := m.Run(context.Background(), c.program, machine.Input{})
		require.NoError(t, err)
		m.Restore(start)
		stop, ok, err := Explain(context.Background(), m, res, machine.Input{})
		require.NoError(t, err)
		require.True(t, ok, c.program)
		assert.Equal(t, lines, stop.Lines(), c.program)
	}
}

// TestTheBudgetHolds: no more runs are made than allowed, and none of a program that is longer than
// what they may take.
func TestTheBudgetHolds(t *testing.T) {
	found, err := Furthest(context.Background(), open(t, barriers), "configured", machine.Input{}, Options{Runs: 2})
	require.NoError(t, err)
	assert.Equal(t, 3, found.Runs)
	assert.Len(t, found.Changed, 1)
	found, err = Furthest(context.Background(), open(t, barriers), "configured", machine.Input{}, Options{Insns: 4})
	require.NoError(t, err)
	assert.Equal(t, 1, found.Runs)
}

// TestConstantsStay: what the kernel took for constant when it verified the program is no input.
func TestConstantsStay(t *testing.T) {
	m := open(t, "../../../examples/globals/globals.bpf.o")
	for _, def := range m.Linked().Maps {
		if mp, ok := m.Map(def); ok && def.DataKind != loader.DataNone {
			addr, e := mp.Lookup(0, make([]byte, 4))
			require.Zero(t, e)
			tr := NewTrace(m, nil, nil)
			place := tr.placeOf(addr, 1)
			assert.Equal(t, def.DataKind == loader.DataRodata || def.DataKind == loader.DataKconfig, place.Input == Constant, def.Name)
		}
	}
}

// TestMeasure prints the median share of the instructions that a run executes, before and after,
// for the objects of BPFRUN_SEARCH (a glob).
func TestMeasure(t *testing.T) {
	pattern := os.Getenv("BPFRUN_SEARCH")
	if pattern == "" {
		t.Skip("BPFRUN_SEARCH names no objects")
	}
	spec, err := btffile.Load("../../../testdata/btf/linux-7.2.13-amd64.btf.xz", nil)
	require.NoError(t, err)
	target := loader.NewTarget("linux-7.2.13-amd64", spec)
	var files []string
	for p := range strings.FieldsSeq(pattern) {
		more, err := filepath.Glob(p)
		require.NoError(t, err)
		files = append(files, more...)
	}
	var before, after []float64
	for _, path := range files {
		obj, err := loader.Open(path)
		if err != nil {
			continue
		}
		l, err := obj.Load(target, loader.LoadOptions{})
		if err != nil {
			continue
		}
		m, err := machine.New(l, machine.Config{Seed: 1, MaxInsns: 1 << 20})
		if err != nil {
			continue
		}
		base := m.Snapshot()
		for _, name := range m.Names() {
			m.Restore(base)
			plain, err := m.Run(context.Background(), name, machine.Input{})
			if err != nil || !plain.Ran || plain.Fault != nil || plain.Coverage.Reachable == 0 {
				continue
			}
			m.Restore(base)
			found, err := Furthest(context.Background(), m, name, machine.Input{}, Options{})
			if !assert.NoError(t, err, name) {
				continue
			}
			b, a := float64(plain.Coverage.Executed)/float64(plain.Coverage.Reachable), float64(found.Coverage.Executed)/float64(found.Coverage.Reachable)
			before, after = append(before, b), append(after, a)
			t.Logf("%5.1f %% -> %5.1f %% %s %s in %d runs: %v", 100*b, 100*a, filepath.Base(path), name, found.Runs, found.Changed)
			if found.Stop != nil && a < 0.5 {
				t.Logf("  stopped: %s", strings.Join(found.Stop.Lines(), " | "))
			}
		}
		m.Close()
	}
	slices.Sort(before)
	slices.Sort(after)
	if n := len(before); n > 0 {
		t.Logf("%d programs: median %.1f %% -> %.1f %%", n, 100*before[n/2], 100*after[n/2])
	}
}

// TestFindingsOfThePlainRunStay: a run that gets further does what the plain one leaves out, and
// must not hide that.
func TestFindingsOfThePlainRunStay(t *testing.T) {
	m := open(t, "../../../testdata/objects/clang-14/leaks.o")
	plain, err := m.Run(context.Background(), "one_path", machine.Input{})
	require.NoError(t, err)
	require.Len(t, plain.Findings, 1)
	found, err := Furthest(context.Background(), open(t, "../../../testdata/objects/clang-14/leaks.o"), "one_path", machine.Input{}, Options{})
	require.NoError(t, err)
	require.NotEmpty(t, found.Changed)
	assert.Equal(t, plain.Findings, found.Findings)
}

// TestNumbersInTheWrongByteOrder: a comparison of a port, protocol or address in network byte order
// with a constant in that of the host is a warning with its line; constants that are right, and
// those that mean something in both orders, are none.
func TestNumbersInTheWrongByteOrder(t *testing.T) {
	const path = "../../../testdata/objects/clang-14/byteorder.o"
	want := map[string][]string{
		"port_wrong": {"packet tcp.dport is compared with 8080 in the byte order of the host, but holds network byte order: there it is port 36895; use bpf_htons(8080) at testdata/src/byteorder.bpf.c:43:6"},
		"type_wrong": {"packet eth.type is compared with 0x0800 in the byte order of the host, but holds network byte order: there it is 0x0008; use bpf_htons(0x0800) at testdata/src/byteorder.bpf.c:68:6"},
		"peer_wrong": {
			"object sk.__sk_common.skc_daddr is compared with 0x7f000001, which is 127.0.0.1 in the byte order of the host, but holds network byte order: there it is 1.0.0.127; use bpf_htonl(0x7f000001) at testdata/src/byteorder.bpf.c:90:6",
			"object sk.__sk_common.skc_dport is compared with 443 in the byte order of the host, but holds network byte order: there it is port 47873; use bpf_htons(443) at testdata/src/byteorder.bpf.c:92:6",
		},
	}
	for _, name := range open(t, path).Names() {
		found, err := Furthest(context.Background(), open(t, path), name, machine.Input{}, Options{})
		require.NoError(t, err)
		assert.Equal(t, want[name], found.Warnings, name)
	}
}

// TestNumbersAsTheyAreShown: short ones in decimal, errors with their sign, others in hex.
func TestNumbersAsTheyAreShown(t *testing.T) {
	for v, want := range map[uint64]string{
		0: "0", 7: "7", 1 << 20: "1048576", 1<<20 + 1: "0x100001", 1<<64 - 1: "-1", 1<<64 - 4095: "-4095", 1<<64 - 4096: "0xfffffffffffff000", 1<<63 - 1: "0x7fffffffffffffff",
	} {
		assert.Equal(t, want, number(v))
	}
	for n, want := range map[int]string{0: "", 1: "+1", 70000: "+70000"} {
		assert.Equal(t, want, offset(n))
	}
}
