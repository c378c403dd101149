package maps

// Layout describes where the values of an array are. It is valid for as long as the array exists, even across Restore.
type Layout struct {
	Entries uint32
	// Stride is the distance between elements, CopyStride that between the copies for different CPUs, both in bytes.
	// Copies is the number of copies.
	Stride, CopyStride uint64
	Copies             int
	// Bases are the addresses of the chunks of 1<<Shift elements, 0 for those not allocated yet: At allocates them.
	Bases []uint64
	Shift uint
}

// Array is implemented by maps whose values are at fixed distances: array and percpu_array.
type Array interface {
	Map
	Layout() Layout
}

// Layout implements [Array].
func (a *array) Layout() Layout {
	return Layout{
		Entries: a.n, Stride: a.stride * a.copies, CopyStride: a.stride, Copies: int(a.copies), Bases: a.bases, Shift: a.shift,
	}
}
