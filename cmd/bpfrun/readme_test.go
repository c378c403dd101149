package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
)

// transcript is a fenced block of a page that starts with a command line.
var transcript = regexp.MustCompile("(?ms)^```console\n\\$ ([^\n]*)\n(.*?)^```$")

// elapsed is how long tests took, which is never the same.
var elapsed = regexp.MustCompile(`(?: \([0-9,]+ a second\))? in [0-9.]+ s\n`)

// shellWords splits a command line as a shell does: quotes of both kinds keep what is inside
// together.
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

// TestTranscripts runs every bpfrun command that README.md and the pages of docs/ show in console
// blocks, and compares what it prints. Commands of bpfrun exec run where their tool is installed;
// cat shows a file of the repository.
func TestTranscripts(t *testing.T) {
	t.Chdir("../..")
	t.Setenv("NO_COLOR", "1")
	t.Setenv("LC_ALL", "C")
	t.Setenv("PATH", os.Getenv("PATH")+":/usr/sbin:/sbin")
	pages, err := filepath.Glob("docs/*.md")
	require.NoError(t, err)
	for _, page := range append(pages, "README.md") {
		if page == "docs/debugger.md" {
			continue // internal/debug/repl runs its sessions
		}
		if raceDetector && testing.Short() && !slices.Contains([]string{"docs/matrix.md", "docs/test.md", "README.md"}, page) {
			continue // one goroutine does the work; test and matrix have several, in this process
		}
		t.Run(page, func(t *testing.T) { checkTranscripts(t, page) })
	}
}

// runTool runs a command line of bpfrun exec in a process of its own. The error says why this
// system cannot.
func runTool(words []string) ([]byte, error) {
	tool := words[slices.Index(words, "--")+1:]
	needed := []string{tool[0]}
	if tool[0] == "sh" {
		needed = append(needed, "bpftool")
	}
	for _, name := range needed {
		if _, err := exec.LookPath(name); err != nil {
			return nil, err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	out, err := (&exec.Cmd{Path: self, Args: words}).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	if strings.Contains(string(out), "seccomp") || strings.Contains(string(out), "not supported") {
		return nil, errors.New(string(out))
	}
	return out, nil
}

func checkTranscripts(t *testing.T, page string) {
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	shown := 0
	updated := transcript.ReplaceAllStringFunc(string(text), func(block string) string {
		m := transcript.FindStringSubmatch(block)
		line := strings.TrimPrefix(strings.TrimPrefix(m[1], "go run ./cmd/"), "./")
		words := shellWords(line)
		var out, errs bytes.Buffer
		switch {
		case words[0] == "cat":
			for _, name := range words[1:] {
				b, err := os.ReadFile(name)
				require.NoError(t, err)
				out.Write(b)
			}
		case words[0] != "bpfrun":
			return block
		case words[1] == "exec":
			b, err := runTool(words)
			if err != nil {
				t.Logf("%s: %v", m[1], err)
				return block
			}
			out.Write(b)
		default:
			run(words[1:], &out, &errs)
		}
		shown++
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
		require.Positive(t, shown, "transcripts found")
	}
	if *rewrite.Flag {
		require.NoError(t, os.WriteFile(page, []byte(updated), 0o644))
	}
}

// TestShownScenario: the scenario that docs/test.md shows is the file its transcript runs.
func TestShownScenario(t *testing.T) {
	data, err := os.ReadFile("../../docs/test.md")
	require.NoError(t, err)
	want, err := os.ReadFile("../../examples/exec/exec.first.yaml")
	require.NoError(t, err)
	assert.Contains(t, string(data), "```yaml\n"+string(want)+"```")
}
