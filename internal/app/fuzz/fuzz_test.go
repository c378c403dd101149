package fuzz_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/app/fuzz"
	"github.com/bpfrun/bpfrun/internal/machine/finding"
	"github.com/bpfrun/bpfrun/internal/scenario"
	"github.com/bpfrun/bpfrun/internal/testing/testsize"
	"github.com/bpfrun/bpfrun/loader"
)

const gates = "../../../testdata/objects/clang-14/gates.o"

func target(t testing.TB) *loader.Target {
	spec, err := embedded.Spec()
	require.NoError(t, err)
	return loader.NewTarget(embedded.Name, spec)
}

func open(t testing.TB, path string) *loader.Object {
	obj, err := loader.Open(path)
	require.NoError(t, err)
	return obj
}

// search makes a search with one worker.
func search(t testing.TB, path string, opt fuzz.Options) *fuzz.Report {
	f := prepare(t, path, opt)
	defer f.Close()
	r, err := f.Run(context.Background())
	require.NoError(t, err)
	return r
}

func prepare(t testing.TB, path string, opt fuzz.Options) *fuzz.Fuzzer {
	opt.ObjectPath = path
	if opt.Scenario.Config.Seed == 0 {
		opt.Scenario.Config.Seed = 1
	}
	if opt.Note == nil {
		opt.Note = func(text string) { t.Errorf("note: %s", text) }
	}
	f, err := fuzz.New(context.Background(), open(t, path), target(t), opt)
	require.NoError(t, err)
	return f
}

// inDir returns a copy of an object in a directory of its own.
func inDir(t testing.TB, path string) string {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	out := filepath.Join(t.TempDir(), filepath.Base(path))
	require.NoError(t, os.WriteFile(out, data, 0o600))
	return out
}

// failures runs the scenario files that match a pattern and returns the expectations that do not
// hold, by file.
func failures(t testing.TB, object, pattern string) map[string][]string {
	files, err := filepath.Glob(pattern)
	require.NoError(t, err)
	out := map[string][]string{}
	for _, file := range files {
		f, err := scenario.ParseFile(file)
		require.NoError(t, err)
		var opt scenario.Options
		opt.Config.Seed = 1 // as the search
		r, err := scenario.Open(f, open(t, object), target(t), opt)
		require.NoError(t, err)
		results, err := r.All(context.Background(), nil)
		require.NoError(t, err)
		out[filepath.Base(file)] = nil
		for _, res := range results {
			for _, e := range res.Failed() {
				out[filepath.Base(file)] = append(out[filepath.Base(file)], e.String())
			}
		}
		r.Close()
	}
	return out
}

// TestFindsWhatIsBehindGates: each program of gates has a bug that needs several numbers at once,
// contents of a map and a constant, or events before.
func TestFindsWhatIsBehindGates(t *testing.T) {
	object := inDir(t, gates)
	keep := filepath.Join(filepath.Dir(object), "found")
	r := search(t, object, fuzz.Options{Runs: 20_000, Seed: 2, Keep: keep})
	programs := map[string]bool{}
	for _, f := range r.Findings {
		assert.Equal(t, finding.Packet, f.Kind)
		assert.FileExists(t, f.Scenario)
		assert.NotZero(t, f.AfterRuns)
		programs[f.Program] = true
	}
	assert.Equal(t, map[string]bool{"layers": true, "settings": true, "again": true}, programs, "and nothing in right")
	assert.Zero(t, r.Unconfirmed)
	for file, list := range failures(t, object, keep+"/*.yaml") {
		require.Len(t, list, 1, file)
		assert.Contains(t, list[0], "ip.csum is wrong", file)
	}
	suite := failures(t, object, keep+"/suite/*.yaml")
	assert.GreaterOrEqual(t, len(suite), 4)
	for file, list := range suite {
		assert.Empty(t, list, file)
	}
	for _, p := range r.Programs {
		if p.Name == "layers" {
			assert.Equal(t, p.Reachable, p.Reached)
		}
	}
}

// TestFindsWhatTracingToolsAreBehind: two events about one kernel object, though their arguments
// have different names and nothing is read from it, and a name that is longer than that of the
// default task.
func TestFindsWhatTracingToolsAreBehind(t *testing.T) {
	object := inDir(t, "../../../testdata/objects/clang-14/behind.o")
	r := search(t, object, fuzz.Options{Runs: 5_000, Seed: 1, Keep: filepath.Join(filepath.Dir(object), "found")})
	programs := map[string]bool{}
	for _, f := range r.Findings {
		assert.Equal(t, finding.Leak, f.Kind)
		programs[f.Program] = true
	}
	assert.Equal(t, map[string]bool{"moved": true, "named": true}, programs)
	assert.Zero(t, r.Unconfirmed)
}

// TestFindsWhatIsBehindPointers: which object a pointer leads to, whether it is null, and what is
// in user memory behind an argument. Each program but one sends a record with a hole once it gets
// there; the suite and the findings are what the file says, not what the machine had.
func TestFindsWhatIsBehindPointers(t *testing.T) {
	object := inDir(t, "../../../testdata/objects/clang-14/pointers.o")
	keep := filepath.Join(filepath.Dir(object), "found")
	r := search(t, object, fuzz.Options{Runs: 8_000, Seed: 1, Keep: keep, Corpus: keep + "/corpus"})
	programs := map[string]bool{}
	for _, f := range r.Findings {
		assert.Equal(t, finding.Leak, f.Kind)
		programs[f.Program] = true
	}
	want := map[string]bool{"same": true, "bound": true, "orphan": true, "payload": true, "word": true, "vector": true, "leader": true}
	assert.Equal(t, want, programs, "and nothing in right")
	assert.Zero(t, r.Unconfirmed)
	for file, list := range failures(t, object, keep+"/*.yaml") {
		require.Len(t, list, 1, file)
		assert.Contains(t, list[0], "that this run never wrote", file)
	}
	for file, list := range failures(t, object, keep+"/suite/*.yaml") {
		assert.Empty(t, list, file)
	}
	again := search(t, object, fuzz.Options{Runs: 1, Seed: 1, Corpus: keep + "/corpus"})
	assert.Len(t, again.Findings, len(r.Findings), "the corpus keeps pointers and user memory")

	all, err := fuzz.Varied(nil, []string{"kernel", "user", "helpers"})
	require.NoError(t, err)
	r = search(t, object, fuzz.Options{Runs: 3_000, Seed: 1, Vary: all})
	for _, f := range r.Findings {
		assert.NotContains(t, []string{"orphan", "payload", "word", "vector", "leader"}, f.Program, "what is fixed stays")
	}
}

// TestFindsMapsThatFillUp: a return that does not delete what its entry stored, if nothing else
// deletes it and there are as many keys as threads, and the end of a request that leaves what its
// beginning stored; and limits that a run reaches. Correct programs that look like that have no
// finding.
func TestFindsMapsThatFillUp(t *testing.T) {
	object := inDir(t, "../../../testdata/objects/clang-14/limits.o")
	keep := filepath.Join(filepath.Dir(object), "found")
	r := search(t, object, fuzz.Options{Runs: 3_000, Seed: 1, Keep: keep})
	found := map[string]finding.Kind{}
	for _, f := range r.Findings {
		found[f.Program] = f.Kind
	}
	want := map[string]finding.Kind{
		"around": finding.Limit, "flood": finding.Limit, "rmdir_return": finding.Full, "mkdir_return": finding.Full, "completed": finding.Full, "work_ends": finding.Full,
	}
	assert.Equal(t, want, found)
	assert.Zero(t, r.Unconfirmed)
	lists := failures(t, object, keep+"/full-*.yaml")
	assert.Len(t, lists, 4)
	for file, list := range lists {
		require.Len(t, list, 1, file)
		assert.Regexp(t, `want count\((calls|sent|requests|works)\) == 0, got count\((calls|sent|requests|works)\) is 1`, list[0])
	}
	for _, name := range []string{"balanced", "leakfree", "tails", "fields", "calledback"} {
		r := search(t, "../../../testdata/objects/clang-14/"+name+".o", fuzz.Options{Runs: 3_000, Seed: 1})
		assert.Empty(t, r.Findings, name)
	}
}

// TestFindsWhatIsBehindCalls: a branch of a function that one call of it took is new in another
// call. What is reported is about the program as it is, in which the function is there once.
func TestFindsWhatIsBehindCalls(t *testing.T) {
	object := inDir(t, "../../../testdata/objects/clang-14/called.o")
	keep := filepath.Join(filepath.Dir(object), "found")
	r := search(t, object, fuzz.Options{Runs: 2_000, Seed: 1, Keep: keep})
	require.Len(t, r.Findings, 1)
	assert.Equal(t, finding.Leak, r.Findings[0].Kind)
	linked, err := open(t, object).Load(target(t), loader.LoadOptions{})
	require.NoError(t, err)
	lp, ok := linked.Program("gated")
	require.True(t, ok)
	line, ok := lp.LineAt(r.Findings[0].Insn)
	require.True(t, ok)
	assert.Contains(t, line.Text, "bpf_ringbuf_submit")
	require.Len(t, r.Programs, 1)
	jumps := 0
	for pc := range lp.Insns {
		if lp.Insns[pc].Op().Info().Flags&decode.FlagBranch != 0 {
			jumps++
		}
	}
	assert.Equal(t, 2*jumps, r.Programs[0].Total, "each branch counts once")
	assert.Equal(t, r.Programs[0].Reachable, r.Programs[0].Reached)
	for file, list := range failures(t, object, keep+"/suite/*.yaml") {
		assert.Empty(t, list, file)
	}
}

// TestFilesSayHowTheObjectIsLoaded: what options of the loader said, the files say, so that they
// need no flags; or they name the flags.
func TestFilesSayHowTheObjectIsLoaded(t *testing.T) {
	object := inDir(t, "../../../examples/latency/latency.bpf.o")
	keep := filepath.Join(filepath.Dir(object), "found")
	opt := fuzz.Options{Runs: 2_000, Seed: 1, Keep: keep}
	opt.Scenario.Load = loader.LoadOptions{
		Attach: map[string]string{"begin": "vfs_read"}, Globals: map[string]string{"calls": "7"}, MapSizes: map[string]uint32{"started": 9},
	}
	search(t, object, opt)
	files, err := filepath.Glob(keep + "/suite/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Contains(t, string(data), "hooks:\n  begin: \"vfs_read\"\n")
		assert.Contains(t, string(data), "globals:\n  calls: 7\n")
		assert.Contains(t, string(data), "\n# The runs need --map-size started=9.\n")
	}
	for file, list := range failures(t, object, keep+"/suite/*.yaml") {
		assert.Empty(t, list, file)
	}
}

// TestVariesWhatTheScenarioSays: contents of a map that programs write come from events, unless the
// scenario says that they are input.
func TestVariesWhatTheScenarioSays(t *testing.T) {
	vary, err := fuzz.Varied([]string{"maps"}, nil)
	require.NoError(t, err)
	for text, want := range map[string]int{"": 0, "vary: [table]\n": 1} {
		text = "object: searched.o\n" + text + "runs:\n- {prog: later}\n"
		r := search(t, searchedOld, fuzz.Options{Text: []byte(text), Path: "vary.yaml", Runs: 1_000, Seed: 1, Vary: vary})
		assert.Len(t, r.Findings, want, text)
	}
}

const (
	searchedOld = "../../../testdata/objects/clang-14/searched_old.o"
	searchedNew = "../../../testdata/objects/clang-14/searched_new.o"
)

// TestSeesWhatConstantsAndTimeDecide: jumps that one constant after the other decides, or two
// together; as much time as a comparison asks for; a device in a map. Each program has a bug behind
// it.
func TestSeesWhatConstantsAndTimeDecide(t *testing.T) {
	object := inDir(t, searchedOld)
	keep := filepath.Join(filepath.Dir(object), "found")
	r := search(t, object, fuzz.Options{Runs: 5_000, Seed: 1, Keep: keep})
	found := map[string]finding.Kind{}
	for _, f := range r.Findings {
		found[f.Program] = f.Kind
	}
	assert.Equal(t, map[string]finding.Kind{"both": finding.Leak, "together": finding.Leak, "chosen": finding.Leak, "later": finding.Leak, "redirected": finding.Packet}, found)
	assert.Zero(t, r.Unconfirmed)
	for file, list := range failures(t, object, keep+"/*.yaml") {
		assert.Len(t, list, 1, file)
	}
	for file, list := range failures(t, object, keep+"/suite/*.yaml") {
		assert.Empty(t, list, file)
	}
}

// TestComparesBuilds: the comparisons of either build are solved, and times are no difference,
// however often a build asks the clock.
func TestComparesBuilds(t *testing.T) {
	for _, c := range []struct{ name, object, other, filled, compared string }{
		{"new against old", searchedNew, searchedOld, "maps differ: table[03000000].name[41] = 09, but table[03000000].name[41] = 00 with other", "the return value is 1, but 2 with other"},
		{"old against new", searchedOld, searchedNew, "maps differ: table[03000000].name[41] = 00, but table[03000000].name[41] = 09 with other", "the return value is 2, but 1 with other"},
	} {
		t.Run(c.name, func(t *testing.T) {
			object := inDir(t, c.object)
			keep := filepath.Join(filepath.Dir(object), "found")
			r := search(t, object, fuzz.Options{Runs: 3_000, Seed: 1, Keep: keep, Others: []fuzz.Other{{Name: "other", Object: open(t, c.other), Target: target(t)}}})
			found := map[string]string{}
			for _, f := range r.Findings {
				if f.Kind == finding.Differs {
					found[f.Program] += f.Text
				}
			}
			assert.Equal(t, map[string]string{"filled": c.filled, "compared": c.compared}, found)
			for file, list := range failures(t, object, keep+"/differs-*.yaml") {
				assert.NotEmpty(t, list, file)
			}
			for _, p := range r.Programs {
				if p.Name == "later" {
					assert.Equal(t, p.Reachable, p.Reached, "time passes between events")
				}
			}
		})
	}
}

// TestReachesWhatOtherInputsDecide: values of socket options, their lengths, accesses to files of
// /proc/sys down to the number that a helper reads from their digits, the sockets of iterators and
// the numbers beside them, and elements of maps in maps are input.
func TestReachesWhatOtherInputsDecide(t *testing.T) {
	for _, tc := range testsize.Some(3, []struct {
		object  string
		left    map[string]int // branches that are not reached, by program
		missing string         // why
		suite   string         // what its suite has
	}{
		{"../../../examples/sysctl/sysctl.bpf.o", map[string]int{"filter": 1}, "sysctl.bpf.c:30", "net/ipv4/tcp_mem"}, // the helper fails for values that are no constant
		{"../../../examples/sockopt/sockopt.bpf.o", map[string]int{"set": 1, "get": 0}, "room of less than 16 bytes for a socket option, which the hook never gets", "optval: "},
		{"../../../testdata/objects/clang-14/sockiter.o", nil, "", "uid: 0"},
		{"../../../examples/tenants/tenants.bpf.o", nil, "", "{80: 0}"}, // the port that the default run connects to
	}) {
		t.Run(filepath.Base(tc.object), func(t *testing.T) {
			object := inDir(t, tc.object)
			keep := t.TempDir()
			r := search(t, object, fuzz.Options{Runs: 12_000, Seed: 1, Keep: keep})
			var unreached []string
			for _, p := range r.Programs {
				assert.Equal(t, tc.left[p.Name], p.Reachable-p.Reached, "%s: %v", p.Name, p.Unreached)
				assert.Greater(t, p.Reached, p.Default, p.Name)
				for _, u := range p.Unreached {
					unreached = append(unreached, u.Source+": "+u.Needs)
				}
			}
			assert.Contains(t, strings.Join(unreached, "\n"), tc.missing)
			assert.Empty(t, r.Findings)
			pattern := filepath.Join(keep, "suite", "*.yaml")
			for file, wrong := range failures(t, object, pattern) {
				assert.Empty(t, wrong, file)
			}
			files, err := filepath.Glob(pattern)
			require.NoError(t, err)
			var suite strings.Builder
			for _, file := range files {
				text, err := os.ReadFile(file)
				require.NoError(t, err)
				suite.Write(text)
			}
			assert.Contains(t, suite.String(), tc.suite)
		})
	}
}

// TestSeedsTakeAShareOfTheTime: a search with more seeds than it has time for begins with some,
// says so, and runs inputs of its own.
func TestSeedsTakeAShareOfTheTime(t *testing.T) {
	text := "object: gates.o\nruns:\n"
	for i := range 400 {
		text += fmt.Sprintf("- {name: r%d, prog: layers}\n", i)
	}
	// On a slow machine a short time is over before the search begins, so it gets longer ones.
	for limit := 200 * time.Millisecond; ; limit *= 2 {
		var notes []string
		r := search(t, inDir(t, gates), fuzz.Options{
			Text: []byte(text), Path: "many.yaml", Time: limit, Seed: 1, Note: func(text string) { notes = append(notes, text) },
		})
		require.NotEmpty(t, notes, "all seeds ran in %s", limit)
		require.Regexp(t, `^\d+ of \d+ seeds wait: `, notes[0])
		if r.Runs > 0 {
			return
		}
		require.Less(t, limit, 20*time.Second, "the seeds leave no time for the search")
	}
}

// tree returns the files below a directory with their contents.
func tree(t testing.TB, dir string) map[string]string {
	out := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		out[strings.TrimPrefix(path, dir)] = string(data)
		return err
	}))
	return out
}

// TestSameSeedSameFiles: one worker with the same seed and budget writes the same files; another
// seed may not.
func TestSameSeedSameFiles(t *testing.T) {
	object := inDir(t, gates)
	dir := filepath.Dir(object)
	var trees [2]map[string]string
	for i := range trees {
		keep := filepath.Join(dir, "found"+string(rune('a'+i)))
		search(t, object, fuzz.Options{Runs: 6000, Seed: 5, Keep: keep, Corpus: keep + "/corpus"})
		trees[i] = tree(t, keep)
	}
	assert.NotEmpty(t, trees[0])
	assert.Equal(t, trees[0], trees[1])
}

// TestAsksForWhatEventsMade: a lookup in a map that only another program fills succeeds after an
// event of that program, with the key that it made and the constants that it needs.
func TestAsksForWhatEventsMade(t *testing.T) {
	all, err := fuzz.Varied(nil, nil)
	require.NoError(t, err)
	r := search(t, "../../../examples/nat/nat.bpf.o", fuzz.Options{Runs: 20_000, Seed: 1, Workers: 1, Vary: all})
	for _, p := range r.Programs {
		if p.Name == "inbound" {
			assert.GreaterOrEqual(t, p.Reached, 20, "%+v", p.Unreached)
		}
	}
}
