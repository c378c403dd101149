package verifier

import (
	"strings"
	"sync"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

// isCtxType reports whether a pointer type is the type of the program's context
// (btf_is_prog_ctx_type).
func (u *subject) isCtxType(s *btf.Spec, ptr *btf.Type) bool {
	t := s.MustType(ptr.Ref)
	typ := u.prog.typ
	// The context of kprobes is a typedef whose struct differs between architectures, so its name
	// counts before it is resolved.
	if typ == uapi.ProgTypeKprobe {
		for t.Kind.IsMod() && t.Kind != btf.KindTypedef {
			t = s.MustType(t.Ref)
		}
		if t.Kind == btf.KindTypedef && t.Name == "bpf_user_pt_regs_t" {
			return true
		}
	}
	t = s.SkipMods(ptr.Ref)
	if t.Kind != btf.KindStruct || t.Name == "" {
		return false
	}
	want := ctxNames()[typ]
	if t.Name == want || u.has(since.CtxByKernelType) && (want == "__sk_buff" && t.Name == "sk_buff" || want == "xdp_md" && t.Name == "xdp_buff") {
		return true
	}
	if typ == uapi.ProgTypeKprobe && t.Name == "bpf_user_pt_regs_t" {
		return true
	}
	// The registers of the interrupted code are at the beginning of its context.
	if typ == uapi.ProgTypePerfEvent && (t.Name == "bpf_perf_event_data" || t.Name == "bpf_user_pt_regs") {
		return true
	}
	return false
}

// ctxNames are the user API structs that BPF_PROG_TYPE in include/linux/bpf_types.h names as
// contexts.
var ctxNames = sync.OnceValue(func() map[uapi.ProgType]string {
	m := map[uapi.ProgType]string{}
	for _, r := range progtype.All() {
		m[r.Type] = r.Context.User
	}
	m[uapi.ProgTypeKprobe] = "pt_regs"
	m[uapi.ProgTypePerfEvent] = "bpf_perf_event_data"
	return m
})

// kernelCtx returns the kernel's internal struct for the context.
func (u *subject) kernelCtx() uint32 {
	row := progtype.Of(u.prog.typ)
	name := row.Context.Kernel
	if name == "" {
		u.refuse(refusal.NoKernelContext, u.convertedCtx())
	}
	name = strings.TrimPrefix(name, "struct ")
	if id, ok := u.kernelType(name); ok {
		return uint32(id)
	}
	if u.k.BTF != nil {
		// Some contexts are a typedef of a struct, or only a number.
		if id, ok := u.k.BTF.FindID(btf.KindTypedef, name); ok {
			return uint32(u.k.BTF.SkipMods(id).ID)
		}
		if id, ok := u.k.BTF.FindID(btf.KindInt, name); ok {
			return uint32(id)
		}
	}
	u.unknown("struct %s, which the kernel's BTF does not have", name)
	return 0
}

// convertedCtx is the type that struct bpf_ctx_convert has for the program's context in the kernel
// (get_kern_ctx_btf_id).
func (u *subject) convertedCtx() btf.ID {
	if u.k.BTF == nil {
		return 0
	}
	id, ok := u.k.BTF.FindID(btf.KindStruct, "bpf_ctx_convert")
	if !ok {
		return 0
	}
	want := "BPF_PROG_TYPE_" + strings.ToUpper(u.prog.typ.String()) + "_kern"
	for _, m := range u.k.BTF.MustType(id).Members {
		if m.Name == want {
			return m.Type
		}
	}
	return 0
}

// kernelCtxOf: a program that traces another program sees that program's context in its kernel
// form.
func (u *subject) kernelCtxOf(t uapi.ProgType, s *btf.Spec, target *btf.Type) (uint32, bool) {
	row := progtype.Of(t)
	if target.Name != row.Context.User && target.Name != "" {
		return 0, false
	}
	id, ok := u.kernelType(row.Context.Kernel)
	return uint32(id), ok
}
