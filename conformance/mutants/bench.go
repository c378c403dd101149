package main

import (
	"path"
	"path/filepath"
	"slices"
	"strconv"
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
	mutate.Bench
	apart map[int]bool // mutations that are not in its overlay
}

func newBench(root, dir string) (*bench, error) {
	overlay, left, err := mutate.Together(root, dir, faults)
	if err != nil {
		return nil, err
	}
	b := &bench{Bench: mutate.Bench{Root: root, Dir: dir, Overlay: overlay}, apart: map[int]bool{}}
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
		bin, _, _, err := b.survey(before.Package)
		if err != nil {
			return notice{}, err
		}
		if by, err := b.Test(before.Package, bin, startLimit, env, "-test.run=^"+before.Test+"$"); by != "" || err != nil {
			return notice{before.Package, before.Test}, err
		}
	}
	by, err := b.testAll([]string{own}, i, env)
	if by.Package != nobody || err != nil {
		return by, err
	}
	took := map[string]time.Duration{}
	for _, pkg := range judges {
		if _, _, took[pkg], err = b.survey(pkg); err != nil {
			return notice{}, err
		}
	}
	rest := slices.DeleteFunc(slices.Clone(judges), func(pkg string) bool { return pkg == own })
	slices.SortStableFunc(rest, func(x, y string) int { return int(took[x] - took[y]) })
	return b.testAll(rest, i, env)
}

// testAll runs the tests of the packages that execute the mutated code, until one detects the
// mutation.
func (b *bench) testAll(packages []string, i int, env string) (notice, error) {
	for _, pkg := range packages {
		bin, reached, _, err := b.survey(pkg)
		if err != nil {
			return notice{}, err
		}
		if !reached[i+1] {
			continue
		}
		if by, err := b.Test(pkg, bin, timeLimit, env); by != "" || err != nil {
			return notice{pkg, by}, err
		}
	}
	return notice{nobody, nobody}, nil
}

// judgeApart is like judge, for a mutation that needs a separate build.
func (b *bench) judgeApart(i int, before notice) (notice, error) {
	overlay, err := faults[i].Overlay(b.Root, b.Dir)
	if err != nil {
		return notice{}, err
	}
	packages := append([]string{path.Dir(faults[i].File)}, "internal/machine", "internal/scenario", "conformance", "jit")
	if before.Package != "" && !before.missed() {
		packages = append([]string{before.Package}, packages...)
	}
	bin := filepath.Join(b.Dir, "apart.test")
	for _, pkg := range packages {
		if err := b.Build(pkg, overlay, bin); err != nil {
			return notice{}, err
		}
		if by, err := b.Test(pkg, bin, timeLimit, ""); by != "" || err != nil {
			return notice{pkg, by}, err
		}
	}
	return notice{nobody, nobody}, nil
}

// survey is [mutate.Bench.Survey] within the usual limit.
func (b *bench) survey(pkg string) (bin string, reached map[int]bool, took time.Duration, err error) {
	return b.Survey(pkg, 2*timeLimit)
}
