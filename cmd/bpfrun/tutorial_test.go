package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
	"github.com/bpfrun/bpfrun/loader"
)

const tutorial = "docs/tutorial.md"

// fromFile is a block that shows a file, or a part of one.
var fromFile = regexp.MustCompile("(?s)<!-- from (\\S+) -->\n```(\\w+)\n(.*?)```")

// TestPagesShowFiles: the sources in the tutorial and the cookbook are those of the files they
// name; the tutorial shows scenarios whole. TestTranscripts runs their console blocks.
func TestPagesShowFiles(t *testing.T) {
	t.Chdir("../..")
	for page, blocks := range map[string]int{tutorial: 3, "docs/cookbook.md": 11} {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		n := 0
		updated := fromFile.ReplaceAllStringFunc(string(text), func(block string) string {
			m := fromFile.FindStringSubmatch(block)
			data, err := os.ReadFile(m[1])
			require.NoError(t, err)
			n++
			if m[2] == "yaml" && page == tutorial && *rewrite.Flag {
				return "<!-- from " + m[1] + " -->\n```yaml\n" + string(data) + "```"
			}
			assert.NotEmpty(t, m[3], m[1])
			assert.Contains(t, string(data), m[3], m[1])
			return block
		})
		assert.Equal(t, blocks, n, page)
		if *rewrite.Flag {
			require.NoError(t, os.WriteFile(page, []byte(updated), 0o644))
		}
	}
}

// TestTutorialCompiles carries out the commands of the shell blocks where clang is, in a directory
// of their own; what comes out is the code of the committed objects.
func TestTutorialCompiles(t *testing.T) {
	clang := ""
	for _, name := range []string{"clang-14", "clang"} {
		if path, err := exec.LookPath(name); err == nil && clang == "" {
			clang = path
		}
	}
	if clang == "" {
		t.Skip("clang is not installed")
	}
	if _, err := os.Stat("/usr/include/bpf/bpf_helpers.h"); err != nil {
		t.Skip("libbpf's headers are not installed")
	}
	text, err := os.ReadFile("../../" + tutorial)
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(dir, "docs/tutorial"), os.DirFS("../../docs/tutorial")))
	compiled := 0
	for _, m := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		for line := range strings.Lines(m[1]) {
			words := shellWords(strings.TrimSpace(line))
			require.Equal(t, "clang", words[0], line)
			cmd := exec.Command(clang, words[1:]...)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			name := words[len(words)-1]
			got, err := loader.Open(filepath.Join(dir, name))
			require.NoError(t, err)
			want, err := loader.Open("../../" + name)
			require.NoError(t, err)
			require.Len(t, got.Programs, len(want.Programs))
			compiled++
		}
	}
	assert.Equal(t, 2, compiled)
}

// TestTutorialWorkflow: the workflow passes inputs that the action has.
func TestTutorialWorkflow(t *testing.T) {
	text, err := os.ReadFile("../../" + tutorial)
	require.NoError(t, err)
	m := regexp.MustCompile("(?s)```yaml\n(name: bpf\n.*?)```").FindStringSubmatch(string(text))
	require.NotNil(t, m)
	var flow struct {
		Jobs map[string]struct {
			Steps []struct {
				Uses string
				With map[string]string
			}
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(m[1]), &flow))
	data, err := os.ReadFile("../../action.yml")
	require.NoError(t, err)
	var action struct{ Inputs map[string]any }
	require.NoError(t, yaml.Unmarshal(data, &action))
	n := 0
	for _, s := range flow.Jobs["test"].Steps {
		for name, value := range s.With {
			assert.Contains(t, action.Inputs, name)
			n++
			for path := range strings.FieldsSeq(value) {
				if path == "embedded" {
					continue
				}
				found, err := filepath.Glob("../../" + path)
				require.NoError(t, err)
				assert.NotEmpty(t, found, path)
			}
		}
	}
	assert.Equal(t, 3, n)
}
