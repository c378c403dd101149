package packet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/nearest"
)

// near returns up to three of names that look like name, nearest first.
func near(name string, names []string) []string {
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
	return list[:min(len(list), 3)]
}

// noField means that a header has no field of that name, and which it has.
func (p *protocol) noField(name string) string {
	return fmt.Sprintf("%s has no field %q; its fields: %s", p.name, brief(name), strings.Join(p.fieldNames(), ", "))
}

// noLayer means that there is no layer of that name, and which there are.
func noLayer(name string, names []string) string {
	return fmt.Sprintf("no such layer: %q; there are %s", brief(name), strings.Join(names, ", "))
}
