package btf

import (
	"strconv"
	"strings"
)

// TypeString returns a type in C syntax without a name: "const struct task_struct *", "int (*)(void
// *, u64)", "char[16]". Anonymous structs and enums print as "struct {...}"; a FUNC or VAR as its
// declaration.
func (s *Spec) TypeString(id ID) string { return s.Declare(id, "") }

// Declare returns the C declaration of name with type id, without a semicolon: "int (*handler)(void
// *, u64)".
func (s *Spec) Declare(id ID, name string) string {
	var b declarator
	b.spec = s
	return b.declare(id, name, 0)
}

// declarator builds C declarations from the inside out.
type declarator struct {
	spec *Spec
	// params includes parameter names.
	params bool
	// attributes writes type tags that stand for attributes (kind_flag): address_space(1).
	attributes bool
	// base names types that are not declarators; nil means Spec.baseName.
	base  func(t *Type) string
	steps int
}

// maxDeclSteps limits the types in one declaration: in malformed BTF a prototype can have itself as
// a parameter, several times.
const maxDeclSteps = 2000

// declare returns the declaration of inner, the part already built around the name.
func (d *declarator) declare(id ID, inner string, depth int) string {
	if d.steps++; depth > maxDepth || d.steps > maxDeclSteps {
		return joinWords("...", inner)
	}
	t, err := d.spec.Type(id)
	if err != nil {
		return joinWords("<type "+utoa(int(id))+">", inner)
	}
	switch t.Kind {
	case KindPtr:
		if k := d.spec.declKind(t.Ref); k == KindArray || k == KindFuncProto {
			return d.declare(t.Ref, "(*"+inner+")", depth+1)
		}
		return d.declare(t.Ref, "*"+inner, depth+1)
	case KindConst:
		return d.qualify("const", t, inner, depth)
	case KindVolatile:
		return d.qualify("volatile", t, inner, depth)
	case KindRestrict:
		return d.qualify("restrict", t, inner, depth)
	case KindTypeTag:
		if d.attributes && t.Flag {
			inner = joinWords("__attribute__(("+t.Name+"))", inner)
		}
		return d.declare(t.Ref, inner, depth+1)
	case KindArray:
		return d.declare(t.Ref, inner+"["+strconv.FormatUint(uint64(t.Array.Nelems), 10)+"]", depth+1)
	case KindFuncProto:
		return d.declare(t.Ref, inner+"("+d.paramList(t, depth)+")", depth+1)
	case KindFunc:
		return d.declare(t.Ref, joinWords(t.Name, inner), depth+1)
	case KindVar:
		return d.declare(t.Ref, joinWords(t.Name, inner), depth+1)
	}
	if d.base != nil {
		return joinWords(d.base(t), inner)
	}
	return joinWords(d.spec.baseName(t), inner)
}

// qualify puts a qualifier of a pointer after its '*', any other before the type. Compilers qualify
// both a constant array and its elements; C writes that once.
func (d *declarator) qualify(word string, t *Type, inner string, depth int) string {
	if d.spec.elementHas(t.Ref, t.Kind) {
		return d.declare(t.Ref, inner, depth+1)
	}
	if d.spec.declKind(t.Ref) == KindPtr {
		return d.declare(t.Ref, joinWords(word, inner), depth+1)
	}
	return word + " " + d.declare(t.Ref, inner, depth+1)
}

// elementHas reports whether a type is an array whose elements have the given qualifier.
func (s *Spec) elementHas(id ID, qualifier Kind) bool {
	inArray := false
	for range maxDepth {
		k := s.Kind(id)
		switch k {
		case KindArray:
			inArray = true
		case KindConst, KindVolatile, KindRestrict, KindTypeTag:
			if inArray && k == qualifier {
				return true
			}
		default:
			return false
		}
		t, err := s.Type(id)
		if err != nil {
			return false
		}
		id = t.Ref
	}
	return false
}

// declKind returns the kind of a type after qualifiers and tags, but not typedefs.
func (s *Spec) declKind(id ID) Kind {
	for range maxDepth {
		k := s.Kind(id)
		switch k {
		case KindConst, KindVolatile, KindRestrict, KindTypeTag:
			t, err := s.Type(id)
			if err != nil {
				return KindVoid
			}
			id = t.Ref
		default:
			return k
		}
	}
	return KindVoid
}

func (d *declarator) paramList(t *Type, depth int) string {
	if len(t.Params) == 0 {
		return "void"
	}
	if d.base != nil && len(t.Params) == 1 && t.Variadic() {
		return "" // C before C23 has no "..." alone
	}
	var b strings.Builder
	for i, p := range t.Params {
		if i > 0 {
			b.WriteString(", ")
		}
		switch {
		case i == len(t.Params)-1 && t.Variadic():
			b.WriteString("...")
		case d.params:
			b.WriteString(d.declare(p.Type, p.Name, depth+1))
		default:
			b.WriteString(d.declare(p.Type, "", depth+1))
		}
	}
	return b.String()
}

// Signature returns the C prototype of a FUNC with parameter names: "int do_unlinkat(int dfd,
// struct filename *name)".
func (s *Spec) Signature(id ID) string {
	d := declarator{spec: s, params: true}
	return d.declare(id, "", 0)
}

// baseName returns the name of a type that is not a declarator.
func (s *Spec) baseName(t *Type) string {
	word := ""
	switch t.Kind {
	case KindVoid:
		return "void"
	case KindStruct:
		word = "struct "
	case KindUnion:
		word = "union "
	case KindEnum, KindEnum64:
		word = "enum "
	case KindFwd:
		word = "struct "
		if t.Flag {
			word = "union "
		}
	case KindDatasec:
		word = "section "
	case KindDeclTag:
		word = "decl_tag "
	}
	if t.Name == "" {
		return word + "{...}"
	}
	return word + t.Name
}

func joinWords(a, b string) string {
	if b == "" {
		return a
	}
	if b[0] == '[' {
		return a + b
	}
	return a + " " + b
}
