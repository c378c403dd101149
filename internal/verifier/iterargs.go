package verifier

import (
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// iterCtxArg is an argument of an iterator program: its offset in the context, and the type it
// points to. Arguments that are not listed are valid objects.
type iterCtxArg struct {
	off  int
	typ  regType
	name string
}

// iterCtx lists, for each iterator, the context members that may be null at the end (ctx_arg_info
// of bpf_iter_reg).
var iterCtx = map[string][]iterCtxArg{
	"task":               {{8, ptrBTF | maybeNull | ptrTrusted, "task_struct"}},
	"task_file":          {{8, ptrBTF | maybeNull, "task_struct"}, {24, ptrBTF | maybeNull, "file"}},
	"task_vma":           {{8, ptrBTF | maybeNull, "task_struct"}, {16, ptrBTF | maybeNull, "vm_area_struct"}},
	"bpf_map":            {{8, ptrBTF | maybeNull | ptrTrusted, "bpf_map"}},
	"bpf_prog":           {{8, ptrBTF | maybeNull, "bpf_prog"}},
	"bpf_link":           {{8, ptrBTF | maybeNull, "bpf_link"}},
	"bpf_map_elem":       {{16, ptrBuf | maybeNull | memRdonly, ""}, {24, ptrBuf | maybeNull, ""}},
	"bpf_sk_storage_map": {{16, ptrBTF | maybeNull, "sock"}, {24, ptrBuf | maybeNull, ""}},
	"sockmap":            {{16, ptrBuf | maybeNull | memRdonly, ""}, {24, ptrBTF | maybeNull, "sock"}},
	"tcp":                {{8, ptrBTF | maybeNull | ptrTrusted, "sock_common"}},
	"udp":                {{8, ptrBTF | maybeNull | ptrTrusted, "udp_sock"}},
	"unix":               {{8, ptrBTF | maybeNull, "unix_sock"}},
	"netlink":            {{8, ptrBTF | maybeNull, "netlink_sock"}},
	"ipv6_route":         {{8, ptrBTF | maybeNull, "fib6_info"}},
	"cgroup":             {{8, ptrBTF | maybeNull | ptrTrusted, "cgroup"}},
	"ksym":               {{8, ptrBTF | maybeNull, "kallsym_iter"}},
	"kmem_cache":         {{8, ptrBTF | maybeNull | ptrTrusted, "kmem_cache"}},
	"dmabuf":             {{8, ptrBTF | maybeNull | ptrTrusted, "dma_buf"}},
}

// iterTrust lists the rules by which iterators that are older than trust got it.
var iterTrust = map[string]since.Rule{
	"tcp": since.IterSocksTrusted, "udp": since.IterSocksTrusted, "bpf_map": since.IterMapsTrusted,
	"task": since.IterTasksTrusted, "cgroup": since.IterTasksTrusted,
}

// iterArgs sets the contents of an iterator's context.
func (h *attachment) iterArgs(s *btf.Spec) {
	name := strings.TrimPrefix(h.prog.attachName, "bpf_iter_")
	// At the end of the walk the iterator is called once more, without an element: its arguments
	// are NULL then, which the program must check.
	list, ok := iterCtx[name]
	if !ok {
		h.unknown("iterator %s", name)
	}
	h.prog.ctxArgs = map[int]ctxValue{}
	for _, a := range list {
		v := ctxValue{typ: a.typ}
		// Pointers without trust can be followed, but not passed to kfuncs.
		if rule, is := iterTrust[name]; is && !h.has(rule) {
			v.typ &^= ptrTrusted
		}
		if a.name != "" {
			id, found := s.FindID(btf.KindStruct, a.name)
			if !found {
				h.unknown("struct %s, which the kernel's BTF does not have", a.name)
			}
			v.spec, v.tid = h.addSpec(s), uint32(id)
		}
		h.prog.ctxArgs[a.off] = v
	}
}
