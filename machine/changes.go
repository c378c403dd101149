package machine

import (
	"bytes"
	"slices"

	"github.com/bpfrun/bpfrun/maps"
)

// element is one value of a map at one time; cpu is -1 where values are shared.
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

// diffElements lists what differs, in the order of key bytes and CPUs. An element that was
// absent and is now zero (a new per-CPU slot) is no change.
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
