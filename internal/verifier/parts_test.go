package verifier

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A part of the verifier that knows a later one would be the start of a knot: every struct of
// parts.go has only structs of earlier lines as fields.
func TestRoomsPointDown(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "parts.go", nil, 0)
	require.NoError(t, err)
	order := map[string]int{}
	var rooms []*ast.TypeSpec
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.TYPE {
			continue
		}
		for _, s := range g.Specs {
			room := s.(*ast.TypeSpec)
			order[room.Name.Name] = len(rooms)
			rooms = append(rooms, room)
		}
	}
	require.Greater(t, len(rooms), 15)
	for i, room := range rooms {
		for _, f := range room.Type.(*ast.StructType).Fields.List {
			of := f.Type
			if p, ok := of.(*ast.StarExpr); ok {
				of = p.X
			}
			name, ok := of.(*ast.Ident)
			if !ok {
				continue
			}
			if at, known := order[name.Name]; known {
				assert.Less(t, at, i, "%s knows %s", room.Name.Name, name.Name)
			}
		}
	}
}
