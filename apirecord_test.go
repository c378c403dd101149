package bpfrun_test

import (
	"bytes"
	"go/ast"
	"go/build"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
)

// TestTheAPIIsAsRecorded: testdata/api has the exported declarations of each promised package, one
// a line, so that a change of the API is a line of a review. -update records them; it refuses to
// drop or change one that CHANGELOG.md does not name among the unreleased changes.
func TestTheAPIIsAsRecorded(t *testing.T) {
	log, err := os.ReadFile("CHANGELOG.md")
	require.NoError(t, err)
	unreleased := string(regexp.MustCompile(`(?s)## Unreleased\n.*?(\n## |$)`).Find(log))
	require.NotEmpty(t, unreleased)
	for _, pkg := range api {
		t.Run(pkg, func(t *testing.T) {
			lines := declarations(t, pkg)
			require.NotEmpty(t, lines)
			file := filepath.Join("testdata", "api", strings.ReplaceAll(pkg, "/", ".")+".txt")
			text, err := os.ReadFile(file)
			if !*rewrite.Flag {
				require.NoError(t, err)
				assert.Equal(t, string(text), strings.Join(lines, "\n")+"\n", "record it: go test . -run TheAPI -update")
				return
			}
			for _, old := range unnamed(strings.Split(strings.TrimSpace(string(text)), "\n"), lines, unreleased) {
				t.Errorf("%s: CHANGELOG.md does not say under Unreleased what happens to callers of: %s", pkg, old)
			}
			if !t.Failed() {
				require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
				require.NoError(t, os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o644))
			}
		})
	}
}

// unnamed returns the lines of old that are not in lines and whose names are not in the log.
func unnamed(old, lines []string, log string) []string {
	var out []string
	for _, l := range old {
		if l == "" || slices.Contains(lines, l) {
			continue
		}
		if !strings.Contains(log, "`"+nameOf(l)+"`") {
			out = append(out, l)
		}
	}
	return out
}

var declared = regexp.MustCompile(`^(?:const|var|type|field|method|func(?: \([^)]*?\*?(\w+)(?:\[[^\]]*\])?\))?) ([\w.]+)`)

// nameOf returns the name that a recorded line declares: Insn, Insn.Off for fields and methods.
func nameOf(line string) string {
	m := declared.FindStringSubmatch(line)
	if m == nil {
		return line
	}
	if m[1] != "" {
		return m[1] + "." + m[2]
	}
	return m[2]
}

func TestDroppedDeclarationsNeedALineOfTheChangelog(t *testing.T) {
	old := []string{"func (s *Spec) Find(name string) (Type, error)", "field Insn.Off int16", "func Parse(data []byte) (*Spec, error)", "type Kind uint8"}
	assert.Equal(t, old, unnamed(old, nil, ""))
	assert.Empty(t, unnamed(old, old, ""))
	assert.Equal(t, old[:1], unnamed(old, old[1:], "`Find` is gone"))
	assert.Empty(t, unnamed(old, nil, "`Spec.Find`, `Insn.Off`, `Parse` and `Kind`"))
	assert.Equal(t, old[2:3], unnamed(old, []string{old[0], old[1], "func Parse(r io.Reader) (*Spec, error)", old[3]}, ""), "another signature is a change")
}

// declarations lists what a package exports, sorted: functions and methods with their signatures,
// types, their exported fields and methods, constants and variables.
func declarations(t *testing.T, pkg string) []string {
	entries, err := os.ReadDir(pkg)
	require.NoError(t, err)
	set := token.NewFileSet()
	var lines []string
	add := func(words string, node any) {
		var b bytes.Buffer
		if node != nil {
			require.NoError(t, (&printer.Config{Mode: printer.RawFormat}).Fprint(&b, set, node))
		}
		lines = append(lines, strings.TrimSpace(strings.Join(strings.Fields(words+b.String()), " ")))
	}
	for _, e := range entries {
		match, err := build.Default.MatchFile(pkg, e.Name())
		if err != nil || !match || !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(set, filepath.Join(pkg, e.Name()), nil, 0)
		require.NoError(t, err)
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && (d.Recv == nil || exportedReceiver(d.Recv)) {
					add("", &ast.FuncDecl{Recv: d.Recv, Name: d.Name, Type: d.Type})
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.ValueSpec:
						for _, n := range s.Names {
							if n.IsExported() {
								addValue(add, d.Tok.String()+" "+n.Name, s)
							}
						}
					case *ast.TypeSpec:
						if s.Name.IsExported() {
							addType(add, s)
						}
					}
				}
			}
		}
	}
	slices.Sort(lines)
	return lines
}

func addValue(add func(string, any), words string, s *ast.ValueSpec) {
	if s.Type == nil {
		add(words, nil)
		return
	}
	add(words+" ", s.Type)
}

func addType(add func(string, any), s *ast.TypeSpec) {
	name := s.Name.Name
	words := "type " + name + " "
	if s.Assign.IsValid() {
		words += "= "
	}
	switch typ := s.Type.(type) {
	case *ast.StructType:
		add(words+"struct", nil)
		for _, f := range typ.Fields.List {
			for _, n := range f.Names {
				if n.IsExported() {
					add("field "+name+"."+n.Name+" ", f.Type)
				}
			}
			if f.Names == nil {
				add("field "+name+" embeds ", f.Type)
			}
		}
	case *ast.InterfaceType:
		add(words+"interface", nil)
		for _, f := range typ.Methods.List {
			for _, n := range f.Names {
				add("method "+name+"."+n.Name+" ", f.Type)
			}
			if f.Names == nil {
				add("method "+name+" embeds ", f.Type)
			}
		}
	default:
		add(words, s.Type)
	}
}

// exportedReceiver reports whether a method belongs to an exported type.
func exportedReceiver(recv *ast.FieldList) bool {
	typ := recv.List[0].Type
	if p, ok := typ.(*ast.StarExpr); ok {
		typ = p.X
	}
	switch g := typ.(type) {
	case *ast.IndexExpr:
		typ = g.X
	case *ast.IndexListExpr:
		typ = g.X
	}
	id, ok := typ.(*ast.Ident)
	return ok && id.IsExported()
}
