package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Names in objects and scenario files, and lines of sources, reach the terminal as text: on
// standard output and in messages, of every command.
func TestNamesCannotControlTheTerminal(t *testing.T) {
	t.Run("sequences", func(t *testing.T) {
		hostileNames(t, map[string]string{
			"on_exec": "\x1b[2Jn_x", "execs_by_uid": "exe\x1b]0;evil\x07", "exec.bpf.c": "ex\x1b[31m.bp", "task_struct *task": "task_struct *\x1b[2J",
		}, "\\e[2J\\a")
	})
	t.Run("lines and directions", func(t *testing.T) {
		hostileNames(t, map[string]string{
			"on_exec": "\n!!!\u202e", "execs_by_uid": "exe\n!!!\x9b\u2066\r", "exec.bpf.c": "ex\n!!!\u2028.", "task_struct *task": "task_struct\n!!!\x9b\n",
		}, "\\n!!!\\u202e")
	})
}

// hostileNames gives an object's names other texts and looks at the output of all commands.
func hostileNames(t *testing.T, names map[string]string, run string) {
	dir := t.TempDir()
	object, err := os.ReadFile("../../examples/exec/exec.bpf.o")
	require.NoError(t, err)
	for from, to := range names { // as long as they were: programs, maps, types, lines, files
		require.Equal(t, len(from), len(to), from)
		require.Contains(t, string(object), from)
		object = bytes.ReplaceAll(object, []byte(from), []byte(to))
	}
	path := filepath.Join(dir, "x.o")
	require.NoError(t, os.WriteFile(path, object, 0o600))
	file := filepath.Join(dir, "x.yaml")
	require.NoError(t, os.WriteFile(file, []byte("object: "+execPath(t)+"\nruns: [{prog: on_exec, name: \""+run+"\", expect: {ret: 5}}]\n"), 0o600))
	const types = "../../testdata/btf/min/linux-6.12.107-amd64.min.btf"
	for _, args := range [][]string{
		{path}, {"run", path, "-v"}, {"info", path}, {"disasm", path}, {"relo", path}, {"matrix", path}, {"race", path}, {"verify", path}, {"require", path, "--btf", "embedded"}, {"require", path, "--btf", "embedded", "--md"}, {"diff", path, path, "-v"}, {"scenario", "new", path}, {"test", file},
		{"run", path, "-p", "nosuch"}, {"run", path, "--map-size", "\x1b[2J=3"}, {"debug", path, "-e", "info functions", "-e", "list", "-e", "info maps", "-e", "run"},
		{"test", file, "-o", "md=" + filepath.Join(dir, "report.md"), "-o", "github=" + filepath.Join(dir, "report.txt"), "-o", "junit=" + filepath.Join(dir, "report.xml")},
		{"matrix", path, "-o", "md=" + filepath.Join(dir, "matrix.md"), "-o", "github=" + filepath.Join(dir, "matrix.txt"), "-o", "html=" + filepath.Join(dir, "matrix.html")},
		{"\x1b[2J.o"}, {"\x1b[2J"}, {"run", path, "--\x1b[2J"}, {"\n!!!.o"}, {"\n!!!"}, {"run", path, "--\n!!!"}, {"test", "\n!!!.yaml"}, {"btf", "dump", path, "--format", "c"},
	} {
		args := append(args, "--btf", types)
		if args[0] == "btf" {
			args = args[:len(args)-2]
		}
		_, stdout, stderr := command(args...)
		assert.NotEmpty(t, stdout+stderr, "%q", args)
		for _, text := range []string{stdout, stderr} {
			i := strings.IndexFunc(text, func(r rune) bool {
				return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r <= 0x9f || r == unicode.ReplacementChar || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
			})
			if i >= 0 {
				t.Errorf("%q: %q", args, text[max(0, i-40):min(len(text), i+40)])
			}
			if i := strings.Index("\n"+text, "\n!!!"); i >= 0 {
				t.Errorf("%q: a line of its own: %q", args, text[max(0, i-80):min(len(text), i+40)])
			}
		}
	}
	reports, err := filepath.Glob(filepath.Join(dir, "*.*"))
	require.NoError(t, err)
	for _, report := range reports {
		if report != path {
			text, err := os.ReadFile(report)
			require.NoError(t, err)
			assert.NotContains(t, string(text), "\x1b", filepath.Base(report))
		}
	}
	require.Len(t, reports, 8)
}

func execPath(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs(execObject)
	require.NoError(t, err)
	return filepath.ToSlash(path)
}
