// Package ordered keeps values under ids that only grow, as a kernel numbers its objects: adding
// and removing a value, finding it, and the step to the next one cost about the same however many
// there are.
//
// It does not know what the values are. The type to start from is [List].
package ordered

import (
	"cmp"
	"iter"
	"slices"
)

// List holds values in the order of their ids. The zero value is an empty list.
type List[T any] struct {
	items []item[T] // by id; removed ones stay until most are
	live  int
	looks int
}

type item[T any] struct {
	id    uint32
	skip  int32 // of a removed item: how far away the next one is that may exist; 0 if the item exists
	value T
}

// few is the number of removed items that are always kept.
const few = 32

// Add adds a value. Its id must be above those of all others.
func (l *List[T]) Add(id uint32, v T) {
	if n := len(l.items); n > 0 && id <= l.items[n-1].id {
		panic("ordered: the id of a new value must be the highest")
	}
	l.items = append(l.items, item[T]{id: id, value: v})
	l.live++
}

// Remove removes the value of an id; without one it does nothing.
func (l *List[T]) Remove(id uint32) {
	i, ok := l.search(id)
	if !ok {
		return
	}
	l.items[i] = item[T]{id: id, skip: 1}
	if l.live--; len(l.items)-l.live > max(l.live, few) {
		l.looks += len(l.items)
		l.items = slices.DeleteFunc(l.items, func(x item[T]) bool { return x.skip != 0 })
	}
}

// Get returns the value of an id.
func (l *List[T]) Get(id uint32) (v T, ok bool) {
	i, ok := l.search(id)
	if !ok {
		return v, false
	}
	return l.items[i].value, true
}

// Next returns the first value with a higher id, and that id.
func (l *List[T]) Next(id uint32) (next uint32, v T, ok bool) {
	i, found := l.at(id)
	if found {
		i++
	}
	if i = l.existing(i); i == len(l.items) {
		return 0, v, false
	}
	return l.items[i].id, l.items[i].value, true
}

// Len returns the number of values.
func (l *List[T]) Len() int { return l.live }

// All yields the values in the order of their ids. The list must not change meanwhile.
func (l *List[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		for i := range l.items {
			if l.items[i].skip == 0 && !yield(l.items[i].value) {
				return
			}
		}
	}
}

// Looks counts the items that operations other than All have looked at, so that tests can tell how
// their cost grows.
func (l *List[T]) Looks() int { return l.looks }

// at returns the position of an id, or where it would be.
func (l *List[T]) at(id uint32) (int, bool) {
	l.looks++
	return slices.BinarySearchFunc(l.items, id, func(x item[T], id uint32) int { return cmp.Compare(x.id, id) })
}

// search returns the position of the value with an id.
func (l *List[T]) search(id uint32) (int, bool) {
	i, ok := l.at(id)
	return i, ok && l.items[i].skip == 0
}

// existing returns the first position from i on whose item exists, or the length. The removed items
// on the way then lead to it directly.
func (l *List[T]) existing(i int) int {
	from := i
	for i < len(l.items) && l.items[i].skip != 0 {
		l.looks++
		i += int(l.items[i].skip)
	}
	for from < i {
		next := from + int(l.items[from].skip)
		l.items[from].skip = int32(i - from)
		from = next
	}
	return i
}
