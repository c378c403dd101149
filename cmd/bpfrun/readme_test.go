package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/rewrite"
)

// transcript is a fenced block of README.md that starts with a command line.
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

// TestReadmeTranscripts runs every bpfrun command that README.md shows and compares what it prints.
func TestReadmeTranscripts(t *testing.T) {
	t.Chdir("../..")
	t.Setenv("NO_COLOR", "1")
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	shown := 0
	updated := transcript.ReplaceAllStringFunc(string(readme), func(block string) string {
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
		assert.Empty(t, errs.String(), m[1])
		if !*rewrite.Flag {
			assert.Equal(t, printed, m[2], "%s: README.md is stale (go test ./cmd/bpfrun -run Readme -update)", m[1])
		}
		return "```console\n$ " + m[1] + "\n" + printed + "```"
	})
	require.Greater(t, shown, 4, "transcripts found")
	if *rewrite.Flag {
		require.NoError(t, os.WriteFile("README.md", []byte(updated), 0o644))
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
