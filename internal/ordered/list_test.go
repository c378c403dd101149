package ordered

import (
	"math/rand"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Random operations give what a plain sorted slice gives.
func TestListIsASortedSlice(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for range 20 {
		var l List[uint32]
		var plain []uint32
		last := uint32(0)
		for range 2000 {
			id := uint32(r.Intn(int(last) + 2))
			switch r.Intn(5) {
			case 0, 1:
				last += 1 + uint32(r.Intn(2))
				l.Add(last, last*10)
				plain = append(plain, last)
			case 2, 3:
				l.Remove(id)
				plain = slices.DeleteFunc(plain, func(x uint32) bool { return x == id })
			}
			i, found := slices.BinarySearch(plain, id)
			v, ok := l.Get(id)
			require.Equal(t, found, ok)
			if ok {
				require.Equal(t, id*10, v)
				i++
			}
			next, v, ok := l.Next(id)
			require.Equal(t, i < len(plain), ok)
			if ok {
				require.Equal(t, plain[i], next)
				require.Equal(t, next*10, v)
			}
			require.Equal(t, len(plain), l.Len())
		}
		var all []uint32
		for v := range l.All() {
			all = append(all, v/10)
		}
		assert.Equal(t, plain, all)
	}
}

func TestIdsMustGrow(t *testing.T) {
	var l List[int]
	l.Add(2, 0)
	assert.Panics(t, func() { l.Add(2, 0) })
	assert.Panics(t, func() { l.Add(1, 0) })
}

// Whatever the order of removals and steps, an operation looks at a few items on average.
func TestOperationsDoNotGrowWithTheList(t *testing.T) {
	const n = 20000
	steps := func(l *List[int]) (count int) {
		for id, ok := uint32(0), true; ok; count++ {
			id, _, ok = l.Next(id)
		}
		return count
	}
	for name, remove := range map[string]func(l *List[int]) (operations int){
		"none":     func(*List[int]) int { return 0 },
		"forwards": func(l *List[int]) int { return removeAll(l, func(i int) int { return i }) },
		"backwards": func(l *List[int]) int {
			return removeAll(l, func(i int) int { return n - 1 - i })
		},
		"every other first": func(l *List[int]) int { return removeAll(l, func(i int) int { return i*2%n + i*2/n }) },
		"the first while stepping": func(l *List[int]) (operations int) {
			for id, _, ok := l.Next(0); ok; id, _, ok = l.Next(0) {
				l.Remove(id)
				operations += 2
			}
			return operations
		},
		"the lower half, then the first step, often": func(l *List[int]) (operations int) {
			for i := range n/2 - 1 {
				l.Remove(uint32(n/2 - 1 - i))
				l.Next(0)
				operations += 2
			}
			return operations
		},
	} {
		var l List[int]
		for i := range n {
			l.Add(uint32(i+1), i)
		}
		operations := steps(&l) + remove(&l) + steps(&l)
		assert.LessOrEqual(t, l.Looks(), 6*operations, name)
	}
}

func removeAll(l *List[int], order func(i int) int) int {
	n := l.Len()
	for i := range n {
		l.Remove(uint32(order(i) + 1))
	}
	return n
}
