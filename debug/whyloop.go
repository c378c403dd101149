package debug

import (
	"fmt"
)

// foldLoops replaces what iterations of a loop repeat: where an instruction has its value from itself, iterations ago, again and again, the first
// time is shown, a step that counts the others, and what came before the loop.
func foldLoops(o *Origin) {
	for i, f := range o.From {
		o.From[i] = folded(o, f)
		foldLoops(o.From[i])
	}
}

// folded returns the step f of o, or what stands for the iterations that begin with it.
func folded(o, f *Origin) *Origin {
	if o.Place.Prog == nil {
		return f
	}
	// The chain of the same instruction below o. It may take several steps from one to the next.
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
	const few = 2 // times that are shown as they are
	if n <= few {
		return f
	}
	return &Origin{Pos: last.Pos, Text: fmt.Sprintf("the same %d more times, in earlier iterations", n), From: last.From}
}

// sameBelow finds the first step that is the instruction of o, at f or below.
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
