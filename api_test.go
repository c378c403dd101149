package bpfrun_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// api are the packages whose API is promised.
var api = []string{"btf", "decode", "corerelo", "bpftest", "bpftest/ebpfspec"}

// TestPackagesSayWhetherTheyAreAPI: docs/api.md lists the packages with a promise; every other one
// that can be imported says in its comment that it has none.
func TestPackagesSayWhetherTheyAreAPI(t *testing.T) {
	page, err := os.ReadFile("docs/api.md")
	require.NoError(t, err)
	comments := map[string]string{}
	err = filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && file != "." {
			_, module := os.Stat(filepath.Join(file, "go.mod"))
			if module == nil || strings.HasPrefix(d.Name(), ".") || slices.Contains([]string{"internal", "testdata", "corpus", "toolchain"}, d.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil || f.Name.Name == "main" {
			return err
		}
		pkg := filepath.ToSlash(filepath.Dir(file))
		comments[pkg] += comment(f)
		return nil
	})
	require.NoError(t, err)
	for pkg, text := range comments {
		if slices.Contains(api, pkg) {
			assert.Contains(t, string(page), "| `"+pkg+"` |", "docs/api.md does not list it")
			assert.NotContains(t, text, "docs/api.md", pkg)
			continue
		}
		assert.Contains(t, text, "not part of the Go API (docs/api.md)", "the comment of package %s does not say whether it is API", pkg)
	}
	assert.Greater(t, len(comments), 30)
}

func comment(f *ast.File) string {
	if f.Doc == nil {
		return ""
	}
	return f.Doc.Text()
}
