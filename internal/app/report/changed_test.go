package report

import (
	"bytes"
	"context"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/scenario"
	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
	"github.com/bpfrun/bpfrun/loader"
)

// reported runs a scenario file and says how it ended: the mistakes in it, or the first failed
// expectation, and, after a tab, a hash of all that reports say of it.
func reported(t *testing.T, text string, obj *loader.Object, target *loader.Target) string {
	f, err := scenario.Parse("s.yaml", []byte(text))
	if f == nil {
		return "not parsed: " + err.Error()
	}
	r, err := scenario.Open(f, obj, target, scenario.Options{Config: machine.Config{Seed: 1}})
	if err != nil {
		return "not opened: " + err.Error()
	}
	defer r.Close()
	doc := NewRunDocument(r.Machine().Linked(), "k")
	s := &Suite{File: "s.yaml", Target: "k"}
	results, err := r.All(context.Background(), func(res *scenario.Result) {
		res.Took = 0
		doc.AddScenario(r.Machine(), res)
	})
	if err != nil {
		return "not run: " + err.Error()
	}
	said := "passes"
	for _, res := range results {
		c := NewTestCase(res)
		c.Took = 0
		if s.Cases = append(s.Cases, c); len(c.Failures) > 0 && said == "passes" {
			said = "fails: " + c.Failures[0]
		}
	}
	var all bytes.Buffer
	require.NoError(t, WriteSuites(&all, []*Suite{s}, TableOptions{Verbose: true}))
	require.NoError(t, WriteJUnit(&all, []*Suite{s}))
	require.NoError(t, WriteTestsMarkdown(&all, []*Suite{s}))
	require.NoError(t, WriteTable(&all, doc, TableOptions{Verbose: true}))
	require.NoError(t, WriteTable(&all, doc, TableOptions{}))
	require.NoError(t, WriteTestsHTML(&all, []*Suite{s}, []*RunDocument{doc}))
	doc.Target, doc.Object = nil, ""
	require.NoError(t, WriteJSON(&all, doc))
	h := fnv.New64a()
	_, _ = h.Write(all.Bytes())
	return fmt.Sprintf("%s\t%x", said, h.Sum64())
}

var scenarioWord = regexp.MustCompile(`[A-Za-z0-9_.$-]+`)

// changedTexts calls f with a text in which one word or line is another, for every step-th one.
func changedTexts(text string, step int, f func(what, text string)) {
	n := 0
	for _, at := range scenarioWord.FindAllStringIndex(text, -1) {
		word := text[at[0]:at[1]]
		if line := text[strings.LastIndex(text[:at[0]], "\n")+1 : at[0]]; strings.Contains(line, "#") {
			continue
		}
		with := []string{word + "x", "", "7", word[:len(word)-1], "[" + word + "]", "null"}
		if v, err := strconv.ParseInt(word, 0, 64); err == nil {
			with = []string{strconv.FormatInt(v+1, 10), strconv.FormatInt(v-1, 10), "0", "4294967296", "-1", "x"}
		}
		if n++; n%step == 0 {
			to := with[n/step%len(with)]
			f(fmt.Sprintf("%q at %d is %q", word, at[0], to), text[:at[0]]+to+text[at[1]:])
		}
	}
	off := 0
	for i, line := range strings.SplitAfter(text, "\n") {
		if i%step == 0 {
			f(fmt.Sprint("without line ", i+1), text[:off]+text[off+len(line):])
		}
		off += len(line)
	}
}

// TestChangedScenariosAreReportedInTheSameWords changes words of the examples' scenarios, one after
// the other, runs what is left, and compares all that reports say.
func TestChangedScenariosAreReportedInTheSameWords(t *testing.T) {
	spec, err := embedded.Spec()
	require.NoError(t, err)
	target := loader.NewTarget(embedded.Name, spec)
	files, err := filepath.Glob("../../../examples/*/*.yaml")
	require.NoError(t, err)
	var all rewrite.Outcomes
	for _, path := range files {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		f, err := scenario.ParseFile(path)
		require.NoError(t, err)
		if f.Object == "" {
			continue
		}
		obj, err := loader.Open(f.Object)
		require.NoError(t, err)
		name := filepath.Base(path)
		all.Add(name, reported(t, string(text), obj, target))
		changedTexts(string(text), 1+len(text)/110, func(what, text string) {
			all.Ask(name+" "+what, func() string { return reported(t, text, obj, target) })
		})
	}
	all.Compare(t, filepath.Join("testdata", "changed.txt"))
}
