package repl

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var generated = regexp.MustCompile(`(?s)<!-- (commands|transcript (\S+)(?: on (\S+))?\n(.*?))\s*-->\n.*?<!-- end -->\n`)

// TestDocumentation makes the generated parts of docs/debugger.md again, the table of commands and
// the transcripts, and compares; -update writes them.
func TestDocumentation(t *testing.T) {
	file := filepath.Join(root, "docs", "debugger.md")
	old, err := os.ReadFile(file)
	require.NoError(t, err)
	now := generated.ReplaceAllStringFunc(string(old), func(part string) string {
		m := generated.FindStringSubmatch(part)
		head, _, _ := strings.Cut(part, "-->\n")
		var body bytes.Buffer
		if m[2] == "" {
			WriteCommands(&body)
		} else {
			kernel := m[3]
			if kernel == "" {
				kernel = "embedded"
			}
			body.WriteString("\n```console\n$ bpfrun debug " + m[2] + " --btf " + kernel + "\n" + transcriptOn(t, kernel, m[2], m[4]) + "```\n\n")
		}
		return head + "-->\n" + body.String() + "<!-- end -->\n"
	})
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(now), 0o644))
		old = []byte(now)
	}
	assert.Equal(t, string(old), now, "docs/debugger.md is stale: go test ./internal/debug/repl -update")
}
