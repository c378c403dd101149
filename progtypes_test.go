package bpfrun_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// namesTypes are the files and directories outside uapi and progtype that may name a program or
// attach type, and why.
var namesTypes = map[string]string{
	"internal/kernel/hook": "makes the contexts, one function for each type",
	"helpers/proto":        "which programs may call what, by the kernel's tables",
	"helpers/socket.go":    "bpf_sk_assign is another helper in sk_lookup programs",
	"helpers/lwt.go":       "bpf_lwt_push_encap takes one kind of header in lwt_xmit programs",
	"helpers/sockopt.go":   "bpf_getsockopt reads saved SYNs in sockops programs alone",
	"internal/bpfsys":      "each command of bpf(2) takes types of its own, by the kernel's tables",
	"internal/verifier":    "rules of the walk that hold for one type",
	"conformance/record":   "what the system calls of a recording take",
	"conformance/verdicts": "programs that are generated for chosen types",
	"cmd/bpfrun/bench.go":  "raw instructions are measured as the type without rules for its context",
}

// TestProgramTypesAreNamedInOnePlace: what depends on the program type is asked of package
// progtype.
func TestProgramTypesAreNamedInOnePlace(t *testing.T) {
	used := map[string]bool{}
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && file != "." {
			if strings.HasPrefix(d.Name(), ".") || d.Name() == "corpus" || d.Name() == "toolchain" || d.Name() == "uapi" || d.Name() == "progtype" {
				return filepath.SkipDir
			}
			if _, err := os.Stat(filepath.Join(file, "go.mod")); err == nil {
				return filepath.SkipDir
			}
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		require.NoError(t, err)
		ast.Inspect(f, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			pkg, ok := s.X.(*ast.Ident)
			if !ok || pkg.Name != "uapi" || !namesType(s.Sel.Name) {
				return true
			}
			slash := filepath.ToSlash(file)
			for p := slash; p != "."; p = path.Dir(p) {
				if namesTypes[p] != "" {
					used[p] = true
					return true
				}
			}
			assert.Fail(t, slash+" names uapi."+s.Sel.Name, "ask progtype, or say in namesTypes why it must")
			return true
		})
		return nil
	})
	require.NoError(t, err)
	for p := range namesTypes {
		assert.True(t, used[p], "%s names no type any more: take it off the list", p)
	}
}

func namesType(name string) bool {
	switch name {
	case "ProgType", "AttachType", "ProgTypeUnspec":
		return false
	}
	return strings.HasPrefix(name, "ProgType") || strings.HasPrefix(name, "Attach")
}

// TestAProgramTypeTouchesFewFiles: a program type is its row, the function that makes its context
// and the line that calls it, and who may call which helper. The verifier and bpf(2) have rules of
// their own for some types, as the kernel has, and are not counted.
func TestAProgramTypeTouchesFewFiles(t *testing.T) {
	const most = 4
	more := map[string]string{
		"ProgTypeSkLookup": "bpf_sk_assign is another helper there",
		"ProgTypeSockOps":  "bpf_getsockopt reads saved SYNs there alone",
		"ProgTypeSyscall":  "kfuncs of sched_ext are for it too, and benchmarks measure raw instructions as one",
	}
	named := map[string]map[string]bool{}
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		slash := filepath.ToSlash(file)
		if d.IsDir() {
			switch slash {
			case "internal/uapi", "internal/verifier", "internal/bpfsys", "conformance", "scripts", "internal/bench", "corpus", "toolchain", "testdata":
				return filepath.SkipDir
			}
			if slash != "." && strings.HasPrefix(d.Name(), ".") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(slash, ".go") || strings.HasSuffix(slash, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		require.NoError(t, err)
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && strings.HasPrefix(s.Sel.Name, "ProgType") && namesType(s.Sel.Name) {
				if pkg, ok := s.X.(*ast.Ident); ok && pkg.Name == "uapi" {
					if named[s.Sel.Name] == nil {
						named[s.Sel.Name] = map[string]bool{}
					}
					named[s.Sel.Name][slash] = true
				}
			}
			return true
		})
		return nil
	})
	require.NoError(t, err)
	assert.GreaterOrEqual(t, len(named), 32, "every program type has a row")
	for typ, files := range named {
		if more[typ] == "" {
			assert.LessOrEqual(t, len(files), most, "%s is named in %v", typ, files)
		} else {
			assert.Greater(t, len(files), most, "%s is named in few files: take it off the list", typ)
		}
	}
}
