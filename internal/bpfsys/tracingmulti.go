package bpfsys

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/bpfattr"
	"github.com/bpfrun/bpfrun/internal/verifier"
)

// multiTarget sets what a program that traces many functions is loaded for: a function without
// arguments that stands for all of them (bpf_prog_load_check_attach, bpf_multi_func). The BTF of
// the functions is the kernel's, or the module's whose descriptor the caller gave.
func (s *System) multiTarget(p *Prog) uapi.Errno {
	if p.typ != uapi.ProgTypeTracing || p.ext != nil || p.hook.id != 0 || s.vmlinux == nil {
		return uapi.EINVAL
	}
	if p.hook.obj == nil {
		p.hook.obj = s.vmlinux
	}
	const name = "bpf_multi_func"
	id, ok := s.vmlinux.spec.FindID(btf.KindFunc, name)
	if !ok {
		return uapi.EINVAL
	}
	p.hook.id, p.hook.name = id, name
	return 0
}

// linkTracingMulti attaches a program to functions (bpf_tracing_multi_attach).
func (s *System) linkTracingMulti(c Caller, a bpfattr.LinkCreate, p *Prog) Result {
	in := a.TracingMulti()
	ids, cookies, count := in.Ids(), in.Cookies(), in.Cnt()
	switch {
	case count == 0, ids == 0:
		return fail(uapi.EINVAL)
	case count > maxMulti:
		return fail(uapi.E2BIG)
	case a.Flags() != 0, a.TargetFd() != 0:
		return fail(uapi.EINVAL)
	}
	type target struct {
		id     btf.ID
		cookie uint64
	}
	raw, values := make([]byte, 4*count), make([]byte, 8*count)
	if !c.Read(ids, raw) || cookies != 0 && !c.Read(cookies, values) {
		return fail(uapi.EFAULT)
	}
	list := make([]target, count)
	for i := range list {
		list[i] = target{btf.ID(le.Uint32(raw[4*i:])), le.Uint64(values[8*i:])}
	}
	slices.SortFunc(list, func(a, b target) int { return cmp.Compare(a.id, b.id) })
	m := &multi{}
	for i, t := range list {
		if i > 0 && t.id == list[i-1].id {
			return fail(uapi.EINVAL)
		}
		m.ids, m.cookies = append(m.ids, t.id), append(m.cookies, t.cookie)
	}
	spec := p.hook.obj.spec
	if e := verifier.AttachesTo(context.Background(), s.kernel, p.verifiable(), spec, m.ids, s.hasFunction); e != 0 {
		return fail(e)
	}
	section, _, _ := strings.Cut(p.lp.Section, "/")
	var hooks []*attachment
	for i, id := range m.ids {
		if e := s.canTrace(p, p.hook.obj, id); e != 0 {
			return fail(e)
		}
		name := spec.Name(id)
		m.names = append(m.names, name)
		hooks = append(hooks, &attachment{prog: p, hook: machine.Hook{AttachTo: name, Section: section + "/" + name}, cookie: m.cookies[i]})
	}
	return s.newLink(&Link{typ: uapi.LinkTracingMulti, prog: p, attach: p.expected, obj: p.hook.obj, multi: m}, hooks...)
}

// traces reports whether a link attaches to a function of the kernel's BTF, or of the module's that
// the link is for.
func (l *Link) traces(fn btf.ID) bool {
	switch l.typ {
	case uapi.LinkTracing:
		return l.tgtProg == nil && l.btfID == fn
	case uapi.LinkTracingMulti:
		_, found := slices.BinarySearch(l.multi.ids, fn)
		return found
	}
	return false
}
