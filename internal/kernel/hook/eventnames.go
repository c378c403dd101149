package hook

import (
	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
)

// namedByRecord returns p with the names of the fields of the event's record, for kernels (before
// 5.11) whose BTF has no __traceiter_ function and therefore no parameter names. A record takes its
// values from the parameters. The mapping is certain enough only if all parameters are integers,
// there is a field for each, and their types agree one by one; otherwise p is returned unchanged.
func (h *Hooks) namedByRecord(name string, spec *btf.Spec, p *btf.Type) *btf.Type {
	if len(p.Params) < 2 || spec != h.BTF() {
		return p
	}
	l := h.eventLayout(name)
	if l == nil {
		return p
	}
	var fields []btf.Member
	for _, m := range l.Type.Members {
		if m.Name != "ent" && m.Name != "__data" {
			fields = append(fields, m)
		}
	}
	if len(fields) != len(p.Params)-1 {
		return p
	}
	named := *p
	named.Params = append([]btf.Param(nil), p.Params...)
	for i, f := range fields {
		have, want := object.Strip(spec, f.Type), object.Strip(spec, p.Params[i+1].Type)
		if have == nil || want == nil || have.Kind != btf.KindInt || want.Kind != btf.KindInt || have.Size != want.Size || have.Int != want.Int {
			return p
		}
		named.Params[i+1].Name = f.Name
	}
	return &named
}
