package debug

import (
	"context"
	"fmt"

	"github.com/bpfrun/bpfrun/internal/verifier"
)

// Abstract is the verifier's state at the next instruction, in the release of the kernel.
type Abstract struct {
	Place  Place
	States *verifier.States
	// Values are the registers' values in the machine at this point, by number.
	Values map[int]uint64
}

// maxAbstract is the largest number of distinct states kept for an instruction.
const maxAbstract = 64

// Abstract returns the states in which the verifier reaches the current instruction.
func (s *Session) Abstract(ctx context.Context) (*Abstract, error) {
	frames, err := s.Frames()
	if err != nil {
		return nil, err
	}
	a := &Abstract{Values: map[int]uint64{}}
	for _, f := range frames { // inlined functions have no instruction of their own
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
