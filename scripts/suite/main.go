// Suite prints the packages whose tests CI runs in a special way, one a line:
//
//	go run ./scripts/suite race     packages in which goroutines run at the same time
//	go run ./scripts/suite arch     packages whose results may depend on the processor
//	go run ./scripts/suite fuzz     packages with fuzz targets: package, folder, names of the targets
//
// The rules read the sources, so that no list has to be kept: a package that starts its first
// goroutine, or gets its first file for one processor, is in its suite from then on.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "suite:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return errors.New("usage: suite race|arch|fuzz")
	}
	all, err := list()
	if err != nil {
		return err
	}
	module, err := exec.Command("go", "list", "-m").Output()
	if err != nil {
		return fmt.Errorf("go list -m: %w", err)
	}
	switch root := strings.TrimSpace(string(module)); args[0] {
	case "race":
		print(concurrent(all))
	case "arch":
		print(processor(all, root))
	case "fuzz":
		for _, p := range all {
			if len(p.facts.fuzz) > 0 {
				fmt.Println(p.ImportPath, p.Dir, strings.Join(p.facts.fuzz, " "))
			}
		}
	default:
		return fmt.Errorf("no suite %q: want race, arch or fuzz", args[0])
	}
	return nil
}

func print(packages []string) {
	for _, p := range packages {
		fmt.Println(p)
	}
}

// pkg is a package as `go list` prints it, with what its sources say.
type pkg struct {
	ImportPath, Dir                    string
	GoFiles, IgnoredGoFiles, SFiles    []string
	TestGoFiles, XTestGoFiles, Imports []string
	TestImports, XTestImports          []string

	facts facts
}

// tested reports whether the package has tests.
func (p *pkg) tested() bool { return len(p.TestGoFiles)+len(p.XTestGoFiles) > 0 }

// facts are what the rules ask of a package's sources.
type facts struct {
	goroutines bool // the code starts some
	tests      bool // the tests start some
	processor  bool // the code has files for one processor, or asks which one it is
	fuzz       []string
}

func list() ([]*pkg, error) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,GoFiles,IgnoredGoFiles,SFiles,TestGoFiles,XTestGoFiles,Imports,TestImports,XTestImports", "./...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var all []*pkg
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		p := new(pkg)
		if err := d.Decode(p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		if err := p.read(); err != nil {
			return nil, err
		}
		all = append(all, p)
	}
}

func (p *pkg) read() error {
	p.facts.processor = len(p.SFiles) > 0
	for _, name := range slices.Concat(p.GoFiles, p.IgnoredGoFiles, p.TestGoFiles, p.XTestGoFiles) {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		p.facts.add(name, f)
	}
	return nil
}

func (facts *facts) add(name string, f *ast.File) {
	test := strings.HasSuffix(name, "_test.go")
	facts.processor = facts.processor || !test && ofOneProcessor(name, f)
	if test {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Fuzz") {
				facts.fuzz = append(facts.fuzz, fn.Name.Name)
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			facts.starts(test)
		case *ast.SelectorExpr:
			x, _ := n.X.(*ast.Ident)
			switch {
			// The methods of a sync.WaitGroup, a testing.T and a testing.B.
			case n.Sel.Name == "Go", n.Sel.Name == "Parallel", n.Sel.Name == "RunParallel", x != nil && x.Name == "time" && n.Sel.Name == "AfterFunc":
				facts.starts(test)
			case !test && x != nil && (x.Name == "runtime" && n.Sel.Name == "GOARCH" || x.Name == "binary" && n.Sel.Name == "NativeEndian"):
				facts.processor = true
			}
		}
		return true
	})
}

func (facts *facts) starts(test bool) {
	facts.goroutines = facts.goroutines || !test
	facts.tests = facts.tests || test
}

var processors = []string{"amd64", "arm64"}

// ofOneProcessor reports whether a file's name or its build constraint names a processor.
func ofOneProcessor(name string, f *ast.File) bool {
	for _, a := range processors {
		if strings.HasSuffix(strings.TrimSuffix(name, ".go"), "_"+a) {
			return true
		}
	}
	for _, group := range f.Comments {
		for _, c := range group.List {
			if c.Pos() < f.Package && strings.HasPrefix(c.Text, "//go:build ") && slices.ContainsFunc(processors, func(a string) bool { return strings.Contains(c.Text, a) }) {
				return true
			}
		}
	}
	return false
}

// concurrent returns the packages that start goroutines, in code or in tests, or import one whose
// code does: where one goroutine runs, the race detector finds nothing.
func concurrent(all []*pkg) []string {
	starts := map[string]bool{}
	for _, p := range all {
		starts[p.ImportPath] = p.facts.goroutines
	}
	return choose(all, func(p *pkg) bool {
		return p.facts.goroutines || p.facts.tests || slices.ContainsFunc(slices.Concat(p.Imports, p.TestImports, p.XTestImports), func(i string) bool { return starts[i] })
	})
}

// generated are packages without code for one processor whose results still rest on how the
// compiler translates arithmetic, memory accesses and tables for it: what executes and decodes
// instructions.
var generated = []string{"decode", "vm", "vm/gen", "mem", "internal/endian", "conformance/isa"}

// processor returns the packages with tests that have code for one processor, those that execute
// instructions, and the direct users of native code. Commands are left out: their tests start
// processes, which take minutes under emulation.
func processor(all []*pkg, module string) []string {
	return choose(all, func(p *pkg) bool {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		return !strings.HasPrefix(name, "cmd/") &&
			(p.facts.processor || slices.Contains(generated, name) || slices.Contains(p.Imports, module+"/jit"))
	})
}

func choose(all []*pkg, in func(*pkg) bool) []string {
	var names []string
	for _, p := range all {
		if p.tested() && in(p) {
			names = append(names, p.ImportPath)
		}
	}
	return names
}
