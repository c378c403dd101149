package ebpfspec

import (
	"debug/elf"
	"fmt"
	"reflect"

	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
)

// extern is a symbol of the kernel or of its configuration that an instruction refers to.
type extern struct {
	name string
	weak bool
}

// externOf returns the extern that an instruction refers to, or nil. Package ebpf stores externs in
// metadata under unexported keys, so they are read by reflection.
func externOf(ins *asm.Instruction) (*extern, error) {
	for e := reflect.ValueOf(&ins.Metadata).Elem().FieldByName("head"); e.IsValid() && !e.IsNil(); e = e.Elem().FieldByName("next") {
		elem := e.Elem()
		key, value := elem.FieldByName("key"), elem.FieldByName("value")
		if !key.IsValid() || !value.IsValid() || key.IsNil() || value.IsNil() || key.Elem().Type().PkgPath() != "github.com/cilium/ebpf" {
			continue
		}
		v := value.Elem()
		if v.Kind() == reflect.Pointer && !v.IsNil() {
			v = v.Elem()
		}
		what := key.Elem().Type().Name()
		switch what {
		case "kfuncMetaKey", "ksymMetaKey":
			bind := field(v, "Binding")
			if !bind.IsValid() || ins.Reference() == "" {
				return nil, fmt.Errorf("an extern of kind %s: %w", what, ErrNotSupported)
			}
			return &extern{ins.Reference(), elf.SymBind(bind.Int()) == elf.STB_WEAK}, nil
		case "kconfigMetaKey":
			name, ok := kconfigName(v)
			if !ok {
				return nil, fmt.Errorf("an extern of kind %s: %w", what, ErrNotSupported)
			}
			return &extern{name, false}, nil
		}
	}
	return nil, nil
}

func field(v reflect.Value, name string) reflect.Value {
	if v.Kind() != reflect.Struct {
		return reflect.Value{}
	}
	return v.FieldByName(name)
}

// kconfigName finds the variable of .kconfig at the offset of a load.
func kconfigName(meta reflect.Value) (string, bool) {
	off, m := field(meta, "Offset"), field(meta, "Map")
	if !off.IsValid() || !m.IsValid() || m.IsNil() {
		return "", false
	}
	value := m.Elem().FieldByName("Value") // btf.Type
	if !value.IsValid() || value.IsNil() {
		return "", false
	}
	vars := value.Elem().Elem().FieldByName("Vars")
	if !vars.IsValid() {
		return "", false
	}
	for i := range vars.Len() {
		v := vars.Index(i)
		if v.FieldByName("Offset").Uint() == off.Uint() {
			name := v.FieldByName("Type").Elem().Elem().FieldByName("Name")
			return name.String(), name.IsValid()
		}
	}
	return "", false
}

// coreOf reads a CO-RE record. Package ebpf exports it only as text.
func coreOf(relo *btf.CORERelocation) (kind uint32, access string, id btf.TypeID, err error) {
	v := reflect.ValueOf(relo).Elem()
	k, a, i := v.FieldByName("kind"), v.FieldByName("accessor"), v.FieldByName("id")
	if !k.IsValid() || !a.IsValid() || !i.IsValid() || a.Kind() != reflect.Slice {
		return 0, "", 0, fmt.Errorf("%v: unknown form of CO-RE record: %w", relo, ErrNotSupported)
	}
	for n := range a.Len() {
		if n > 0 {
			access += ":"
		}
		if e := a.Index(n); e.CanInt() {
			access += fmt.Sprint(e.Int())
		} else {
			access += fmt.Sprint(e.Uint())
		}
	}
	return uint32(k.Uint()), access, btf.TypeID(i.Uint()), nil
}
