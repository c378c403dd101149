package loader

import (
	"strings"
)

// listNames lists at most eight names for a message.
func listNames(names []string) string {
	switch {
	case len(names) == 0:
		return "none"
	case len(names) > 8:
		return strings.Join(names[:8], ", ") + ", ..."
	}
	return strings.Join(names, ", ")
}

// trimText shortens source text to one line.
func trimText(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 120 {
		return s[:117] + "..."
	}
	return s
}
