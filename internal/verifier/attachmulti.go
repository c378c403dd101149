package verifier

import (
	"context"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// AttachesTo reports whether a kernel attaches a loaded program that traces many functions to
// functions of s, the BTF that it was loaded for: 0, or the error for the first function that it
// refuses (bpf_check_attach_btf_id_multi, Linux 7.2). exists tells whether the kernel has a
// function's code.
func AttachesTo(ctx context.Context, k *Kernel, p *Program, s *btf.Spec, ids []btf.ID, exists func(name string) bool) (e uapi.Errno) {
	x := newExplorer(ctx, k, p, Options{})
	h := &attachment{subject: &x.position.subject}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case refused:
			e = r.errno
		default:
			panic(r)
		}
	}()
	for _, id := range ids {
		if e := h.attachesTo(s, id, exists); e != 0 {
			return e
		}
	}
	return 0
}

func (h *attachment) attachesTo(s *btf.Spec, id btf.ID, exists func(string) bool) uapi.Errno {
	if id == 0 || int(id) >= s.NumTypes() {
		return uapi.EINVAL
	}
	t := s.MustType(id)
	// These are the checks of a load with one target, made for each function, since the program was
	// loaded without any.
	if t.Kind != btf.KindFunc || atReturn(h.p.Attach) && noreturnFunc(t.Name) || deniedFunc(t.Name) {
		return uapi.EINVAL
	}
	h.prog.attachProto = s.MustType(t.Ref)
	h.distill(s, t)
	switch {
	case !exists(t.Name):
		return uapi.ENOENT
	case h.p.Sleepable && !h.errorInjectable(t.Name):
		return uapi.EINVAL
	}
	return 0
}
