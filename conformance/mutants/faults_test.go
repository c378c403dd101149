package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/testing/mutate"
	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
)

// TestFaultsApply fails when the code changed so that an error cannot be put in any more: look at
// the new code, and find the error's place in it.
func TestFaultsApply(t *testing.T) {
	assert.GreaterOrEqual(t, len(faults), 75)
	names := map[string]bool{}
	all := slices.Clone(faults)
	for _, e := range equivalent {
		all = append(all, e.Fault)
	}
	for _, f := range all {
		assert.False(t, names[f.Name], f.Name)
		names[f.Name] = true
		src, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(f.File)))
		require.NoError(t, err)
		changed, err := f.Apply(string(src))
		if assert.NoError(t, err, f.Name) {
			assert.NotEqual(t, string(src), changed)
		}
	}
}

// TestResultsAreFresh: results.txt has a line for each error and no other, few were missed, and the
// tests it names are there.
func TestResultsAreFresh(t *testing.T) {
	known, err := readResults("results.txt")
	require.NoError(t, err)
	missed := 0
	for _, f := range faults {
		by, ok := known[f.Name]
		if !assert.True(t, ok, "%s was not tried: go run ./conformance/mutants -resume", f.Name) {
			continue
		}
		delete(known, f.Name)
		if by.missed() {
			missed++
			continue
		}
		if strings.HasPrefix(by.Test, "(") { // it did not end, or crashed
			continue
		}
		files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(by.Package), "*_test.go"))
		require.NoError(t, err)
		found := false
		for _, file := range files {
			src, err := os.ReadFile(file)
			require.NoError(t, err)
			found = found || strings.Contains(string(src), "func "+by.Test+"(")
		}
		assert.True(t, found, "%s has no %s, which noticed %q", by.Package, by.Test, f.Name)
	}
	assert.Empty(t, known, "errors that are not in faults.go")
	assert.LessOrEqual(t, missed*10, len(faults))
}

// TestReviewedAreListed: README.md has a table of the faults that reviewers injected, written with
// -update.
func TestReviewedAreListed(t *testing.T) {
	known, err := readResults("results.txt")
	require.NoError(t, err)
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	head, old, found := strings.Cut(string(text), tableHead)
	require.True(t, found)
	old, rest, found := strings.Cut(old, "\n## ")
	require.True(t, found)
	table := reviewedTable(known)
	if *rewrite.Flag {
		require.NoError(t, os.WriteFile("README.md", []byte(head+tableHead+table+"\n## "+rest), 0o644))
		return
	}
	assert.Equal(t, table, old, "go test ./conformance/mutants -run ReviewedAreListed -update")
}

const tableHead = "| fault | place | verdict |\n|---|---|---|\n"

func reviewedTable(known map[string]notice) string {
	var b strings.Builder
	row := func(f *mutate.Fault, verdict string) {
		name := strings.TrimSuffix(f.Name, " (review)")
		fmt.Fprintf(&b, "| %s | %s | %s |\n", name, f.File, verdict)
	}
	for i := range reviewed {
		f := &reviewed[i]
		verdict := "no test detects it"
		if by := known[f.Name]; !by.missed() {
			verdict = "`" + by.Package + "` " + by.Test
		}
		row(f, verdict)
	}
	for i := range equivalent {
		row(&equivalent[i].Fault, "equivalent: "+equivalent[i].Why)
	}
	for _, g := range gone {
		row(&mutate.Fault{Name: g[0]}, "gone: "+g[1])
	}
	return b.String()
}
