package matrix

import (
	"encoding/binary"
	"sync"

	"github.com/bpfrun/bpfrun/kernel"
	"github.com/bpfrun/bpfrun/loader"
)

// target is a kernel while its column is being computed.
type target struct {
	kernel Kernel
	left   int // objects that still need the kernel

	once  sync.Once
	t     *loader.Target
	types *kernel.Types
	facts *Facts
	err   error
}

func (t *target) open() {
	t.once.Do(func() {
		if t.t, t.err = t.kernel.Open(); t.err != nil {
			t.t = nil
			return
		}
		t.types = kernel.NewTypes()
		t.facts = factsOf(t.t)
	})
}

// close releases the target's types.
func (t *target) close() { t.t, t.types = nil, nil }

func factsOf(t *loader.Target) *Facts {
	f := &Facts{Release: t.Release, Arch: t.Arch, VersionKnown: t.VersionKnown}
	if t.Version != 0 {
		f.Version = t.VersionString()
	}
	if t.BTF != nil {
		f.BigEndian = t.BTF.ByteOrder() == binary.ByteOrder(binary.BigEndian)
		f.PointerSize, f.Types = t.BTF.PointerSize(), t.BTF.NumTypes()
	}
	return f
}
