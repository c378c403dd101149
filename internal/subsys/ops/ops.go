// Package ops lists the struct_ops types whose programs make sense only within what they implement
// together, such as a scheduler: one row for each subsystem. It does not know how a subsystem is
// simulated, nor what its programs may do.
package ops

import "slices"

// Whole is a subsystem whose programs run only as one. Runs of single programs on made-up arguments
// would only look like answers.
type Whole struct {
	// Key is its name in scenario files and in configurations of machines.
	Key string
	// Types are the structs whose members its programs are.
	Types []string
	// Alone says what is not simulated if one of its programs runs by itself.
	Alone string
}

// wholes has the rows.
var wholes = [...]Whole{
	{"sched", []string{"sched_ext_ops", "sched_ext_ops_cid"}, "sched_ext outside of a schedule"},
	{"qdisc", []string{"Qdisc_ops"}, "queueing disciplines without traffic"},
}

// Of returns the subsystem of a struct_ops type; ok is false if programs of that type run alone.
func Of(typ string) (w Whole, ok bool) {
	for _, w := range wholes {
		if slices.Contains(w.Types, typ) {
			return w, true
		}
	}
	return Whole{}, false
}

// Named returns the subsystem with a key, which must exist.
func Named(key string) Whole {
	for _, w := range wholes {
		if w.Key == key {
			return w
		}
	}
	panic("ops: no subsystem is called " + key)
}
