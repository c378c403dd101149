package expr

import (
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/bpfrun/bpfrun/internal/nearest"
)

// IsUnknown reports whether an error is an *[UnknownError] or a *[SyntaxError].
func IsUnknown(err error) bool {
	var u *UnknownError
	var x *SyntaxError
	return errors.As(err, &u) || errors.As(err, &x)
}

// UnknownError is an unknown name.
type UnknownError struct {
	What    string // kind of name: "symbol", "member", "program"
	Name    string
	In      string   // where it was searched, "" for everywhere
	Nearest []string // similar names that exist, nearest first
	Hint    string   // what to do instead
}

// Error reports the unknown name and similar ones.
func (e *UnknownError) Error() string {
	text := fmt.Sprintf("no %s %q", e.What, e.Name)
	if e.In != "" {
		text += " in " + e.In
	}
	if len(e.Nearest) > 0 {
		text += " (nearest: " + strings.Join(e.Nearest, ", ") + ")"
	}
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

// UnavailableError is a name that exists but has no value here.
type UnavailableError struct {
	Name string
	Why  string
}

// Error reports what is unavailable and why.
func (e *UnavailableError) Error() string {
	return fmt.Sprintf("%s is not available: %s", e.Name, e.Why)
}

// maxNearest is the number of similar names in an error.
const maxNearest = 4

// Near returns the names most similar to the given one, best first.
func Near(name string, names []string) []string {
	type scored struct {
		name string
		cost int
	}
	var list []scored
	low := strings.ToLower(name)
	seen := map[string]bool{}
	for _, n := range names {
		if n == "" || n == name || seen[n] {
			continue
		}
		seen[n] = true
		other := strings.ToLower(n)
		cost := nearest.Distance(low, other)
		if len(low) >= 3 && (strings.Contains(other, low) || len(other) >= 3 && strings.Contains(low, other)) {
			cost = min(cost, 2)
		}
		if cost <= max(2, len(name)/3) {
			list = append(list, scored{n, cost})
		}
	}
	sort.SliceStable(list, func(i, j int) bool {
		if list[i].cost != list[j].cost {
			return list[i].cost < list[j].cost
		}
		return list[i].name < list[j].name
	})
	var out []string
	for _, s := range list[:min(len(list), maxNearest)] {
		out = append(out, s.name)
	}
	return out
}
