package profile

import (
	"io"

	"github.com/bpfrun/bpfrun/internal/flame"
)

// eachSample calls f for every instruction in every chain of calls. sites are the slots of the
// calls, the innermost first.
func (r *Profile) eachSample(f func(sites []int, insn, processed, states int)) {
	for i := range r.costs.Calls {
		c := &r.costs.Calls[i]
		var sites []int
		for p := c; p.Parent >= 0; p = &r.costs.Calls[p.Parent] {
			sites = append(sites, p.Site)
		}
		for at, n := range c.Insns {
			if n > 0 {
				f(sites, c.Start+at, n, c.States[at])
			}
		}
	}
}

// flames are profiles as stacks of calls.
func flames(profiles []*Profile) []flame.Profile {
	out := make([]flame.Profile, len(profiles))
	for i, r := range profiles {
		place := func(insn int) flame.Place {
			at := r.place(insn)
			return flame.Place{Insn: insn, Func: at.Func, File: at.File, Line: at.Line, Name: at.String()}
		}
		out[i] = flame.Profile{Program: r.Program, Insns: len(r.costs.Insns), Values: []string{"instructions", "states"}, Each: func(f func([]flame.Place, []int)) {
			r.eachSample(func(sites []int, insn, processed, states int) {
				stack := []flame.Place{place(insn)}
				for _, at := range sites {
					stack = append(stack, place(at))
				}
				f(stack, []int{processed, states})
			})
		}}
	}
	return out
}

// WritePprof writes profiles for go tool pprof: samples are instructions in their chain of calls,
// with how often they were processed and how many states were kept.
func WritePprof(w io.Writer, profiles []*Profile) error { return flame.WritePprof(w, flames(profiles)) }

// WriteSpeedscope writes a file for speedscope: functions, and in them source lines; a profile of
// instructions and one of states for each program.
func WriteSpeedscope(w io.Writer, profiles []*Profile) error {
	return flame.WriteSpeedscope(w, "bpfrun verify", flames(profiles))
}
