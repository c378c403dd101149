package search

import (
	"slices"

	"github.com/bpfrun/bpfrun/internal/maps"
)

// maxMatches limits the elements of a map that a key may become.
const maxMatches = 4

// matches lists, for elements that a map has, the changes of inputs with which the key at an
// address, which is in no element, is that of the element: all changes of one list are made
// together. Elements are left out whose key has bytes that no input decides.
func (t *Trace) matches(mp maps.Map, addr uint64, key []byte) (out [][]Wish) {
	var at []byte
	for len(out) < maxMatches {
		next, errno := mp.NextKey(at)
		if errno != 0 || len(next) != len(key) {
			break
		}
		at = slices.Clone(next)
		if list, ok := t.match(addr, key, at); ok && len(list) > 0 {
			out = append(out, list)
		}
	}
	return out
}

// match returns the changes that make one key another.
func (t *Trace) match(addr uint64, key, other []byte) (out []Wish, ok bool) {
	for i := 0; i < len(key); i++ {
		c, known := t.memory[addr+uint64(i)]
		n := 1
		if known && c.v != nil {
			for i+n < len(key) {
				if d := t.memory[addr+uint64(i+n)]; d.v != c.v || d.i != c.i+n {
					break
				}
				n++
			}
		}
		want := other[i : i+n]
		if string(key[i:i+n]) == string(want) {
			i += n - 1
			continue
		}
		switch {
		case known && c.v != nil:
			w, ok := c.v.with(c.i, want)
			if !ok {
				return nil, false
			}
			out = append(out, w)
		case known && c.copy == 0:
			return nil, false
		case known:
			out = append(out, Wish{Kind: Memory, Addr: c.copy, Size: 1, Value: uint64(want[0]), Was: uint64(key[i])})
		default:
			out = append(out, Wish{Kind: Memory, Addr: addr + uint64(i), Size: 1, Value: uint64(want[0]), Was: uint64(key[i])})
		}
		i += n - 1
	}
	return out, true
}

// with returns the change of the value's source that makes bytes of the value, from one on, others.
func (v *Value) with(first int, want []byte) (Wish, bool) {
	if v.From.Kind != Memory && v.From.Kind != Result || first+len(want) > 8 {
		return Wish{}, false
	}
	is, ok := v.At(v.Was)
	if !ok {
		return Wish{}, false
	}
	target, mask := is, uint64(0)
	for i, b := range want {
		shift := 8 * (first + i)
		mask |= 0xff << shift
		target = target&^(0xff<<shift) | uint64(b)<<shift
	}
	x, ok := v.reach(target)
	if !ok {
		return Wish{}, false
	}
	got, ok := v.At(x)
	return v.From.wish(v.Was, x), ok && got&mask == target&mask
}
