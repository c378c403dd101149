package mend

import "github.com/bpfrun/bpfrun/internal/verifier"

// Padded returns a program with an instruction that does nothing before slot at.
func Padded(p *verifier.Program, at int) *verifier.Program {
	w := &work{p: p, origin: make([]int, len(p.Insns))}
	return w.inserted(at, assembled("goto +0"), nil, 0).p
}
