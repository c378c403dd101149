package loader

import (
	"sort"

	"github.com/bpfrun/bpfrun/btf"
)

// Var is a global variable of a data map.
type Var struct {
	Name      string
	Type      btf.ID // type of the VAR
	Off, Size uint32 // offset in the map's value and size, in bytes
	Static    bool
}

// dataVars lists the variables in a DATASEC, by offset. Compilers write 0 for the offsets of global
// variables, so they come from the symbol table (libbpf btf_fixup_datasec).
func (o *Object) dataVars(f *file, section int, ds *btf.Type) []Var {
	vars := make([]Var, 0, len(ds.Vars))
	at := map[string]uint64{}
	for _, s := range f.symbolsIn(section) {
		at[s.Name] = s.Value
	}
	for _, v := range ds.Vars {
		t, err := o.BTF.Type(v.Type)
		if err != nil || t.Kind != btf.KindVar {
			continue
		}
		g := Var{Name: t.Name, Type: t.Ref, Off: v.Offset, Size: v.Size, Static: t.Linkage == btf.LinkageStatic}
		if off, ok := at[t.Name]; ok && !g.Static {
			g.Off = uint32(off)
		}
		if n, err := o.BTF.Sizeof(t.Ref); err == nil && n >= 0 && n < 1<<31 && g.Size == 0 {
			g.Size = uint32(n)
		}
		vars = append(vars, g)
	}
	sort.SliceStable(vars, func(i, j int) bool { return vars[i].Off < vars[j].Off })
	return vars
}

// VarAt returns the variable that covers an offset of a data map's value.
func (m *Map) VarAt(off uint32) (Var, bool) {
	i := sort.Search(len(m.Vars), func(i int) bool { return m.Vars[i].Off > off }) - 1
	if i < 0 || off-m.Vars[i].Off >= m.Vars[i].Size {
		return Var{}, false
	}
	return m.Vars[i], true
}
