package object

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
)

// Functions returns the FUNCs of a BTF in id order.
func (ts *Types) Functions(spec *btf.Spec) []btf.ID {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ids, ok := ts.funcs[spec]
	if !ok {
		n := 0
		for id := btf.ID(1); int(id) < spec.NumTypes(); id++ {
			if spec.Kind(id) == btf.KindFunc {
				n++
			}
		}
		ids = make([]btf.ID, 0, n)
		for id := btf.ID(1); int(id) < spec.NumTypes(); id++ {
			if spec.Kind(id) == btf.KindFunc {
				ids = append(ids, id)
			}
		}
		if ts.funcs == nil {
			ts.funcs = make(map[*btf.Spec][]btf.ID)
		}
		ts.funcs[spec] = ids
	}
	return ids
}

// section is a DATASEC.
type section struct {
	spec *btf.Spec
	name string
}

// Variable is a variable in a section of the kernel.
type Variable struct {
	Name      string
	Off, Size uint64
}

// Variables returns the variables of a section by offset. The slice is shared: it is not to be
// changed.
func (ts *Types) Variables(spec *btf.Spec, name string) []Variable {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	key := section{spec, name}
	vars, ok := ts.variables[key]
	if !ok {
		if t, found := spec.Find(btf.KindDatasec, name); found {
			vars = make([]Variable, 0, len(t.Vars))
			for _, v := range t.Vars {
				if spec.Kind(v.Type) == btf.KindVar { // not decoded: there are hundreds, and few are used
					vars = append(vars, Variable{spec.Name(v.Type), uint64(v.Offset), uint64(v.Size)})
				}
			}
			slices.SortStableFunc(vars, func(a, b Variable) int { return cmp.Compare(a.Off, b.Off) })
		}
		if ts.variables == nil {
			ts.variables = make(map[section][]Variable)
		}
		ts.variables[key] = vars
	}
	return vars
}

// WithProto returns the FUNCs with a prototype.
func (ts *Types) WithProto(spec *btf.Spec, ids []btf.ID, proto btf.ID) []btf.ID {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	key := typeKey{spec, proto}
	fit, ok := ts.protos[key]
	if !ok {
		for _, id := range ids {
			if spec.Ref(id) == proto {
				fit = append(fit, id)
			}
		}
		if ts.protos == nil {
			ts.protos = make(map[typeKey][]btf.ID)
		}
		ts.protos[key] = fit
	}
	return fit
}

// Signature returns the parameters of an event's functions as a key. It includes names, because all
// functions of an event class are declared by one macro argument.
func Signature(p *btf.Type) string {
	var b strings.Builder
	for i, param := range p.Params {
		if i > 0 { // the first is the data of the registration
			b.WriteString(param.Name)
			b.WriteByte(':')
			b.WriteString(strconv.FormatUint(uint64(param.Type), 10))
			b.WriteByte(',')
		}
	}
	return b.String()
}

// Classes returns the event classes whose recording functions have a signature, except those with a
// single event.
func (ts *Types) Classes(spec *btf.Spec, funcs []btf.ID, sig string) []string {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.events == nil {
		ts.events = make(map[*btf.Spec]map[string][]string)
	}
	m := ts.events[spec]
	if m == nil {
		m = make(map[string][]string)
		for _, id := range funcs {
			class, ok := strings.CutPrefix(spec.Name(id), "perf_trace_")
			if !ok || len(spec.IDs(btf.KindTypedef, "btf_trace_"+class)) > 0 {
				continue
			}
			if t, err := spec.Type(id); err == nil {
				if p := FollowProto(spec, t.ID); p != nil {
					m[Signature(p)] = append(m[Signature(p)], class)
				}
			}
		}
		ts.events[spec] = m
	}
	return m[sig]
}
