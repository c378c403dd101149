// Typecheck checks the types of this module, tests included, for other systems and processors:
//
//	go run ./scripts/typecheck windows/amd64 linux/386
//
// It finds what go vet finds when a name, a field or a constant does not exist or does not fit
// there, without compiling the standard library and all dependencies for each target.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	failed := len(os.Args) < 2
	if failed {
		fmt.Fprintln(os.Stderr, "usage: typecheck GOOS/GOARCH...")
	}
	for _, target := range os.Args[1:] {
		errs, err := check(target, "./...")
		if err != nil {
			errs = append(errs, err)
		}
		for _, err := range errs {
			fmt.Fprintf(os.Stderr, "%s: %v\n", target, err)
		}
		failed = failed || len(errs) > 0
	}
	if failed {
		os.Exit(1)
	}
}

// pkg is a package, or a package with its tests, as `go list -deps -test` prints them: dependencies
// first.
type pkg struct {
	ImportPath, Dir, Name string
	GoFiles, CgoFiles     []string
	ImportMap             map[string]string
	Module                *struct{ Main bool }
	Error                 *struct{ Err string }
}

// own reports whether a package is of the module under test, whose function bodies are checked.
func (p *pkg) own() bool { return p.Module != nil && p.Module.Main }

// check returns the type errors of the packages that match a pattern on a target.
func check(target, pattern string) ([]error, error) {
	goos, goarch, ok := strings.Cut(target, "/")
	if !ok {
		return nil, fmt.Errorf("%q: want GOOS/GOARCH", target)
	}
	cmd := exec.Command("go", "list", "-pgo=off", "-deps", "-test", "-json=ImportPath,Dir,Name,GoFiles,CgoFiles,ImportMap,Module,Error", pattern)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	sizes := types.SizesFor("gc", goarch)
	if sizes == nil {
		return nil, fmt.Errorf("no processor %q", goarch)
	}
	c := &checker{fset: token.NewFileSet(), sizes: sizes, done: map[string]*types.Package{"unsafe": types.Unsafe}}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		p := new(pkg)
		if err := d.Decode(p); errors.Is(err, io.EOF) {
			return c.errs, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		if p.Error != nil {
			return nil, errors.New(p.Error.Err)
		}
		if p.ImportPath != "unsafe" && !strings.HasSuffix(p.ImportPath, ".test") { // its main function is generated
			if err := c.add(p); err != nil {
				return nil, err
			}
		}
	}
}

type checker struct {
	fset  *token.FileSet
	sizes types.Sizes
	done  map[string]*types.Package
	errs  []error
}

// add checks a package whose dependencies are checked.
func (c *checker) add(p *pkg) error {
	var files []*ast.File
	for _, name := range p.GoFiles {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(p.Dir, name)
		}
		f, err := parser.ParseFile(c.fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	cfg := types.Config{
		Sizes: c.sizes, IgnoreFuncBodies: !p.own(), FakeImportC: true,
		Importer: importer(func(path string) (*types.Package, error) {
			if mapped, ok := p.ImportMap[path]; ok {
				path = mapped
			}
			if done := c.done[path]; done != nil {
				return done, nil
			}
			return nil, fmt.Errorf("no package %s", path)
		}),
		Error: func(err error) {
			if p.own() {
				c.errs = append(c.errs, err)
			}
		},
	}
	path, _, _ := strings.Cut(p.ImportPath, " ") // "a [a.test]" is a with its tests
	done, _ := cfg.Check(path, c.fset, files, nil)
	c.done[p.ImportPath] = done
	return nil
}

type importer func(path string) (*types.Package, error)

func (i importer) Import(path string) (*types.Package, error) { return i(path) }
