package bpfrun_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The table of CONFORMANCE.md that maps rules to tests names tests and scripts that exist, a few
// for each rule, and no rule is missing.
func TestRulesHaveTests(t *testing.T) {
	text, err := os.ReadFile("CONFORMANCE.md")
	require.NoError(t, err)
	_, section, ok := strings.Cut(string(text), "## Rules and the tests that hold them\n")
	require.True(t, ok)
	section, _, _ = strings.Cut(section, "\n## ")
	row := regexp.MustCompile(`(?m)^\| (\d+) \| .* \| (.*) \|$`)
	reference := regexp.MustCompile("`([^`]+)`")
	seen := map[int]bool{}
	for _, m := range row.FindAllStringSubmatch(section, -1) {
		n, err := strconv.Atoi(m[1])
		require.NoError(t, err)
		seen[n] = true
		names := reference.FindAllStringSubmatch(m[2], -1)
		assert.NotEmpty(t, names, "rule %d has no test", n)
		for _, name := range names {
			assert.True(t, testExists(t, name[1]), "rule %d: there is no %s", n, name[1])
		}
	}
	for n := 1; n <= 24; n++ {
		assert.True(t, seen[n], "rule %d has no row", n)
	}
}

// testExists reports whether there is a script (name.txtar) or a test function (package/TestName).
func testExists(t *testing.T, name string) bool {
	t.Helper()
	if strings.HasSuffix(name, ".txtar") {
		_, err := os.Stat(filepath.Join("cmd/bpfrun/testdata/script", name))
		return err == nil
	}
	files, err := filepath.Glob(filepath.Join(path.Dir(name), "*_test.go"))
	require.NoError(t, err)
	for _, file := range files {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		if strings.Contains(string(source), "\nfunc "+path.Base(name)+"(") {
			return true
		}
	}
	return false
}

// Names reach the terminal through internal/visible only: what these packages write with it cannot
// be forged by a name.
func TestTextIsWrittenVisibly(t *testing.T) {
	raw := regexp.MustCompile(`\bfmt\.Fprint|\bjson\.NewEncoder\((?:w|\w+\.std\w+|os\.Std\w+)\)`)
	allowed := map[string]string{
		"cmd/bpfrun/main.go":                "the report of a panic, and of output that cannot be written",
		"internal/exec/dir_linux.go":        "a hash",
		"internal/app/report/jsonschema.go": "writes no names of users",
	}
	for _, dir := range []string{"cmd/bpfrun", "internal/app/cover", "internal/debug/repl", "internal/exec", "internal/app/report", "internal/app/testrun"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") || allowed[filepath.ToSlash(file)] != "" {
				continue
			}
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			for i, line := range strings.Split(string(text), "\n") {
				if raw.MatchString(line) {
					t.Errorf("%s:%d: use internal/visible: %s", file, i+1, strings.TrimSpace(line))
				}
			}
		}
	}
}
