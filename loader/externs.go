package loader

import (
	"sort"
	"strings"

	"debug/elf"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// kcfgForm is the form of a kconfig variable's value (libbpf find_kcfg_type).
type kcfgForm uint8

const (
	kcfgUnknown kcfgForm = iota
	kcfgChar
	kcfgBool
	kcfgInt
	kcfgTristate
	kcfgCharArray
)

// maxKconfig limits the size of the .kconfig map in bytes.
const maxKconfig = 1 << 20

// readExterns collects undefined symbols. Their kinds and types come from the VARs and FUNCs of the
// DATASECs .kconfig and .ksyms.
func (o *Object) readExterns(f *file) error {
	vars := o.externTypes()
	seen := map[string]bool{}
	for i := range f.symbols {
		s := &f.symbols[i]
		if !s.extern() || seen[s.Name] {
			continue
		}
		seen[s.Name] = true
		e := &Extern{Name: s.Name, Weak: s.Bind == elf.STB_WEAK, Kind: ExternKsym}
		v, ok := vars[s.Name]
		if !ok {
			// Neither a kernel symbol nor a configuration option: it belongs to another object.
			e.unlinked = true
			if fn, found := o.externFunc(s.Name); found {
				e.Kind, e.Type = ExternKfunc, fn.Ref
			}
			o.Externs = append(o.Externs, e)
			continue
		}
		switch {
		case v.t.Kind == btf.KindFunc:
			e.Kind, e.Type = ExternKfunc, v.t.Ref
		case v.section == secKconfig:
			e.Kind, e.Type = ExternKconfig, v.t.Ref
			if err := o.kconfigForm(e); err != nil {
				return err
			}
		default:
			if t := o.BTF.SkipMods(v.t.Ref); t.Kind != btf.KindVoid {
				e.Type = t.ID
			}
		}
		o.Externs = append(o.Externs, e)
	}
	o.orderExterns()
	return o.makeKconfig()
}

// externVar is a VAR or FUNC of an extern section.
type externVar struct {
	section string
	t       *btf.Type
}

func (o *Object) externTypes() map[string]externVar {
	vars := map[string]externVar{}
	for _, name := range []string{secKconfig, secKsyms} {
		ds := o.datasec(name)
		if ds == nil {
			continue
		}
		for _, v := range ds.Vars {
			if t, err := o.BTF.Type(v.Type); err == nil && (t.Kind == btf.KindVar || t.Kind == btf.KindFunc) {
				vars[t.Name] = externVar{name, t}
			}
		}
	}
	return vars
}

func (o *Object) externFunc(name string) (*btf.Type, bool) {
	if o.BTF == nil {
		return nil, false
	}
	for _, id := range o.BTF.IDs(btf.KindFunc, name) {
		if t, err := o.BTF.Type(id); err == nil && t.Linkage == btf.LinkageExtern {
			return t, true
		}
	}
	return nil, false
}

// kconfigForm determines form, size and alignment of a kconfig variable.
func (o *Object) kconfigForm(e *Extern) error {
	size, err := o.BTF.Sizeof(e.Type)
	if err != nil || size <= 0 || size > maxKconfig {
		return failf(ErrMapDef, "extern %s: %s has no size", e.Name, o.BTF.TypeString(e.Type)).section(secKconfig)
	}
	e.Size, e.align = uint32(size), o.alignOf(e.Type, 0)
	t := o.BTF.SkipMods(e.Type)
	switch t.Kind {
	case btf.KindInt:
		switch {
		case t.Int.Encoding&btf.IntBool != 0:
			if t.Size == 1 {
				e.form = kcfgBool
			}
		case t.Size == 1:
			e.form = kcfgChar
		case t.Size == 2 || t.Size == 4 || t.Size == 8:
			e.form = kcfgInt
		}
	case btf.KindEnum, btf.KindEnum64:
		if t.Size == 4 && t.Name == "libbpf_tristate" {
			e.form = kcfgTristate
		}
	case btf.KindArray:
		if elem := o.BTF.SkipMods(t.Ref); elem.Kind == btf.KindInt && elem.Size == 1 {
			e.form = kcfgCharArray
		}
	}
	if e.form == kcfgUnknown {
		return failf(ErrMapDef, "extern %s: a kconfig value cannot be of type %s", e.Name, o.BTF.TypeString(e.Type)).section(secKconfig).
			hint("use bool, char, an integer, enum libbpf_tristate or char[]")
	}
	return nil
}

// alignOf returns the natural alignment of a type (libbpf btf__align_of).
func (o *Object) alignOf(id btf.ID, depth int) uint32 {
	t := o.BTF.SkipMods(id)
	if depth > 32 {
		return 1
	}
	switch t.Kind {
	case btf.KindInt, btf.KindEnum, btf.KindEnum64, btf.KindFloat:
		return max(1, min(uint32(o.BTF.PointerSize()), t.Size))
	case btf.KindPtr:
		return uint32(o.BTF.PointerSize())
	case btf.KindArray:
		return o.alignOf(t.Ref, depth+1)
	}
	return 1
}

// orderExterns sorts as libbpf does (cmp_externs): kconfig before ksyms; kconfig by descending
// alignment, ascending size, name; ksyms by name. The offsets of kconfig variables and the numbers
// of poisoned kfuncs depend on the order.
func (o *Object) orderExterns() {
	sort.SliceStable(o.Externs, func(i, j int) bool {
		a, b := o.Externs[i], o.Externs[j]
		if ak, bk := a.Kind == ExternKconfig, b.Kind == ExternKconfig; ak != bk {
			return ak
		} else if ak {
			if a.align != b.align {
				return a.align > b.align
			}
			if a.Size != b.Size {
				return a.Size < b.Size
			}
		}
		return strings.Compare(a.Name, b.Name) < 0
	})
	for i, e := range o.Externs {
		e.Index = i
	}
}

// makeKconfig lays out the .kconfig map.
func (o *Object) makeKconfig() error {
	var size uint32
	for _, e := range o.Externs {
		if e.Kind != ExternKconfig {
			continue
		}
		e.Off = (size + e.align - 1) / e.align * e.align
		size = e.Off + e.Size
		if size > maxKconfig {
			return failf(ErrTooLarge, "kconfig variables take more than %d bytes", maxKconfig).section(secKconfig)
		}
	}
	if size == 0 {
		return nil
	}
	o.kconfig = &Map{
		Name: secKconfig, Section: secKconfig, Autocreate: true, Type: uapi.MapTypeArray, KeySize: 4, ValueSize: size, MaxEntries: 1,
		Flags: mapRdonlyProg, Data: make([]byte, size), DataKind: DataKconfig,
	}
	if ds := o.datasec(secKconfig); ds != nil {
		o.kconfig.Datasec, o.kconfig.ValueType = ds.ID, ds.ID
	}
	o.addMap(o.kconfig)
	return nil
}
