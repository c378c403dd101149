package race

import (
	"github.com/bpfrun/bpfrun/internal/machine"
)

// Scene is what a user wrote about the programs of a machine, whose state is that of the scene.
type Scene struct {
	// Runs are inputs of programs, in place of the default ones.
	Runs []Given
	// Races are sets of actors of their own.
	Races []Meeting
	// Check returns what must hold at the end of every order, after so many runs; nil for no
	// questions.
	Check func(runs int) Checker
}

// Given is a run of a program with the input that a user wrote.
type Given struct {
	Name, Program string
	Input         machine.Input
}

// Earlier is a run of a program before a race.
type Earlier struct {
	Program string
	// Input is nil for that of the actors which run the program, or else for the default one.
	Input *machine.Input
}

// Inputs returns the inputs with which it runs, one after the other: with those of actors, that of
// the first one, and those of others that have objects of their own.
func (e Earlier) Inputs(actors []Actor) []machine.Input {
	if e.Input != nil {
		return []machine.Input{*e.Input}
	}
	if list := before(actors, e.Program); len(list) > 0 {
		return list
	}
	return []machine.Input{{}}
}

// roles are what a program is in meetings: each of its runs that a user wrote, or itself with the
// default input.
func (s *Scene) roles(r role) []role {
	var out []role
	if s != nil {
		for i := range s.Runs {
			if g := &s.Runs[i]; g.Program == r.lp.Name {
				with := r
				with.given = g
				out = append(out, with)
			}
		}
	}
	if out == nil {
		out = []role{r}
	}
	return out
}
