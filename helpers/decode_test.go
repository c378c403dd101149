package helpers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// TestUsedArgumentsAreDecoded reads the sources: what an implementation takes with In and Out its
// prototype decodes, and whoever takes the map or the key has one.
func TestUsedArgumentsAreDecoded(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	uses := map[string]map[string]bool{} // by function: "In 1", "Out 2", "ref", "key"
	type rowSource struct{ id, do ast.Expr }
	var rows []rowSource
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") || f == "call.go" {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), f, nil, 0)
		require.NoError(t, err)
		for _, d := range file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				uses[fn.Name.Name] = usesOf(fn.Body)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.CompositeLit); ok {
				var r rowSource
				for _, e := range lit.Elts {
					if kv, ok := e.(*ast.KeyValueExpr); ok {
						switch k, _ := kv.Key.(*ast.Ident); {
						case k == nil:
						case k.Name == "ID":
							r.id = kv.Value
						case k.Name == "Do":
							r.do = kv.Value
						}
					}
				}
				if r.id != nil && r.do != nil {
					rows = append(rows, r)
				}
			}
			return true
		})
	}
	assert.Len(t, rows, len(Table()))
	byName := map[string]uapi.FuncID{}
	for _, h := range Table() {
		byName[strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(h.Name(), "bpf_"), "_", ""))] = h.ID
	}
	checked := 0
	for _, r := range rows {
		sel, ok := r.id.(*ast.SelectorExpr)
		require.True(t, ok)
		id, ok := byName[strings.ToLower(strings.TrimPrefix(sel.Sel.Name, "Func"))]
		require.True(t, ok, sel.Sel.Name)
		p, _ := proto.Lookup(id)
		have := map[string]bool{}
		for _, s := range stepsOf(p.Common().Args, p.Common().Ret) {
			switch s.kind {
			case stepMap:
				have["ref"] = true
			case stepKey, stepLookupKey:
				have["key"] = true
			case stepIn, stepFixed, stepValueIn:
				have["In "+strconv.Itoa(int(s.arg))] = true
			case stepOut, stepValueOut:
				have["Out "+strconv.Itoa(int(s.arg))] = true
			}
		}
		ast.Inspect(r.do, func(n ast.Node) bool {
			if name, ok := n.(*ast.Ident); ok {
				for u := range uses[name.Name] {
					checked++
					assert.True(t, have[u], "%v: %s takes %s, which its prototype does not have", id, name.Name, u)
				}
			}
			return true
		})
	}
	assert.Greater(t, checked, 50)
}

// usesOf finds what a function takes of its call.
func usesOf(body ast.Node) map[string]bool {
	out := map[string]bool{}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			sel, ok := n.Fun.(*ast.SelectorExpr)
			if !ok || len(n.Args) != 1 || sel.Sel.Name != "In" && sel.Sel.Name != "Out" {
				break
			}
			if i, ok := n.Args[0].(*ast.BasicLit); ok {
				out[sel.Sel.Name+" "+i.Value] = true
			}
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "c" && (n.Sel.Name == "ref" || n.Sel.Name == "key") {
				out[n.Sel.Name] = true
			}
		}
		return true
	})
	return out
}
