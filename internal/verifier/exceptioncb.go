package verifier

import (
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

// exceptionTag begins the declaration tag of the first function that names its exception callback.
const exceptionTag = "exception_callback:"

// exceptionCallback returns the slot at which the exception callback begins, 0 if there is none
// (bpf_find_exception_callback_insn_off). Kernels find it by a tag in the program's BTF; a program
// without function information has none, unless it says where.
func (l *layout) exceptionCallback() int {
	switch {
	case !l.has(since.Exceptions):
		return 0
	case !l.funcInfo():
		return l.p.ExceptionCallback
	}
	name, found := "", false
	for _, t := range l.declTags(l.addSpec(l.p.BTF), l.p.Funcs[0].Type, -1) {
		rest, ok := strings.CutPrefix(t, exceptionTag)
		// One callback handles all exceptions of the program.
		if ok && found {
			l.refuse(refusal.MultipleExceptionCallbackTagsMainSubprog)
		}
		if ok {
			name, found = rest, true
		}
	}
	if !found {
		return 0
	}
	id, ok := l.p.BTF.FindID(btf.KindFunc, name)
	if !ok {
		l.refuse(refusal.ExceptionCallbackCouldNotFoundIn, name)
	}
	// The kernel calls it, and no path of the program leads to it: it is verified as a program of
	// its own.
	if l.p.BTF.MustType(id).Linkage != btf.LinkageGlobal {
		l.refuse(refusal.ExceptionCallbackMustGlobalLinkage, name)
	}
	i := slices.IndexFunc(l.p.Funcs, func(f FuncInfo) bool { return f.Type == id })
	switch {
	case i < 0:
		l.refuse(refusal.ExceptionCallbackTypeIdNotFound)
	case l.p.Funcs[i].Insn == 0:
		l.refuse(refusal.InvalidExceptionCallbackInsnOffIn)
	}
	return l.p.Funcs[i].Insn
}
