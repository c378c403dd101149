// Command mutants measures whether the tests of the instruction set detect errors. It inserts the
// errors of faults.go into the interpreter one at a time, and runs the recorded vectors and the
// differential test with generated programs on each faulty interpreter.
//
// The sources are not modified: go build -overlay replaces the file that contains the error.
//
//	go run ./conformance/isa/mutants [-programs 20000] [-seed 1] [-v]
//
// It fails if the recorded vectors miss an error, or if the generated programs miss more than two.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/bpfrun/bpfrun/internal/testing/mutate"
)

// vectors lists the files of recorded vectors, starting with generated programs.
var vectors = []string{
	"conformance/isa/testdata/kernel-6.18-vectors.jsonl.gz",
	"vm/testdata/kernel-6.18-subset.jsonl.gz",
	"vm/testdata/bpf_conformance.jsonl.gz",
}

// missedByGenerator is the number of faults that generated programs may miss.
const missedByGenerator = 2

// timeLimit ends the run of an interpreter whose fault causes an infinite loop.
const timeLimit = 2 * time.Minute

type options struct {
	programs, seed uint64
	verbose        bool
	only           string
}

func main() {
	var o options
	flag.Uint64Var(&o.programs, "programs", 20_000, "number of generated programs")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the generator")
	flag.BoolVar(&o.verbose, "v", false, "print what noticed each fault")
	flag.StringVar(&o.only, "only", "", "only faults whose name contains this")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(o options) error {
	root, err := mutate.Root()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := bench{root: root, dir: dir, options: o}
	if why, err := b.judge(nil); err != nil {
		return err
	} else if why.vectors != "" || why.generator != "" {
		return fmt.Errorf("without any fault: vectors %q, generator %q", why.vectors, why.generator)
	}
	total, byVectors, byGenerator := 0, 0, 0
	for i := range faults {
		f := &faults[i]
		if !strings.Contains(f.Name, o.only) {
			continue
		}
		total++
		v, err := b.judge(f)
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		byVectors += noticed(v.vectors)
		byGenerator += noticed(v.generator)
		if o.verbose || v.vectors == "" || v.generator == "" {
			fmt.Printf("%2d %s\n   vectors: %s\n   generator: %s\n", i+1, f.Name, orMissed(v.vectors), orMissed(v.generator))
		}
	}
	fmt.Printf("%d faults: %d noticed by the recorded vectors, %d by %d generated programs (seed %d)\n", total, byVectors, byGenerator, o.programs, o.seed)
	if byVectors < total || byGenerator < total-missedByGenerator {
		return fmt.Errorf("too many faults went unnoticed")
	}
	return nil
}

func noticed(what string) int {
	if what == "" {
		return 0
	}
	return 1
}

func orMissed(what string) string {
	if what == "" {
		return "MISSED"
	}
	return what
}

// bench builds and runs faulty interpreters.
type bench struct {
	options
	root, dir string
}

// verdict describes how the vectors and the generator detected a fault; "" means that they missed
// it.
type verdict struct{ vectors, generator string }

// judge builds the interpreter with a fault, or without one if f is nil, and tests it.
func (b *bench) judge(f *fault) (v verdict, err error) {
	args := []string{"build", "-pgo=off", "-o", filepath.Join(b.dir, "probe")}
	if f != nil {
		overlay, err := f.Overlay(b.root, b.dir)
		if err != nil {
			return v, err
		}
		args = append(args, "-overlay", overlay)
	}
	build := exec.Command("go", append(args, "./conformance/isa/mutants/probe")...)
	build.Dir = b.root
	if out, err := build.CombinedOutput(); err != nil {
		return v, fmt.Errorf("build: %w\n%s", err, out)
	}
	v.vectors = b.probe(append([]string{"vectors"}, vectors...)...)
	v.generator = b.probe("generate", strconv.FormatUint(b.seed, 10), strconv.FormatUint(b.programs, 10))
	return v, nil
}

// probe tests the built interpreter and returns the first line of its report, or "" if it passes.
func (b *bench) probe(args ...string) string {
	ctx, cancel := context.WithTimeout(context.Background(), timeLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(b.dir, "probe"), args...)
	cmd.Dir = b.root
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if err == nil {
		return ""
	}
	if ctx.Err() != nil {
		return "did not end"
	}
	line, _, _ := strings.Cut(out.String(), "\n")
	if line == "" {
		line = err.Error()
	}
	return line
}
