package conformance

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/conformance/result"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/testing/testbtf"
	"github.com/bpfrun/bpfrun/internal/testing/testsize"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// caseKernels are the kernels with all types among the test data. Cases run on the types of the
// release that recorded them, or else on the first that have the kfuncs of the object.
var caseKernels = sync.OnceValues(func() ([]*btf.Spec, error) {
	newest, err := testbtf.Load("../testdata/btf/linux-7.2.13-amd64.btf.xz")
	if err != nil {
		return nil, err
	}
	own, err := embedded.Spec()
	return []*btf.Spec{own, newest}, err
})

// newestRelease is that of the last of caseKernels.
const newestRelease = 7<<16 | 2<<8 | 13

func casesConfig(t testing.TB, dir string) CasesConfig {
	specs, err := caseKernels()
	require.NoError(t, err)
	cfg := CasesConfig{Objects: dir, Seed: 1}
	var opened *loader.Object
	cfg.Open = func(path string) (*loader.Object, error) {
		o, err := openObject(path, func(path string) (*loader.Object, error) { return loader.Open(path) })
		opened = o
		return o, err
	}
	cfg.Target = func(release string) (*loader.Target, error) {
		_, v, ok := loader.ParseRelease(release)
		require.True(t, ok)
		var target *loader.Target
		of := specs
		if v>>8 == newestRelease>>8 {
			of = specs[1:]
		}
		for _, spec := range of {
			target = loader.NewTarget("test", spec, loader.WithVersion(v))
			linked, err := opened.Load(target, loader.LoadOptions{})
			if err != nil {
				return nil, err
			}
			if linked.Err == nil && !slices.ContainsFunc(linked.Externs, func(e *loader.LinkedExtern) bool { return !e.Resolved }) {
				break
			}
		}
		return target, nil
	}
	return cfg
}

// TestRecordedCases runs what kernels recorded, of the corpus too when it is there, on every
// engine, and on native code also as it runs after long.
func TestRecordedCases(t *testing.T) {
	files, err := filepath.Glob("testdata/cases/*.json*")
	require.NoError(t, err)
	if dir := os.Getenv("BPFRUN_CORPUS"); dir != "" {
		more, err := filepath.Glob(filepath.Join(dir, "vectors", "kernel-cases", "*.json"))
		require.NoError(t, err)
		files = append(files, more...)
	}
	require.NotEmpty(t, files)
	for _, engine := range []struct {
		name  string
		which machine.Engine
		eager bool
	}{
		{"interp", machine.EngineInterpreter, false},
		{"jit", machine.EngineJIT, false},
		{"eager", machine.EngineJIT, true},
		{"both", machine.EngineBoth, false},
	} {
		both := engine.which == machine.EngineBoth
		switch {
		case engine.which != machine.EngineInterpreter && !machine.NativeCode(), both && testing.Short(), (both || engine.eager) && !testsize.Wide():
			continue
		}
		for _, path := range files {
			if both && strings.HasPrefix(filepath.Base(path), "showtypes") {
				continue // thousands of calls of one helper: each engine's text is compared with the kernel's above
			}
			t.Run(filepath.Base(path)+"/"+engine.name, func(t *testing.T) {
				t.Parallel()
				cfg := casesConfig(t, filepath.Dir(path))
				cfg.Engine, cfg.EagerLoops = engine.which, engine.eager
				cfg.OnDifference = func(text string) { t.Error(text) }
				var out bytes.Buffer
				r, err := Cases(context.Background(), path, cfg, &out)
				require.NoError(t, err)
				assert.Zero(t, r.Failed, out.String())
				assert.NotZero(t, r.Passed)
				t.Logf("%s, %d refused by the kernel", r.Summary(), r.Refused)
			})
		}
	}
}

// TestFactsHoldForEverySeed: what a kernel's objects have in common does not depend on the values
// that a seed chooses.
func TestFactsHoldForEverySeed(t *testing.T) {
	seeds := testsize.Sample(64, 4)
	files, err := filepath.Glob("testdata/cases/defaults*.json.gz")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(seeds) {
				cfg := casesConfig(t, filepath.Dir(path))
				cfg.Seed, cfg.Engine = seed, machine.EngineInterpreter
				var out bytes.Buffer
				r, err := Cases(context.Background(), path, cfg, &out)
				require.NoError(t, err)
				assert.Zero(t, r.Failed, "seed %d: %s", seed, out.String())
				assert.NotZero(t, r.Passed)
			}
		})
	}
}

// TestCasesSayWhatDiffers changes what a passing case expects.
func TestCasesSayWhatDiffers(t *testing.T) {
	file, err := ReadCases("testdata/cases/maps_nested.json")
	require.NoError(t, err)
	name := "t_map_in_map"
	var base Case
	for _, c := range file.Cases {
		if c.Name == name {
			base = c
		}
	}
	require.Equal(t, name, base.Name)
	one, big := uint32(1), HexBytes{1, 2, 3}
	for _, tt := range []struct {
		name   string
		change func(c *Case)
		want   string
	}{
		{"ret", func(c *Case) { c.Expect.Runs = []RunExpect{{Ret: &one}} }, "run: ret: want 1, got 0"},
		{"data", func(c *Case) { c.Expect.Runs = []RunExpect{{DataOut: &big}} }, "run: data_out: want 3 bytes 010203, got 64 bytes"},
		{"errno", func(c *Case) { c.Expect.Runs = []RunExpect{{Errno: CaseErrno(uapi.EINVAL)}} }, "run: errno: want EINVAL, got success"},
		{"short packet", func(c *Case) { c.Runs = []CaseRun{{Prog: name, Data: big}} }, "run: errno: want success, got EINVAL"},
		{"check value", func(c *Case) { c.Expect.Checks = map[string]int64{"aom[0] present": 7} }, `check "aom[0] present": want 7, got 1`},
		{"check not executed", func(c *Case) { c.Expect.Checks = map[string]int64{"redirect ifindex 1 flags 0": 7} }, `want 7, was not executed`},
		{"check executed", func(c *Case) { c.Expect.Checks = nil }, `check "aom empty slot NULL": the kernel did not execute it, got 1`},
		{"check unknown", func(c *Case) { c.Expect.Checks = map[string]int64{"nonsense": 1} }, `check "nonsense" is not among check_names`},
		{"map value", func(c *Case) {
			c.Expect.Maps = map[string][]MapWant{"in0": {{Key: HexBytes{1, 0, 0, 0}, Value: HexBytes{1, 0, 0, 0, 0, 0, 0, 0}}}}
		}, "map in0[01000000]: want 0100000000000000, got 3700000000000000"},
		{"map extra", func(c *Case) { c.Expect.Maps = map[string][]MapWant{"in0": nil} }, "map in0[01000000]: want nothing, got 3700000000000000"},
		{"map missing", func(c *Case) {
			c.Expect.Maps = map[string][]MapWant{"cnt": {{Key: HexBytes{1, 0, 0, 0}, Value: HexBytes{1}}}}
		}, "map cnt[01000000]: want 01, it is not there"},
		{"map unknown", func(c *Case) { c.Expect.Maps = map[string][]MapWant{"nix": nil} }, "map nix: there is none"},
		{"records", func(c *Case) { c.Expect.Ringbuf = map[string][]HexBytes{"rb": {{1}}} }, "ringbuf rb: want 1 records, got 0"},
		{"trace", func(c *Case) { c.Expect.Trace = []string{"hello"} }, `trace: want ["hello"], got []`},
		{"preset", func(c *Case) { c.Globals = map[string]string{"R": "fill:zz"} }, `set-up: global R: "fill:zz": want hex digits`},
		{"preset unknown", func(c *Case) { c.Globals = map[string]string{"Q": "00"} }, "set-up: no such global variable: Q"},
		{"sample", func(c *Case) { c.UserRingbuf = []UserSample{{"cnt", nil}} }, "takes no samples"},
		{"global", func(c *Case) { c.Expect.Globals = map[string]GlobalWant{"R": {List: []json.Number{"-1"}}} }, "global R[0]: want -1, got 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := base
			tt.change(&c)
			r, err := newCaseRunner(file, casesConfig(t, "testdata/cases"))
			require.NoError(t, err)
			diffs, err := r.judge(context.Background(), &c)
			require.NoError(t, err)
			require.NotEmpty(t, diffs)
			assert.Contains(t, diffs[0], tt.want)
		})
	}
	t.Run("environment", func(t *testing.T) {
		c := base
		c.Expect.Runs, c.Expect.Checks = []RunExpect{{Ret: &one}}, map[string]int64{"aom[0] present": 7}
		c.EnvDependent = []string{"ret", "checks"}
		r, err := newCaseRunner(file, casesConfig(t, "testdata/cases"))
		require.NoError(t, err)
		diffs, err := r.judge(context.Background(), &c)
		require.NoError(t, err)
		assert.Empty(t, diffs)
	})
}

func TestCasesRefuseOtherInput(t *testing.T) {
	var input *result.InputError
	for _, text := range []string{"", "[]", "{}", `{"object":"a.o"}`, `{"object":"a.o","cases":[{"globals":{"a":1}}]}`, `{"object":"a.o","cases":[{"runs":[{"data":"xyz"}]}]}`} {
		_, err := ParseCases("a.json", []byte(text))
		require.ErrorAs(t, err, &input, text)
	}
	_, err := Cases(context.Background(), filepath.Join(t.TempDir(), "none"), CasesConfig{}, nil)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestCaseValues(t *testing.T) {
	var e RunExpect
	for text, want := range map[string]CaseErrno{`{"errno":22}`: 22, `{"errno":-22}`: 22, `{"errno":"EINVAL"}`: 22, `{"errno":null}`: 0} {
		require.NoError(t, json.Unmarshal([]byte(text), &e), text)
		assert.Equal(t, want, e.Errno, text)
	}
	require.Error(t, json.Unmarshal([]byte(`{"errno":"ENOSUCH"}`), &e))
	var g GlobalWant
	require.NoError(t, json.Unmarshal([]byte(`-1`), &g))
	assert.True(t, sameNumber(*g.Number, []byte{0xff, 0xff}, binary.LittleEndian))
	assert.True(t, HexBytes{1, 2, 3, 9}.samePadded(HexBytes{1, 2, 3}), "padded to 4, with the size 8")
	assert.False(t, HexBytes{1, 2, 3, 9, 9}.samePadded(HexBytes{1, 2, 3}))
}

// TestTestRunRefuses names what the system call refuses before a program runs.
func TestTestRunRefuses(t *testing.T) {
	insns := func(text string) []decode.Insn {
		out, err := decode.Assemble(text)
		require.NoError(t, err)
		return out
	}
	none := insns("r0 = 0; exit")
	reads := insns("r6 = r1; call 5; r0 = *(u64 *)(r6 + 8); exit")
	lost := insns("r1 = 0; r0 = *(u64 *)(r1 + 8); exit")
	assert.Equal(t, 16, contextReach(reads))
	assert.Zero(t, contextReach(lost))
	for _, c := range []struct {
		name string
		p    loader.Program
		run  CaseRun
		want uapi.Errno
	}{
		{"raw_tp without arguments", loader.Program{Type: uapi.ProgTypeRawTracepoint, Insns: none}, CaseRun{}, 0},
		{"raw_tp that reads them", loader.Program{Type: uapi.ProgTypeRawTracepoint, Insns: reads}, CaseRun{Ctx: make(HexBytes, 8)}, uapi.EINVAL},
		{"raw_tp with enough", loader.Program{Type: uapi.ProgTypeRawTracepoint, Insns: reads}, CaseRun{Ctx: make(HexBytes, 16)}, 0},
		{"syscall with less", loader.Program{Type: uapi.ProgTypeSyscall, Insns: reads}, CaseRun{Ctx: make(HexBytes, 4)}, uapi.EINVAL},
	} {
		assert.Equal(t, c.want, testRunErrno(&c.p, &c.run), c.name)
	}
}
