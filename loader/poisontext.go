package loader

import (
	"fmt"

	"github.com/bpfrun/bpfrun/corerelo"
)

// PoisonText names what the poisoned instruction at pc refers to and the kernel lacks; "" if it is
// no such instruction. The kernel's own message has only the number of a helper that does not
// exist.
func (lp *LinkedProgram) PoisonText(pc int) string {
	if pc < 0 || pc >= len(lp.Insns) {
		return ""
	}
	switch kind, n, _ := corerelo.ParsePoison(lp.Insns[pc]); {
	case kind == corerelo.PoisonMap && n < len(lp.linked.Maps):
		return fmt.Sprintf("map %s is used, but its creation is disabled", lp.linked.Maps[n].Name)
	case kind == corerelo.PoisonKfunc && n < len(lp.linked.Externs):
		return fmt.Sprintf("the kernel has no kfunc %s: test it with bpf_ksym_exists before the call", lp.linked.Externs[n].Name)
	case kind == corerelo.PoisonCORE:
		if r, ok := lp.RelocAt(pc); ok && r.Relocation != nil && r.Local.BTF != nil {
			return r.Local.Field() + " does not exist in the kernel, and nothing excludes the access"
		}
		return "a CO-RE relocation that failed is reached: guard the access with bpf_core_field_exists or a similar check"
	}
	return ""
}
