package maps

// Layout is where the values of an array lie. It holds for as long as the array exists, over Restore too.
type Layout struct {
	Entries uint32
	// Stride is the distance between elements; Copies describes how many CPUs have a copy of each, CopyStride how far they are apart.
	Stride, CopyStride uint64
	Copies             int
	// Bases are the addresses of the chunks of 1<<Shift elements, 0 for those that nobody touched: At makes them.
	Bases []uint64
	Shift uint
}

// Array is a map whose values lie at fixed distances: array and percpu_array.
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
