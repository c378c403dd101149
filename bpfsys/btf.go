package bpfsys

import (
	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/uapi"
)

// BTF is type information that was loaded, or the kernel's own.
type BTF struct {
	object
	spec   *btf.Spec
	raw    []byte
	kernel bool
}

// maxBTF is the kernel's bound (BTF_MAX_SIZE).
const maxBTF = 16 << 20

// newKinds are the kinds of types that came after 5.10.
var newKinds = map[btf.Kind]uapi.Release{
	btf.KindFloat: uapi.R(5, 13), btf.KindDeclTag: uapi.R(5, 16), btf.KindTypeTag: uapi.R(5, 17), btf.KindEnum64: uapi.R(6, 0),
}

func (s *System) btfLoad(c Caller, a *attr) Result {
	size := a.u32(16)
	flags := uint32(0)
	if s.release.Has(uapi.R(6, 9)) {
		flags = a.u32(32)
	}
	const tokenFD = 1 << 16 // BPF_F_TOKEN_FD
	switch {
	case flags&^uint32(tokenFD) != 0:
		return fail(uapi.EINVAL)
	case flags&tokenFD != 0:
		if _, _, e := fileOf[*Token](c, a.fd(36)); e != 0 {
			return fail(e)
		}
	}
	if size > maxBTF {
		return fail(uapi.E2BIG)
	}
	out, e := newLog(c, a, logFields{level: 24, size: 20, buf: 8, trueSize: 28}, s.release)
	if e != 0 {
		return fail(e)
	}
	raw := make([]byte, size)
	if !c.Read(a.u64(0), raw) {
		return fail(uapi.EFAULT)
	}
	if s.full(KindBTF) || int(size) > maxLoaded-s.loaded {
		return fail(uapi.ENOMEM)
	}
	spec, err := btf.Parse(raw, nil)
	if err == nil {
		err = s.checkKinds(spec)
	}
	if err != nil {
		out.printf("%v\n", err)
		if e := out.finish(s.release); e != 0 {
			return fail(e)
		}
		return fail(uapi.EINVAL)
	}
	if e := out.finish(s.release); e != 0 {
		return fail(e)
	}
	b := &BTF{spec: spec, raw: raw}
	s.loaded += len(raw)
	s.add(b, KindBTF, "", func() { s.loaded -= len(raw) })
	return s.newFile(b, ReadOnly)
}

// checkKinds refuses types that the release does not know.
func (s *System) checkKinds(spec *btf.Spec) error {
	for id := btf.ID(1); int(id) < spec.NumTypes(); id++ {
		k := spec.Kind(id)
		if since, ok := newKinds[k]; ok && !s.release.Has(since) {
			return &kindError{id, k, s.release}
		}
		if _, err := spec.Type(id); err != nil {
			return err
		}
		if k == btf.KindFunc {
			if t := spec.MustType(id); t.Name == "" || spec.Kind(t.Ref) != btf.KindFuncProto {
				return &shapeError{id, "Invalid type_id"}
			}
		}
	}
	return nil
}

type kindError struct {
	id      btf.ID
	kind    btf.Kind
	release uapi.Release
}

func (e *kindError) Error() string {
	return "Invalid kind: type " + utoa(uint64(e.id)) + " is " + e.kind.String() + ", which Linux " + e.release.String() + " does not have"
}

type shapeError struct {
	id   btf.ID
	text string
}

func (e *shapeError) Error() string { return "[" + utoa(uint64(e.id)) + "] " + e.text }
