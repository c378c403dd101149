package corerelo

import "github.com/bpfrun/bpfrun/btf"

// skip skips modifiers and typedefs; it returns nil if there is no type.
func skip(spec *btf.Spec, id btf.ID) *btf.Type {
	if int(id) >= spec.NumTypes() {
		return nil
	}
	return spec.SkipMods(id)
}

// sameKind treats ENUM and ENUM64 as one kind (libbpf btf_kind_core_compat).
func sameKind(a, b btf.Kind) bool { return a == b || a.IsEnum() && b.IsEnum() }

// sameEssential compares names without flavor suffix.
func sameEssential(a, b string) bool {
	return a == b || btf.EssentialName(a) == btf.EssentialName(b)
}

var kindWords = map[btf.Kind]string{
	btf.KindVoid: "void", btf.KindInt: "int", btf.KindPtr: "ptr", btf.KindArray: "array",
	btf.KindStruct: "struct", btf.KindUnion: "union", btf.KindEnum: "enum", btf.KindFwd: "fwd",
	btf.KindTypedef: "typedef", btf.KindVolatile: "volatile", btf.KindConst: "const",
	btf.KindRestrict: "restrict", btf.KindFunc: "func", btf.KindFuncProto: "func_proto",
	btf.KindVar: "var", btf.KindDatasec: "datasec", btf.KindFloat: "float",
	btf.KindDeclTag: "decl_tag", btf.KindTypeTag: "type_tag", btf.KindEnum64: "enum64",
}

// kindWord returns libbpf's name of a BTF kind (btf_kind_str).
func kindWord(k btf.Kind) string {
	if w, ok := kindWords[k]; ok {
		return w
	}
	return "unknown"
}

func orAnon(name string) string {
	if name == "" {
		return "<anon>"
	}
	return name
}

// typeText names a type in messages and hints.
func typeText(spec *btf.Spec, id btf.ID) string {
	if int(id) >= spec.NumTypes() {
		return "type out of range"
	}
	return spec.TypeString(id)
}
