package verifier_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/conformance/verdicts"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
	"github.com/bpfrun/bpfrun/internal/testing/testbtf"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
	"github.com/bpfrun/bpfrun/loader"
)

const (
	// refusedFile holds a program for each refusal, and a neighbour that differs in an instruction
	// or two and is accepted.
	refusedFile = "testdata/refused.jsonl.gz"
	// refusedText holds more of them, in assembler, and names programs of objects in refusedDir.
	refusedText = "testdata/refused.txt"
	refusedDir  = "testdata/refused"
	// withoutRefused lists the refusals that have no program yet, each with the reason. None may
	// come.
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

// written is a refused program beside its neighbour: "== REFUSAL TYPE RELEASE", the program in
// assembler, "--", its neighbour; or "== REFUSAL OBJECT RELEASE" and the programs' names.
type written struct {
	refusal, of, release string
	text                 [2]string
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
		out = append(out, written{f[0], f[1], f[2], [2]string{bad, strings.TrimSpace(good)}})
	}
	return out
}

// refusedObjects reads the objects of refusedDir. A program with the name of a refusal is refused
// for it, and has a neighbour of the same name with _ok.
func refusedObjects(t testing.TB) []written {
	paths, err := filepath.Glob(filepath.Join(refusedDir, "*.o"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	var out []written
	for _, path := range paths {
		o, err := loader.Open(path)
		require.NoError(t, err)
		for _, p := range o.Programs {
			if _, ok := refusal.Named(p.Name); ok {
				release := "6.18"
				if p.Name == "RdonlyRdwrBufSizeExceedsU32" || filepath.Base(path) == "updates.o" {
					release = "7.2.13"
				}
				out = append(out, written{p.Name, filepath.Base(path), release, [2]string{p.Name, p.Name + "_ok"}})
			}
		}
	}
	return out
}

// refusing verifies written programs for releases.
type refusing struct {
	small, large *btf.Spec // types of 6.12, and of 7.2, which have kernel functions that 6.12 lacks
	linked       map[[2]string]*loader.Linked
}

func newRefusing(t testing.TB) *refusing {
	small, err := embedded.Spec()
	require.NoError(t, err)
	large, err := testbtf.Load("../../testdata/btf/linux-7.2.13-amd64.btf.xz")
	require.NoError(t, err)
	return &refusing{small, large, map[[2]string]*loader.Linked{}}
}

func (x *refusing) program(t testing.TB, w *written, text string) (*verifier.Kernel, *verifier.Program) {
	_, version, ok := loader.ParseRelease(w.release)
	require.True(t, ok, w.release)
	if !strings.HasSuffix(w.of, ".o") {
		typ, ok := uapi.ParseProgType(w.of)
		require.True(t, ok, w.of)
		insns, err := decode.Assemble(text)
		require.NoError(t, err, text)
		return &verifier.Kernel{Release: uapi.ReleaseOf(version), BTF: x.small}, &verifier.Program{Type: typ, License: "GPL", Insns: insns, Sleepable: typ == uapi.ProgTypeSyscall}
	}
	key := [2]string{w.of, w.release}
	l := x.linked[key]
	if l == nil {
		target := loader.NewTarget(w.release, x.large, loader.WithVersion(version))
		target.Release = w.release
		l = linkAll(t, target, filepath.Join(refusedDir, w.of))
		x.linked[key] = l
	}
	lp, ok := l.Program(text)
	require.True(t, ok, "%s: no program %s", w.of, text)
	p, err := verifier.FromLinked(l, lp)
	require.NoError(t, err)
	return verifier.KernelOf(l.Target), p
}

// judge verifies both programs. The refusal's line need not be the last one: others may follow that
// tell where.
func (x *refusing) judge(t testing.TB, w *written) {
	id, ok := refusal.Named(w.refusal)
	require.True(t, ok, w.refusal)
	for i, text := range w.text {
		var log bytes.Buffer
		k, p := x.program(t, w, text)
		v, err := verifier.Verify(context.Background(), k, p, verifier.Options{Log: &log, LogLevel: 1})
		require.NoError(t, err, text)
		if i == 1 {
			assert.Equal(t, verifier.Accepted, v.Outcome, "the neighbour for %s, %s: %s%s", w.refusal, text, v.Message, v.Missing)
			continue
		}
		assert.Equal(t, verifier.Refused, v.Outcome, "%s %s%s", text, v.Message, v.Missing)
		if !slices.ContainsFunc(strings.Split(log.String(), "\n"), id.Says) {
			assert.Equal(t, w.refusal, v.Refusal.String(), "%s: %s", text, v.Message)
		}
	}
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
	x := newRefusing(t)
	for _, w := range append(readWritten(t), refusedObjects(t)...) {
		has[w.refusal] = true
		x.judge(t, &w)
	}
	for i := range built {
		has[built[i].refusal] = true
		x.judgeBuilt(t, i)
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

// recordedRefused is what Linux 6.18.44 said of the programs of refusedDir, but for those that it
// could not load for lack of a function, a symbol or permission.
const recordedRefused = "../../conformance/verdicts/testdata/refused.jsonl.gz"

// The verdict on each of these programs, and its text, is the one of Linux 6.18.44.
func TestRefusalsOfLinux618(t *testing.T) {
	x := newRefusing(t)
	replay := replayer(t, x.large, nil)
	lines := 0
	require.NoError(t, verdicts.ReadFile(recordedRefused, func(l *verdicts.Line) error {
		lines++
		l.SHA256 = "" // the programs are what counts
		c := replay.Compare(t.Context(), l)
		require.NoError(t, c.Err, l.Key())
		if c.Ours.Refusal == refusal.KfuncPoison {
			return nil // of a function that 7.2, whose types these are, has no more
		}
		assert.Equal(t, verdicts.Agree, c.Kind, "%s: %s, here %s %s", l.Key(), l.Reason, c.Ours.Message, c.Ours.Missing)
		assert.True(t, l.Verdict == verdicts.Accepted || c.SameText, "%s: %q, here %q", l.Key(), l.Reason, c.Ours.Message)
		return nil
	}))
	assert.Greater(t, lines, 200)
}
