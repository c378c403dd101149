package packet

import (
	"slices"

	"github.com/bpfrun/bpfrun/internal/nearest"
)

// near returns up to three of names that look like name, nearest first; all of them when there are few and none does.
func near(name string, names []string) []string {
	const few = 12
	limit := max(1, len(name)/2)
	distance := map[string]int{}
	var list []string
	for _, n := range names {
		if d := nearest.Distance(name, n); d <= limit {
			distance[n] = d
			list = append(list, n)
		}
	}
	slices.SortStableFunc(list, func(a, b string) int { return distance[a] - distance[b] })
	if len(list) == 0 && len(names) <= few {
		return names
	}
	return list[:min(len(list), 3)]
}
