package progtype

import (
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Set is a set of program types, such as those that may call a helper.
type Set uint64

// SetOf returns the set of the given types.
func SetOf(types ...uapi.ProgType) Set {
	var s Set
	for _, t := range types {
		s |= 1 << t
	}
	return s
}

// Has reports whether a type is in the set.
func (s Set) Has(t uapi.ProgType) bool { return t < 64 && s>>t&1 != 0 }

// Where returns the set of types whose rows satisfy a condition: Where(func(r *Row) bool { return
// r.Packet != NoPacket }).
func Where(is func(*Row) bool) Set {
	var s Set
	for _, r := range rows()[1:] {
		if is(r) {
			s |= SetOf(r.Type)
		}
	}
	return s
}
