package intest

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

var target = sync.OnceValues(func() (*loader.Target, error) {
	spec, err := embedded.Spec()
	return loader.NewTarget(embedded.Name, spec), err
})

func object(t *testing.T, name string) *loader.Object {
	t.Helper()
	obj, err := loader.Open(filepath.Join("..", "..", "testdata", "objects", "clang-14", name))
	require.NoError(t, err)
	return obj
}

func open(t *testing.T, name string, opt Options) *Runner {
	t.Helper()
	tgt, err := target()
	require.NoError(t, err)
	r, err := Open(object(t, name), tgt, opt)
	require.NoError(t, err)
	t.Cleanup(r.Close)
	return r
}

// run runs all tests of an object.
func run(t *testing.T, name string, opt Options) (*Runner, map[string]*Result) {
	t.Helper()
	r := open(t, name, opt)
	all, err := r.All(context.Background())
	require.NoError(t, err)
	require.Len(t, all, len(r.Tests()))
	out := map[string]*Result{}
	for _, res := range all {
		out[res.Test.Name] = res
	}
	return r, out
}

func TestSectionsSayWhatIsATest(t *testing.T) {
	for _, c := range []struct {
		section, name string
		stage         Stage
		ok            bool
	}{
		{"tc/test/a/pktgen", "a", Pktgen, true},
		{"tc/test/a/setup", "a", Setup, true},
		{"xdp/test/b c/check", "b c", Check, true},
		{"?xdp/test/b/check", "b", Check, true},
		{"cgroup/connect4/test/c", "c", "", true},
		{"syscall/test/d", "d", "", true},
		{"tc/test/a/other", "", "", false},
		{"tc/test/a/check/more", "", "", false},
		{"tc/test/", "", "", false},
		{"tc/test", "", "", false},
		{"test/a", "", "", false},
		{"test/a/check", "", "", false},
		{"tc/tests/a", "", "", false},
		{"uprobe//opt/test/app:main", "", "", false},
		{"uretprobe.s//opt/test/check:main", "", "", false},
		{"usdt//opt/test/app:provider:probe", "", "", false},
		{"", "", "", false},
	} {
		name, stage, ok := split(c.section)
		assert.Equal(t, c.ok, ok, c.section)
		assert.Equal(t, c.name, name, c.section)
		assert.Equal(t, c.stage, stage, c.section)
	}
}

func TestMisspelledStagesAreNotLeftOut(t *testing.T) {
	for section, want := range map[string]Stage{
		"tc/test/a/Check": Check, "tc/test/a/chekc": Check, "xdp/test/a/checks": Check, "xdp/test/a/setpu": Setup, "xdp/test/a/pktgne": Pktgen, "tc/test/a/pkt": Pktgen,
	} {
		got, is := misspelled(section)
		assert.True(t, is, section)
		assert.Equal(t, want, got, section)
	}
	for _, section := range []string{"tc/test/a/other", "tc/test/a/", "tc/check", "xdp", "", "tc/tests/chekc", "uprobe//opt/test/a/chekc"} {
		_, is := misspelled(section)
		assert.False(t, is, section)
	}
	for _, c := range []struct {
		section string
		typ     uapi.ProgType
		want    string
	}{
		{"xdp/test/a/chekc", uapi.ProgTypeXDP, "o.o: test p: section xdp/test/a/chekc is not a stage of a test (does it mean /check?)"},
		{"kprobe/test/a/check", uapi.ProgTypeKprobe, "o.o: test a: section kprobe/test/a/check: kprobe programs take no packet (test stages are of type xdp or tc)"},
	} {
		_, err := Discover(&loader.Object{Name: "o.o", Programs: []*loader.Program{{Name: "p", Section: c.section, Type: c.typ}}})
		var e *SuiteError
		require.ErrorAs(t, err, &e)
		assert.Equal(t, c.want, e.Error())
	}
}

func TestTestsRunInTheOrderOfTheirNames(t *testing.T) {
	tests, err := Discover(object(t, "intest_tc.o"))
	require.NoError(t, err)
	var names []string
	for _, x := range tests {
		names = append(names, x.Name)
	}
	assert.Equal(t, []string{
		"1_forward", "2_shared", "3_generated", "4_check_alone", "5_skipped", "6_part_skipped", "7_twice (twice_a)", "7_twice (twice_b)",
	}, names)
	assert.Len(t, tests[0].Stages, 3)
	assert.Equal(t, "forward_check", tests[0].Prog())
	assert.Equal(t, uapi.ProgTypeSchedCls, tests[0].Type(Setup))
	assert.Len(t, tests[3].Stages, 1)

	tests, err = Discover(object(t, "intest_xdp.o"))
	require.NoError(t, err)
	require.Len(t, tests, 3)
	assert.Nil(t, tests[0].Plain, "staged tests come first")
	assert.Equal(t, "fresh_one", tests[1].Plain.Name)

	tests, err = Discover(object(t, "packets.o"))
	assert.NoError(t, err)
	assert.Empty(t, tests)
}

func TestATestWithoutACheckIsAMistake(t *testing.T) {
	_, err := Discover(object(t, "intest_lost.o"))
	var e *SuiteError
	require.ErrorAs(t, err, &e)
	assert.Equal(t, "nobody_looks", e.Test)
	assert.Contains(t, e.Error(), "TYPE/test/nobody_looks/check")
}

func TestStagedTestsPass(t *testing.T) {
	_, res := run(t, "intest_tc.o", Options{})
	for name, r := range res {
		want := Passed
		if name == "5_skipped" {
			want = Skipped
		}
		assert.Equal(t, want, r.Status, "%s: %v", name, r.Failures)
		assert.Zero(t, r.Exit, name)
		assert.Empty(t, r.Failures, name)
		assert.Empty(t, r.Way, name)
	}
	assert.Equal(t, "not on these 7 machines", res["5_skipped"].Skipped)
	assert.Equal(t, []PartResult{
		{"verdict", Passed, []string{"the verdict is 7, of 64 bytes"}}, {"packet", Passed, nil}, {"context", Passed, nil},
	}, res["1_forward"].Parts)
	assert.Equal(t, []PartResult{{"left out", Skipped, nil}, {"done", Passed, nil}}, res["6_part_skipped"].Parts)
	steps := res["1_forward"].Steps
	require.Len(t, steps, 3)
	assert.Equal(t, []Stage{Pktgen, Setup, Check}, []Stage{steps[0].Stage, steps[1].Stage, steps[2].Stage})
	assert.EqualValues(t, 7, steps[1].Ret)
	assert.NotZero(t, res["1_forward"].Insns)
}

// Variables of .rodata.config are set as all others. The check knows the checksum of the usual
// address only.
func TestConfigurationIsSetBeforeTheTests(t *testing.T) {
	_, res := run(t, "intest_tc.o", Options{Load: loader.LoadOptions{Globals: map[string]string{"virtual_ip": "0x0a000002"}}})
	require.NotEmpty(t, res["1_forward"].Failures)
	assert.Contains(t, res["1_forward"].Failures[0], "0xfefd")
	_, res = run(t, "intest_tc.o", Options{Load: loader.LoadOptions{Globals: map[string]string{"out_ifindex": "77"}}})
	r := res["1_forward"]
	require.Equal(t, Passed, r.Status, r.Failures)
	require.NotEmpty(t, r.Steps[1].Effects)
	assert.EqualValues(t, 77, r.Steps[1].Effects[len(r.Steps[1].Effects)-1].Number)
}

func TestXDPAndPlainTestsPass(t *testing.T) {
	_, res := run(t, "intest_xdp.o", Options{})
	for name, r := range res {
		assert.Equal(t, Passed, r.Status, "%s: %v", name, r.Failures)
	}
}

func TestFailuresSayWhatAndWhere(t *testing.T) {
	_, res := run(t, "intest_bad.o", Options{})
	for _, c := range []struct {
		name   string
		status Status
		exit   int
		want   []string // in the first failure
	}{
		{"assertion", Failed, 1, []string{"length: fail\nlooking at 3520 bytes\n3520 bytes, want 1 (  abc|7    |-0042|x|%|-1|0x1000)"}},
		{"part_only", Errored, 1, []string{"a: error\n1 and %!d(no argument)\nno more %!(more arguments: 0x2 0x3) (code 100)"}},
		{"code_fail", Failed, 1, []string{"check returned 102 (fail)"}},
		{"code_error", Errored, 1, []string{"check returned 0 (error)"}},
		{"code_none", Errored, 1, []string{"check returned 77, which is not a status"}},
		{"pktgen_error", Errored, 1, []string{"pktgen (pktgen_error_pktgen) returned 100 (error)"}},
		{"setup_fail", Failed, 1, []string{"setup (setup_fail_setup) returned 102 (fail)"}},
		{"too_short", Errored, 1, []string{"pktgen (too_short_pktgen) returned 100"}},
		{"too_long", Errored, 1, []string{"check (too_long_check): the kernel refuses to run it", "wire_len 3520", "EINVAL"}},
		{"setup_fault", Errored, 4, []string{"setup (setup_fault_setup): fault:", "just past the end of packet", "intest_bad.bpf.c:105:9: return *(volatile __u8 *)p;", "hint: "}},
		{"unknown_helper", Errored, 3, []string{"helper number 9999"}},
		{"not_simulated", Errored, 5, []string{"not simulated: kfunc bpf_kfunc_call_memb_release"}},
		{"torn_report", Errored, 1, []string{"the report in suite_result_map: field at byte 0", "truncated"}},
		{"cut_report", Failed, 1, []string{"check returned 102"}},
		{"plain_line", Failed, 1, []string{"returned 182: failed at\ntestdata/src/intest_bad.bpf.c:182"}},
		{"plain_errno", Failed, 1, []string{"returned -22 (EINVAL)"}},
	} {
		r := res[c.name]
		require.NotNil(t, r, c.name)
		assert.Equal(t, c.status, r.Status, c.name)
		assert.Equal(t, c.exit, r.Exit, c.name)
		if assert.NotEmpty(t, r.Failures, c.name) {
			for _, w := range c.want {
				assert.Contains(t, r.Failures[0], w, c.name)
			}
		}
	}
	assert.Equal(t, []string{"(suite_result_map holds something else from byte 13 on)"}, res["cut_report"].Logs)
	assert.Equal(t, []PartResult{{"whole", Passed, nil}}, res["cut_report"].Parts)
	assert.Equal(t, []string{"setup said so"}, res["setup_fail"].Logs)
	assert.Equal(t, []string{"len is 3520"}, res["code_fail"].Logs)

	// The last lines that were executed, of the test's own file.
	way := res["code_none"].Way
	require.NotEmpty(t, way)
	assert.Equal(t, "testdata/src/intest_bad.bpf.c:56: return 77;", way[len(way)-1].String())
	way = res["assertion"].Way
	require.NotEmpty(t, way)
	assert.Contains(t, way[len(way)-1].Text, "EXPECT(&r, ctx->len == 1")
	assert.Empty(t, res["setup_fault"].Way, "the fault says its place")
}

func TestSkippedTests(t *testing.T) {
	_, res := run(t, "intest_bad.o", Options{})
	assert.Equal(t, Skipped, res["absent"].Status)
	assert.Contains(t, res["absent"].Skipped, "function test/absent")
	assert.Equal(t, Skipped, res["off"].Status)
	assert.Zero(t, res["off"].Exit)
	_, res = run(t, "intest_bad.o", Options{Config: machine.Config{Strict: true}})
	assert.Equal(t, Errored, res["absent"].Status)
	assert.Equal(t, 3, res["absent"].Exit)
}

// A second run of the same object gives the same, also after failures that were looked at again.
func TestRunsAreRepeatable(t *testing.T) {
	for _, name := range []string{"intest_tc.o", "intest_bad.o"} {
		_, first := run(t, name, Options{Config: machine.Config{Seed: 3, CPUs: 4}})
		_, second := run(t, name, Options{Config: machine.Config{Seed: 3, CPUs: 4}})
		for n, a := range first {
			b := second[n]
			assert.Equal(t, a.Status, b.Status, n)
			assert.Equal(t, a.Failures, b.Failures, n)
			assert.Equal(t, a.Insns, b.Insns, n)
			assert.Equal(t, a.Way, b.Way, n)
		}
	}
}

func TestCancelledRunsEnd(t *testing.T) {
	r := open(t, "intest_tc.o", Options{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := r.All(ctx)
	assert.ErrorIs(t, err, context.Canceled)
}

// TestTheLastLinesOfAWay: three lines, each once, where it was last.
func TestTheLastLinesOfAWay(t *testing.T) {
	r := open(t, "intest_xdp.o", Options{})
	p := r.m.Linked().Programs[0]
	own, ok := p.LineAt(0)
	require.True(t, ok)
	var at []int // instructions of different lines
	seen := map[uint32]bool{}
	for pc := range p.Insns {
		if l, ok := p.LineAt(pc); ok && l.File == own.File && l.Line != 0 && strings.Trim(l.Text, "{} \t;") != "" && !seen[l.Line] {
			seen[l.Line] = true
			at = append(at, pc)
		}
	}
	require.GreaterOrEqual(t, len(at), 4)
	for _, c := range []struct{ steps, want []int }{
		{[]int{0, 1}, []int{0, 1}}, {[]int{0, 1, 2}, []int{0, 1, 2}}, {[]int{0, 1, 2, 3}, []int{1, 2, 3}},
		{[]int{0, 1, 0}, []int{1, 0}}, {[]int{0, 1, 2, 1}, []int{0, 2, 1}}, {[]int{0, 0, 0, 1}, []int{0, 1}}, {[]int{0, 1, 2, 2, 3}, []int{1, 2, 3}},
	} {
		w := &wayTracer{}
		for _, i := range c.steps {
			w.Step(p, at[i], 0, nil, nil)
		}
		var want []Place
		for _, i := range c.want {
			l, _ := p.LineAt(at[i])
			want = append(want, Place{l.File, l.Line, l.Text})
		}
		assert.Equal(t, want, w.lines, "%v", c.steps)
	}
}
