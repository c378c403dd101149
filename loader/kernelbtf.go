package loader

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/check"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// dummy is the name of the variable that replaces functions of the kernel in a section.
const dummy = "dummy_ksym"

// kernelBTF is the BTF that an object passes to kernels, created once.
type kernelBTF struct {
	once sync.Once
	raw  []byte
	err  error

	mu     sync.Mutex
	loaded []*check.Loading // what becomes of it, once for all releases that do the same
}

// load returns what becomes of the BTF on a release. Many releases treat an object's BTF alike,
// since it has little that their rules are about.
func (k *kernelBTF) load(release uapi.Release) *check.Loading {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, l := range k.loaded {
		if l.Holds(release) {
			return l
		}
	}
	l := check.Load(k.raw, check.Options{Release: release})
	k.loaded = append(k.loaded, l)
	return l
}

// KernelBTF returns the object's BTF as libbpf passes it to a kernel that knows all kinds, with
// unchanged ids (btf_fixup_datasec, bpf_object__collect_externs): sections get sizes, their
// variables get offsets, externs, which the kernel does not accept, are turned into definitions,
// and hidden functions into static ones. The bytes must not be modified; they are nil for an object
// without BTF.
func (o *Object) KernelBTF() ([]byte, error) {
	if o.BTF == nil {
		return nil, nil
	}
	o.kernelBTF.once.Do(func() { o.kernelBTF.raw, o.kernelBTF.err = fixedTypes(o) })
	return o.kernelBTF.raw, o.kernelBTF.err
}

// CheckBTF checks the BTF that libbpf would pass to a kernel of that release. It returns libbpf's
// replacements for older kernels, and the reason why the kernel refuses the result, a
// *[check.Problem].
func (o *Object) CheckBTF(release uapi.Release, inKernel func(btf.Kind, string) bool) ([]check.Change, error) {
	raw, err := o.KernelBTF()
	if raw == nil || err != nil {
		return nil, err
	}
	if !o.hasKptrs() {
		inKernel = nil // not needed
	}
	var l *check.Loading
	if inKernel == nil {
		l = o.kernelBTF.load(release)
	} else {
		l = check.Load(raw, check.Options{Release: release, InKernel: inKernel})
	}
	return l.Changes, l.Err
}

// hasKptrs reports whether a type tag of the object declares a kptr.
func (o *Object) hasKptrs() bool {
	for _, name := range []string{"kptr", "percpu_kptr", "kptr_untrusted"} {
		if _, ok := o.BTF.FindID(btf.KindTypeTag, name); ok {
			return true
		}
	}
	return false
}

// checkBTF refuses the object if the target refuses its BTF and programs need it; libbpf loads
// other objects without BTF.
func (l *loading) checkBTF() error {
	if l.o.BTF == nil || l.t.Version == 0 {
		return nil
	}
	changes, err := l.o.CheckBTF(uapi.ReleaseOf(l.t.Version), func(kind btf.Kind, name string) bool {
		_, _, ok := l.t.find(kind, name, "")
		return ok
	})
	l.BTFChanges = changes
	var p *check.Problem
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &p):
		l.warnf("the object's BTF cannot be prepared for a kernel: %v", err)
		return nil
	}
	l.NoBTF = p
	if why := l.o.needsBTF(); why != "" {
		l.refuse(failf(ErrKernelBTF, "Linux %s refuses the object's BTF, which %s needs: %v", l.t.VersionString(), why, p).hint("%s", p.Rule.Advice()))
		return nil
	}
	l.warnf("Linux %s refuses the object's BTF; libbpf loads its programs without it: %v", l.t.VersionString(), p)
	return nil
}

// ownedNames are prefixes of the names of structs that the kernel finds in map values by BTF.
var ownedNames = []string{"bpf_spin_lock", "bpf_res_spin_lock", "bpf_timer", "bpf_wq", "bpf_task_work", "bpf_list_head", "bpf_rb_root", "bpf_refcount"}

// needsBTF names what the object cannot load without BTF, or returns "".
func (o *Object) needsBTF() string {
	for _, m := range o.Maps {
		if m.StructOps != nil {
			return "struct_ops map " + m.Name
		}
	}
	if o.hasKptrs() {
		return "the kptr in a map's value"
	}
	for _, m := range o.Maps {
		switch m.Type {
		case uapi.MapTypeSkStorage, uapi.MapTypeInodeStorage, uapi.MapTypeTaskStorage, uapi.MapTypeCgrpStorage: // bpf_local_storage_map_alloc_check
			return fmt.Sprintf("map %s of type %s", m.Name, m.Type)
		}
		if m.ValueType == 0 {
			continue
		}
		t := o.BTF.SkipMods(m.ValueType)
		for _, f := range t.Members {
			name := o.BTF.SkipMods(f.Type).Name
			for _, n := range ownedNames {
				if name == n {
					return fmt.Sprintf("the %s in the value of map %s", n, m.Name)
				}
			}
		}
	}
	return ""
}

// fixedTypes implements KernelBTF.
func fixedTypes(obj *Object) ([]byte, error) {
	b := btf.NewBuilder(nil)
	b.AddSpec(obj.BTF)
	f := typeFixer{b: b, spec: obj.BTF, number: b.Int("int", 4, btf.IntSigned)}
	f.dummy = b.Add(btf.Type{Kind: btf.KindVar, Name: dummy, Ref: f.number, Linkage: btf.LinkageGlobal})
	images := map[btf.ID]*Map{}
	for _, m := range obj.Maps {
		if m.Datasec != 0 {
			images[m.Datasec] = m
		}
	}
	f.kconfig = map[string]*Extern{}
	for _, e := range obj.Externs {
		if e.Kind == ExternKconfig {
			f.kconfig[e.Name] = e
		}
	}
	hidden := map[btf.ID]bool{}
	for _, fn := range obj.Functions {
		hidden[fn.Type] = fn.Hidden && fn.IsSubprogram()
	}
	for id := obj.BTF.FirstID(); int(id) < obj.BTF.NumTypes(); id++ {
		t := *obj.BTF.MustType(id)
		switch {
		case t.Kind == btf.KindFunc && t.Linkage == btf.LinkageExtern:
			t.Linkage = btf.LinkageGlobal
			b.Set(id, t)
			f.nameParams(t.Ref)
		case t.Kind == btf.KindFunc && hidden[id]: // bpf_object__sanitize_btf: mark_btf_static
			t.Linkage = btf.LinkageStatic
			b.Set(id, t)
		case t.Kind == btf.KindVar && t.Linkage == btf.LinkageExtern:
			t.Linkage = btf.LinkageGlobal
			if f.kconfig[t.Name] == nil {
				t.Ref = f.number
			}
			b.Set(id, t)
		case t.Kind == btf.KindDatasec:
			b.Set(id, f.section(t, images[id]))
		}
	}
	return b.Marshal(obj.ByteOrder)
}

// typeFixer adapts an object's types for the kernel.
type typeFixer struct {
	b             *btf.Builder
	spec          *btf.Spec
	number, dummy btf.ID
	kconfig       map[string]*Extern // by name
}

// section sets a section's size and its variables' offsets: those in the image of a data map,
// others one after another. A linker has set those of sections that have a size; two static
// variables of files that it linked can have one name.
func (f *typeFixer) section(t btf.Type, image *Map) btf.Type {
	if t.Size != 0 && t.Name != secKconfig && t.Name != secKsyms {
		t.Vars = slices.Clone(t.Vars)
		slices.SortStableFunc(t.Vars, byOffset)
		return t
	}
	places, size := map[string]Var{}, uint32(0)
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
		case f.kconfig[item.Name] != nil:
			v.Offset, v.Size = f.kconfig[item.Name].Off, f.kconfig[item.Name].Size
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
	slices.SortStableFunc(vars, byOffset)
	t.Vars, t.Size = vars, max(size, next)
	return t
}

func byOffset(a, b btf.VarSecinfo) int { return cmp.Compare(a.Offset, b.Offset) }

// nameParams names the parameters of an extern function's prototype: compilers omit the names, but
// a defined function needs them.
func (f *typeFixer) nameParams(proto btf.ID) {
	t := *f.spec.MustType(proto)
	if t.Kind != btf.KindFuncProto {
		return // the kernel refuses it
	}
	t.Params = append([]btf.Param(nil), t.Params...)
	for i := range t.Params {
		if t.Params[i].Type != 0 && t.Params[i].Name == "" {
			t.Params[i].Name = dummy
		}
	}
	f.b.Set(proto, t)
}
