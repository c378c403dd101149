package bpftest

import "slices"

// Record is what a program sent to user space through a ring or perf buffer.
type Record struct {
	// Map is the buffer's name, CPU the CPU the program ran on.
	Map  string
	CPU  int
	Data []byte

	o *Object
}

// Into decodes the record into out, as [Map.Lookup] does with values. A perf buffer's record may be
// up to seven bytes longer than the struct that was sent, because the kernel pads it.
func (r Record) Into(out any) error {
	what := "record of " + r.Map
	data := r.Data
	if size, err := sizeOf(what, out); err == nil && r.perf() && len(data)-size > 0 && len(data)-size < 8 {
		data = data[:size]
	}
	return unmarshal(what, data, out, r.o.order())
}

func (r Record) perf() bool {
	m, ok := r.o.m.MapByName(r.Map)
	return ok && isPerf(m)
}

// Records decodes the records that a run sent through one buffer, in order. A record whose size
// differs from T's ends the test.
func Records[T any](res *Result, buffer string) []T {
	res.o.t.Helper()
	res.o.Map(buffer) // fails the test if there is no such map
	out := []T{}
	for _, r := range res.Records {
		if r.Map != buffer {
			continue
		}
		var v T
		res.o.fail(r.Into(&v))
		out = append(out, v)
	}
	return out
}

// From returns the records that were sent through one buffer.
func (r *Result) From(buffer string) []Record {
	return slices.DeleteFunc(slices.Clone(r.Records), func(e Record) bool { return e.Map != buffer })
}
