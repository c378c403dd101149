package matrix

import (
	"crypto/sha256"
	"encoding/binary"
	"hash/maphash"
	"sync"

	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/loader"
)

// target is a kernel while its column is being computed.
type target struct {
	kernel Kernel
	index  int
	left   int // objects that still need the kernel

	key        string // Kernel.Key before anything was read
	identified sync.Once
	facts      *Facts
	err        error
	id         identity
	twin       *target // an equal kernel, whose results are those of this one

	opened   sync.Once
	reopened bool // for an experiment
	t        *loader.Target
	types    *object.Types
}

// identity tells kernels apart; that of a kernel that cannot be compared is 0.
type identity [sha256.Size]byte

// unnamed is the name of all kernels in messages: equal kernels have equal results under any name.
const unnamed = "this kernel"

// identify finds out which kernel it is.
func (r *runner) identify(t *target) {
	t.identified.Do(func() {
		if t.kernel.Key != nil {
			t.key = t.kernel.Key()
		}
		known := r.knownByKey(t)
		if !known {
			if t.open(); t.err != nil {
				return
			}
			if t.id = r.identity(t.t); t.steady() {
				known = true
				r.session.addKernel(t.key, t.facts, t.id)
			}
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if t.id == (identity{}) {
			return
		}
		if known && t.key != "" {
			r.byKey[t.key] = t
		}
		if t.twin = r.distinctKernels[t.id]; t.twin != nil {
			t.close()
			return
		}
		r.distinctKernels[t.id] = t
	})
}

// knownByKey sets facts and identity of a kernel if its key is that of a kernel of this run, or of
// one of an earlier run.
func (r *runner) knownByKey(t *target) (known bool) {
	r.mu.Lock()
	same := r.byKey[t.key]
	r.mu.Unlock()
	if same != nil {
		t.facts, t.id = same.facts, same.id
		return true
	}
	t.facts, t.id, known = r.session.knownKernel(t.key)
	return known
}

// steady reports whether the kernel is still what it was before it was opened, if it has a key.
func (t *target) steady() bool { return t.key == "" || t.kernel.Key() == t.key }

// sure reports whether the open kernel is the one of its identity: files change.
func (r *runner) sure(t *target) bool {
	if r.session == nil {
		return false
	}
	if t.reopened && t.key == "" {
		t.reopened = false
		if r.identity(t.t) != t.id {
			t.id = identity{}
		}
	}
	return t.id != (identity{}) && t.steady()
}

// again returns the kernel to be opened again.
func (t *target) again() *target {
	return &target{kernel: t.kernel, index: t.index, key: t.key, facts: t.facts, id: t.id, reopened: true}
}

// identity hashes a kernel: without a cache with a seed of this run, since nothing else has to know
// it, which takes a fraction of the time.
func (r *runner) identity(t *loader.Target) (id identity) {
	if r.session != nil {
		h := sha256.New()
		if t.Hash(h) == nil {
			id = identity(h.Sum(nil))
		}
		return id
	}
	var h maphash.Hash
	h.SetSeed(r.seed)
	if t.Hash(&h) == nil {
		id[0] = 1 // not 0
		binary.LittleEndian.PutUint64(id[1:], h.Sum64())
	}
	return id
}

// open makes the kernel's types available until it is closed.
func (t *target) open() {
	t.opened.Do(func() {
		opened, err := t.kernel.Open()
		if err != nil {
			t.err = err
			return
		}
		t.t, t.types = opened.Called(unnamed), object.NewTypes()
		if t.facts == nil {
			t.facts = factsOf(t.t)
		}
	})
}

// close releases the target's types.
func (t *target) close() { t.t, t.types = nil, nil }

// first is the kernel whose results are those of t.
func (t *target) first() *target {
	if t.twin != nil {
		return t.twin
	}
	return t
}

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
