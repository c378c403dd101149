package machine

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/bpfrun/bpfrun/maps"
	"github.com/bpfrun/bpfrun/uapi"
)

// element is a value of a map at one point in time; cpu is -1 where all CPUs share it.
type element struct {
	key, value []byte
	cpu        int
}

// elementID identifies an element of a map.
type elementID struct {
	key string
	cpu int
}

func elements(m maps.Map) map[elementID]element {
	out := map[elementID]element{}
	for _, e := range m.Entries() {
		if e.PerCPU == nil {
			out[elementID{string(e.Key), -1}] = element{e.Key, e.Value, -1}
			continue
		}
		for cpu, v := range e.PerCPU {
			out[elementID{string(e.Key), cpu}] = element{e.Key, v, cpu}
		}
	}
	return out
}

// diffElements lists the differences, in the order of key bytes and CPUs. An element that was absent and is now zero (a
// new per-CPU slot) does not count as changed.
func diffElements(name string, before, after map[elementID]element) []Change {
	var out []Change
	for id, a := range after {
		b, had := before[id]
		switch {
		case had && bytes.Equal(a.value, b.value):
		case !had && a.cpu >= 0 && isZero(a.value):
		default:
			c := Change{Map: name, Key: a.key, CPU: a.cpu, New: a.value}
			if had {
				c.Old = b.value
			}
			out = append(out, c)
		}
	}
	for id, b := range before {
		if _, still := after[id]; !still && (b.cpu < 0 || !isZero(b.value)) {
			out = append(out, Change{Map: name, Key: b.key, CPU: b.cpu, Old: b.value})
		}
	}
	slices.SortFunc(out, func(a, b Change) int {
		if c := bytes.Compare(a.Key, b.Key); c != 0 {
			return c
		}
		return a.CPU - b.CPU
	})
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

// watched limits the maps that are compared before and after a run: those with at most this many bytes of values.
const watched = 1 << 20

// contents copies the elements of the object's maps, including those used by tail call targets.
func (rec *recorder) contents() map[*boundMap]map[elementID]element {
	out := map[*boundMap]map[elementID]element{}
	if rec.cfg.Unwatched {
		return out
	}
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

func (rec *recorder) changes(before map[*boundMap]map[elementID]element) []Change {
	var out []Change
	for b := range rec.reg.maps.All() {
		if old, ok := before[b]; ok {
			if n, large := maps.Large(b.m); large {
				if rec.run != nil {
					rec.run.warn(fmt.Sprintf("map %s has %d elements: its changes are not listed", b.def.Name, n))
				}
				continue
			}
			out = append(out, diffElements(b.def.Name, old, elements(b.m))...)
		}
	}
	return out
}
