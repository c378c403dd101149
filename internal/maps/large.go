package maps

// Comparing and listing the contents of a map takes many times its size.
const (
	mostListed      = 1 << 17  // elements
	mostListedBytes = 16 << 20 // of keys and values
)

// Len returns the number of elements.
func (t *table) Len() int { return t.index.n }

// Large reports whether programs have created too many elements in a map to list them, and how
// many.
func Large(m Map) (elements int, large bool) {
	t, ok := m.(interface{ Len() int })
	if !ok {
		return 0, false
	}
	s := m.Spec()
	n := t.Len()
	return n, n > mostListed || uint64(n)*(uint64(s.KeySize)+uint64(s.ValueSize)) > mostListedBytes
}
