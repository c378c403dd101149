package machine

import (
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	khook "github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// checkReturn makes a return value that the verifier would not have allowed a fault.
func (m *Machine) checkReturn(p *program, c *khook.Context) {
	if m.thread.Fault() != nil {
		return
	}
	lp, r0 := p.lp, m.thread.Ret()
	rng, bounded := m.returns(p, c)
	if !bounded || rng.Contains(r0) {
		return
	}
	ret := int64(r0)
	if rng.Word {
		ret = int64(int32(r0))
	}
	may := fmt.Sprintf("may return %d to %d", rng.Low, rng.High)
	if rng.Low == rng.High {
		may = fmt.Sprintf("may return only %d", rng.Low)
	}
	m.thread.Abort(&vm.Fault{Kind: vm.BadReturn, Text: fmt.Sprintf("the program returned %d, a %s program %s", ret, lp.Section, may)})
}

// returns is the range of the values that the verifier allows a program to return; bounded is false
// if it allows all.
func (m *Machine) returns(p *program, c *khook.Context) (rng progtype.Range, bounded bool) {
	hook := strings.TrimPrefix(c.Func, "bpf_lsm_")
	return progtype.Of(p.lp.Type).ReturnRange(uapi.ReleaseOf(m.linked.Target.Version), p.lp.Attach, hook, hookReturn(c))
}

// hookReturn returns the hook's return type as far as BTF contains it.
func hookReturn(c *khook.Context) progtype.HookReturn {
	switch {
	case c.Untyped:
		return progtype.UnknownReturn
	case !c.Returns:
		return progtype.ReturnsVoid
	case c.Ret.Spec != nil && c.Ret.Spec.SkipMods(c.Ret.Type).Kind == btf.KindPtr:
		return progtype.ReturnsPointer
	}
	return progtype.ReturnsNumber
}
