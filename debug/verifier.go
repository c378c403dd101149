package debug

import (
	"context"
	"fmt"

	"github.com/bpfrun/bpfrun/verifier"
)

// Abstract is what the verifier of the target's release knows at the instruction that is executed next.
type Abstract struct {
	Place  Place
	States *verifier.States
	// Values are the registers here that the machine has, by number.
	Values map[int]uint64
}

// maxAbstract is how many different states are kept of an instruction.
const maxAbstract = 64

// Abstract asks the verifier in which states it comes to the instruction here.
func (s *Session) Abstract(ctx context.Context) (*Abstract, error) {
	frames, err := s.Frames()
	if err != nil {
		return nil, err
	}
	a := &Abstract{Values: map[int]uint64{}}
	for _, f := range frames { // functions that were inlined have no place of their own
		if !f.Inlined {
			a.Place = f.Place
			break
		}
	}
	if a.Place.Prog == nil {
		return nil, fmt.Errorf("no program's instruction is executed here")
	}
	for i := range 11 {
		if v, ok := s.m.Thread().FrameReg(0, i); ok {
			a.Values[i] = v
		}
	}
	k := verifier.KernelOf(s.linked.Target)
	if k.Release == 0 {
		return nil, fmt.Errorf("the release of %s is unknown: set it with --kernel-version", s.linked.Target.Name)
	}
	p, err := verifier.FromLinked(s.linked, a.Place.Prog)
	if err != nil {
		return nil, err
	}
	a.States, err = verifier.StatesAt(ctx, k, p, a.Place.PC, maxAbstract)
	return a, err
}
