package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/kernels"
	"github.com/bpfrun/bpfrun/loader"
)

func TestKernelPoolKeepsTheLastFewOpen(t *testing.T) {
	opened := map[string]int{}
	p := newKernelPool(func(s btfSource) (*loader.Target, error) { opened[s.Path]++; return &loader.Target{}, nil })
	use := func(name string) *pooledKernel {
		k := p.use(btfSource{Source: kernels.Source{Path: name}})
		_, err := k.target()
		require.NoError(t, err)
		return k
	}
	held := use("held")
	for i := range 2 * idleKernels {
		p.release(use(fmt.Sprint(i)))
		assert.LessOrEqual(t, len(p.all), 1+idleKernels)
	}
	p.release(use(fmt.Sprint(2*idleKernels - 1)))
	assert.Equal(t, 1, opened[fmt.Sprint(2*idleKernels-1)], "one of the last is still open")
	p.release(use("0"))
	assert.Equal(t, 2, opened["0"], "the first was closed")
	assert.Same(t, held, use("held"), "what is used stays open")
	assert.Equal(t, 1, opened["held"])
}
