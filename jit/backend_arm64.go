package jit

import (
	"unsafe"

	"github.com/bpfrun/bpfrun/jit/arm64"
	"github.com/bpfrun/bpfrun/jit/plan"
)

func backendCompile(p *plan.Program, t plan.Target, out *plan.Code) error {
	return arm64.Compile(p, t, out)
}

func backendEnter(text, state uintptr) (left uintptr) { return arm64.Enter(text, state) }

// backendSync is called after code was written.
func backendSync(code []byte) {
	start := uintptr(unsafe.Pointer(unsafe.SliceData(code)))
	arm64.Sync(start, start+uintptr(len(code)))
}
