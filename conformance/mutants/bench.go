package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bpfrun/bpfrun/internal/testing/mutate"
)

// timeLimit ends tests that a mutation causes to loop forever. startLimit applies to the single
// test that runs first.
const (
	timeLimit  = 4 * time.Minute
	startLimit = time.Minute
)

// bench builds and runs the tests of packages with mutations.
type bench struct {
	root, dir string
	overlay   string
	apart     map[int]bool // mutations that are not in overlay
	binaries  map[string]string
	reached   map[string]map[int]bool // by package: mutations in code that its tests execute
	took      map[string]time.Duration
}

func newBench(root, dir string) (*bench, error) {
	b := &bench{root: root, dir: dir, apart: map[int]bool{}, binaries: map[string]string{}, reached: map[string]map[int]bool{}, took: map[string]time.Duration{}}
	overlay, left, err := mutate.Together(root, dir, faults)
	if err != nil {
		return nil, err
	}
	b.overlay = overlay
	for _, i := range left {
		b.apart[i] = true
	}
	return b, nil
}

// judge returns the test that detects mutation i. It first tries the test that detected the
// mutation before.
func (b *bench) judge(i int, before notice) (notice, error) {
	if b.apart[i] {
		return b.judgeApart(i, before)
	}
	env := mutate.EnvFault + "=" + strconv.Itoa(i+1)
	own := path.Dir(faults[i].File)
	if before.Package != "" && !before.missed() {
		if bin, err := b.binary(before.Package); err != nil {
			return notice{}, err
		} else if by, err := b.test(before.Package, bin, startLimit, env, "-test.run=^"+before.Test+"$"); by != "" || err != nil {
			return notice{before.Package, before.Test}, err
		}
	}
	if by, err := b.testAll([]string{own}, i, env); by.Package != nobody || err != nil {
		return by, err
	}
	for _, pkg := range judges {
		if err := b.survey(pkg); err != nil {
			return notice{}, err
		}
	}
	rest := slices.DeleteFunc(slices.Clone(judges), func(pkg string) bool { return pkg == own })
	slices.SortStableFunc(rest, func(x, y string) int { return int(b.took[x] - b.took[y]) })
	return b.testAll(rest, i, env)
}

// testAll runs the tests of the packages that execute the mutated code, until one detects the
// mutation.
func (b *bench) testAll(packages []string, i int, env string) (notice, error) {
	for _, pkg := range packages {
		if err := b.survey(pkg); err != nil {
			return notice{}, err
		}
		if !b.reached[pkg][i+1] {
			continue
		}
		if by, err := b.test(pkg, b.binaries[pkg], timeLimit, env); by != "" || err != nil {
			return notice{pkg, by}, err
		}
	}
	return notice{nobody, nobody}, nil
}

// judgeApart is like judge, for a mutation that needs a separate build.
func (b *bench) judgeApart(i int, before notice) (notice, error) {
	overlay, err := faults[i].Overlay(b.root, b.dir)
	if err != nil {
		return notice{}, err
	}
	packages := append([]string{path.Dir(faults[i].File)}, "machine", "scenario", "conformance", "jit")
	if before.Package != "" && !before.missed() {
		packages = append([]string{before.Package}, packages...)
	}
	bin := filepath.Join(b.dir, "apart.test")
	for _, pkg := range packages {
		if err := b.build(pkg, overlay, bin); err != nil {
			return notice{}, err
		}
		if by, err := b.test(pkg, bin, timeLimit, ""); by != "" || err != nil {
			return notice{pkg, by}, err
		}
	}
	return notice{nobody, nobody}, nil
}

// survey runs a package's tests with all mutations disabled, to find out which mutated code they
// execute.
func (b *bench) survey(pkg string) error {
	if b.reached[pkg] != nil {
		return nil
	}
	bin, err := b.binary(pkg)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(b.dir, "reached")
	if err != nil {
		return err
	}
	start := time.Now()
	if by, err := b.test(pkg, bin, 2*timeLimit, mutate.EnvReached+"="+dir); err != nil {
		return err
	} else if by != "" {
		return fmt.Errorf("%s: %s fails without any error", pkg, by)
	}
	b.took[pkg] = time.Since(start)
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	b.reached[pkg] = map[int]bool{}
	for _, f := range files {
		if n, err := strconv.Atoi(f.Name()); err == nil {
			b.reached[pkg][n] = true
		}
	}
	fmt.Printf("%s: %v, %d errors can be seen\n", pkg, b.took[pkg].Round(time.Second/10), len(files))
	return nil
}

// binary returns the path of a package's test binary with all mutations compiled in.
func (b *bench) binary(pkg string) (string, error) {
	if bin := b.binaries[pkg]; bin != "" {
		return bin, nil
	}
	bin := filepath.Join(b.dir, strings.ReplaceAll(pkg, "/", "_")+".test")
	if err := b.build(pkg, b.overlay, bin); err != nil {
		return "", err
	}
	b.binaries[pkg] = bin
	return bin, nil
}

func (b *bench) build(pkg, overlay, bin string) error {
	// Omit symbols; line numbers in traces stay the same as with go test.
	cmd := exec.Command("go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay, "-o", bin, "./"+pkg)
	cmd.Dir = b.root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("it does not compile: %w\n%s", err, out)
	}
	return nil
}

var failed = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)

// test runs a test binary in the directory of its package. It returns the name of the test that
// failed, or "" if none did.
func (b *bench) test(pkg, bin string, limit time.Duration, env string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, append([]string{"-test.short", "-test.failfast", "-test.count=1"}, args...)...)
	cmd.Dir = filepath.Join(b.root, filepath.FromSlash(pkg))
	cmd.Env = append(os.Environ(), env)
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "", nil
	case ctx.Err() != nil:
		return "(no end)", nil
	case !errors.As(err, &exit):
		return "", err
	}
	if m := failed.FindSubmatch(out.Bytes()); m != nil {
		return string(m[1]), nil
	}
	return "(crash)", nil
}
