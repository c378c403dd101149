package jit

import (
	"github.com/bpfrun/bpfrun/jit/amd64"
	"github.com/bpfrun/bpfrun/jit/plan"
)

func backendCompile(p *plan.Program, t plan.Target, out *plan.Code) error {
	return amd64.Compile(p, t, out)
}

func backendEnter(text, state uintptr) (left uintptr) { return amd64.Enter(text, state) }

// backendSync is called after code was written; instruction fetches see it at once.
func backendSync([]byte) {}
