package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/internal/testing/mutate"
)

// pkg is what go list says about a package.
type pkg struct {
	Dir                                string
	GoFiles, TestGoFiles, XTestGoFiles []string

	rel string // directory relative to the module's root
}

func packages(root string) ([]pkg, error) {
	cmd := exec.Command("go", "list", "-json=Dir,GoFiles,TestGoFiles,XTestGoFiles", "./...")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var all []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		rel, err := filepath.Rel(root, p.Dir)
		if err != nil {
			return nil, err
		}
		p.rel = filepath.ToSlash(rel)
		all = append(all, p)
	}
}

// isProduct reports whether a package is part of what users run. Tests of tools that measure the
// product say nothing about it, and the generators' results are committed.
func isProduct(rel string) bool {
	for _, not := range []string{"scripts", "examples", "internal/testing", "internal/bench", "conformance", "testdata", "internal/uapi/gen", "vm/gen"} {
		if rel == not || strings.HasPrefix(rel, not+"/") {
			return false
		}
	}
	return true
}

var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// beginsWith reports whether a name begins with one of the prefixes, which commas separate.
func beginsWith(name, prefixes string) bool {
	return slices.ContainsFunc(strings.Split(prefixes, ","), func(p string) bool { return strings.HasPrefix(name, p) })
}

// mutants generates the mutants of all packages that begin with one of the prefixes.
func mutants(root string, all []pkg, prefix string) ([]mutate.Border, error) {
	var found []mutate.Border
	for _, p := range all {
		if !isProduct(p.rel) || !beginsWith(p.rel, prefix) {
			continue
		}
		for _, name := range p.GoFiles {
			src, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				return nil, err
			}
			if generated.Match(src) {
				continue
			}
			in, err := mutate.Borders(path.Join(p.rel, name), string(src))
			if err != nil {
				return nil, err
			}
			found = append(found, in...)
		}
	}
	return found, nil
}

// changed returns the packages of mutants that are not left out. What imports them is not affected,
// as no mutant changes a declaration.
func changed(sample []mutate.Border, left map[int]bool) []string {
	var all []string
	for i := range sample {
		if !left[i] {
			all = append(all, "./"+path.Dir(sample[i].File))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

var compileError = regexp.MustCompile(`(?m)^(?:\./)?(\S+\.go):(\d+)`)

// compiling writes the overlay for a sample without the mutants that do not compile, whose indexes
// it adds to left. (A comparison with a type of its own is one.)
func compiling(root, dir string, sample []mutate.Border, left map[int]bool) (overlay string, err error) {
	for range 8 {
		overlay, err = mutate.Inline(root, dir, sample, func(i int) bool { return !left[i] })
		if err != nil {
			return "", err
		}
		cmd := exec.Command("go", append([]string{"build", "-overlay", overlay}, changed(sample, left)...)...)
		cmd.Dir = root
		out, err := cmd.CombinedOutput()
		if err == nil {
			return overlay, nil
		}
		dropped := false
		for _, m := range compileError.FindAllSubmatch(out, -1) {
			line, _ := strconv.Atoi(string(m[2]))
			for i := range sample {
				if !left[i] && strings.HasSuffix(strings.ReplaceAll(filepath.ToSlash(string(m[1])), "__", "/"), sample[i].File) && sample[i].Line == line {
					left[i], dropped = true, true
				}
			}
		}
		if !dropped {
			return "", fmt.Errorf("the sample does not compile: %w\n%s", err, out)
		}
	}
	return "", errors.New("the sample does not compile")
}
