package corerelo

import (
	"math/bits"
	"slices"
	"strings"
)

// nearest collects the names most similar to a wanted name.
type nearest struct {
	names []scored
}

type scored struct {
	name  string
	score int // lower is more similar
}

// offer considers name as a replacement for want.
func (n *nearest) offer(want, name string) {
	if name == "" {
		return
	}
	if score, ok := likeness(want, name); ok {
		n.names = append(n.names, scored{name, score})
	}
}

// best returns up to k names, nearest first, ties by name.
func (n *nearest) best(k int) []string {
	slices.SortFunc(n.names, func(a, b scored) int {
		if a.score != b.score {
			return a.score - b.score
		}
		return strings.Compare(a.name, b.name)
	})
	var out []string
	for _, s := range n.names {
		if len(out) == k {
			break
		}
		if !slices.Contains(out, s.name) {
			out = append(out, s.name)
		}
	}
	return out
}

// maxNameLen limits the edit distance, whose cost is the product of the lengths.
const maxNameLen = 128

// likeness scores how similar two names are. Renames in the kernel mostly add underscores (state,
// __state), a prefix or a suffix (i_ctime, __i_ctime, i_ctime_sec); other names are compared by
// edit distance. ok is false if they are not similar.
func likeness(want, name string) (score int, ok bool) {
	if want == "" || len(want) > maxNameLen || len(name) > maxNameLen {
		return 0, want == name
	}
	w, n := strings.Trim(want, "_"), strings.Trim(name, "_")
	if w == n {
		return 0, true
	}
	if min(len(w), len(n))*2 >= max(len(w), len(n)) && (strings.HasPrefix(n, w+"_") || strings.HasSuffix(n, "_"+w) ||
		strings.HasPrefix(w, n+"_") || strings.HasSuffix(w, "_"+n)) {
		return 1 + abs(len(w)-len(n))/2, true
	}
	limit := max(len(w), len(n)) / 3
	if abs(len(w)-len(n)) > limit {
		return 0, false
	}
	// Every letter that occurs in only one of them costs an edit: this rejects most names.
	if a, b := letters(w), letters(n); max(bits.OnesCount64(a&^b), bits.OnesCount64(b&^a)) > limit {
		return 0, false
	}
	d := distance(w, n, limit)
	return d + 1, d <= limit
}

// letters returns the set of bytes in s, modulo 64.
func letters(s string) uint64 {
	set := uint64(0)
	for i := range len(s) {
		set |= 1 << (s[i] & 63)
	}
	return set
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}

// distance returns the number of inserted, deleted, replaced and swapped bytes (optimal string
// alignment). If it exceeds limit, the result is some number above limit. Names are at most
// maxNameLen long.
func distance(a, b string, limit int) int {
	var rows [3][maxNameLen + 1]uint8 // holds distances up to maxNameLen
	prev2, prev, cur := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		prev[j] = uint8(j)
	}
	last := 0 // minimum of the previous row
	for i := 1; i <= len(a); i++ {
		cur[0] = uint8(i)
		least := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d := min(int(prev[j])+1, int(cur[j-1])+1, int(prev[j-1])+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, int(prev2[j-2])+1)
			}
			cur[j] = uint8(d)
			least = min(least, d)
		}
		// No entry of a row is less than the minimum of the previous two rows.
		if least > limit && last > limit {
			return least
		}
		last = least
		prev2, prev, cur = prev, cur, prev2
	}
	return int(prev[len(b)])
}
