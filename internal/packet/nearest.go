package packet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/nearest"
)

// near returns up to three of names that resemble name, nearest first.
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

// noField returns the message that a header has no such field; it lists those it has.
func (p *protocol) noField(name string) string {
	return fmt.Sprintf("%s has no field %q; its fields: %s", p.name, brief(name), strings.Join(p.fieldNames(), ", "))
}

// noLayer returns the message that there is no such layer; it lists those that exist.
func noLayer(name string, names []string) string {
	return fmt.Sprintf("no such layer: %q; there are %s", brief(name), strings.Join(names, ", "))
}
