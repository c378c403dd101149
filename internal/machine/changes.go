package machine

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// element is a value of a map at one point in time; cpu is -1 where all CPUs share it.
type element struct {
	key, value []byte
	cpu        int
}

// order compares elements by key bytes, then by CPU.
func (a element) order(b element) int {
	if c := bytes.Compare(a.key, b.key); c != 0 {
		return c
	}
	return a.cpu - b.cpu
}

// elements lists a map's contents in the order of [element.order].
func elements(m maps.Map) []element {
	entries := m.Entries()
	out := make([]element, 0, len(entries))
	for _, e := range entries {
		if e.PerCPU == nil {
			out = append(out, element{e.Key, e.Value, -1})
			continue
		}
		for cpu, v := range e.PerCPU {
			out = append(out, element{e.Key, v, cpu})
		}
	}
	if !slices.IsSortedFunc(out, element.order) { // arrays list their elements by index
		slices.SortFunc(out, element.order)
	}
	return out
}

// diffElements lists the differences of two lists in the order of [element.order]. An element that
// was absent and is now zero (a new per-CPU slot) does not count as changed.
func diffElements(name string, before, after []element) []Change {
	var out []Change
	if gap := len(after) - len(before); gap > 0 {
		out = make([]Change, 0, gap)
	}
	for len(before)+len(after) > 0 {
		c := 0
		switch {
		case len(before) == 0:
			c = 1
		case len(after) == 0:
			c = -1
		default:
			c = before[0].order(after[0])
		}
		switch {
		case c < 0:
			if b := before[0]; b.cpu < 0 || !isZero(b.value) {
				out = append(out, Change{Map: name, Key: b.key, CPU: b.cpu, Old: b.value})
			}
			before = before[1:]
		case c > 0:
			if a := after[0]; a.cpu < 0 || !isZero(a.value) {
				out = append(out, Change{Map: name, Key: a.key, CPU: a.cpu, New: a.value})
			}
			after = after[1:]
		default:
			if b, a := before[0], after[0]; !bytes.Equal(a.value, b.value) {
				out = append(out, Change{Map: name, Key: a.key, CPU: a.cpu, Old: b.value, New: a.value})
			}
			before, after = before[1:], after[1:]
		}
	}
	return out
}

func isZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// watched limits the maps that are compared before and after a run: those with at most this many
// bytes of values.
const watched = 1 << 20

// contents copies the elements of the object's maps, including those used by tail call targets;
// none if changes are not wanted.
func (rec *recorder) contents(unwanted bool) map[*boundMap][]element {
	if rec.cfg.Unwatched || unwanted {
		return nil
	}
	out := map[*boundMap][]element{}
	for b := range rec.reg.maps.All() {
		if b.m == nil || uint64(b.m.Spec().MaxEntries)*uint64(b.m.Spec().ValueSize) > watched && isArray(b.def.Type) {
			continue
		}
		switch b.m.(type) {
		case maps.RingBuffer, maps.PerfArray, maps.ProgArray, maps.OuterMap:
			continue
		}
		if _, large := maps.Large(b.m); large {
			continue
		}
		out[b] = elements(b.m)
	}
	return out
}

// isArray reports whether a map of the type always contains all its elements.
func isArray(t uapi.MapType) bool { return t == uapi.MapTypeArray || t == uapi.MapTypePercpuArray }

// changes lists the changes of maps since before, unless they are unwanted: then it only warns of
// maps that are too large for that.
func (rec *recorder) changes(before map[*boundMap][]element, unwanted bool) []Change {
	var out []Change
	for b := range rec.reg.maps.All() {
		if old, ok := before[b]; ok {
			if n, large := maps.Large(b.m); large {
				if rec.run != nil {
					rec.run.warn(fmt.Sprintf("map %s has %d elements: its changes are not listed", b.def.Name, n))
				}
				continue
			}
			if unwanted {
				continue
			}
			if changed := diffElements(b.def.Name, old, elements(b.m)); out == nil {
				out = changed
			} else {
				out = append(out, changed...)
			}
		}
	}
	return out
}
