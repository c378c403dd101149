package mutate

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Class says what a border mutant does to a rule.
type Class string

// The classes of border mutants.
const (
	Compare Class = "comparison" // < becomes <=, > becomes >=, and the other way round
	Drop    Class = "operand"    // an operand of && or || does not count
	Skip    Class = "condition"  // the body of an if is never executed
	Errno   Class = "errno"      // another error number
	Release Class = "release"    // a rule of a release begins one release late or early
)

// Border is a mutant generated from source code: a small change at the edge of a rule.
type Border struct {
	Class    Class
	File     string // relative to the module's root, with slashes
	Line     int
	Func     string
	Old, New string // what people see

	from, to int
	text     string // replaces the bytes from from up to to; %[1]d is the mutant's number
}

func (m *Border) String() string {
	return fmt.Sprintf("%s:%d %s: %s: %s -> %s", m.File, m.Line, m.Func, m.Class, m.Old, m.New)
}

// Borders returns the mutants of a Go file, in the order of their places. What is left alone:
//   - Conditions of loops: a loop that runs once more fails in most tests, which says little about them.
//   - "err != nil", and what passes another error on: it is no rule. Where the error is made is one.
//   - Conditions under which a function panics: no input fulfills them.
//   - A comparison after which one operand is assigned to the other: when they are equal, that
//     changes nothing.
func Borders(file, src string) ([]Border, error) {
	tokens := token.NewFileSet()
	parsed, err := parser.ParseFile(tokens, file, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	w := &borders{tokens: tokens, src: src, file: file}
	for _, d := range parsed.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Body != nil {
				w.fn = d.Name.Name
				ast.Inspect(d.Body, w.visit)
			}
		case *ast.GenDecl:
			if d.Tok == token.VAR {
				w.fn = "-"
				ast.Inspect(d, w.visitRow)
			}
		}
	}
	slices.SortStableFunc(w.all, func(a, b Border) int { return a.from - b.from })
	return w.all, nil
}

type borders struct {
	tokens    *token.FileSet
	src, file string
	fn        string
	all       []Border
	equal     *ast.BinaryExpr // a comparison that need not decide between equal operands
}

func (w *borders) offset(p token.Pos) int { return w.tokens.Position(p).Offset }

func (w *borders) of(n ast.Node) string { return w.src[w.offset(n.Pos()):w.offset(n.End())] }

// add appends a mutant that replaces a node. shown is what New shows.
func (w *borders) add(c Class, n ast.Node, shown, text string) {
	at := w.tokens.Position(n.Pos())
	w.all = append(w.all, Border{Class: c, File: w.file, Line: at.Line, Func: w.fn, Old: oneLine(w.of(n)), New: oneLine(shown),
		from: at.Offset, to: w.offset(n.End()), text: text})
}

// oneLine makes code fit a line of a report.
func oneLine(code string) string {
	code = strings.Join(strings.Fields(code), " ")
	if len(code) > 90 {
		code = code[:87] + "..."
	}
	return code
}

// quoted makes text that has no formatting directives.
func quoted(code string) string { return strings.ReplaceAll(code, "%", "%%") }

var shifted = map[token.Token]token.Token{token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR}

func (w *borders) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ForStmt:
		for _, part := range []ast.Node{n.Init, n.Post, n.Body} {
			if part != nil {
				ast.Inspect(part, w.visit)
			}
		}
		return false
	case *ast.GenDecl:
		return n.Tok != token.CONST
	case *ast.IfStmt:
		cond := quoted(w.of(n.Cond))
		switch {
		case cond == "err != nil", passesOn(n):
			return true
		case panics(n.Body):
			return false
		}
		if c, ok := n.Cond.(*ast.BinaryExpr); ok && w.assigns(n, c) {
			w.equal = c
		}
		w.add(Skip, n.Cond, "false", "("+cond+") && !faultOn(%[1]d)")
	case *ast.BinaryExpr:
		w.binary(n)
	case *ast.SelectorExpr:
		if x, ok := n.X.(*ast.Ident); ok && x.Name == "uapi" && errnoName.MatchString(n.Sel.Name) {
			other := "uapi.EINVAL"
			if n.Sel.Name == "EINVAL" {
				other = "uapi.EPERM"
			}
			w.add(Errno, n, other, "faultPick(%[1]d, "+w.of(n)+", "+other+")")
		}
	}
	return true
}

// passesOn reports whether a statement only returns an error number or a fault that is there.
func passesOn(n *ast.IfStmt) bool {
	c, ok := n.Cond.(*ast.BinaryExpr)
	if !ok || c.Op != token.NEQ || n.Else != nil || len(n.Body.List) != 1 {
		return false
	}
	name, none := identOf(c.X), "nil"
	if lit, ok := c.Y.(*ast.BasicLit); ok {
		none = lit.Value
	} else if identOf(c.Y) != "nil" {
		return false
	}
	back, ok := n.Body.List[0].(*ast.ReturnStmt)
	return ok && (none == "nil" || none == "0") && slices.Contains([]string{"err", "errno", "e", "f", "fault"}, name) &&
		slices.ContainsFunc(back.Results, func(r ast.Expr) bool { return identOf(r) == name })
}

// identOf returns the name that an expression is, or "".
func identOf(x ast.Expr) string {
	if id, ok := x.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// panics reports whether a block does nothing but panic.
func panics(b *ast.BlockStmt) bool {
	if len(b.List) != 1 {
		return false
	}
	x, ok := b.List[0].(*ast.ExprStmt)
	if !ok {
		return false
	}
	call, ok := x.X.(*ast.CallExpr)
	return ok && identOf(call.Fun) == "panic"
}

// assigns reports whether a statement only assigns one operand of its condition to the other.
func (w *borders) assigns(n *ast.IfStmt, c *ast.BinaryExpr) bool {
	if len(n.Body.List) != 1 || n.Else != nil {
		return false
	}
	a, ok := n.Body.List[0].(*ast.AssignStmt)
	if !ok || a.Tok != token.ASSIGN || len(a.Lhs) != 1 || len(a.Rhs) != 1 {
		return false
	}
	to, from, x, y := w.of(a.Lhs[0]), w.of(a.Rhs[0]), w.of(c.X), w.of(c.Y)
	return to == x && from == y || to == y && from == x
}

var errnoName = regexp.MustCompile(`^E[A-Z0-9]{2,}$`)

func (w *borders) binary(n *ast.BinaryExpr) {
	x, y := quoted(w.of(n.X)), quoted(w.of(n.Y))
	if to, ok := shifted[n.Op]; ok && n != w.equal {
		call, equal := "faultBelow", n.Op == token.LEQ || n.Op == token.GEQ
		if n.Op == token.GTR || n.Op == token.GEQ {
			call = "faultAbove"
		}
		w.add(Compare, n, w.of(n.X)+" "+to.String()+" "+w.of(n.Y), fmt.Sprintf("%s(%%[1]d, %s, %s, %t)", call, x, y, equal))
	}
	var neutral string
	switch n.Op {
	case token.LAND:
		neutral = " || faultOn(%[1]d)"
	case token.LOR:
		neutral = " && !faultOn(%[1]d)"
	default:
		return
	}
	w.add(Drop, n.Y, "(dropped)", "(("+y+")"+neutral+")")
	// Of a chain, the left operand is the rest of it, whose operands have mutants of their own.
	if left, ok := n.X.(*ast.BinaryExpr); !ok || left.Op != n.Op {
		w.add(Drop, n.X, "(dropped)", "(("+x+")"+neutral+")")
	}
}

// visitRow finds releases in tables of rules.
func (w *borders) visitRow(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncLit:
		ast.Inspect(n.Body, w.visit)
		return false
	case *ast.Ident:
		i := slices.Index(releaseNames, n.Name)
		if i < 0 {
			break
		}
		for _, near := range []int{i - 1, i + 1} {
			if 0 <= near && near < len(releaseNames) {
				to := releaseNames[near]
				w.add(Release, n, to, "faultPick(%[1]d, "+n.Name+", "+to+")")
			}
		}
	}
	return true
}

// releaseNames lists the constants of internal/uapi/since that rows name, in order.
var releaseNames = strings.Fields(`v5_10 v5_11 v5_12 v5_13 v5_14 v5_15 v5_16 v5_17 v5_18 v5_19
	v6_0 v6_1 v6_2 v6_3 v6_4 v6_5 v6_6 v6_7 v6_8 v6_9 v6_10 v6_11 v6_12 v6_13 v6_14 v6_15 v6_16 v6_17 v6_18 v6_19
	v7_0 v7_1 v7_2`)

// Sample returns at most n mutants, chosen by a seed, no two of which overlap. Every mutant is as
// likely as any other.
func Sample(all []Border, n int, seed uint64) []Border {
	return apart(all, rand.New(rand.NewPCG(seed, 0)).Perm(len(all)), n)
}

// Apart returns the mutants with these indexes, without those that overlap with one before them.
func Apart(all []Border, indexes []int) []Border { return apart(all, indexes, len(indexes)) }

// apart returns the first n of the mutants with these indexes that do not overlap, in the order of
// their places.
func apart(all []Border, indexes []int, n int) []Border {
	type span struct{ from, to int }
	taken := map[string][]span{}
	var chosen []Border
	for _, i := range indexes {
		if len(chosen) == n {
			break
		}
		m := all[i]
		if slices.ContainsFunc(taken[m.File], func(s span) bool { return m.from < s.to && s.from < m.to }) {
			continue
		}
		taken[m.File] = append(taken[m.File], span{m.from, m.to})
		chosen = append(chosen, m)
	}
	slices.SortStableFunc(chosen, func(a, b Border) int {
		if c := strings.Compare(a.File, b.File); c != 0 {
			return c
		}
		return a.from - b.from
	})
	return chosen
}

// Inline writes sources that contain all mutants that keep accepts (all, if it is nil), of which
// the environment activates one, as with [Together]. Numbers count from 1, in the order of mutants.
// It returns the path of the JSON file for go build -overlay.
func Inline(root, dir string, mutants []Border, keep func(i int) bool) (overlay string, err error) {
	byFile := map[string][]int{}
	for i := range mutants {
		if keep == nil || keep(i) {
			byFile[mutants[i].File] = append(byFile[mutants[i].File], i)
		}
	}
	replace := map[string]string{}
	for file, in := range byFile {
		full := filepath.Join(root, filepath.FromSlash(file))
		src, err := os.ReadFile(full)
		if err != nil {
			return "", err
		}
		text, name := string(src), strings.ReplaceAll(file, "/", "__")
		slices.SortFunc(in, func(a, b int) int { return mutants[b].from - mutants[a].from })
		for _, i := range in {
			m := &mutants[i]
			text = text[:m.from] + fmt.Sprintf(m.text, i+1) + text[m.to:]
		}
		if replace[full], err = write(dir, name, text); err != nil {
			return "", err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), "", src, parser.PackageClauseOnly)
		if err != nil {
			return "", err
		}
		added := filepath.Join(root, filepath.FromSlash(path.Dir(file)), "faults_on.go")
		if replace[added], err = write(dir, strings.ReplaceAll(path.Dir(file), "/", "__")+"__faults_on.go",
			fmt.Sprintf(switchSource, parsed.Name.Name, EnvFault, EnvReached)); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		return "", err
	}
	return write(dir, "inline.json", string(text))
}

// write writes a file in dir and returns its path.
func write(dir, name, text string) (string, error) {
	file := filepath.Join(dir, name)
	return file, os.WriteFile(file, []byte(text), 0o644)
}
