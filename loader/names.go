package loader

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// sortedKeys returns the keys of a map in order, so that messages do not depend on
// the order of iteration.
func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	return slices.Sorted(maps.Keys(m))
}

// listNames lists names for a message, not more than eight.
func listNames(names []string) string {
	switch {
	case len(names) == 0:
		return "none"
	case len(names) > 8:
		return strings.Join(names[:8], ", ") + ", ..."
	}
	return strings.Join(names, ", ")
}

// trimText brings source text to one short line.
func trimText(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 120 {
		return s[:117] + "..."
	}
	return s
}
