package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// notice is the result for a mutation: the test that detected it, with its package, or nobody. The
// zero value means not tried.
type notice struct{ Package, Test string }

const nobody = "-"

func (n notice) missed() bool { return n.Package == nobody }

func (n notice) String() string {
	if n.missed() {
		return "MISSED"
	}
	return n.Package + " " + n.Test
}

// readResults reads a results file. Each line holds a mutation's name, a package and a test,
// separated by tabs.
func readResults(file string) (map[string]notice, error) {
	known := map[string]notice{}
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		if line == "" {
			continue
		}
		f := strings.Split(line, "\t")
		if len(f) != 3 {
			return nil, fmt.Errorf("%s:%d: want an error, a package and a test, found %q", file, i+1, line)
		}
		known[f[0]] = notice{f[1], f[2]}
	}
	return known, nil
}

// writeResults writes the known results, in the order of faults.
func writeResults(file string, known map[string]notice) error {
	var b strings.Builder
	for i := range faults {
		if n, ok := known[faults[i].Name]; ok {
			fmt.Fprintf(&b, "%s\t%s\t%s\n", faults[i].Name, n.Package, n.Test)
		}
	}
	return os.WriteFile(file, []byte(b.String()), 0o644)
}
