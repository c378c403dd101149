// Package nearest finds names similar to a mistyped one.
package nearest

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
	"sync"
)

// longest is the number of bytes of a name that are compared.
const longest = 64

// offered is the number of names an error suggests.
const offered = 3

// Names returns up to three names similar to name, nearest first: at most limit edits away, or one
// contained in the other.
func Names(name string, names []string, limit int) []string {
	distance := map[string]int{}
	var near []string
	own := letters(name)
	for _, n := range names {
		if _, seen := distance[n]; seen || n == "" {
			continue
		}
		d := limit + 1
		if more := min(len(n), longest) - min(len(name), longest); -limit <= more && more <= limit && bits.OnesCount64(own^letters(n)) <= 2*limit {
			d = within(name, n, limit)
		}
		if len(name) >= 3 && (strings.Contains(n, name) || len(n) >= 3 && strings.Contains(name, n)) {
			d = min(d, 2)
		}
		if distance[n] = d; d <= limit {
			near = append(near, n)
		}
	}
	slices.SortStableFunc(near, func(a, b string) int { return distance[a] - distance[b] })
	return near[:min(len(near), offered)]
}

// letters returns the set of the bytes in the compared part of a name, modulo 64. One edit changes
// at most two members, which rules out most names without computing a distance.
func letters(name string) (set uint64) {
	for i := range min(len(name), longest) {
		set |= 1 << (name[i] & 63)
	}
	return set
}

// Distance returns the number of bytes to insert, delete or replace between two names
// (Levenshtein), of their first 64 bytes.
func Distance(a, b string) int { return within(a, b, 2*longest) }

// within is [Distance] if that is at most limit, otherwise some number above limit. Only positions
// at most limit apart can then correspond.
func within(a, b string, limit int) int {
	a, b = a[:min(len(a), longest)], b[:min(len(b), longest)]
	if more := len(a) - len(b); more > limit || -more > limit {
		return limit + 1
	}
	var row [longest + 1]int
	for j := range min(len(b), limit) + 1 {
		row[j] = j
	}
	for i := range len(a) {
		first, end := max(i-limit, 0), min(i+limit+1, len(b))
		diagonal, left, least := row[first], limit+1, limit+1
		if first == 0 {
			row[0] = i + 1
			left, least = i+1, i+1
		}
		for j := first; j < end; j++ {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = limit + 1
			if j < i+limit { // the row before reaches this far
				diagonal = row[j+1]
			}
			left = min(cost, diagonal+1, left+1)
			row[j+1] = left
			least = min(least, left)
		}
		if least > limit { // no later row has less
			return least
		}
	}
	return row[len(b)]
}

// Like is [Names] with a limit that suits most names: a third of their length, at least two edits.
func Like(name string, names []string) []string { return Names(name, names, max(2, len(name)/3)) }

// Index holds names that are searched more than once, such as the functions of a kernel. All are
// added before the first search; then it is safe for concurrent use.
type Index struct {
	added [][]string // before the first search, in parts that need not be moved as more are added
	names []string
	long  []string // the names of more than longest bytes, whose compared part has fewer letters

	once  sync.Once
	sets  []uint64         // the letters of each name
	start [longest + 2]int // by length: where the names of this length, or a greater one, begin
}

// Add adds a name.
func (x *Index) Add(name string) {
	if len(name) > longest {
		x.long = append(x.long, name)
		return
	}
	last := len(x.added) - 1
	if last < 0 || len(x.added[last]) == cap(x.added[last]) {
		x.added = append(x.added, make([]string, 0, part))
		last++
	}
	x.added[last] = append(x.added[last], name)
}

// part is the number of names that are allocated together.
const part = 4096

// arrange sorts the names by length: most lengths are too different to be near.
func (x *Index) arrange() {
	x.once.Do(func() {
		total := 0
		for _, names := range x.added {
			total += len(names)
			for _, n := range names {
				x.start[len(n)+1]++
			}
		}
		for l := range longest + 1 {
			x.start[l+1] += x.start[l]
		}
		next := x.start
		x.names, x.sets = make([]string, total), make([]uint64, total)
		for _, names := range x.added {
			for _, n := range names {
				at := next[len(n)]
				next[len(n)]++
				x.names[at], x.sets[at] = n, letters(n)
			}
		}
		x.added = nil
	})
}

// from returns where names of a length, or a greater one, begin.
func (x *Index) from(length int) int { return x.start[max(0, min(length, longest+1))] }

// Near returns up to three names as [Names] does. Among equally near names, those of similar length
// come first.
func (x *Index) Near(name string, limit int) []string {
	x.arrange()
	own, cut := allLetters(name), len(name) > longest
	var near []candidate
	close, longer := x.from(len(name)-limit), x.from(len(name)+limit+1)
	if cut { // only its beginning counts
		close, longer = 0, len(x.names)
	}
	for i, set := range x.sets[close:longer] {
		// An edit adds at most one letter and removes at most one. Of two names, one contains the
		// other only if it has all of its letters.
		missing, more := own&^set, set&^own
		if missing != 0 && more != 0 && !cut && (bits.OnesCount64(missing) > limit || bits.OnesCount64(more) > limit) {
			continue
		}
		near = appendNear(near, name, x.names[close+i], limit)
	}
	for i, set := range x.sets[longer:] { // they can only contain it
		if own&^set == 0 {
			near = appendNear(near, name, x.names[longer+i], limit)
		}
	}
	for _, n := range x.long {
		near = appendNear(near, name, n, limit)
	}
	slices.SortFunc(near, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), byLength(name, a.name, b.name))
	})
	near = slices.Compact(near)
	var out []string
	for _, c := range near[:min(len(near), offered)] {
		out = append(out, c.name)
	}
	return out
}

// candidate is a name and how far it is from the one searched.
type candidate struct {
	name     string
	distance int
}

// appendNear appends n if it is at most limit edits away from name, or if one contains the other.
func appendNear(near []candidate, name, n string, limit int) []candidate {
	more := len(n) - len(name)
	close := -limit <= more && more <= limit
	d := limit + 1
	if close {
		d = within(name, n, limit)
	}
	if d > 2 && (len(name) >= 3 && strings.Contains(n, name) || close && len(n) >= 3 && strings.Contains(name, n)) {
		d = 2
	}
	if d <= limit && n != "" {
		near = append(near, candidate{n, d})
	}
	return near
}

// Prefixed returns up to three names that start with prefix, those whose length is nearest to that
// of name first.
func (x *Index) Prefixed(prefix, name string) []string {
	x.arrange()
	own := allLetters(prefix)
	var found []string
	first := x.from(len(prefix))
	for i, set := range x.sets[first:] {
		if n := x.names[first+i]; own&^set == 0 && strings.HasPrefix(n, prefix) {
			found = append(found, n)
		}
	}
	for _, n := range x.long {
		if strings.HasPrefix(n, prefix) {
			found = append(found, n)
		}
	}
	slices.SortFunc(found, func(a, b string) int { return byLength(name, a, b) })
	found = slices.Compact(found)
	return found[:min(len(found), offered)]
}

func byLength(name, a, b string) int {
	away := func(n string) int { return max(len(n)-len(name), len(name)-len(n)) }
	return cmp.Or(cmp.Compare(away(a), away(b)), strings.Compare(a, b))
}

// allLetters is [letters] of the whole name.
func allLetters(name string) (set uint64) {
	for i := range len(name) {
		set |= 1 << (name[i] & 63)
	}
	return set
}
