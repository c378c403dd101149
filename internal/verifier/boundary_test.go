package verifier_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/conformance/verdicts"
	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
	"github.com/bpfrun/bpfrun/internal/testing/testbtf"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/loader"
)

// boundary is a program that a rule changes the answer to. It says itself which kernels answer
// what: the last release without the rule, the first with it, and the same for each update of an
// older release. Line is as in a recording, so that kernels can be asked (conformance record
// verdicts --generated).
type boundary struct {
	Rule string
	// Types is "7.2" for a program of kernel functions that the embedded types, of 6.12, lack.
	Types   string `json:",omitempty"`
	Answers []answerOn
	Line    *verdicts.Line
}

type answerOn struct{ Kernel, Answer string }

// around lists the kernels on both sides of a rule's beginnings: the first of each pair is the last
// without it.
func around(r since.Rule) []string {
	out := []string{r.Before().String() + ".0", r.From().String() + ".0"}
	for _, u := range r.Row().Stable {
		if u.Patch > 0 {
			out = append(out, fmt.Sprintf("%s.%d", u.Release, u.Patch-1), fmt.Sprintf("%s.%d", u.Release, u.Patch))
		}
	}
	return out
}

const boundaryFile = "testdata/boundaries.jsonl.gz"

func readBoundaries(t testing.TB) []*boundary {
	raw, err := os.ReadFile(boundaryFile)
	require.NoError(t, err)
	z, err := gzip.NewReader(bytes.NewReader(raw))
	require.NoError(t, err)
	var out []*boundary
	for dec := json.NewDecoder(z); ; {
		b := new(boundary)
		if err := dec.Decode(b); errors.Is(err, io.EOF) {
			return out
		}
		require.NoError(t, err)
		out = append(out, b)
	}
}

// answer is the verdict in one line: what a release says, or how far it walked.
func answer(v *verifier.Verdict) string {
	switch v.Outcome {
	case verifier.Accepted:
		return fmt.Sprintf("accepted: %d instructions, %d states", v.ProcessedInsns, v.TotalStates)
	case verifier.Refused:
		return "refused: " + v.Message
	}
	return "unknown: " + v.Missing
}

// answers asks verifiers of other kernels about a program.
type answers struct{ replay, newer *verdicts.Replayer }

func newAnswers(t testing.TB) answers {
	spec, err := embedded.Spec()
	require.NoError(t, err)
	newer, err := testbtf.Load("../../testdata/btf/linux-7.2.13-amd64.btf.xz")
	require.NoError(t, err)
	return answers{replayer(t, spec), replayer(t, newer)}
}

// replayer verifies for all releases with the same types.
func replayer(t testing.TB, spec *btf.Spec) *verdicts.Replayer {
	return verdicts.NewReplayer(verdicts.Config{
		Objects: "../..", Open: func(path string) (*loader.Object, error) { return loader.Open(path) },
		Target: func(release string) (*loader.Target, error) {
			_, version, ok := loader.ParseRelease(release)
			require.True(t, ok, release)
			target := loader.NewTarget(release, spec, loader.WithVersion(version))
			target.Release = release
			return target, nil
		},
	})
}

func (a answers) on(t testing.TB, b *boundary, kernel string) string {
	l := *b.Line
	l.Kernel, l.Class, l.SHA256 = kernel, verdicts.ByVerifier, ""
	replay := a.replay
	if b.Types != "" {
		replay = a.newer
	}
	c := replay.Compare(context.Background(), &l)
	require.NoError(t, c.Err, "%s: %s", b.Rule, l.Key())
	return answer(c.Ours)
}

// The answer to each program changes exactly with the version that brought its rule.
func TestRulesBegin(t *testing.T) {
	ask, all := newAnswers(t), readBoundaries(t)
	for _, b := range all {
		rule, ok := since.Named(b.Rule)
		require.True(t, ok, "%q is no rule", b.Rule)
		if *rewrite.Flag {
			b.Answers = nil
			for _, kernel := range around(rule) {
				b.Answers = append(b.Answers, answerOn{kernel, ask.on(t, b, kernel)})
			}
			for len(b.Answers) > 2 && b.Answers[len(b.Answers)-2].Answer == b.Answers[len(b.Answers)-1].Answer {
				b.Answers = b.Answers[:len(b.Answers)-2] // another rule decides in that update
			}
		}
		require.GreaterOrEqual(t, len(b.Answers), 2, b.Rule)
		for i, a := range b.Answers {
			assert.Equal(t, a.Answer, ask.on(t, b, a.Kernel), "%s: %s on %s", b.Rule, b.Line.Key(), a.Kernel)
			if i%2 == 1 {
				assert.NotEqual(t, b.Answers[i-1].Answer, a.Answer, "%s: %s on %s", b.Rule, b.Line.Key(), a.Kernel)
			}
		}
	}
	if *rewrite.Flag {
		writeBoundaries(t, all)
	}
}

func writeBoundaries(t testing.TB, all []*boundary) {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	for _, b := range all {
		require.NoError(t, json.NewEncoder(z).Encode(b))
	}
	require.NoError(t, z.Close())
	require.NoError(t, os.WriteFile(boundaryFile, out.Bytes(), 0o644))
}

// withoutBoundary lists the rules of the verifier for which no program is known whose answer
// changes with their release and for no other reason, each with the reason. A rule leaves the list
// when it gets one; none may come.
const withoutBoundary = "testdata/rules-without-boundary.txt"

func TestEveryRuleHasABoundary(t *testing.T) {
	has, excused := map[string]bool{}, map[string]string{}
	for _, b := range readBoundaries(t) {
		has[b.Rule] = true
	}
	for _, c := range beginnings {
		has[c.rule.String()] = true
	}
	for _, c := range endings {
		has[c.rule.String()] = true
	}
	text, err := os.ReadFile(withoutBoundary)
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		name, reason, ok := strings.Cut(strings.TrimSpace(line), "\t")
		require.True(t, ok && reason != "", "%q: want a rule, a tab and a reason", line)
		_, known := since.Named(name)
		require.True(t, known, "%s is no rule", name)
		excused[name] = reason
	}
	if *rewrite.Flag { // only shrinks
		var out strings.Builder
		for line := range strings.Lines(string(text)) {
			if name, _, _ := strings.Cut(line, "\t"); !has[name] {
				out.WriteString(line)
			} else {
				delete(excused, name)
			}
		}
		require.NoError(t, os.WriteFile(withoutBoundary, []byte(out.String()), 0o644))
	}
	var wrong []string
	for _, r := range since.All() {
		if r.OfVerifier() && has[r.String()] == (excused[r.String()] != "") {
			wrong = append(wrong, r.String())
		}
	}
	assert.Empty(t, wrong, "each needs a program in %s or a reason in %s, not both", boundaryFile, withoutBoundary)
}
