// Suite prints the packages whose tests CI runs in a special way, one a line:
//
//	go run ./scripts/suite race     packages in which goroutines run at the same time
//	go run ./scripts/suite race-run a regular expression of tests, then packages in which only these
//	                                tests start goroutines
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
		return errors.New("usage: suite race|race-run|arch|fuzz")
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
		print(concurrent(all, root))
	case "race-run":
		tests, packages := concurrentTests(all, root)
		fmt.Println("^(" + strings.Join(tests, "|") + ")$")
		print(packages)
	case "arch":
		print(processor(all, root))
	case "fuzz":
		for _, p := range all {
			if len(p.facts.fuzz) > 0 {
				fmt.Println(p.ImportPath, p.Dir, strings.Join(p.facts.fuzz, " "))
			}
		}
	default:
		return fmt.Errorf("no suite %q: want race, race-run, arch or fuzz", args[0])
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
	goroutines bool     // the code starts some
	tests      []string // tests in files that start some
	processor  bool     // the code has files for one processor, or asks which one it is
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
	var tests []string
	if test {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			switch {
			case !ok || fn.Recv != nil:
			case strings.HasPrefix(fn.Name.Name, "Fuzz"):
				facts.fuzz = append(facts.fuzz, fn.Name.Name)
			case strings.HasPrefix(fn.Name.Name, "Test"):
				tests = append(tests, fn.Name.Name)
			}
		}
	}
	started := false
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			started = true
		case *ast.SelectorExpr:
			x, _ := n.X.(*ast.Ident)
			switch {
			// The methods of a sync.WaitGroup, a testing.T and a testing.B.
			case n.Sel.Name == "Go", n.Sel.Name == "Parallel", n.Sel.Name == "RunParallel", x != nil && x.Name == "time" && n.Sel.Name == "AfterFunc":
				started = true
			case !test && x != nil && (x.Name == "runtime" && n.Sel.Name == "GOARCH" || x.Name == "binary" && n.Sel.Name == "NativeEndian"):
				facts.processor = true
			}
		}
		return true
	})
	switch {
	case started && test:
		facts.tests = append(facts.tests, tests...)
	case started:
		facts.goroutines = true
	}
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

// concurrent returns the packages whose code starts goroutines, or that import one whose code does:
// where one goroutine runs, the race detector finds nothing.
func concurrent(all []*pkg, module string) []string {
	starts := starting(all, module)
	return choose(all, func(p *pkg) bool { return p.runs(starts) })
}

// concurrentTests returns the packages of which only tests start goroutines, and the tests in the
// files that do.
func concurrentTests(all []*pkg, module string) (tests, packages []string) {
	starts := starting(all, module)
	packages = choose(all, func(p *pkg) bool {
		if len(p.facts.tests) == 0 || p.runs(starts) {
			return false
		}
		tests = append(tests, p.facts.tests...)
		return true
	})
	slices.Sort(tests)
	return slices.Compact(tests), packages
}

// starting are the packages whose code starts goroutines, but for what only tests use.
func starting(all []*pkg, module string) map[string]bool {
	starts := map[string]bool{}
	for _, p := range all {
		starts[p.ImportPath] = p.facts.goroutines && !strings.HasPrefix(p.ImportPath, module+"/internal/testing/")
	}
	return starts
}

// runs reports whether the package's code, or code that it uses itself, starts goroutines.
func (p *pkg) runs(starts map[string]bool) bool {
	return p.facts.goroutines || slices.ContainsFunc(slices.Concat(p.Imports, p.TestImports, p.XTestImports), func(i string) bool { return starts[i] })
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
