package bpfsys

import (
	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/bpfattr"
)

// Iter is one iteration of an iterator program, whose output is read as a file.
type Iter struct {
	object
	link *Link
	text []byte
}

// Text returns the output of the iterator. The program ran when the file was created, so the output
// shows the state at that time.
func (i *Iter) Text() []byte { return i.text }

func (s *System) linkIter(c Caller, a bpfattr.LinkCreate, p *Prog) Result {
	if a.Flags() != 0 || a.TargetFd() != 0 {
		return fail(uapi.EINVAL)
	}
	size := a.IterInfoLen()
	ptr := a.IterInfo()
	if (ptr == 0) != (size == 0) {
		return fail(uapi.EINVAL)
	}
	given := make([]byte, 16)
	if ptr != 0 {
		if size > uapi.PageSize {
			return fail(uapi.E2BIG)
		}
		b := make([]byte, size)
		if !c.Read(ptr, b) {
			return fail(uapi.EFAULT)
		}
		if !zeroFrom(b, 16) {
			return fail(uapi.E2BIG)
		}
		copy(given, b)
	}
	name := p.lp.AttachTo
	if !s.hasIterator(name) {
		return fail(uapi.ENOENT)
	}
	l := &Link{typ: uapi.LinkIter, prog: p, attach: uapi.AttachTraceIter, name: name, cookie: 0}
	switch name {
	case "bpf_map_elem", "bpf_sk_storage_map", "sockmap":
		m, _, e := fileOf[*Map](c, int32(le.Uint32(given)))
		switch {
		case le.Uint32(given) == 0:
			return fail(uapi.EBADF)
		case e != 0:
			return fail(e)
		}
		s.hold(m)
		l.iterMap = m
	}
	return s.newLink(l)
}

func (s *System) hasIterator(name string) bool {
	for _, spec := range s.specs() {
		if _, ok := spec.FindID(btf.KindFunc, "bpf_iter_"+name); ok {
			return true
		}
	}
	return false
}

func (s *System) iterCreate(c Caller, a bpfattr.IterCreate) Result {
	if a.Flags() != 0 {
		return fail(uapi.EINVAL)
	}
	l, _, e := fileOf[*Link](c, a.LinkFd())
	if e != 0 {
		return fail(e)
	}
	return s.iterate(l)
}

// OpenIter implements open(2) of a pinned iterator link.
func (s *System) OpenIter(l *Link) Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.iterate(l)
}

func (s *System) iterate(l *Link) Result {
	if l.typ != uapi.LinkIter {
		return fail(uapi.EINVAL)
	}
	if s.full(KindIter) {
		return fail(uapi.EMFILE)
	}
	in := machine.Input{Hook: &machine.Hook{AttachTo: l.prog.lp.AttachTo, Section: l.prog.lp.Section}}
	if l.iterMap != nil {
		in.Map = l.iterMap.def.Name
		in.MapDef = l.iterMap.def
	}
	res, err := s.run(nil, l.prog, in)
	if err != nil {
		return Result{Errno: uapi.EINVAL, Note: err.Error()}
	}
	it := &Iter{link: l, text: []byte(res.Output)}
	s.hold(l)
	s.add(it, KindIter, l.name, func() { s.put(l) })
	return s.newFile(it, ReadOnly)
}
