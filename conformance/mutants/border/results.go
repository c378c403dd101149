package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/testing/mutate"
)

// readResults reads a results file: a mutant and its result a line, with a tab between.
func readResults(file string) (map[string]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	results := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if name, result, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); ok {
			results[name] = result
		}
	}
	return results, nil
}

// isDetected reports whether a result is that a test fails.
func isDetected(result string) bool {
	return result != "" && !strings.HasPrefix(result, survived) && result != unreached
}

// survivors returns those mutants that no test detected in the results of a file. The lines of a
// source may have moved since then: of equal mutants of a function it takes the nearest one. What
// is no longer in the sources is counted, and left out.
func survivors(all []mutate.Border, file string) ([]mutate.Border, error) {
	results, err := readResults(file)
	if err != nil {
		return nil, err
	}
	byName := map[string][]int{}
	for i := range all {
		name, _ := splitLine(all[i].String())
		byName[name] = append(byName[name], i)
	}
	var chosen []int
	gone := 0
	for text, result := range results {
		if isDetected(result) {
			continue
		}
		name, line := splitLine(text)
		equal := byName[name]
		if len(equal) == 0 {
			gone++
			continue
		}
		chosen = append(chosen, slices.MinFunc(equal, func(a, b int) int { return distance(all[a].Line, line) - distance(all[b].Line, line) }))
	}
	slices.Sort(chosen)
	sample := mutate.Apart(all, slices.Compact(chosen))
	fmt.Printf("%d that survived are no longer in the sources, %d overlap with others\n", gone, len(chosen)-len(sample))
	return sample, nil
}

// splitLine returns a mutant's text without its line, and the line.
func splitLine(text string) (name string, line int) {
	file, rest, _ := strings.Cut(text, ":")
	fmt.Sscan(rest, &line)
	_, rest, _ = strings.Cut(rest, " ")
	return file + " " + rest, line
}

func distance(a, b int) int { return max(a-b, b-a) }
