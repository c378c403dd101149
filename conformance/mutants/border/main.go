// Command border measures whether the tests of all packages detect small changes at the edges of
// rules: < for <=, an operand or a condition dropped, another error number, a rule that begins one
// release late.
//
//	go run ./conformance/mutants/border [-n 1000] [-seed 1] [-packages TEXT] [-own] [-tests TEXT] [-budget 5m] [-longest 1m] [-results FILE] [-again FILE]
//
// It generates all such mutants of the product's sources (package mutate has the classes), and
// takes a sample that depends on the seed alone. All test binaries are built once, with the whole
// sample compiled in. Each test runs once alone without mutants, which finds out which mutants
// decide in it: a comparison whose operands are equal, an operand without which its condition may
// be another.
//
// Each mutant then runs through these tests, those of its own package first and the quickest before
// others, until one fails or the budget is used up. If all pass, it survived. With -own only the
// tests of its own package run: that is much faster, and measures how well they cover the package.
// With -tests only those of packages with these prefixes run. With a results file, a second run
// continues the first. All times are processor time, so a busy machine does not change a result.
//
// With -again, the sample is what survived in a results file, of this or of an older version of the
// sources: what tests written since then detect of it.
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
	tests    string
	budget   time.Duration
	longest  time.Duration
	results  string
	again    string
	list     bool
	own      bool
	jobs     int
}

func main() {
	var o options
	flag.IntVar(&o.n, "n", 1000, "number of mutants in the sample")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the sample")
	flag.StringVar(&o.packages, "packages", "", "only mutants in packages that begin with one of these, relative to the module's root and separated by commas")
	flag.StringVar(&o.tests, "tests", "", "only tests in packages that begin with one of these")
	flag.DurationVar(&o.budget, "budget", 5*time.Minute, "time of tests for one mutant")
	flag.DurationVar(&o.longest, "longest", time.Minute, "tests that take longer are left out")
	flag.StringVar(&o.results, "results", "", "`file` for results, which the next run of the same sample continues")
	flag.StringVar(&o.again, "again", "", "results `file` whose survivors are the sample, in place of -n and -seed")
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
