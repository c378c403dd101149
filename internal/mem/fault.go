package mem

import (
	"fmt"
	"slices"
	"strings"
)

// FaultKind is the rule that an access violated.
type FaultKind uint8

const (
	// OutOfBounds: the access leaves the region it points to.
	OutOfBounds FaultKind = iota + 1
	// UseAfterFree: the region was freed.
	UseAfterFree
	// Unmapped: nothing is at that address.
	Unmapped
	// NullPointer: the address is in the first page.
	NullPointer
	// ReadOnly: a store to memory that the program may only read.
	ReadOnly
	// Misaligned: the address is not aligned as the access requires.
	Misaligned
	// NeverSet: a load of bytes that were never written.
	NeverSet
	// NotPermitted: the object does not allow the access.
	NotPermitted
	// UserPointer: a direct access to user memory in kernel mode.
	UserPointer
	// NotSimulated: a kernel has something there that is not simulated.
	NotSimulated
)

var faultKindNames = [...]string{
	OutOfBounds: "out-of-bounds", UseAfterFree: "use-after-free", Unmapped: "unmapped",
	NullPointer: "null-pointer", ReadOnly: "read-only", Misaligned: "misaligned",
	NeverSet: "never-set", NotPermitted: "not-permitted", UserPointer: "user-pointer", NotSimulated: "not-simulated",
}

// String returns the kind in lower case with hyphens: "out-of-bounds".
func (k FaultKind) String() string {
	if int(k) < len(faultKindNames) && faultKindNames[k] != "" {
		return faultKindNames[k]
	}
	return fmt.Sprintf("fault(%d)", uint8(k))
}

// FaultKinds lists the names of all kinds.
func FaultKinds() []string { return slices.Clone(faultKindNames[1:]) }

// Fault is a refused access. It is an error. Memory was not changed, unless a View says otherwise.
type Fault struct {
	Kind  FaultKind
	Addr  uint64
	Size  int
	Write bool
	// Atomic is set for a read-modify-write operation; Write is then set too.
	Atomic bool
	// Region is the region that contains the address, or the nearest one, or nil.
	Region *Region
	// Delta is the distance in bytes from the nearest bound of Region (for an array, of the
	// element). For OutOfBounds it is negative before the start, and 0 or positive counted from the
	// end. For all other kinds it is the offset in the region or array element.
	Delta int64
	// Detail is an optional explanation.
	Detail string
}

// Error describes the access and where it points, such as
// "load of 8 bytes at 0xffff888000000158: 8 bytes past the end of map value counters[3]".
func (f *Fault) Error() string {
	var b strings.Builder
	what := "load"
	switch {
	case f.Atomic:
		what = "atomic operation"
	case f.Write:
		what = "store"
	}
	fmt.Fprintf(&b, "%s of %s at %#x: ", what, plural(int64(f.Size)), f.Addr)
	b.WriteString(f.where())
	if f.Detail != "" {
		b.WriteString("; ")
		b.WriteString(f.Detail)
	}
	return b.String()
}

func plural(n int64) string {
	if n == 1 {
		return "1 byte"
	}
	return fmt.Sprintf("%d bytes", n)
}

func (f *Fault) where() string {
	name := ""
	if f.Region != nil {
		name = f.Region.Describe(f.Addr)
	}
	switch f.Kind {
	case OutOfBounds:
		if f.Region == nil {
			return "outside any region"
		}
		return f.outOfBounds(name)
	case UseAfterFree:
		if f.Region != nil && f.Region.why != "" {
			return fmt.Sprintf("offset %d of %s, which %s", f.Delta, name, f.Region.why)
		}
		return fmt.Sprintf("offset %d of %s, which was freed", f.Delta, name)
	case NullPointer:
		if f.Addr == 0 {
			return "null pointer"
		}
		return fmt.Sprintf("null pointer plus %d", f.Addr)
	case ReadOnly:
		return fmt.Sprintf("%s is read-only", name)
	case NeverSet:
		if f.Region != nil && f.Region.Kind == Stack {
			return fmt.Sprintf("byte r10%d of %s was never set", f.Delta-int64(f.Region.Size), name)
		}
		return fmt.Sprintf("offset %d of %s was never set", f.Delta, name)
	case NotPermitted:
		return fmt.Sprintf("access to offset %d of %s is not permitted", f.Delta, name)
	case NotSimulated:
		return fmt.Sprintf("offset %d of %s is not simulated", f.Delta, name)
	case UserPointer:
		return "direct access to user memory (needs bpf_probe_read_user)"
	case Misaligned:
		return "misaligned"
	default:
		if n := -int64(f.Addr); n > 0 && n < 4096 {
			return fmt.Sprintf("no memory there; it looks like the error pointer -%d", n)
		}
		if f.Region != nil {
			return "page not present in " + name
		}
		return "no memory there"
	}
}

func (f *Fault) outOfBounds(name string) string {
	if f.Delta < 0 {
		before := -f.Delta
		if before < int64(f.Size) {
			return fmt.Sprintf("the first %s are before the start of %s", plural(before), name)
		}
		return fmt.Sprintf("%s before the start of %s", plural(before), name)
	}
	lo, hi := f.Region.bounds(f.Addr)
	switch {
	case f.Addr >= lo && f.Addr < hi:
		over := f.Addr + uint64(f.Size) - hi
		return fmt.Sprintf("the last %s of the access are past the end of %s", plural(int64(over)), name)
	case f.Delta == 0:
		return "just past the end of " + name
	}
	return fmt.Sprintf("%s past the end of %s", plural(f.Delta), name)
}

// LimitError reports an allocation or reservation that is larger than the rest of the arena.
type LimitError struct {
	What      string // description of the region requested
	Requested uint64 // bytes; saturated if the product overflowed
	Available uint64 // bytes left
}

// Error describes the request and what is left.
func (e *LimitError) Error() string {
	return fmt.Sprintf("mem: %s needs %d bytes of simulated memory, %d are left", e.What, e.Requested, e.Available)
}
