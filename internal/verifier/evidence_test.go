package verifier_test

import (
	"cmp"
	"context"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/conformance/verdicts"
	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/loader"
)

// recordings are what kernels answered to the programs of this repository, and to those written for
// rules.
var recordings = []string{
	"../../conformance/verdicts/testdata/own.jsonl.gz", "../../conformance/verdicts/testdata/written.jsonl.gz",
	"../../conformance/verdicts/testdata/boundaries.jsonl.gz",
}

// evidenceFile lists, for each rule that is recorded, a program that kernels answered differently:
// the rule, the program, a kernel without the rule and one with it.
const evidenceFile = "testdata/evidence.txt"

type witness struct{ rule, program, without, with string }

// court replays recordings, with one rule turned around if flip is not 0.
type court struct {
	replay *verdicts.Replayer
	flip   since.Rule
	lines  map[string]map[string]*verdicts.Line // by program and kernel
}

func newCourt(t testing.TB) *court {
	spec, err := embedded.Spec()
	require.NoError(t, err)
	c := &court{lines: map[string]map[string]*verdicts.Line{}}
	c.replay = verdicts.NewReplayer(verdicts.Config{
		Objects: "../..", Open: func(path string) (*loader.Object, error) { return loader.Open(path) },
		Target: func(release string) (*loader.Target, error) {
			_, version, ok := loader.ParseRelease(release)
			require.True(t, ok, release)
			target := loader.NewTarget(release, spec, loader.WithVersion(version))
			target.Release = release
			return target, nil
		},
		Alter: func(k *verifier.Kernel) {
			if c.flip != since.Always {
				k.Rules = since.Version{Release: k.Release, Patch: k.Patch}.Rules().Without(c.flip)
			}
		},
	})
	for _, file := range recordings {
		require.NoError(t, verdicts.ReadFile(file, func(l *verdicts.Line) error {
			if l.Class == verdicts.ByVerifier {
				if c.lines[l.Key()] == nil {
					c.lines[l.Key()] = map[string]*verdicts.Line{}
				}
				c.lines[l.Key()][l.Kernel] = l
			}
			return nil
		}))
	}
	return c
}

// agrees reports whether the verifier says what the kernel said: the verdict, the message but for
// numbers, and how many instructions were processed.
func (c *court) agrees(l *verdicts.Line) bool {
	x := c.replay.Compare(context.Background(), l)
	switch {
	case x.Err != nil || x.Kind != verdicts.Agree:
		return false
	case l.Verdict != verdicts.Accepted:
		return x.SameText
	}
	return l.Processed == nil || *l.Processed == x.Ours.ProcessedInsns
}

// decides reports whether a recorded answer shows that its kernel has the rule, or lacks it: the
// verifier gives the answer, and does not once the rule is turned around.
func (c *court) decides(r since.Rule, l *verdicts.Line) bool {
	return c.agrees(l) && c.changes(r, l)
}

func (c *court) changes(r since.Rule, l *verdicts.Line) bool {
	c.flip = r
	defer func() { c.flip = since.Always }()
	return !c.agrees(l)
}

func kernelHas(t testing.TB, kernel string, r since.Rule) bool {
	return since.Of(versionOf(t, kernel)).Has(r)
}

// find returns the rules' boundary programs that show on both sides when rules began, with the
// kernels that are nearest to the rule.
func (c *court) find(t testing.TB) map[since.Rule]witness {
	found := map[since.Rule]witness{}
	for _, b := range readBoundaries(t) {
		r, _ := since.Named(b.Rule)
		if _, done := found[r]; done {
			continue
		}
		w := witness{rule: b.Rule, program: b.Line.Key()}
		kernels := slices.SortedFunc(maps.Keys(c.lines[w.program]), func(x, y string) int { return cmp.Compare(versionOf(t, x), versionOf(t, y)) })
		for _, kernel := range kernels {
			if has := kernelHas(t, kernel, r); has && w.with != "" || !c.decides(r, c.lines[w.program][kernel]) {
				continue
			} else if has {
				w.with = kernel
			} else {
				w.without = kernel
			}
		}
		if w.without != "" && w.with != "" {
			found[r] = w
		}
	}
	return found
}

func versionOf(t testing.TB, kernel string) uint32 {
	_, version, ok := loader.ParseRelease(kernel)
	require.True(t, ok, kernel)
	return version
}

// Every rule whose row says "recorded" has a program that kernels answered differently because of
// it. With -update, boundary programs that kernels answered take their place in the list.
func TestRecordedRulesHaveWitnesses(t *testing.T) {
	c := newCourt(t)
	text, err := os.ReadFile(evidenceFile)
	require.NoError(t, err)
	if *rewrite.Flag {
		lines := map[string]string{}
		for line := range strings.Lines(string(text)) {
			name, _, _ := strings.Cut(line, "\t")
			lines[name] = line
		}
		for _, w := range c.find(t) {
			lines[w.rule] = strings.Join([]string{w.rule, w.program, w.without, w.with}, "\t") + "\n"
		}
		var out strings.Builder
		for _, r := range since.All() {
			out.WriteString(lines[r.String()])
		}
		text = []byte(out.String())
		require.NoError(t, os.WriteFile(evidenceFile, text, 0o644))
	}
	listed := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		require.Len(t, f, 4, line)
		r, ok := since.Named(f[0])
		require.True(t, ok, f[0])
		listed[f[0]] = true
		for i, kernel := range f[2:] {
			l := c.lines[f[1]][kernel]
			require.NotNil(t, l, "%s: no recording of %s on %s", r, f[1], kernel)
			assert.Equal(t, i == 1, kernelHas(t, kernel, r), "%s on %s", r, kernel)
			assert.True(t, c.decides(r, l), "%s: %s on %s", r, f[1], kernel)
		}
	}
	for _, r := range since.All() {
		if r.OfVerifier() {
			assert.Equal(t, listed[r.String()], r.Row().Evidence == since.Recorded, "%s: its row says how it is known", r)
		}
	}
}
