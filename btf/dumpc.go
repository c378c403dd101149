package btf

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// DumpC writes a C header that declares the given types (all if ids is nil) and their dependencies:
// complete definitions for types held by value, at least declarations for pointees. The header
// compiles as GNU C. With a compiler for the same target its structs have exactly the layout of the
// BTF: padding, bitfields and the packed attribute are added where plain declarations would differ.
//
// Names used twice get the suffixes ___2, ___3 and so on, which CO-RE ignores. In names that are
// not C identifiers (Rust), other characters become '_'. FUNC, VAR, DATASEC and tags are left out.
// Types are wrapped for CO-RE (preserve_access_index) as in bpftool's vmlinux.h.
func DumpC(w io.Writer, s *Spec, ids []ID) error { return DumpCWithKfuncs(w, s, ids, nil) }

// DumpCWithKfuncs is [DumpC] followed by prototypes of the given FUNC types, as bpftool declares
// kfuncs in vmlinux.h: weak kernel symbols, which BPF_NO_KFUNC_PROTOTYPES disables.
func DumpCWithKfuncs(w io.Writer, s *Spec, ids, kfuncs []ID) error {
	d := newCDumper(w, s)
	d.w.WriteString(cProlog)
	if ids == nil {
		for id := s.first; int(id) < s.NumTypes(); id++ {
			d.top(id)
		}
	}
	for _, id := range ids {
		if _, err := s.Type(id); err != nil {
			return err
		}
		d.top(id)
		d.order(id, true, 0)
	}
	for _, id := range kfuncs {
		proto := s.MustType(s.MustType(id).Ref)
		d.order(proto.Ref, false, 0)
		for _, p := range proto.Params {
			d.order(p.Type, false, 0)
		}
	}
	d.w.WriteString(cPop)
	if len(kfuncs) > 0 {
		d.w.WriteString(cKfuncs)
		fast := s.tagged("bpf_fastcall")
		for _, id := range kfuncs {
			attr := ""
			if slices.Contains(fast, id) {
				attr = "__bpf_fastcall "
			}
			c := declarator{spec: s, params: true, attributes: true}
			fmt.Fprintf(d.w, "extern %s%s __weak __ksym;\n", attr, c.declare(id, "", 0))
		}
		d.w.WriteString("#endif\n\n")
	}
	d.w.WriteString(cEpilog)
	if d.err != nil {
		return d.err
	}
	return d.w.Flush()
}

const cProlog = `#ifndef __VMLINUX_H__
#define __VMLINUX_H__

#if defined(__clang__) && !defined(BPF_NO_PRESERVE_ACCESS_INDEX)
#pragma clang attribute push (__attribute__((preserve_access_index)), apply_to = record)
#endif

`

const cPop = `#if defined(__clang__) && !defined(BPF_NO_PRESERVE_ACCESS_INDEX)
#pragma clang attribute pop
#endif

`

const cKfuncs = `#ifndef BPF_NO_KFUNC_PROTOTYPES
#ifndef __ksym
#define __ksym __attribute__((section(".ksyms")))
#endif
#ifndef __weak
#define __weak __attribute__((weak))
#endif
#ifndef __bpf_fastcall
#if defined(__has_attribute)
#if __has_attribute(bpf_fastcall)
#define __bpf_fastcall __attribute__((bpf_fastcall))
#endif
#endif
#endif
#ifndef __bpf_fastcall
#define __bpf_fastcall
#endif

`

const cEpilog = "#endif /* __VMLINUX_H__ */\n"

// cState records how far a type has been written.
type cState uint8

const (
	cDeclared cState = 1 << iota // struct X;
	cRunning                     // its members are being written
	cDefined                     // written; for a typedef only its name
	cComplete                    // for a typedef: its target too
	cInlined                     // anonymous, part of another type
)

type cDumper struct {
	s     *Spec
	w     *bufio.Writer
	state map[ID]cState
	names map[ID]string
	used  map[string]int // "struct x" and, for typedefs and enumerators, "x"
	// aligns caches the alignment of structs and unions, in bytes.
	aligns map[ID]uint64
	pads   int
	bodies int
	err    error
}

func newCDumper(w io.Writer, s *Spec) *cDumper {
	d := &cDumper{s: s, w: bufio.NewWriterSize(w, 1<<16), state: make(map[ID]cState), names: make(map[ID]string), used: make(map[string]int), aligns: make(map[ID]uint64)}
	for id := ID(1); int(id) < s.NumTypes(); id++ {
		d.markInlined(id)
	}
	return d
}

// markInlined marks the anonymous types that id embeds.
func (d *cDumper) markInlined(id ID) {
	mark := func(ref ID) {
		for range maxDepth {
			switch k := d.s.Kind(ref); {
			case k.IsComposite() || k.IsEnum():
				if d.s.Name(ref) == "" {
					d.state[ref] |= cInlined
				}
				return
			case k == KindConst, k == KindVolatile, k == KindRestrict, k == KindTypeTag, k == KindPtr, k == KindArray:
				ref = d.s.MustType(ref).Ref
			default:
				return
			}
		}
	}
	switch k := d.s.Kind(id); k {
	case KindStruct, KindUnion, KindFuncProto, KindTypedef, KindVar:
		t := d.s.MustType(id)
		mark(t.Ref)
		for i := range t.Members {
			mark(t.Members[i].Type)
		}
		for i := range t.Params {
			mark(t.Params[i].Type)
		}
	}
}

// top writes a type at the top level.
func (d *cDumper) top(id ID) {
	switch k := d.s.Kind(id); {
	case k.IsComposite() && d.s.Name(id) != "", k == KindTypedef, k == KindFwd, k.IsEnum() && d.s.Name(id) != "":
		d.order(id, true, 0)
	case k.IsEnum() && d.state[id]&(cInlined|cDefined) == 0:
		d.state[id] |= cDefined
		fmt.Fprintf(d.w, "%s;\n\n", d.enumBody(d.s.MustType(id)))
	}
}

// order writes what a use of id needs before it: its definition if strong, else (for a pointer) a
// declaration.
func (d *cDumper) order(id ID, strong bool, depth int) {
	if depth > 4*maxDepth {
		d.fail(id, ErrCycle, "nested more than %d deep", 4*maxDepth)
		return
	}
	t := d.s.MustType(id)
	switch t.Kind {
	case KindPtr:
		d.order(t.Ref, false, depth+1)
	case KindConst, KindVolatile, KindRestrict, KindTypeTag:
		d.order(t.Ref, strong, depth+1)
	case KindArray:
		d.order(t.Ref, true, depth+1)
	case KindFuncProto:
		if d.state[id]&cDefined != 0 {
			return
		}
		d.state[id] |= cDefined
		d.order(t.Ref, false, depth+1)
		for i := range t.Params {
			d.order(t.Params[i].Type, false, depth+1)
		}
	case KindEnum, KindEnum64:
		if t.Name != "" && d.state[id]&cDefined == 0 {
			d.state[id] |= cDefined
			fmt.Fprintf(d.w, "%s;\n\n", d.enumBody(t))
		}
	case KindFwd:
		d.declareTag(t)
	case KindTypedef:
		d.typedef(t, strong, depth)
	case KindStruct, KindUnion:
		d.composite(t, strong, depth)
	}
}

func (d *cDumper) fail(id ID, kind error, format string, args ...any) {
	if d.err == nil {
		d.err = typeError(d.s.MustType(id), kind, "as C: "+format, args...)
	}
}

// typedef writes a typedef before its target is complete, because members of a struct may use the
// typedef of that struct.
func (d *cDumper) typedef(t *Type, strong bool, depth int) {
	if st := d.state[t.ID]; st&(cDefined|cRunning) == 0 {
		d.state[t.ID] |= cRunning
		d.order(t.Ref, false, depth+1)
		d.state[t.ID] = d.state[t.ID]&^cRunning | cDefined
		if !strings.HasPrefix(t.Name, "__builtin_") { // those are predefined by the compiler
			fmt.Fprintf(d.w, "typedef %s;\n\n", d.declare(t.Ref, d.name(t)))
		}
	}
	if st := d.state[t.ID]; strong && st&(cRunning|cComplete) == 0 {
		d.state[t.ID] |= cComplete
		d.order(t.Ref, true, depth+1)
	}
}

func (d *cDumper) composite(t *Type, strong bool, depth int) {
	st := d.state[t.ID]
	if t.Name != "" && !strong {
		d.declareTag(t)
		return
	}
	if st&(cDefined|cRunning) != 0 {
		if st&cRunning != 0 && t.Name != "" {
			d.fail(t.ID, ErrCycle, "%s contains itself", d.s.TypeString(t.ID))
		}
		return
	}
	d.state[t.ID] |= cRunning
	for i := range t.Members {
		d.order(t.Members[i].Type, true, depth+1)
	}
	d.state[t.ID] = d.state[t.ID]&^cRunning | cDefined
	if t.Name != "" {
		fmt.Fprintf(d.w, "%s;\n\n", d.body(t, d.name(t), ""))
	}
}

// declareTag writes "struct x;" once.
func (d *cDumper) declareTag(t *Type) {
	if d.state[t.ID]&(cDeclared|cDefined) != 0 || t.Name == "" {
		return
	}
	d.state[t.ID] |= cDeclared
	fmt.Fprintf(d.w, "%s %s;\n\n", tagWord(t), d.name(t))
}

func tagWord(t *Type) string {
	switch {
	case t.Kind == KindUnion, t.Kind == KindFwd && t.Flag:
		return "union"
	case t.Kind.IsEnum():
		return "enum"
	}
	return "struct"
}

// name returns the C name of a type, unique among tags or among ordinary identifiers.
func (d *cDumper) name(t *Type) string {
	if n, ok := d.names[t.ID]; ok {
		return n
	}
	n := cIdent(t.Name)
	switch t.Kind {
	case KindTypedef:
		n = d.unique(n, "")
	case KindFwd:
		// A forward declaration and its definition share the tag.
	default:
		n = d.unique(n, tagWord(t)[:1])
	}
	d.names[t.ID] = n
	return n
}

// unique appends ___2 to the second use of a name within a name space.
func (d *cDumper) unique(name, space string) string {
	if space != "" {
		space = "tag " // structs, unions and enums share the tag name space
	}
	d.used[space+name]++
	if n := d.used[space+name]; n > 1 {
		return d.unique(name+"___"+strconv.Itoa(n), space)
	}
	return name
}

var cKeywords = map[string]bool{"auto": true, "break": true, "case": true, "char": true, "const": true, "continue": true, "default": true,
	"do": true, "double": true, "else": true, "enum": true, "extern": true, "float": true, "for": true, "goto": true, "if": true,
	"inline": true, "int": true, "long": true, "register": true, "restrict": true, "return": true, "short": true, "signed": true,
	"sizeof": true, "static": true, "struct": true, "switch": true, "typedef": true, "union": true, "unsigned": true, "void": true,
	"volatile": true, "while": true, "asm": true, "typeof": true}

// cIdent turns a name into a C identifier.
func cIdent(name string) string {
	ok := name != "" && !(name[0] >= '0' && name[0] <= '9') && !cKeywords[name]
	for i := 0; ok && i < len(name); i++ {
		ok = identByte(name[i])
	}
	if ok || name == "" {
		return name
	}
	b := []byte(name)
	for i := range b {
		if !identByte(b[i]) {
			b[i] = '_'
		}
	}
	if b[0] >= '0' && b[0] <= '9' || cKeywords[string(b)] {
		return "_" + string(b)
	}
	return string(b)
}

func identByte(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

func (d *cDumper) declare(id ID, name string) string { return d.declareIn(id, name, "") }

// declareIn declares a name at an indentation level and writes out anonymous types.
func (d *cDumper) declareIn(id ID, name, indent string) string {
	return (&declarator{spec: d.s, params: false, base: func(t *Type) string { return d.baseName(t, indent) }}).declare(id, name, 0)
}

func (d *cDumper) baseName(t *Type, indent string) string {
	switch t.Kind {
	case KindVoid:
		return "void"
	case KindInt:
		return intName(t)
	case KindFloat:
		return floatName(t)
	case KindTypedef:
		if strings.HasPrefix(t.Name, "__builtin_") {
			return t.Name
		}
		return d.name(t)
	case KindStruct, KindUnion:
		if t.Name == "" {
			return d.body(t, "", indent)
		}
	case KindEnum, KindEnum64:
		if t.Name == "" {
			d.state[t.ID] |= cDefined
			return d.enumBody(t)
		}
	}
	return tagWord(t) + " " + d.name(t)
}

// intName returns the name of an INT. For names known only to one compiler or language (__Poly64_t,
// usize) it returns a C type of the same size.
func intName(t *Type) string {
	known := t.Name != ""
	for _, word := range strings.Fields(t.Name) {
		switch word {
		case "char", "short", "int", "long", "signed", "unsigned", "__int128", "_Bool":
		default:
			known = false
		}
	}
	if known {
		return t.Name
	}
	name := "unsigned char"
	switch t.Size {
	case 2:
		name = "unsigned short"
	case 4:
		name = "unsigned int"
	case 8:
		name = "unsigned long long"
	case 16:
		name = "unsigned __int128"
	}
	switch {
	case t.Int.Encoding&IntBool != 0 && t.Size == 1:
		return "_Bool"
	case t.Signed():
		return strings.TrimPrefix(name, "un")
	}
	return name
}

// floatName returns a C type of the same size, because the compiler's own name (as kept by pahole)
// may be unknown to C.
func floatName(t *Type) string {
	switch {
	case t.Name == "float", t.Name == "double", t.Name == "long double", t.Name == "_Float16", t.Name == "__fp16":
		return t.Name
	case t.Size == 2:
		return "_Float16"
	case t.Size == 4:
		return "float"
	case t.Size == 8:
		return "double"
	}
	return "long double"
}

func (d *cDumper) enumBody(t *Type) string {
	var b strings.Builder
	b.WriteString("enum")
	if t.Name != "" {
		b.WriteString(" " + d.name(t))
		if len(t.Values) == 0 {
			return b.String()
		}
	}
	b.WriteString(" {")
	for i, v := range t.Values {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, "\n\t%s = %s", d.unique(cIdent(v.Name), ""), enumLiteral(v.Value, t))
	}
	b.WriteString("\n}")
	switch t.Size {
	case 1:
		b.WriteString(" __attribute__((mode(byte)))")
	case 2:
		b.WriteString(" __attribute__((mode(HI)))")
	case 8:
		b.WriteString(" __attribute__((mode(DI)))")
	}
	return b.String()
}

func enumLiteral(v uint64, t *Type) string {
	switch {
	case t.Signed() && int64(v) == -1<<63:
		return "-9223372036854775807LL - 1"
	case t.Signed() && int64(v) == int64(int32(v)):
		return strconv.FormatInt(int64(v), 10)
	case t.Signed():
		return strconv.FormatInt(int64(v), 10) + "LL"
	case v > 1<<32-1:
		return strconv.FormatUint(v, 10) + "ULL"
	case v > 1<<31-1:
		return strconv.FormatUint(v, 10) + "U"
	}
	return strconv.FormatUint(v, 10)
}
