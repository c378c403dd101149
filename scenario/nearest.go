package scenario

import (
	"sort"
	"strings"
)

// Nearest returns up to three of names that look like name, nearest first.
func Nearest(name string, names []string) []string {
	type scored struct {
		name string
		d    int
	}
	var near []scored
	seen := map[string]bool{}
	limit := max(2, len(name)/3)
	for _, c := range names {
		if seen[c] || c == "" {
			continue
		}
		seen[c] = true
		d := limit + 1
		if n := len(c) - len(name); n <= limit && n >= -limit {
			d = editDistance(name, c)
		}
		if len(name) >= 3 && (strings.Contains(c, name) || len(c) >= 3 && strings.Contains(name, c)) {
			d = min(d, 2)
		}
		if d <= limit {
			near = append(near, scored{c, d})
		}
	}
	sort.SliceStable(near, func(i, j int) bool { return near[i].d < near[j].d })
	var out []string
	for _, c := range near[:min(3, len(near))] {
		out = append(out, c.name)
	}
	return out
}

// editDistance is the Levenshtein distance of two names, cut to 64 bytes.
func editDistance(a, b string) int {
	a, b = a[:min(len(a), 64)], b[:min(len(b), 64)]
	var row [65]int
	for j := range len(b) + 1 {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
