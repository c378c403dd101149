package debug

import (
	"fmt"
)

// foldLoops folds the repeated iterations of a loop: where an instruction's value comes from its
// own earlier executions, the origin shows the first one, a step that counts the rest, and what
// preceded the loop.
func foldLoops(o *Origin) {
	for i, f := range o.From {
		o.From[i] = folded(o, f)
		foldLoops(o.From[i])
	}
}

// folded returns the step f of o, or the step that replaces the iterations beginning with it.
func folded(o, f *Origin) *Origin {
	if o.Place.Prog == nil {
		return f
	}
	// The chain of executions of the same instruction below o; several steps may separate them.
	last, n := o, 0
	for at := f; at != nil; {
		next := sameBelow(o, at)
		if next == nil {
			break
		}
		last = next
		n++
		at = nil
		for _, x := range next.From {
			if sameBelow(o, x) != nil {
				at = x
				break
			}
		}
	}
	const few = 2 // repetitions that are not folded
	if n <= few {
		return f
	}
	return &Origin{Pos: last.Pos, Text: fmt.Sprintf("the same %d more times, in earlier iterations", n), From: last.From}
}

// sameBelow finds the first step at or below f with the same instruction as o.
func sameBelow(o, f *Origin) *Origin {
	if f.Place == o.Place {
		return f
	}
	for _, x := range f.From {
		if s := sameBelow(o, x); s != nil {
			return s
		}
	}
	return nil
}
