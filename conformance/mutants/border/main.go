// Command border measures whether the tests of all packages detect small changes at the edges of
// rules: < for <=, an operand or a condition dropped, another error number, a rule that begins one
// release late.
//
//	go run ./conformance/mutants/border [-n 1000] [-seed 1] [-packages TEXT] [-own] [-budget 5m] [-results FILE]
//
// It generates all such mutants of the product's sources (package mutate has the classes), and
// takes a sample that depends on the seed alone. All test binaries are built once, with the whole
// sample compiled in; a run without mutants finds out which tests execute which of them. For each
// mutant the tests of its own package run, then those of the other packages that execute it, the
// quickest first, until one fails or the budget is used up. What then still passes counts as
// survived. With -own only the first of these run, which takes a fraction of the time and says how
// well a package is tested by its own tests. With a results file, a second run continues the first.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

type options struct {
	n        int
	seed     uint64
	packages string
	budget   time.Duration
	results  string
	list     bool
	own      bool
	jobs     int
}

func main() {
	var o options
	flag.IntVar(&o.n, "n", 1000, "number of mutants in the sample")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the sample")
	flag.StringVar(&o.packages, "packages", "", "only mutants in packages that begin with this, relative to the module's root")
	flag.DurationVar(&o.budget, "budget", 5*time.Minute, "time of tests for one mutant")
	flag.StringVar(&o.results, "results", "", "`file` for results, which the next run of the same sample continues")
	flag.BoolVar(&o.list, "list", false, "print the sample and do not test it")
	flag.BoolVar(&o.own, "own", false, "run only the tests of a mutant's own package")
	flag.IntVar(&o.jobs, "j", 2, "mutants that are tested at the same time")
	flag.Parse()
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	if err := run(&o, stop); err != nil {
		fmt.Fprintln(os.Stderr, "border:", err)
		os.Exit(1)
	}
}
