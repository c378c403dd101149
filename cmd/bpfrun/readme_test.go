package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/rewrite"
)

// transcript is a fenced block of a page that starts with a command line.
var transcript = regexp.MustCompile("(?ms)^```console\n\\$ ([^\n]*)\n(.*?)^```$")

// elapsed is how long tests took, which is never the same.
var elapsed = regexp.MustCompile(` in [0-9.]+ s\n`)

// shellWords splits a command line as a shell does: quotes of both kinds keep what is inside together.
func shellWords(line string) []string {
	var out []string
	var word strings.Builder
	quote, started := rune(0), false
	for _, c := range line + " " {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(c)
		case c == '\'' || c == '"':
			quote, started = c, true
		case c == ' ':
			if started {
				out = append(out, word.String())
				word.Reset()
			}
			started = false
		default:
			word.WriteRune(c)
			started = true
		}
	}
	return out
}

// TestTranscripts runs every bpfrun command that README.md and the pages of docs/ show in console blocks, and compares what it prints.
func TestTranscripts(t *testing.T) {
	t.Chdir("../..")
	t.Setenv("NO_COLOR", "1")
	pages, err := filepath.Glob("docs/*.md")
	require.NoError(t, err)
	for _, page := range append(pages, "README.md") {
		if page == "docs/debugger.md" {
			continue // debug/repl runs its sessions
		}
		if raceDetector && testing.Short() && !slices.Contains([]string{"docs/matrix.md", "docs/test.md", "README.md"}, page) {
			continue // one goroutine does the work; test and matrix have several, in this process
		}
		t.Run(page, func(t *testing.T) { checkTranscripts(t, page) })
	}
}

func checkTranscripts(t *testing.T, page string) {
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	shown := 0
	updated := transcript.ReplaceAllStringFunc(string(text), func(block string) string {
		m := transcript.FindStringSubmatch(block)
		line := strings.TrimPrefix(strings.TrimPrefix(m[1], "go run ./cmd/"), "./")
		args, ok := strings.CutPrefix(line, "bpfrun ")
		if !ok {
			return block
		}
		shown++
		var out, errs bytes.Buffer
		run(shellWords(args), &out, &errs)
		printed := elapsed.ReplaceAllString(out.String(), " in 0.02 s\n")
		if start, ok := strings.CutSuffix(m[2], "\n...\n"); ok { // the page shows the first lines
			lines := strings.SplitAfter(printed, "\n")
			printed = strings.Join(lines[:min(len(lines), strings.Count(start, "\n")+1)], "") + "...\n"
		}
		assert.Empty(t, errs.String(), m[1])
		if !*rewrite.Flag {
			assert.Equal(t, printed, m[2], "%s: %s is stale (go test ./cmd/bpfrun -run Transcripts -update)", m[1], page)
		}
		return "```console\n$ " + m[1] + "\n" + printed + "```"
	})
	if page == "README.md" {
		require.Greater(t, shown, 4, "transcripts found")
	}
	if *rewrite.Flag {
		require.NoError(t, os.WriteFile(page, []byte(updated), 0o644))
	}
}

// TestReadmeScenario: the scenario README.md shows is the file its transcript runs.
func TestReadmeScenario(t *testing.T) {
	data, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	want, err := os.ReadFile("../../examples/exec/exec.first.yaml")
	require.NoError(t, err)
	assert.Contains(t, string(data), "```yaml\n"+string(want)+"```")
}
