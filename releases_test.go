package bpfrun_test

import (
	"fmt"
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

// releaseLookups are the files that compare releases because they look something up in a table with
// a column of releases, or compare what a user gave.
var releaseLookups = map[string]string{
	"bpftest/target.go":                    "asks for a version that a test names",
	"helpers/proto/helper.go":              "looks up prototypes",
	"helpers/proto/kfunc.go":               "looks up kfuncs",
	"conformance/isa/generate/generate.go": "looks up instructions",
	"decode/check.go":                      "looks up instructions",
	"internal/progtype/tracing.go":         "names releases for the table",
	"internal/progtype/cgroup.go":          "names a release for the table",
	"internal/progtype/lsmhooks.go":        "looks up hooks",
	"internal/progtype/sleep.go":           "looks up program types",
	"internal/scenario/prepare.go":         "asks for a version that a scenario names",
}

// TestReleasesAreAskedByRule: what a release changed is a row of internal/uapi/since, and code asks
// for the row. Nothing else compares releases; R makes columns of tables.
func TestReleasesAreAskedByRule(t *testing.T) {
	used := map[string]bool{}
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && file != "." {
			_, module := os.Stat(filepath.Join(file, "go.mod"))
			if module == nil || strings.HasPrefix(d.Name(), ".") || slices.Contains([]string{"testdata", "corpus", "toolchain"}, d.Name()) || file == filepath.FromSlash("internal/uapi/since") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		found, err := releaseComparisons(file)
		require.NoError(t, err)
		name := filepath.ToSlash(file)
		if _, ok := releaseLookups[name]; ok {
			used[name] = len(found) > 0
			return nil
		}
		for _, f := range found {
			assert.Fail(t, f+": compares releases; give the rule a row in internal/uapi/since, and ask for that")
		}
		return nil
	})
	require.NoError(t, err)
	for file := range releaseLookups {
		assert.True(t, used[file], "%s compares no releases", file)
	}
}

// releaseComparisons finds calls of R and VersionCode outside of composite literals, and
// comparisons with something that is named as a release.
func releaseComparisons(file string) (found []string, err error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, nil, 0)
	if err != nil {
		return nil, err
	}
	var path []ast.Node
	ast.Inspect(f, func(n ast.Node) bool {
		if n == nil {
			path = path[:len(path)-1]
			return true
		}
		path = append(path, n)
		bad := false
		switch x := n.(type) {
		case *ast.CallExpr:
			bad = makesRelease(x) && !slices.ContainsFunc(path, func(p ast.Node) bool { _, ok := p.(*ast.CompositeLit); return ok })
		case *ast.BinaryExpr:
			ordered := slices.Contains([]token.Token{token.LSS, token.LEQ, token.GTR, token.GEQ}, x.Op)
			bad = ordered && (namesRelease(x.X) || namesRelease(x.Y))
		}
		if bad {
			found = append(found, fmt.Sprint(fset.Position(n.Pos())))
		}
		return true
	})
	return found, nil
}

// makesRelease reports whether a call makes a release of two numbers.
func makesRelease(c *ast.CallExpr) bool {
	name := lastName(c.Fun)
	if len(c.Args) != 2 || !slices.Contains([]string{"R", "VersionCode", "kernelVersion"}, name) {
		return false
	}
	for _, a := range c.Args {
		if _, ok := a.(*ast.BasicLit); !ok {
			return false
		}
	}
	return true
}

// namesRelease reports whether an expression is a release by its name.
func namesRelease(e ast.Expr) bool {
	if c, ok := e.(*ast.CallExpr); ok {
		return lastName(c.Fun) == "ReleaseOf" || makesRelease(c) || len(c.Args) == 0 && lastName(c.Fun) == "Version"
	}
	return slices.Contains([]string{"release", "Release", "KernelVersion", "version", "Version", "Since", "Until"}, lastName(e)) && !dwarf(e)
}

// dwarf: units of DWARF have versions, too.
func dwarf(e ast.Expr) bool {
	s, ok := e.(*ast.SelectorExpr)
	return ok && slices.Contains([]string{"u", "h", "k", "unit"}, lastName(s.X))
}

func lastName(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return x.Sel.Name
	}
	return ""
}
