package proto

import (
	"strings"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// InLock reports whether the helper may be called while the program holds a spin lock
// (kernel/bpf/verifier.c do_check).
func (h *Helper) InLock(release uapi.Release) bool {
	switch h.ID {
	case uapi.FuncSpinUnlock:
		return true
	case uapi.FuncKptrXchg:
		return release.Has(r(7, 2))
	}
	return false
}

// lockedKfuncs are the kfuncs that may be called under a spin lock, by the beginning of their
// names.
var lockedKfuncs = []struct {
	prefix string
	from   uapi.Release
}{
	{"bpf_list_", r(6, 2)}, {"bpf_rbtree_", r(6, 3)}, {"bpf_refcount_acquire", r(6, 4)}, {"bpf_iter_num_", r(6, 18)},
	{"bpf_res_spin_", r(6, 15)}, {"bpf_arena_", r(7, 2)}, {"bpf_stream_", r(7, 2)},
}

// InLock reports whether the kfunc may be called while the program holds a spin lock
// (kernel/bpf/verifier.c kfunc_spin_allowed).
func (k *Kfunc) InLock(release uapi.Release) bool {
	for _, l := range lockedKfuncs {
		if strings.HasPrefix(k.Name, l.prefix) {
			return release.Has(l.from)
		}
	}
	return false
}
