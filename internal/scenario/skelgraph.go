package scenario

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
)

// sketch is an object with the fields that programs read.
type sketch struct {
	name, typ string
	fields    map[string]string // path -> value
	order     []string
	used      []string // names of the programs that read it
	keyed     bool     // its address was a key, or in one
	// outer is the type of the storage that the object is the beginning of, such as tcp_sock for a
	// sock, and inner the path of the object in it. beyond has the fields that programs read in
	// terms of that type; none if they read the object alone.
	outer, inner string
	beyond       map[string]string
	beyondOrder  []string
}

// write writes the type and the fields.
func (s *sketch) write(b *bytes.Buffer) {
	typ, prefix := s.typ, ""
	if len(s.beyond) > 0 {
		typ, prefix = s.outer, s.inner+"."
	}
	fmt.Fprintf(b, "    type: %s\n", typ)
	line := func(key, value string) {
		if key == "type" || key == "like" {
			key = "." + key // a field, not the key with that name
		}
		fmt.Fprintf(b, "    %s: %s\n", yamlKey(key), value)
	}
	for _, path := range s.order {
		line(prefix+path, s.fields[path])
	}
	for _, path := range s.beyondOrder {
		line(path, s.beyond[path])
	}
}

// graph collects the objects that programs read, each once under a unique name, with pointers as
// references between them.
type graph struct {
	sketches []*sketch
	byObject map[*object.Object]*sketch // of one program's run
	names    map[string]*sketch
}

// startRun forgets the objects of the previous run: the machine was restored, so their addresses
// may be reused.
func (g *graph) startRun() { g.byObject = map[*object.Object]*sketch{} }

// object returns the sketch of an object, or nil if a file cannot create such an object. Runs share
// objects of the same role and type.
func (g *graph) object(o *object.Object, prog string) *sketch {
	if s := g.byObject[o]; s != nil {
		if !slices.Contains(s.used, prog) {
			s.used = append(s.used, prog)
		}
		return s
	}
	typ := o.TypeName()
	if o.Spec() == nil || o.Type() == 0 || strings.ContainsAny(typ, " ({[*") || o.Spec().Name(o.Type()) == "" {
		return nil
	}
	name := objectName(o.Role())
	for n := 2; ; n++ {
		s := g.names[name]
		if s == nil {
			s = &sketch{name: name, typ: typ, fields: map[string]string{}, beyond: map[string]string{}}
			s.outer, s.inner = outerOf(o)
			g.names[name] = s
			g.sketches = append(g.sketches, s)
		} else if s.typ != typ || g.taken(s, o) {
			name = objectName(o.Role()) + "_" + itoa(n)
			continue
		}
		g.byObject[o] = s
		if !slices.Contains(s.used, prog) {
			s.used = append(s.used, prog)
		}
		return s
	}
}

// sameKey makes an object one that keys of another program were about, whatever the arguments are
// called: what one program stores, the other finds.
func (g *graph) sameKey(o *object.Object, prog string) {
	if g.byObject[o] == nil {
		for _, s := range g.sketches {
			if s.keyed && s.typ == o.TypeName() && !g.taken(s, o) {
				g.byObject[o] = s
				break
			}
		}
	}
	if s := g.object(o, prog); s != nil {
		s.keyed = true
	}
}

// at returns the sketch of the object at an address.
func (g *graph) at(addr uint64) *sketch {
	for o, s := range g.byObject {
		if o.Addr() == addr {
			return s
		}
	}
	return nil
}

// taken reports whether a sketch stands for a different object of this run.
func (g *graph) taken(s *sketch, o *object.Object) bool {
	for other, x := range g.byObject {
		if x == s && other != o {
			return true
		}
	}
	return false
}

// objectName derives a name from a role: "current.real_parent" is real_parent.
func objectName(role string) string {
	if i := strings.LastIndexByte(role, '.'); i >= 0 {
		role = role[i+1:]
	}
	name := strings.Map(func(r rune) rune {
		switch {
		case r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z':
			return r
		case r == '[' || r == ' ':
			return '_'
		}
		return -1
	}, role)
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "object" + name
	}
	return name
}

// note adds a field of an object with its current value.
func (g *graph) note(o *object.Object, path, prog string) {
	s := g.object(o, prog)
	if s == nil || path == "" {
		return
	}
	if _, known := s.fields[path]; known {
		return
	}
	if value, ok := g.value(o, path, prog); ok {
		s.fields[path] = value
		s.order = append(s.order, path)
		return
	}
	for _, member := range wholeStruct(o, path) {
		g.note(o, member, prog)
	}
}

// mostMembers limits the members of a struct that is copied as a whole and written one by one.
const mostMembers = 12

// wholeStruct returns the paths of the members of a struct, nil for another field. Programs copy
// small structs with a name or an address in them.
func wholeStruct(o *object.Object, path string) (out []string) {
	f, _, err := o.Peek(path)
	if err != nil || f.Spec == nil || f.BitSize != 0 {
		return nil
	}
	t := f.Spec.SkipMods(f.Type)
	if t.Kind != btf.KindStruct || len(t.Members) > mostMembers {
		return nil
	}
	for _, m := range t.Members {
		if m.Name != "" {
			out = append(out, path+"."+m.Name)
		}
	}
	return out
}

// outerOf returns the type that an object is the beginning of, and its path there; both are empty
// if it is all of its storage.
func outerOf(o *object.Object) (outer, inner string) {
	face, storage := o.Face(), o.Storage()
	if face == nil || storage == nil || o.Addr() != o.Base() || o.Count() > 1 {
		return "", ""
	}
	spec, t := storage.Spec, storage.Type
	for t.ID != face.Type.ID {
		if t.Kind != btf.KindStruct || len(t.Members) == 0 || t.Members[0].Name == "" || spec != face.Spec {
			return "", ""
		}
		if inner != "" {
			inner += "."
		}
		inner += t.Members[0].Name
		t = spec.SkipMods(t.Members[0].Type)
	}
	return storage.Name, inner
}

// noteBeyond adds a field of the storage that an object is the beginning of.
func (g *graph) noteBeyond(o *object.Object, path, prog string) {
	s := g.object(o, prog)
	if s == nil || s.outer == "" || s.outer != o.Storage().Name || s.beyond[path] != "" {
		return
	}
	f, data, ok := o.PeekStorage(path)
	if !ok || f.Spec == nil {
		return
	}
	if k := f.Spec.SkipMods(f.Type).Kind; k == btf.KindPtr || k == btf.KindStruct || k == btf.KindUnion {
		return
	}
	v, err := f.Spec.DecodeField(btf.Field{Type: f.Type, BitOffset: uint32(f.BitOff), BitSize: f.BitSize}, data)
	if text := yamlValue(v); err == nil && !strings.Contains(text, "!any") {
		s.beyond[path] = text
		s.beyondOrder = append(s.beyondOrder, path)
	}
}

// value formats the value of a field in the file's notation; ok is false if a file cannot express
// it.
func (g *graph) value(o *object.Object, path, prog string) (string, bool) {
	f, data, err := o.Peek(path)
	if err != nil || data == nil || f.Spec == nil {
		return "", false
	}
	t := f.Spec.SkipMods(f.Type)
	switch t.Kind {
	case btf.KindPtr:
		return g.pointer(o, path, prog)
	case btf.KindStruct, btf.KindUnion:
		if f.Spec.IsIPv6(f.Type) {
			break
		}
		if f.BitSize == 0 && len(t.Members) == 1 && t.Members[0].Name != "" {
			return g.value(o, path+"."+t.Members[0].Name, prog)
		}
		return "", false
	}
	v, err := f.Spec.DecodeField(btf.Field{Type: f.Type, BitOffset: uint32(f.BitOff), BitSize: f.BitSize}, data)
	if err != nil {
		return "", false
	}
	text := yamlValue(v)
	return text, !strings.Contains(text, "!any")
}

func (g *graph) pointer(o *object.Object, path, prog string) (string, bool) {
	if v, err := o.Uint(path); err != nil || v == 0 {
		return "null", err == nil
	}
	to, err := o.Pointee(path)
	if err != nil || to == nil {
		return "", false
	}
	if to.TypeName() == "char" {
		text, err := o.String(path)
		return grammar.YAMLString(text), err == nil
	}
	if v, err := o.Uint(path); err != nil || v != to.Addr() {
		if o.LeadsToText(path) { // a name that is stored there
			text, err := o.String(path)
			return grammar.YAMLString(text), err == nil
		}
		if text, err := o.String(path); err == nil && text != "" && o.LeadsToBytes(path) && strings.IndexFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) < 0 {
			return grammar.YAMLString(text), true // such as the name in a dentry, which is of unsigned characters
		}
		return "", false // a pointer into the middle of an object
	}
	s := g.object(to, prog)
	if s == nil {
		return "", false
	}
	return "$" + s.name, true
}

// reads records the fields that a run read.
func (g *graph) reads(prog string, res *machine.Result) {
	for i := range res.Reads {
		a := &res.Reads[i]
		if a.Path != "" && a.Type != a.Object.TypeName() && a.Object.Storage() != nil && a.Type == a.Object.Storage().Name {
			for path := range strings.SplitSeq(a.Path, ",") {
				g.noteBeyond(a.Object, path, prog)
			}
		}
		if a.Path == "" || a.Type != a.Object.TypeName() {
			continue
		}
		for path := range strings.SplitSeq(a.Path, ",") {
			g.note(a.Object, wholeText(a.Object, path), prog)
		}
	}
}

// wholeText returns the path of the array if path leads to one of its characters; other paths are
// unchanged.
func wholeText(o *object.Object, path string) string {
	i := strings.LastIndexByte(path, '[')
	if i <= 0 || !strings.HasSuffix(path, "]") {
		return path
	}
	f, data, err := o.Peek(path[:i])
	if err != nil || data == nil || f.Spec == nil {
		return path
	}
	t := f.Spec.SkipMods(f.Type)
	if n, err := f.Spec.Sizeof(t.Ref); t.Kind == btf.KindArray && err == nil && n == 1 && t.Array.Nelems > 0 {
		return path[:i]
	}
	return path
}
