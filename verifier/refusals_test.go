package verifier_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/conformance/verdicts"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/rewrite"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/verifier"
	"github.com/bpfrun/bpfrun/verifier/refusal"
)

const (
	// refusedFile holds a program for each refusal, and a neighbour that differs in an instruction or two and is accepted.
	refusedFile = "testdata/refused.jsonl.gz"
	// refusedText holds more of them, in assembler.
	refusedText = "testdata/refused.txt"
	// withoutRefused lists the refusals that have no program yet, each with the reason. None may come.
	withoutRefused = "testdata/refusals-without-program.txt"
)

// refused is a program that a kernel refuses, as in a recording, and a neighbour that it accepts.
type refused struct {
	Refusal         string
	Kernel          string
	Line, Neighbour *verdicts.Line
}

func readRefused(t testing.TB) []*refused {
	raw, err := os.ReadFile(refusedFile)
	require.NoError(t, err)
	z, err := gzip.NewReader(bytes.NewReader(raw))
	require.NoError(t, err)
	var out []*refused
	for dec := json.NewDecoder(z); ; {
		r := new(refused)
		if err := dec.Decode(r); errors.Is(err, io.EOF) {
			return out
		}
		require.NoError(t, err)
		out = append(out, r)
	}
}

// written is a pair of programs in assembler: "== REFUSAL TYPE RELEASE", the refused program, "--", its neighbour.
type written struct {
	refusal, progType, release string
	text                       [2]string
}

func readWritten(t testing.TB) []written {
	raw, err := os.ReadFile(refusedText)
	require.NoError(t, err)
	var out []written
	for i, part := range strings.Split("\n"+string(raw), "\n== ") {
		if i == 0 {
			continue // the comment
		}
		head, body, _ := strings.Cut(part, "\n")
		f := strings.Fields(head)
		require.Len(t, f, 3, head)
		bad, good, ok := strings.Cut(body, "\n--\n")
		require.True(t, ok, head)
		out = append(out, written{f[0], f[1], f[2], [2]string{bad, good}})
	}
	return out
}

// Each refusal has a program that is refused for it, and a neighbour that is not refused.
func TestRefusals(t *testing.T) {
	has := map[string]bool{}
	ask := newAnswers(t)
	verdict := func(l *verdicts.Line, kernel string) *verifier.Verdict {
		c := *l
		c.Kernel, c.Class, c.SHA256 = kernel, verdicts.ByVerifier, ""
		x := ask.replay.Compare(context.Background(), &c)
		require.NoError(t, x.Err, l.Key())
		return x.Ours
	}
	for _, r := range readRefused(t) {
		has[r.Refusal] = true
		v := verdict(r.Line, r.Kernel)
		assert.Equal(t, r.Refusal, v.Refusal.String(), "%s on %s: %s", r.Line.Key(), r.Kernel, v.Message)
		assert.Equal(t, v.Refusal.Row().Why, v.Reason)
		v = verdict(r.Neighbour, r.Kernel)
		assert.Equal(t, verifier.Accepted, v.Outcome, "the neighbour for %s, %s on %s: %s", r.Refusal, r.Neighbour.Key(), r.Kernel, v.Message)
	}
	spec, err := embedded.Spec()
	require.NoError(t, err)
	for _, w := range readWritten(t) {
		has[w.refusal] = true
		typ, ok := uapi.ParseProgType(w.progType)
		require.True(t, ok, w.progType)
		_, version, ok := loader.ParseRelease(w.release)
		require.True(t, ok, w.release)
		for i, text := range w.text {
			insns, err := decode.Assemble(text)
			require.NoError(t, err, text)
			v, err := verifier.Verify(context.Background(), &verifier.Kernel{Release: uapi.ReleaseOf(version), BTF: spec}, &verifier.Program{Type: typ, License: "GPL", Insns: insns}, verifier.Options{})
			require.NoError(t, err, text)
			if i == 0 {
				assert.Equal(t, w.refusal, v.Refusal.String(), "%s: %s", text, v.Message)
				assert.Equal(t, verifier.Refused, v.Outcome, text)
			} else {
				assert.Equal(t, verifier.Accepted, v.Outcome, "the neighbour for %s, %s: %s", w.refusal, text, v.Message)
			}
		}
	}
	everyRefusalHas(t, has)
}

func everyRefusalHas(t *testing.T, has map[string]bool) {
	text, err := os.ReadFile(withoutRefused)
	require.NoError(t, err)
	excused, known := map[string]bool{}, map[string]bool{}
	var left strings.Builder
	for line := range strings.Lines(string(text)) {
		name, reason, ok := strings.Cut(strings.TrimSpace(line), "\t")
		require.True(t, ok && reason != "", "%q: want a refusal, a tab and a reason", line)
		if *rewrite.Flag && has[name] {
			continue // only shrinks
		}
		excused[name] = true
		left.WriteString(line)
	}
	if *rewrite.Flag {
		require.NoError(t, os.WriteFile(withoutRefused, []byte(left.String()), 0o644))
	}
	var wrong []string
	for _, id := range refusal.All() {
		known[id.String()] = true
		if has[id.String()] == excused[id.String()] {
			wrong = append(wrong, id.String())
		}
	}
	assert.Empty(t, wrong, "each needs a program in %s or %s, or a reason in %s, not both", refusedFile, refusedText, withoutRefused)
	for name := range excused {
		assert.True(t, known[name], "%s is no refusal", name)
	}
}
