// Command probe tests an interpreter for command mutants. It runs recorded vectors, or compares
// generated programs with the reference evaluator. If a result differs, it prints the first
// difference and fails.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/conformance/isa"
)

// limit is the instruction limit of a run, far above what vectors and generated programs execute.
const limit = 20_000_000

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) > 1 && args[0] == "vectors":
		return vectors(args[1:])
	case len(args) == 3 && args[0] == "generate":
		return generated(args[1], args[2])
	}
	return fmt.Errorf("usage: probe vectors FILE... | probe generate SEED COUNT")
}

func vectors(files []string) error {
	for _, path := range files {
		r, err := isa.Judge(path, isa.Config{Mode: isa.Modes[0], Limit: limit}, io.Discard)
		if err != nil {
			return err
		}
		if r.Failed > 0 {
			return fmt.Errorf("%s: %d failed, %s: %s", path, r.Failed, r.Failures[0].ID, r.Failures[0].What)
		}
	}
	return nil
}

func generated(seed, count string) error {
	s, err := strconv.ParseUint(seed, 0, 64)
	if err != nil {
		return err
	}
	n, err := strconv.ParseUint(count, 0, 64)
	if err != nil {
		return err
	}
	r, err := isa.Differential(context.Background(), isa.DifferentialConfig{Seed: s, Count: n, MaxReports: 1})
	if err != nil {
		return err
	}
	if r.Disagreeing > 0 {
		first, _, _ := strings.Cut(r.Disagreements[0].Text, "\n")
		return fmt.Errorf("%d programs: %s", r.Disagreeing, first)
	}
	return nil
}
