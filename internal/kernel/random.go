package kernel

import "github.com/bpfrun/bpfrun/internal/kernel/object"

// random is a splitmix64 generator that first returns an optional list of values given by the user.
type random struct {
	state uint64
	given []uint64
	next  int
}

func (r *random) uint64() uint64 {
	if r.next < len(r.given) {
		v := r.given[r.next]
		r.next++
		return v
	}
	v := object.Mix(r.state)
	r.state += 0x9e3779b97f4a7c15
	return v
}
