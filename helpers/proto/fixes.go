package proto

import "github.com/bpfrun/bpfrun/internal/uapi"

// fix is a change of a prototype that updates brought to older releases as well: to those that were
// still maintained, so that releases between them do not have it.
type fix []span

// span is a row of releases, until before the second one; 0 is unbounded.
type span struct{ from, until uapi.Release }

var (
	// writtenFixed: numbers of fixed size that helpers write need not be initialised, and are not
	// in read-only memory (MEM_UNINIT instead of ARG_PTR_TO_LONG and ARG_PTR_TO_INT).
	writtenFixed = fix{{r(6, 1), r(6, 2)}, {r(6, 6), r(6, 7)}, {r(6, 10), 0}}
	// storeBytesFixed: bpf_xdp_store_bytes reads its buffer (bpf_xdp_store_bytes_proto).
	storeBytesFixed = fix{{r(6, 1), r(6, 2)}, {r(6, 6), r(6, 7)}, {r(6, 12), r(6, 13)}, {r(6, 18), 0}}
)

// uses gives the programs the prototype of releases with the fix.
func (f fix) uses(by Class) uses {
	var out uses
	for _, s := range f {
		out = append(out, Use{From: s.from, Until: s.until, By: by})
	}
	return out
}

// others gives the programs the prototype of releases without the fix.
func (f fix) others(by Class) uses {
	var out uses
	var from uapi.Release
	for _, s := range f {
		if s.from > from {
			out = append(out, Use{From: from, Until: s.from, By: by})
		}
		if from = s.until; from == 0 {
			return out
		}
	}
	return append(out, Use{From: from, By: by})
}

// from and until cut the fix to a part of the releases: the others of from begin with that release,
// the uses of until end before it.
func (f fix) from(r uapi.Release) fix { return append(fix{{0, r}}, f...) }

func (f fix) until(r uapi.Release) fix {
	out := append(fix{}, f...)
	out[len(out)-1].until = r
	return out
}
