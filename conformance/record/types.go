package record

import (
	"encoding/binary"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/loader"
)

// dummy is the name of what stands in a section in place of functions that the kernel itself has.
const dummy = "dummy_ksym"

// kernelTypes makes the object's type information fit for the kernel, with the ids unchanged, as libbpf does
// (btf_fixup_datasec, bpf_object__collect_externs): sections get sizes, their variables offsets, and what is extern, which the
// kernel does not take, is defined.
func kernelTypes(obj *loader.Object) ([]byte, error) {
	b := btf.NewBuilder(nil)
	b.AddSpec(obj.BTF)
	f := typeFixer{b: b, spec: obj.BTF, number: b.Int("int", 4, btf.IntSigned)}
	f.dummy = b.Add(btf.Type{Kind: btf.KindVar, Name: dummy, Ref: f.number, Linkage: btf.LinkageGlobal})
	images := map[btf.ID]*loader.Map{}
	for _, m := range obj.Maps {
		if m.Datasec != 0 {
			images[m.Datasec] = m
		}
	}
	kconfig := map[string]bool{}
	for _, e := range obj.Externs {
		kconfig[e.Name] = e.Kind == loader.ExternKconfig
	}
	for id := obj.BTF.FirstID(); int(id) < obj.BTF.NumTypes(); id++ {
		t := *obj.BTF.MustType(id)
		switch {
		case t.Kind == btf.KindFunc && t.Linkage == btf.LinkageExtern:
			t.Linkage = btf.LinkageGlobal
			b.Set(id, t)
			f.nameParams(t.Ref)
		case t.Kind == btf.KindVar && t.Linkage == btf.LinkageExtern:
			t.Linkage = btf.LinkageGlobal
			if !kconfig[t.Name] {
				t.Ref = f.number
			}
			b.Set(id, t)
		case t.Kind == btf.KindDatasec:
			b.Set(id, f.section(t, images[id]))
		}
	}
	return b.Marshal(binary.NativeEndian)
}

// typeFixer changes types of an object on their way into the kernel.
type typeFixer struct {
	b             *btf.Builder
	spec          *btf.Spec
	number, dummy btf.ID
}

// section gives a section a size and its variables places: those in the image of a data map, others one after another.
func (f *typeFixer) section(t btf.Type, image *loader.Map) btf.Type {
	places, size := map[string]loader.Var{}, uint32(0)
	if image != nil {
		size = uint32(len(image.Data))
		for _, v := range image.Vars {
			places[v.Name] = v
		}
	}
	vars := make([]btf.VarSecinfo, 0, len(t.Vars))
	next := uint32(0)
	for _, v := range t.Vars {
		item := f.spec.MustType(v.Type)
		place, known := places[item.Name]
		switch {
		case known:
			v.Offset, v.Size = place.Off, place.Size
		case item.Kind == btf.KindFunc:
			v = btf.VarSecinfo{Type: f.dummy, Offset: next, Size: 4}
		case item.Linkage == btf.LinkageExtern:
			v.Offset, v.Size = next, 4
		default:
			v.Offset, v.Size = next, max(v.Size, 1)
		}
		next = max(next, v.Offset+v.Size)
		vars = append(vars, v)
	}
	t.Vars, t.Size = vars, max(size, next)
	return t
}

// nameParams names the parameters of an extern function's prototype: compilers leave them without a name, and a defined
// function's need one.
func (f *typeFixer) nameParams(proto btf.ID) {
	t := *f.spec.MustType(proto)
	t.Params = append([]btf.Param(nil), t.Params...)
	for i := range t.Params {
		if t.Params[i].Type != 0 && t.Params[i].Name == "" {
			t.Params[i].Name = dummy
		}
	}
	f.b.Set(proto, t)
}
