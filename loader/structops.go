package loader

import (
	"debug/elf"
	"math"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// isStructOps reports whether a section contains struct_ops variables.
func isStructOps(name string) bool {
	switch strings.TrimPrefix(name, "?") {
	case ".struct_ops", ".struct_ops.link":
		return true
	}
	return false
}

// readStructOps creates a map for every variable in .struct_ops sections, and binds the programs
// that its function pointers refer to.
func (o *Object) readStructOps(f *file) error {
	for i := range f.sections {
		s := &f.sections[i]
		if s.Type != elf.SHT_PROGBITS || !isStructOps(s.Name) || len(s.Data) == 0 {
			continue
		}
		ds := o.datasec(s.Name)
		if ds == nil {
			return failf(ErrMapDef, "the object's BTF does not describe it").section(s.Name).hint("compile with -g")
		}
		for _, v := range o.dataVars(f, i, ds) {
			m, err := o.structOpsVar(s, v)
			if err != nil {
				return err
			}
			o.addMap(m)
		}
		for n, r := range f.relocs[i] {
			if err := o.structOpsReloc(f, s, n, r); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *Object) structOpsVar(s *section, v Var) (*Map, error) {
	st := o.BTF.SkipMods(v.Type)
	if st.Kind != btf.KindStruct || st.Name == "" {
		return nil, failf(ErrMapDef, "variable %s is not a named struct", v.Name).section(s.Name)
	}
	size := uint64(st.Size)
	if uint64(v.Off)+size > uint64(len(s.Data)) {
		return nil, failf(ErrMapDef, "variable %s of %d bytes at %d reaches beyond the section (%d bytes)", v.Name, size, v.Off, len(s.Data)).section(s.Name)
	}
	ops := &StructOpsMap{TypeName: st.Name, Type: st.ID, Data: s.Data[v.Off : uint64(v.Off)+size], Link: strings.HasSuffix(s.Name, ".link")}
	for i := range st.Members {
		mem := &st.Members[i]
		n, err := o.BTF.Sizeof(mem.Type)
		if err != nil || n < 0 || n > math.MaxUint32 {
			n = 0
		}
		ops.Members = append(ops.Members, StructOpsMember{Name: mem.Name, Type: mem.Type, Off: mem.BitOffset / 8, Size: uint32(n)})
	}
	return &Map{
		Name: v.Name, Section: s.Name, Type: uapi.MapTypeStructOps, KeySize: 4, ValueSize: uint32(size), MaxEntries: 1,
		DataKind: DataStructOps, StructOps: ops, Autocreate: !strings.HasPrefix(s.Name, "?"),
		ValueType: st.ID, secIndex: s.Index, secOff: uint64(v.Off), secSize: size,
	}, nil
}

func (o *Object) structOpsReloc(f *file, s *section, n int, r rel) error {
	if r.Type == relNone {
		return nil
	}
	m := o.mapAt(s.Index, r.Off)
	if m == nil || m.StructOps == nil || r.Off-m.secOff >= m.secSize {
		return failf(ErrRelocation, "record %d at %#x is not in any variable", n, r.Off).section(s.Name)
	}
	off := r.Off - m.secOff
	for i := range m.StructOps.Members {
		mem := &m.StructOps.Members[i]
		if uint64(mem.Off) != off {
			continue
		}
		var addend uint64
		if off+8 <= uint64(len(m.StructOps.Data)) {
			addend = f.order.Uint64(m.StructOps.Data[off:])
		}
		p := o.programBySymbol(f, r.Sym, addend+uint64(r.Add))
		if p == nil {
			return failf(ErrRelocation, "member %s of %s is set to %q, which is not a program", mem.Name, m.Name, r.Sym.Name).section(s.Name)
		}
		mem.Prog = p.Name
		if p.StructOps == nil {
			p.StructOps = &StructOpsUse{Map: m, Member: mem.Name}
			p.AttachTo = m.StructOps.TypeName + "." + mem.Name
		}
		return nil
	}
	return failf(ErrRelocation, "record %d: no member of %s at offset %d", n, m.Name, off).section(s.Name)
}
