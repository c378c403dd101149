package maps

// Layout describes where the values of an array are. It is valid for as long as the array exists,
// even across Restore.
type Layout struct {
	Entries uint32
	// Stride is the distance between elements, CopyStride that between the copies for different
	// CPUs, both in bytes. Copies is the number of copies.
	Stride, CopyStride uint64
	Copies             int
	// Bases are the addresses of the chunks of 1<<Shift elements, 0 for those not allocated yet: At
	// allocates them.
	Bases []uint64
	Shift uint
	// Open is the number of bytes of each element that programs may read and write without
	// restriction: all, or 0.
	Open uint64
}

// Array is implemented by maps whose values are at fixed distances: array and percpu_array.
type Array interface {
	Map
	Layout() Layout
}

// Layout implements [Array].
func (a *array) Layout() Layout {
	return Layout{
		Entries: a.n, Stride: a.stride * a.copies, CopyStride: a.stride, Copies: int(a.copies), Bases: a.bases, Shift: a.shift, Open: a.open(),
	}
}

// Row is where elements that follow each other are: element Index is at Addr, those up to End
// (exclusive) at the same distance from each other.
type Row struct {
	Index, End     uint32
	Addr, Distance uint64
}

// Strider is implemented by maps that can be walked and have elements at fixed distances.
type Strider interface {
	Walker
	// Stride returns the row that begins with the element Walk returned last.
	Stride(cpu int, c Cursor) Row
}

// After returns the cursor after the element with an index.
func After(index uint32) Cursor { return Cursor{next: index + 1} }

// Stride implements [Strider].
func (a *array) Stride(cpu int, c Cursor) Row {
	if cpu < 0 || !a.percpu {
		cpu = 0
	}
	i := c.next - 1
	addr, e := a.At(i, cpu)
	if e != OK {
		return Row{Index: i, End: c.next}
	}
	end := (uint64(i)>>a.shift + 1) << a.shift
	return Row{Index: i, End: uint32(min(end, uint64(a.n))), Addr: addr, Distance: a.stride * a.copies}
}
