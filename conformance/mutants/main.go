// Command mutants measures whether tests would notice an error: it puts the errors of faults.go into loader, kernel, machine, maps, helpers, scenarios,
// memory and the JIT's planning one by one, runs the tests of the package, and those of packages that stand on it when they pass, and names the errors that all of them
// missed.
//
//	go run ./conformance/mutants [-only TEXT] [-v] [-package]
//
// It takes about half an hour on two cores, and fails when more than one in ten errors is missed. The interpreter's errors are those of conformance/isa/mutants.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/bpfrun/bpfrun/internal/mutate"
)

// timeLimit ends tests that an error sent into an endless loop.
const timeLimit = 5 * time.Minute

// dependents are the packages whose tests judge an error that those of its own package miss, by the beginning of its path.
var dependents = []struct {
	dir      string
	packages []string
}{
	{"maps", []string{"./machine", "./scenario"}},
	{"loader", []string{"./machine", "./scenario"}},
	{"helpers", []string{"./machine", "./scenario", "./conformance"}},
	{"kernel", []string{"./kernel/...", "./helpers", "./machine", "./scenario"}},
	{"machine", []string{"./scenario", "./intest", "./matrix"}},
	{"mem", []string{"./maps", "./helpers", "./kernel/...", "./machine"}},
	{"jit/plan", []string{"./jit"}},
}

func main() {
	only := flag.String("only", "", "only errors whose name contains this")
	verbose := flag.Bool("v", false, "name the test that noticed each error")
	own := flag.Bool("package", false, "run the tests of the error's own package alone")
	flag.Parse()
	if err := run(*only, *verbose, *own); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(only string, verbose, own bool) error {
	root, err := mutate.Root()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	total, missed := 0, 0
	for i := range faults {
		f := &faults[i]
		if !strings.Contains(f.Name, only) {
			continue
		}
		total++
		overlay, err := f.Overlay(root, dir)
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		by, err := noticed(root, overlay, f, own)
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		switch {
		case by == "":
			missed++
			fmt.Printf("MISSED  %s\n", f.Name)
		case verbose:
			fmt.Printf("        %s: %s\n", f.Name, by)
		}
	}
	fmt.Printf("%d errors: %d noticed, %d missed\n", total, total-missed, missed)
	if missed*10 > total {
		return fmt.Errorf("more than one in ten errors was missed")
	}
	return nil
}

// noticed names the test that an error fails, "" when there is none.
func noticed(root, overlay string, f *mutate.Fault, own bool) (string, error) {
	packages := []string{"./" + path.Dir(f.File)}
	if by, err := test(root, overlay, packages); by != "" || err != nil || own {
		return by, err
	}
	for _, d := range dependents {
		if strings.HasPrefix(f.File, d.dir+"/") {
			return test(root, overlay, d.packages)
		}
	}
	return "", nil
}

var failed = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

func test(root, overlay string, packages []string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-short", "-failfast", "-vet=off", "-overlay", overlay}, packages...)...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil:
		return "", nil
	case ctx.Err() != nil:
		return "the tests did not end", nil
	case strings.Contains(string(out), "[build failed]"), strings.Contains(string(out), "[setup failed]"):
		return "", fmt.Errorf("it does not compile:\n%s", out)
	}
	if m := failed.FindStringSubmatch(string(out)); m != nil {
		return m[1], nil
	}
	return "a test binary crashed", nil
}
