// Command mutants measures whether the tests detect errors (mutation testing). It applies the
// mutations in faults.go to the loader, kernel, machine, maps, helpers, scenarios, memory and the
// JIT's planning, and those in reviewed.go to other packages, one by one. For each it runs the
// tests of the mutated package, then those of every package whose tests execute the mutated
// function, and reports the mutations that no test detected.
//
//	go run ./conformance/mutants [-only TEXT] [-resume] [-results FILE]
//
// Each test binary is built once with all mutations compiled in, and an environment variable
// enables one of them; mutations of package-level variables are built one by one. An initial run
// without mutations finds out which tests execute which mutated code. The results file names the
// test that detected each mutation. The next run tries that test first, so that it takes minutes
// instead of an hour. With -resume, mutations that already have a result are skipped, to continue
// an interrupted run.
//
// The command fails if more than one in ten mutations goes undetected. conformance/isa/mutants
// contains the mutations of the interpreter.
package main

import (
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/bpfrun/bpfrun/internal/testing/mutate"
)

// judges lists the packages whose tests may detect a mutation in another package.
var judges = []string{
	"internal/mem", "internal/maps", "loader", "internal/kernel/object", "internal/kernel/model", "internal/kernel/net",
	"internal/kernel/hook", "internal/kernel/window", "internal/kernel", "helpers/proto", "helpers", "internal/machine",
	"jit/plan", "jit", "internal/intest", "internal/app/matrix", "internal/scenario", "bpftest", "conformance",
}

func main() {
	only := flag.String("only", "", "only errors whose name contains this")
	resume := flag.Bool("resume", false, "leave errors alone that have a result")
	results := flag.String("results", filepath.FromSlash("conformance/mutants/results.txt"), "`file` with the test that noticed each error, from the module's root")
	flag.Parse()
	if err := run(*only, *results, *resume); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(only, results string, resume bool) error {
	root, err := mutate.Root()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := results
	if !filepath.IsAbs(file) {
		file = filepath.Join(root, results)
	}
	known, err := readResults(file)
	if err != nil {
		return err
	}
	b, err := newBench(root, dir)
	if err != nil {
		return err
	}
	for i := range faults {
		f := &faults[i]
		old := known[f.Name]
		if !strings.Contains(f.Name, only) || resume && old != (notice{}) {
			continue
		}
		by, err := b.judge(i, old)
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		known[f.Name] = by
		fmt.Printf("%3d/%d %s: %s\n", i+1, len(faults), f.Name, by)
		if err := writeResults(file, known); err != nil {
			return err
		}
	}
	return report(known)
}

// report prints the number of detected mutations per package, and the undetected ones.
func report(known map[string]notice) error {
	var order []string
	total, noticed := map[string]int{}, map[string]int{}
	missed := 0
	for i := range faults {
		pkg := path.Dir(faults[i].File)
		by := known[faults[i].Name]
		if by == (notice{}) {
			continue
		}
		if total[pkg]++; total[pkg] == 1 {
			order = append(order, pkg)
		}
		if by.missed() {
			missed++
			fmt.Println("MISSED", faults[i].Name)
		} else {
			noticed[pkg]++
		}
	}
	all := 0
	for _, pkg := range order {
		fmt.Printf("%-16s %2d of %2d\n", pkg, noticed[pkg], total[pkg])
		all += total[pkg]
	}
	fmt.Printf("%d errors: %d noticed, %d missed\n", all, all-missed, missed)
	if missed*10 > all {
		return fmt.Errorf("more than one in ten errors was missed")
	}
	return nil
}
