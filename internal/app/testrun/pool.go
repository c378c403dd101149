package testrun

import (
	"slices"
	"sync"

	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/kernels"
	"github.com/bpfrun/bpfrun/internal/scenario"
	"github.com/bpfrun/bpfrun/loader"
)

// idleKernels is the number of unused kernels that stay open. A kernel takes about 10 MB.
const idleKernels = 8

// pool opens kernels for jobs and closes the least recently used ones, so that testing on hundreds
// of kernels takes the memory of a few.
type pool struct {
	open   func(kernels.Source) (*loader.Target, error)
	verify func() Verify

	mu   sync.Mutex
	all  map[string]*pooled
	idle []*pooled // least recently used first
	kept uint64    // memory of the runners that jobs keep
}

// pooled is an open kernel with caches of its types and verdicts.
type pooled struct {
	path   string
	users  int
	target func() (*loader.Target, error)
	types  *object.Types
	verify Verify // nil: no verdicts
}

func newPool(open func(kernels.Source) (*loader.Target, error), verify func() Verify) *pool {
	return &pool{open: open, verify: verify, all: map[string]*pooled{}}
}

// use returns a kernel, which stays open until it is passed to release. Several jobs may share it.
func (p *pool) use(s kernels.Source) *pooled {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := p.all[s.Path]
	if k == nil {
		k = &pooled{path: s.Path, types: object.NewTypes(), target: sync.OnceValues(func() (*loader.Target, error) { return p.open(s) })}
		if p.verify != nil {
			k.verify = p.verify()
		}
		p.all[s.Path] = k
	}
	if k.users++; k.users == 1 {
		p.idle = slices.DeleteFunc(p.idle, func(x *pooled) bool { return x == k })
	}
	return k
}

// keep reports whether there is room to keep a runner.
func (p *pool) keep(r *scenario.Runner) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	size := keptRunner + r.Machine().Kernel().Mem().Used()
	if p.kept+size > keptMemory {
		return false
	}
	p.kept += size
	return true
}

func (p *pool) release(k *pooled) {
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
