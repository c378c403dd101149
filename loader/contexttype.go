package loader

import "github.com/bpfrun/bpfrun/btf"

// ContextType names the struct that a program's first parameter points to, without flavor suffix;
// "" if it is not a struct pointer.
func ContextType(spec *btf.Spec, fn btf.ID) string {
	if s := ContextStruct(spec, fn); s != nil {
		return btf.EssentialName(s.Name)
	}
	return ""
}

// ContextStruct returns the struct that a program's first parameter points to, or nil.
func ContextStruct(spec *btf.Spec, fn btf.ID) *btf.Type {
	if spec == nil || fn == 0 {
		return nil
	}
	t, err := spec.Type(fn)
	if err != nil || t.Kind != btf.KindFunc {
		return nil
	}
	proto := spec.SkipMods(t.Ref)
	if proto == nil || len(proto.Params) == 0 {
		return nil
	}
	ptr := spec.SkipMods(proto.Params[0].Type)
	if ptr == nil || ptr.Kind != btf.KindPtr {
		return nil
	}
	if s := spec.SkipMods(ptr.Ref); s != nil && s.Kind == btf.KindStruct {
		return s
	}
	return nil
}
