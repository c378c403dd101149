package mutate

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Environment variables of test binaries built with Together.
const (
	// EnvFault is the number of the active fault, counted from 1; unset means none.
	EnvFault = "BPFRUN_FAULT"
	// EnvReached is a directory in which a run creates a file, named by number, for every fault
	// whose function it called.
	EnvReached = "BPFRUN_FAULTS_REACHED"
)

// Together writes sources that contain all faults, of which the environment activates one: each
// function with a fault gets a faulty copy, which it calls instead of running its own body. One
// build thus serves all faults. It returns the path of the JSON file for go build -overlay, and the
// indexes of faults left out because they are not inside a function.
func Together(root, dir string, faults []Fault) (overlay string, left []int, err error) {
	replace := map[string]string{}
	byFile := map[string][]int{}
	for i := range faults {
		byFile[faults[i].File] = append(byFile[faults[i].File], i)
	}
	files := make([]string, 0, len(byFile))
	for file := range byFile {
		files = append(files, file)
	}
	slices.Sort(files)
	for n, file := range files {
		src, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			return "", nil, err
		}
		text, pkg, out, err := together(string(src), faults, byFile[file])
		if err != nil {
			return "", nil, fmt.Errorf("%s: %w", file, err)
		}
		left = append(left, out...)
		changed := filepath.Join(dir, fmt.Sprintf("%d_%s", n, path.Base(file)))
		if err := os.WriteFile(changed, []byte(text), 0o644); err != nil {
			return "", nil, err
		}
		replace[filepath.Join(root, filepath.FromSlash(file))] = changed
		const added = "faults_on.go"
		switches := filepath.Join(dir, fmt.Sprintf("%d_%s", n, added))
		if err := os.WriteFile(switches, []byte(fmt.Sprintf(switchSource, pkg, EnvFault, EnvReached)), 0o644); err != nil {
			return "", nil, err
		}
		replace[filepath.Join(root, filepath.FromSlash(path.Dir(file)), added)] = switches
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		return "", nil, err
	}
	overlay = filepath.Join(dir, "together.json")
	slices.Sort(left)
	return overlay, left, os.WriteFile(overlay, text, 0o644)
}

// switchSource is added to packages with faults. The packages may have functions that are named as
// what it imports.
const switchSource = `package %s

import (
	faultCmp "cmp"
	faultOS "os"
	faultPath "path/filepath"
	faultConv "strconv"
	faultAtomic "sync/atomic"
)

var faultNumber, _ = faultConv.Atoi(faultOS.Getenv(%q))

var faultsReached = faultOS.Getenv(%q)

var faultsSeen [1 << 16]faultAtomic.Bool

func faultOn(n int) bool {
	if faultsReached != "" && !faultsSeen[n].Load() && !faultsSeen[n].Swap(true) {
		faultOS.WriteFile(faultPath.Join(faultsReached, faultConv.Itoa(n)), nil, 0o644)
	}
	return n == faultNumber
}

// A comparison's fault counts as reached only where it decides.
func faultBelow[T faultCmp.Ordered](n int, x, y T, equal bool) bool {
	if x == y {
		return equal != faultOn(n)
	}
	return x < y
}

func faultAbove[T faultCmp.Ordered](n int, x, y T, equal bool) bool {
	if x == y {
		return equal != faultOn(n)
	}
	return x > y
}

func faultPick[T any](n int, right, wrong T) T {
	if faultOn(n) {
		return wrong
	}
	return right
}
`

// edit replaces bytes of a text.
type edit struct {
	from, to int
	text     string
}

// together is Together for one file: the faults in it, by index.
func together(src string, faults []Fault, in []int) (text, pkg string, left []int, err error) {
	tokens := token.NewFileSet()
	file, err := parser.ParseFile(tokens, "", src, parser.SkipObjectResolution)
	if err != nil {
		return "", "", nil, err
	}
	var edits []edit
	var copies strings.Builder
	named := map[*ast.FuncDecl]bool{}
	for _, i := range in {
		changed, err := faults[i].Apply(src)
		if err != nil {
			return "", "", nil, err
		}
		at := 0
		for changed[at] == src[at] {
			at++
		}
		fn := enclosing(tokens, file, at)
		if fn == nil {
			left = append(left, i)
			continue
		}
		pos := func(p token.Pos) int { return tokens.Position(p).Offset }
		end := pos(fn.End()) + len(changed) - len(src)
		name := fmt.Sprintf("%s__fault%d", fn.Name.Name, i+1)
		if fn.Name.Name == "init" {
			name = fmt.Sprintf("init__fault%d", i+1)
		}
		copies.WriteString("\n" + changed[pos(fn.Pos()):pos(fn.Name.Pos())] + name + changed[pos(fn.Name.End()):end] + "\n")
		call, naming := forward(tokens, fn, name)
		if !named[fn] {
			named[fn] = true
			edits = append(edits, naming...)
		}
		at = pos(fn.Body.Lbrace) + 1
		edits = append(edits, edit{at, at, fmt.Sprintf(" if faultOn(%d) { %s }; ", i+1, call)})
	}
	slices.SortStableFunc(edits, func(a, b edit) int { return b.from - a.from })
	text = src
	for _, e := range edits {
		text = text[:e.from] + e.text + text[e.to:]
	}
	return text + copies.String(), file.Name.Name, left, nil
}

// enclosing returns the function whose body contains the byte at an offset, or nil.
func enclosing(tokens *token.FileSet, file *ast.File, off int) *ast.FuncDecl {
	for _, d := range file.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if ok && fn.Body != nil && tokens.Position(fn.Body.Lbrace).Offset < off && off < tokens.Position(fn.Body.Rbrace).Offset {
			return fn
		}
	}
	return nil
}

// forward returns the statement with which a function passes its arguments to another, and the
// edits that name unnamed ones.
func forward(tokens *token.FileSet, fn *ast.FuncDecl, to string) (call string, naming []edit) {
	unnamed := 0
	names := func(list *ast.FieldList) (all []string) {
		if list == nil {
			return nil
		}
		for _, f := range list.List {
			suffix := ""
			if _, ok := f.Type.(*ast.Ellipsis); ok {
				suffix = "..."
			}
			if len(f.Names) == 0 {
				unnamed++
				name := "argument" + strconv.Itoa(unnamed)
				at := tokens.Position(f.Type.Pos()).Offset
				naming = append(naming, edit{at, at, name + " "})
				all = append(all, name+suffix)
			}
			for _, id := range f.Names {
				name := id.Name
				if name == "_" {
					unnamed++
					name = "argument" + strconv.Itoa(unnamed)
					naming = append(naming, edit{tokens.Position(id.Pos()).Offset, tokens.Position(id.End()).Offset, name})
				}
				all = append(all, name+suffix)
			}
		}
		return all
	}
	if recv := names(fn.Recv); len(recv) > 0 {
		to = recv[0] + "." + to
	}
	call = to + "(" + strings.Join(names(fn.Type.Params), ", ") + ")"
	if fn.Type.Results.NumFields() > 0 {
		return "return " + call, naming
	}
	return call + "; return", naming
}
