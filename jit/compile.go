//go:build linux && (amd64 || arm64)

package jit

import (
	"fmt"

	"github.com/bpfrun/bpfrun/jit/plan"
	"github.com/bpfrun/bpfrun/mem"
	"github.com/bpfrun/bpfrun/vm"
)

// Compile makes the native code of a program without running it, as an engine for a memory of the usual size would, to look at it
// or to measure how long that takes. Words are those of [vm.Thread.SetContext]; with loops these are optimised, as engines do when a
// program has run for long. Memory of an earlier result may be used again.
func Compile(img *vm.Image, words []*uint64, loops bool, old *Compiled) (*Compiled, error) {
	c := old
	if c == nil {
		c = &Compiled{}
	}
	p := plan.New(img, words, c.program)
	if p == nil {
		return nil, fmt.Errorf("%w: a program of %d slots", ErrUnsupported, img.Len())
	}
	if loops {
		p.Optimise(func(int32) bool { return true }, nil)
	}
	c.program = p
	c.Code.Reset(len(p.Insns))
	t := plan.Target{Base: mem.DefaultBase, ShadowDelta: -mem.DefaultSize / 8, StateDelta: -1 << 14}
	if err := backendCompile(p, t, &c.Code); err != nil {
		return nil, err
	}
	return c, nil
}
