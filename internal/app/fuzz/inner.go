package fuzz

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/find/search"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/loader"
)

// Maps in maps of maps belong to user space as other maps do: their elements are input, unless a
// program writes such a map.

// is reports whether the element has a place: of a map, or of the map that it has for a key.
func (e *Element) is(name string, in, key []byte) bool {
	return e.Map == name && bytes.Equal(e.In, in) && bytes.Equal(e.Key, key)
}

// mostInner limits how many maps of one map of maps are looked at.
const mostInner = 64

// eachInner calls do for the maps in maps of maps, until it returns false.
func (s *side) eachInner(do func(def *loader.Map, in []byte, b maps.Map) bool) {
	m := s.whole.Machine()
	for _, def := range m.Linked().Maps {
		b, _ := m.Map(def)
		outer, ok := b.(maps.OuterMap)
		if !ok {
			continue
		}
		var key []byte
		for range mostInner {
			next, errno := outer.NextKey(key)
			if errno != 0 {
				break
			}
			key = slices.Clone(next)
			if inner, ok := outer.Inner(key); ok && !do(def, key, inner) {
				return
			}
		}
	}
}

// innerElement names the element of a map in a map of maps that a lookup did not find.
func (s *side) innerElement(w search.Wish) (at spot, ok bool) {
	s.eachInner(func(def *loader.Map, in []byte, b maps.Map) bool {
		if ok = b.Addr() == w.Map && settable(b.Spec().Type); ok {
			at = spot{part: Maps, name: def.Name, in: in, key: w.Key, off: -1, text: "an element in " + s.innerText(def, in) + " with key " + s.innerKey(def, in, w.Key)}
		}
		return !ok
	})
	return at, ok
}

// inInner finds an operand in a value of a map in a map of maps.
func (s *side) inInner(w search.Wish) (at spot, ok bool) {
	s.eachInner(func(def *loader.Map, in []byte, b maps.Map) bool {
		var key []byte
		var off int
		if key, off, ok = valueAt(b, w.Addr); ok {
			at = spot{part: Maps, name: def.Name, in: in, key: key, off: off, text: s.innerText(def, in) + "[" + s.innerKey(def, in, key) + "]" + s.member(b.Spec().ValueType, off, w.Size)}
		}
		return !ok
	})
	return at, ok
}

// valueAt finds the element of a map whose value has an address, and the offset there.
func valueAt(b maps.Map, addr uint64) (key []byte, off int, ok bool) {
	find, ok := b.(maps.KeyFinder)
	if !ok || !settable(b.Spec().Type) {
		return nil, 0, false
	}
	key, cpu, ok := find.KeyOf(addr)
	if !ok {
		return nil, 0, false
	}
	base, errno := b.Lookup(max(cpu, 0), key)
	if errno != 0 || addr < base || addr >= base+uint64(b.Spec().ValueSize) {
		return nil, 0, false
	}
	return slices.Clone(key), int(addr - base), true
}

// innerText is the name of a map in a map of maps.
func (s *side) innerText(def *loader.Map, in []byte) string {
	return def.Name + "[" + s.keyText(def, in) + "]"
}

func (s *side) innerKey(def *loader.Map, in, key []byte) string {
	k, _ := s.whole.InnerNodes(def.Name, in, key, nil)
	return nodeText(k, key)
}

// innerOf returns the map that a map of maps has for a key, an empty one if it has none.
func innerOf(m *machine.Machine, outer maps.OuterMap, key []byte) (maps.Map, bool) {
	if inner, ok := outer.Inner(key); ok {
		return inner, true
	}
	_, def := m.MapDefAt(outer.Addr())
	if def == nil || m.FillOuter(def, key) != nil {
		return nil, false
	}
	return outer.Inner(key)
}

// newInner makes up an element of a map in a map of maps: of one that the input has, or of another
// one.
func (w *worker) newInner(in *Input, e *Event, def *loader.Map, outer maps.Map) {
	inner := outer.Spec().Inner
	if inner == nil || !settable(inner.Type) || inner.Inner != nil {
		return
	}
	var at []byte
	for i := range in.Maps {
		if x := &in.Maps[i]; x.Map == def.Name && (at == nil || w.rnd.IntN(2) == 0) {
			if at = x.In; at == nil {
				at = x.Key
			}
		}
	}
	if at == nil {
		at = w.newKey(e, outer.Spec())
	}
	in.setElement(def.Name, slices.Clone(at), w.newKey(e, inner), w.newValue(inner.ValueSize))
}

// newKey makes up a key of a map: a number below the size of an array, bytes of the packet, or
// others.
func (w *worker) newKey(e *Event, s *maps.Spec) []byte {
	key, r := make([]byte, s.KeySize), w.rnd
	switch {
	case isArray(s.Type):
		w.f.first.fast.Machine().Memory().ByteOrder().PutUint32(key, uint32(r.IntN(int(min(max(s.MaxEntries, 1), 1<<uint(r.IntN(9)))))))
	case len(e.Packet) > len(key) && r.IntN(2) == 0:
		copy(key, e.Packet[r.IntN(len(e.Packet)-len(key)):])
	default:
		mutateSome(r, key, w.f.space.values, 2)
	}
	return key
}

// newValue makes up a value.
func (w *worker) newValue(size uint32) []byte {
	value := make([]byte, size)
	mutateSome(w.rnd, value, w.f.space.values, 3)
	return value
}

// mutateSome changes bytes in up to so many places.
func mutateSome(r *rand.Rand, b []byte, values []uint64, most int) {
	if len(b) == 0 {
		return
	}
	for range 1 + r.IntN(most) {
		mutateBytes(r, b, values)
	}
}

// inner writes an element of a map in a map of maps. A map that the scenario names there stays as
// it is.
func (d *draft) inner(e *Element) {
	r := d.f.first.whole
	k, v := r.InnerNodes(e.Map, e.In, e.Key, e.Value)
	outer, at := d.root.Child("maps").Child(e.Map), r.KeyNode(e.Map, e.In)
	n := &grammar.Node{Kind: grammar.Mapping}
	for _, p := range outer.Pairs {
		if p.Key.Text == at.Text && p.Key.Tag == at.Tag {
			n = p.Value
		}
	}
	if n.Kind != grammar.Mapping {
		return
	}
	n.PutKey(k, v)
	outer.PutKey(at, n)
}

// innerWritten notes that a run changed a map in a map of maps, which has the name OUTER[KEY].
func (f *Fuzzer) innerWritten(c *machine.Change) {
	name, _, ok := strings.Cut(c.Map, "[")
	def, known := f.first.fast.Machine().Linked().Map(name)
	if ok && known && def.OfMaps() && (def.Inner == nil || !keyed(def.Inner.Type) || c.Old == nil || c.New == nil) {
		f.written[name] = true
	}
}
