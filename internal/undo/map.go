// Package undo has maps whose snapshots are restored at the cost of what changed since.
//
// It knows nothing of what the maps are for.
package undo

import (
	"iter"
	"maps"
)

// Map is a map with snapshots. The zero value is empty and ready to use.
type Map[K comparable, V any] struct {
	m    map[K]V
	base *State[K, V] // what the map was when the log was empty; nil: the log leads nowhere
	log  []change[K, V]
}

// change is what a key had before it changed.
type change[K comparable, V any] struct {
	key K
	was V
	had bool
}

// State is the content of a [Map] at one point in time. It is never changed.
type State[K comparable, V any] struct{ m map[K]V }

// most is the length of a log beyond which a restore copies the map.
const most = 1 << 10

// Get returns the value of a key, the zero value without one.
func (m *Map[K, V]) Get(key K) V { return m.m[key] }

// Lookup returns the value of a key, and whether there is one.
func (m *Map[K, V]) Lookup(key K) (v V, ok bool) {
	v, ok = m.m[key]
	return v, ok
}

// Len returns the number of keys.
func (m *Map[K, V]) Len() int { return len(m.m) }

// All yields the keys with their values, in no order.
func (m *Map[K, V]) All() iter.Seq2[K, V] { return maps.All(m.m) }

// Set gives a key a value.
func (m *Map[K, V]) Set(key K, v V) {
	m.note(key)
	if m.m == nil {
		m.m = make(map[K]V)
	}
	m.m[key] = v
}

// Delete removes a key.
func (m *Map[K, V]) Delete(key K) {
	if _, ok := m.m[key]; ok {
		m.note(key)
		delete(m.m, key)
	}
}

func (m *Map[K, V]) note(key K) {
	switch {
	case m.base == nil:
	case len(m.log) >= most:
		m.base, m.log = nil, nil
	default:
		was, had := m.m[key]
		m.log = append(m.log, change[K, V]{key, was, had})
	}
}

// Snapshot returns the content.
func (m *Map[K, V]) Snapshot() *State[K, V] {
	if m.base != nil && len(m.log) == 0 {
		return m.base
	}
	s := &State[K, V]{maps.Clone(m.m)}
	m.base, m.log = s, m.log[:0]
	return s
}

// Restore returns to a snapshot of this map. For the one that was taken or restored last, it undoes
// what changed since.
func (m *Map[K, V]) Restore(s *State[K, V]) {
	if m.base != s {
		m.m, m.base, m.log = maps.Clone(s.m), s, nil
		return
	}
	for i := len(m.log) - 1; i >= 0; i-- {
		if c := &m.log[i]; c.had {
			m.m[c.key] = c.was
		} else {
			delete(m.m, c.key)
		}
	}
	clear(m.log)
	m.log = m.log[:0]
}
