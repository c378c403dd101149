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
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/conformance/verdicts"
	"github.com/bpfrun/bpfrun/internal/rewrite"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/verifier"
	"github.com/bpfrun/bpfrun/verifier/since"
)

// boundary is a program that a rule changes the answer to: Before is the answer of the last release without the rule, From that of the
// first with it. Line is as in a recording, so that kernels can be asked (conformance record verdicts --generated).
type boundary struct {
	Rule         string
	Before, From string
	Line         *verdicts.Line
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

// The answer to each program changes exactly with the release that brought its rule.
func TestRulesBegin(t *testing.T) {
	spec, err := embedded.Spec()
	require.NoError(t, err)
	replay := verdicts.NewReplayer(verdicts.Config{
		Objects: "..", Open: func(path string) (*loader.Object, error) { return loader.Open(path) },
		Target: func(release string) (*loader.Target, error) {
			_, version, ok := loader.ParseRelease(release)
			require.True(t, ok, release)
			target := loader.NewTarget(release, spec, loader.WithVersion(version))
			target.Release = release
			return target, nil
		},
	})
	all := readBoundaries(t)
	rules := map[string]since.Rule{}
	for _, r := range since.All() {
		rules[r.String()] = r
	}
	for _, b := range all {
		rule, ok := rules[b.Rule]
		require.True(t, ok, "%q is no rule", b.Rule)
		on := func(r since.Release) string {
			l := *b.Line
			l.Kernel, l.Class, l.SHA256 = r.String()+".0", verdicts.ByVerifier, ""
			c := replay.Compare(context.Background(), &l)
			require.NoError(t, c.Err, "%s: %s", b.Rule, l.Key())
			return answer(c.Ours)
		}
		before, from := on(since.Before(rule)), on(since.From(rule))
		assert.NotEqual(t, before, from, b.Rule)
		if *rewrite.Flag {
			b.Before, b.From = before, from
		}
		assert.Equal(t, b.Before, before, "%s: %s on %s", b.Rule, b.Line.Key(), since.Before(rule))
		assert.Equal(t, b.From, from, "%s: %s on %s", b.Rule, b.Line.Key(), since.From(rule))
	}
	if *rewrite.Flag {
		var out bytes.Buffer
		z := gzip.NewWriter(&out)
		for _, b := range all {
			require.NoError(t, json.NewEncoder(z).Encode(b))
		}
		require.NoError(t, z.Close())
		require.NoError(t, os.WriteFile(boundaryFile, out.Bytes(), 0o644))
	}
}

// withoutBoundary are the rules for which no program is known whose answer changes with their release and for no other reason. A rule leaves
// the list when it gets one; none may come.
var withoutBoundary = map[since.Rule]string{
	since.ConvergingIterators: "needs an iterator's kfuncs",
	since.FastCalls:           "needs a stack of 512 bytes around a call",
	since.NestedRCU:           "needs kfuncs",
	since.Gotox:               "needs a jump table",
	since.RefsOrdered:         "changes the order of lines in the log",
	since.MissLimit64:         "needs an iterator's kfuncs",
	since.JumpPoints:          "changes what is kept of paths",
	since.CallbackLoops:       "needs callbacks in loops",
	since.HelperWrites:        "needs a map that programs may not write",
	since.AsyncStacks:         "needs a timer in a map, which generated programs do not have",
	since.ConstDynptr:         "needs a user ring buffer's callback",
}

func TestEveryRuleHasABoundary(t *testing.T) {
	has := map[string]bool{}
	for _, b := range readBoundaries(t) {
		has[b.Rule] = true
	}
	for _, c := range beginnings {
		has[c.rule.String()] = true
	}
	for _, r := range since.All() {
		_, excused := withoutBoundary[r]
		assert.NotEqual(t, has[r.String()], excused, "%s (%s): a program in %s, or a reason", r, since.From(r), boundaryFile)
	}
}
