package main

import (
	"slices"
	"sync"

	"github.com/bpfrun/bpfrun/kernel"
	"github.com/bpfrun/bpfrun/loader"
)

// idleKernels is how many kernels stay open that no job uses. A kernel takes some 10 MB.
const idleKernels = 8

// kernelPool opens kernels for jobs and closes those that nobody has used for longest, so that a test on hundreds of kernels needs the
// memory of a few.
type kernelPool struct {
	open func(btfSource) (*loader.Target, error)

	mu   sync.Mutex
	all  map[string]*pooledKernel
	idle []*pooledKernel // the longest unused first
}

type pooledKernel struct {
	path   string
	users  int
	target func() (*loader.Target, error)
	types  *kernel.Types
}

func newKernelPool(open func(btfSource) (*loader.Target, error)) *kernelPool {
	return &kernelPool{open: open, all: map[string]*pooledKernel{}}
}

// use returns a kernel, which stays open until release is called with it. Other jobs that use it meanwhile share it.
func (p *kernelPool) use(s btfSource) *pooledKernel {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := p.all[s.Path]
	if k == nil {
		k = &pooledKernel{path: s.Path, types: kernel.NewTypes(), target: sync.OnceValues(func() (*loader.Target, error) { return p.open(s) })}
		p.all[s.Path] = k
	}
	if k.users++; k.users == 1 {
		p.idle = slices.DeleteFunc(p.idle, func(x *pooledKernel) bool { return x == k })
	}
	return k
}

func (p *kernelPool) release(k *pooledKernel) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if k.users--; k.users > 0 {
		return
	}
	if p.idle = append(p.idle, k); len(p.idle) > idleKernels {
		delete(p.all, p.idle[0].path)
		p.idle = slices.Delete(p.idle, 0, 1)
	}
}
