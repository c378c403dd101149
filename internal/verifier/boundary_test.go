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
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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
	// written is true for those of boundaryText.
	written bool
	// Types is "7.2" for a program of kernel functions that the embedded types, of 6.12, lack.
	Types string `json:",omitempty"`
	// Errno adds the error's name to answers; Log adds the first line of a log of level 2 that has
	// this text.
	Errno bool   `json:",omitempty"`
	Log   string `json:",omitempty"`
	// Arch is the architecture if it is not the types'.
	Arch    string `json:",omitempty"`
	Answers []answerOn
	Line    *verdicts.Line
}

type answerOn struct{ Kernel, Answer string }

// around lists the kernels on both sides of a rule's beginnings: the first of each pair is the last
// without it.
func around(r since.Rule) []string {
	first := r.First()
	before := since.Version{Release: r.Before()}
	if first.Patch > 0 {
		before = since.Version{Release: first.Release, Patch: first.Patch - 1}
	}
	for _, u := range r.Row().Stable { // its first version may stand for a later one (since.Of)
		if u.Release == before.Release && u.Patch > 0 {
			before.Patch = u.Patch - 1
		}
	}
	out := []string{fmt.Sprintf("%s.%d", before.Release, before.Patch), fmt.Sprintf("%s.%d", first.Release, first.Patch)}
	for _, u := range r.Row().Stable {
		if u.Patch > 0 && u.Release != first.Release {
			out = append(out, fmt.Sprintf("%s.%d", u.Release, u.Patch-1), fmt.Sprintf("%s.%d", u.Release, u.Patch))
		}
	}
	return out
}

const (
	boundaryFile = "testdata/boundaries.jsonl.gz"
	// boundaryText holds those that were written: "== RULE TYPE OPTION..." and the program in
	// assembler, or "== RULE OBJECT PROGRAM OPTION..."; lines "! KERNEL ANSWER" follow the head.
	// Options are types=7.2, arch=, flags=, attach=, target=, errno=yes, log=TEXT (~ for a space), and for
	// each map map=TYPE,KEY,VALUE,ENTRIES and perhaps ",FLAGS" or ",frozen".
	boundaryText = "testdata/boundaries.txt"
)

// readBoundaries returns all boundary programs, those of boundaryText last.
func readBoundaries(t testing.TB) []*boundary {
	raw, err := os.ReadFile(boundaryText)
	require.NoError(t, err)
	out := readRecordedBoundaries(t)
	for i, part := range strings.Split("\n"+string(raw), "\n== ") {
		if i > 0 { // the comment
			out = append(out, writtenBoundary(t, part))
		}
	}
	return out
}

func writtenBoundary(t testing.TB, part string) *boundary {
	head, text, _ := strings.Cut(part, "\n")
	f := strings.Fields(head)
	require.GreaterOrEqual(t, len(f), 2, head)
	b := &boundary{Rule: f[0], written: true, Line: &verdicts.Line{Program: "rule-" + strings.ToLower(f[0]), ProgType: f[1]}}
	options := f[2:]
	if strings.HasSuffix(f[1], ".o") {
		require.GreaterOrEqual(t, len(f), 3, head)
		b.Line.Object, b.Line.Program, b.Line.ProgType, options = f[1], f[2], "", f[3:]
	}
	var code strings.Builder
	for line := range strings.Lines(text) {
		rest, is := strings.CutPrefix(line, "! ")
		if !is {
			code.WriteString(line)
			continue
		}
		kernel, says, ok := strings.Cut(strings.TrimSuffix(rest, "\n"), " ")
		require.True(t, ok, line)
		b.Answers = append(b.Answers, answerOn{kernel, says})
	}
	if b.Line.Object == "" {
		insns, err := decode.Assemble(code.String())
		require.NoError(t, err, part)
		b.Line.Generated = &verdicts.Program{}
		b.Line.Generated.SetInsns(insns)
	}
	for _, o := range options {
		name, value, ok := strings.Cut(o, "=")
		require.True(t, ok, head)
		b.option(t, name, value)
	}
	return b
}

func (b *boundary) option(t testing.TB, name, value string) {
	number := func(s string) uint32 {
		n, err := strconv.ParseUint(s, 0, 32)
		require.NoError(t, err, value)
		return uint32(n)
	}
	switch name {
	case "types":
		b.Types = value
	case "arch":
		b.Arch = value
	case "errno":
		b.Errno = value == "yes"
	case "log":
		b.Log = strings.ReplaceAll(value, "~", " ")
	case "flags":
		b.Line.ProgFlags = number(value)
	case "attach":
		b.Line.Attach = number(value)
	case "target":
		b.Line.AttachTarget = value
	case "map":
		f := strings.Split(value, ",")
		require.GreaterOrEqual(t, len(f), 4, value)
		m := verdicts.Map{Type: number(f[0]), Key: number(f[1]), Value: number(f[2]), Entries: number(f[3])}
		switch {
		case len(f) > 4 && f[4] == "frozen": // all ones
			m.Flags, m.Frozen = uapi.MapRdonlyProg, bytes.Repeat([]byte{0xff}, int(m.Value))
		case len(f) > 4:
			m.Flags = number(f[4])
		}
		b.Line.Generated.Maps = append(b.Line.Generated.Maps, m)
	default:
		require.Fail(t, "no such option", name)
	}
}

func readRecordedBoundaries(t testing.TB) []*boundary {
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
type answers struct {
	replay, newer *verdicts.Replayer
	// flip is a rule to turn around, or since.Always for none.
	flip since.Rule
	arch string
}

func newAnswers(t testing.TB) *answers {
	spec, err := embedded.Spec()
	require.NoError(t, err)
	newer, err := testbtf.Load("../../testdata/btf/linux-7.2.13-amd64.btf.xz")
	require.NoError(t, err)
	a := &answers{flip: since.Always}
	a.replay, a.newer = replayer(t, spec, a.alter), replayer(t, newer, a.alter)
	return a
}

func (a *answers) alter(k *verifier.Kernel) {
	if a.arch != "" {
		k.Arch = a.arch
	}
	if a.flip != since.Always {
		k.Rules = since.Version{Release: k.Release, Patch: k.Patch}.Rules().Without(a.flip)
	}
}

// replayer verifies for all releases with the same types.
func replayer(t testing.TB, spec *btf.Spec, alter func(*verifier.Kernel)) *verdicts.Replayer {
	return verdicts.NewReplayer(verdicts.Config{
		Alter:   alter,
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

func (a *answers) on(t testing.TB, b *boundary, kernel string) string {
	l := *b.Line
	l.Kernel, l.Class, l.SHA256 = kernel, verdicts.ByVerifier, ""
	replay := a.replay
	if b.Types != "" {
		replay = a.newer
	}
	a.arch = b.Arch
	defer func() { a.arch = "" }()
	c := replay.Compare(context.Background(), &l)
	require.NoError(t, c.Err, "%s: %s", b.Rule, l.Key())
	says := answer(c.Ours)
	if b.Errno {
		says += ": " + c.Ours.Errno.Name()
	}
	if b.Log != "" {
		log, err := replay.Log(context.Background(), &l, 2, false)
		require.NoError(t, err, "%s: %s", b.Rule, l.Key())
		says += "; log: " + lineWith(log, b.Log)
	}
	return says
}

func lineWith(log, text string) string {
	for line := range strings.Lines(log) {
		if strings.Contains(line, text) {
			return strings.TrimSpace(line)
		}
	}
	return "no line with " + text
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
			for i := len(b.Answers) - 2; i > 1; i -= 2 {
				if b.Answers[i].Answer == b.Answers[i+1].Answer { // another rule decides in that update
					b.Answers = slices.Delete(b.Answers, i, i+2)
				}
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
		writeBoundaryText(t, all)
	}
}

func writeBoundaries(t testing.TB, all []*boundary) {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	for _, b := range all {
		if !b.written {
			require.NoError(t, json.NewEncoder(z).Encode(b))
		}
	}
	require.NoError(t, z.Close())
	require.NoError(t, os.WriteFile(boundaryFile, out.Bytes(), 0o644))
}

// writeBoundaryText puts the answers below the heads, and leaves the rest as it is.
func writeBoundaryText(t testing.TB, all []*boundary) {
	raw, err := os.ReadFile(boundaryText)
	require.NoError(t, err)
	all = slices.DeleteFunc(slices.Clone(all), func(b *boundary) bool { return !b.written })
	var out strings.Builder
	for line := range strings.Lines(string(raw)) {
		if strings.HasPrefix(line, "! ") {
			continue
		}
		out.WriteString(line)
		if strings.HasPrefix(line, "== ") {
			for _, a := range all[0].Answers {
				out.WriteString("! " + a.Kernel + " " + a.Answer + "\n")
			}
			all = all[1:]
		}
	}
	require.NoError(t, os.WriteFile(boundaryText, []byte(out.String()), 0o644))
}

// A program is at the border of its rule: on the first version with the rule the answer is another
// one once the rule is turned around, so that no other rule of that version explains it.
func TestBoundariesAreOfTheirRules(t *testing.T) {
	ask := newAnswers(t)
	for _, b := range readBoundaries(t) {
		rule, _ := since.Named(b.Rule)
		with := b.Answers[1]
		ask.flip = rule
		assert.NotEqual(t, with.Answer, ask.on(t, b, with.Kernel), "%s: %s on %s", b.Rule, b.Line.Key(), with.Kernel)
		ask.flip = since.Always
	}
}

// withoutBoundary lists the rules of the verifier for which no program is known whose answer
// changes with their release and for no other reason, each with the reason. A rule leaves the list
// when it gets one; none may come.
const withoutBoundary = "testdata/rules-without-boundary.txt"

var testName = regexp.MustCompile(`\bTest[A-Z]\w*`)

// testSources returns the tests of this package.
func testSources(t testing.TB) []byte {
	files, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	var all []byte
	for _, f := range files {
		text, err := os.ReadFile(f)
		require.NoError(t, err)
		all = append(all, text...)
	}
	return all
}

func TestEveryRuleHasABoundary(t *testing.T) {
	tests := testSources(t)
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
		for _, test := range testName.FindAllString(reason, -1) {
			require.True(t, bytes.Contains(tests, []byte("func "+test+"(")), "%s: no %s", name, test)
		}
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
	assert.Empty(t, wrong, "each needs a program in %s or a reason in %s, not both", boundaryText, withoutBoundary)
}
