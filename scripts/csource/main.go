// Command csource writes C sources of random BPF programs (package csource) and compiles them:
//
//	go run ./scripts/csource --seed 7 --sources 40 --programs 25 --clang clang-19 /tmp/objects
//	bpfrun conformance record verdicts --objects /tmp/objects /tmp/objects -o verdicts.jsonl.gz
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/bpfrun/bpfrun/conformance/verdicts/csource"
)

func main() {
	seed := flag.Uint64("seed", 1, "determines the sources, with their numbers")
	first := flag.Uint64("first", 0, "number of the first source")
	sources := flag.Uint64("sources", 10, "number of sources")
	programs := flag.Int("programs", 25, "programs in each source")
	clang := flag.String("clang", "clang-19", "compiler; empty: only write the sources")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "csource: want the directory to write to")
		os.Exit(2)
	}
	if err := write(flag.Arg(0), *seed, *first, *sources, *programs, *clang); err != nil {
		fmt.Fprintln(os.Stderr, "csource:", err)
		os.Exit(1)
	}
}

func write(dir string, seed, first, sources uint64, programs int, clang string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "csource.h"), []byte(csource.Header), 0o644); err != nil {
		return err
	}
	for n := first; n < first+sources; n++ {
		name := fmt.Sprintf("c-%d-%d", seed, n)
		if err := os.WriteFile(filepath.Join(dir, name+".bpf.c"), []byte(csource.Source(seed, n, programs)), 0o644); err != nil {
			return err
		}
		if clang == "" {
			continue
		}
		cmd := exec.Command(clang, append(csource.Flags(n), "-c", name+".bpf.c", "-o", name+".o")...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, os.Stdout, os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
