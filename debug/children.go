package debug

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/machine"
	"github.com/bpfrun/bpfrun/maps"
	"github.com/bpfrun/bpfrun/packet"
)

// Child is a part of a value: a member, an element, what a pointer points to, a header of a packet.
type Child struct {
	Name string
	// Expr is an expression that means the part, "" when there is none.
	Expr string
	// Value is nil with Err, and with Unset: a field of a kernel object that nobody set yet gets its value when it is read,
	// so reading it is left to those who ask for it ([Session.Part]).
	Value *Value
	Err   error
	Unset bool
}

// Parts returns how many parts a value has, and whether they are elements with numbers.
func (s *Session) Parts(v *Value) (n int, indexed bool) {
	switch {
	case v == nil || v.isText || v.field != nil:
		return 0, false
	case v.kind == aMap:
		return s.mapLen(v), false
	case v.kind == aPacket:
		return len(packet.Decode(v.Data, s.packetStart()).Layers), false
	case v.walk != nil:
		return len(v.walk.entries), true
	case v.layer != nil:
		return len(s.layerNames(v)), false
	}
	t, ok := s.whole(v)
	switch {
	case !ok:
		return 0, false
	case t.isComposite():
		return len(t.Spec.MemberNames(t.ID)), false
	case v.Type.kind() == btf.KindArray:
		return v.Type.count(), true
	case v.Type.kind() == btf.KindPtr:
		return 1, false
	}
	return 0, false
}

// whole is the type whose parts a value has: of a pointer to a struct that of the struct. ok is false for what has none.
func (s *Session) whole(v *Value) (t Type, ok bool) {
	t, addr := v.Type, v.Addr
	if t.kind() == btf.KindPtr {
		el, _ := t.elem()
		if addr = s.uint(v.Data); addr == 0 || el.isChar() {
			return t, false
		}
		switch el.kind() {
		case btf.KindVoid, btf.KindFunc, btf.KindFuncProto:
			return t, false
		}
		t = el
	}
	if t = s.layoutAt(t, addr); t.kind() == btf.KindFwd {
		return t, false
	}
	return t, t.isComposite() || v.Type.kind() == btf.KindPtr || v.Type.kind() == btf.KindArray
}

// Children returns parts from number from on, at most n. expr is an expression that means the whole, "" when there is none.
func (s *Session) Children(v *Value, expr string, from, n int) []Child {
	total, indexed := s.Parts(v)
	from = max(from, 0)
	to := min(total, from+max(n, 0))
	if from >= to {
		return nil
	}
	switch {
	case v.kind == aMap:
		return s.mapChildren(v, expr, from, to)
	case v.kind == aPacket:
		var out []Child
		for _, l := range packet.Decode(v.Data, s.packetStart()).Layers[from:to] {
			c := Child{Name: l.Path(), Expr: "pkt." + l.Path()}
			c.Value, c.Err = s.layerValue(v, l)
			out = append(out, c)
		}
		return out
	case v.walk != nil:
		var out []Child
		for i := from; i < to; i++ {
			out = append(out, Child{Name: fmt.Sprintf("[%d]", i), Expr: s.part(expr, "[%d]", i), Value: v.walk.entries[i]})
		}
		return out
	case v.layer != nil:
		return s.members(v, expr, s.layerNames(v)[from:to])
	case indexed:
		var out []Child
		for i := from; i < to; i++ {
			c := Child{Name: fmt.Sprintf("[%d]", i), Expr: s.part(expr, "[%d]", i)}
			c.Value, c.Err = s.index(v, int64(i))
			out = append(out, c)
		}
		return out
	}
	t, _ := s.whole(v)
	if t.isComposite() {
		return s.members(v, expr, t.Spec.MemberNames(t.ID)[from:to])
	}
	c := Child{Name: "*" + expr}
	if expr != "" {
		c.Expr = "*" + enclosed(expr)
	}
	c.Value, c.Err = s.deref(v)
	return []Child{c}
}

// Part is a member of a value by name, also one of a kernel object that has no value yet.
func (s *Session) Part(v *Value, name string) (*Value, error) { return s.member(v, name) }

func (s *Session) members(v *Value, expr string, names []string) []Child {
	op := "."
	base := v
	if v.Type.kind() == btf.KindPtr && v.layer == nil {
		op = "->"
		if p, err := s.deref(v); err == nil {
			base = p
		}
	}
	out := make([]Child, 0, len(names))
	for _, name := range names {
		c := Child{Name: name, Expr: s.part(expr, op+"%s", name)}
		if s.unset(base, name) {
			c.Unset = true
		} else {
			c.Value, c.Err = s.member(base, name)
		}
		out = append(out, c)
	}
	return out
}

// unset reports whether a member is a field of a kernel object without a value.
func (s *Session) unset(v *Value, name string) bool {
	if v.kind != inMemory || v.layer != nil || s.m.Kernel().ObjectAt(v.Addr) == nil || !v.Type.isComposite() {
		return false
	}
	f, ok := v.Type.Spec.FindMember(v.Type.ID, name)
	if !ok {
		return false
	}
	size := uint64(f.BitSize+7) / 8
	if f.BitSize == 0 {
		n, err := v.Type.Spec.Sizeof(f.Type)
		if err != nil || n <= 0 {
			return false
		}
		size = uint64(n)
	}
	if (Type{Spec: v.Type.Spec, ID: f.Type}).isComposite() {
		return false // its own members are told apart
	}
	return !s.anySet(v.Addr+uint64(f.BitOffset/8), size)
}

// part continues an expression.
func (s *Session) part(expr, format string, arg any) string {
	if expr == "" {
		return ""
	}
	return enclosed(expr) + fmt.Sprintf(format, arg)
}

// enclosed puts parentheses around an expression that a postfix operator would not take as a whole.
func enclosed(expr string) string {
	depth := 0
	for i := 0; i < len(expr); i++ {
		switch c := expr[i]; {
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			depth--
		case depth > 0, isLetter(c), isDigit(c), c == '.', c == '$':
		case c == '-' && i+1 < len(expr) && expr[i+1] == '>':
			i++
		default:
			return "(" + expr + ")"
		}
	}
	return expr
}

func (s *Session) mapLen(v *Value) int {
	if isSender(v.m) {
		if def := s.defOf(v.m); def != nil {
			return len(s.recordsOf(def))
		}
		return 0
	}
	n := len(v.m.Entries())
	if v.m.Spec().Type.PerCPU() {
		n *= s.m.Kernel().CPUs()
	}
	return n
}

func (s *Session) mapChildren(v *Value, expr string, from, to int) []Child {
	var out []Child
	if isSender(v.m) {
		for i := from; i < to; i++ {
			c := Child{Name: fmt.Sprintf("[%d]", i), Expr: s.part(expr, "[%d]", i)}
			c.Value, c.Err = s.recordElement(v, uint64(i))
			out = append(out, c)
		}
		return out
	}
	s.looking()
	entries, cpus := v.m.Entries(), 1
	if v.m.Spec().Type.PerCPU() {
		cpus = s.m.Kernel().CPUs()
	}
	for i := from; i < to && i/cpus < len(entries); i++ {
		out = append(out, s.mapChild(v, expr, entries[i/cpus], i%cpus, cpus > 1))
	}
	return out
}

func (s *Session) mapChild(v *Value, expr string, e maps.Entry, cpu int, perCPU bool) Child {
	kt, vt := s.keyType(v.m), s.valueType(v.m)
	key := &Value{Type: kt, Data: e.Key}
	c := Child{Name: "[" + s.Format(key, FormatOptions{}) + "]"}
	text := s.keyText(key)
	if perCPU {
		c.Name = fmt.Sprintf("[%s, cpu %d]", s.Format(key, FormatOptions{}), cpu)
		text += fmt.Sprintf(", %d", cpu)
	}
	if s.keyText(key) != "" {
		c.Expr = s.part(expr, "[%s]", text)
	}
	if inner, ok := e.Ref.(maps.Map); ok {
		c.Value = &Value{kind: aMap, m: inner, name: inner.Spec().Name}
		return c
	}
	if e.Ref != nil {
		c.Value = &Value{isText: true, text: s.refText(e.Ref)}
		return c
	}
	data := e.Value
	if e.PerCPU != nil && cpu < len(e.PerCPU) {
		data = e.PerCPU[cpu]
	}
	c.Value = &Value{Type: vt, Data: data}
	if c.Expr != "" { // in its place, so that it can be followed and changed
		if x, err := s.Eval(c.Expr); err == nil {
			c.Value = x
		}
	}
	return c
}

// keyText is a key as an expression takes it, "" when none does.
func (s *Session) keyText(key *Value) string {
	if len(key.Data) == 0 {
		return ""
	}
	if k := key.Type.kind(); k == btf.KindInt || k.IsEnum() {
		if n, signed, err := s.asInt(key); err == nil {
			if signed {
				return fmt.Sprint(int64(n))
			}
			return fmt.Sprint(n)
		}
	}
	text := s.Format(key, FormatOptions{Full: true})
	again := make([]byte, len(key.Data))
	if strings.HasPrefix(text, "{") && key.Type.Ptr == 0 && key.Type.Elems == 0 && s.encodeText(key.Type, text, again) == nil && string(again) == string(key.Data) {
		return text
	}
	return ""
}

// TypeOf writes the type of a value in C.
func (s *Session) TypeOf(v *Value) string {
	switch {
	case v == nil:
		return "void"
	case v.isText:
		return fmt.Sprintf("char[%d]", len(v.text)+1)
	case v.kind == aMap:
		sp := v.m.Spec()
		return fmt.Sprintf("%v map of %s to %s", sp.Type, s.keyType(v.m), s.valueType(v.m))
	case v.kind == aPacket:
		return fmt.Sprintf("packet of %d bytes", len(v.Data))
	}
	return v.Type.String()
}

// Pointee returns where a value lies, or what a pointer points to; ok is false for other values.
func (s *Session) Pointee(v *Value) (addr uint64, ok bool) {
	switch {
	case v == nil || v.isText || v.kind == aMap:
		return 0, false
	case v.kind == inMemory && v.Type.kind() != btf.KindPtr, v.kind == aPacket:
		return v.Addr, true
	case v.Type.kind() == btf.KindPtr:
		return s.uint(v.Data), true
	}
	return 0, false
}

// Arg is an argument of the program's hook.
type Arg struct {
	Name  string
	Value *Value
	Err   error
}

// Args returns what the program was called with: the context, and the arguments of its hook by the kernel's names.
func (s *Session) Args() []Arg {
	if !s.live() {
		return nil
	}
	v, err := s.context()
	out := []Arg{{"ctx", v, err}}
	c := s.run.Context()
	for _, a := range c.Args {
		if a.Name != "" {
			v, err := s.argValue(a)
			out = append(out, Arg{a.Name, v, err})
		}
	}
	return out
}

// KernelObject is an object of the simulated kernel that the run has accessed.
type KernelObject struct {
	Role, Type string
	// Expr is an expression that means it.
	Expr string
}

// KernelObjects lists the kernel objects that the run accessed so far, in the order of first access, at most most.
func (s *Session) KernelObjects(most int) []KernelObject {
	reads, writes := s.KernelReads()
	seen := map[uint64]bool{}
	var out []KernelObject
	for _, list := range [][]machine.KernelAccess{reads, writes} {
		for i := range list {
			o := list[i].Object
			if o == nil || seen[o.Addr()] || len(out) >= most {
				continue
			}
			seen[o.Addr()] = true
			t := Type{Spec: o.Spec(), ID: o.Type()}
			if !t.isComposite() {
				continue
			}
			out = append(out, KernelObject{Role: o.Role(), Type: t.String(), Expr: fmt.Sprintf("*(%s *)%#x", t, o.Addr())})
		}
	}
	return out
}

// TextAddr returns the address of an instruction in the simulated kernel's text.
func (s *Session) TextAddr(p Place) (uint64, bool) {
	at, ok := s.spot(p)
	if !ok || at.img == nil {
		return 0, false
	}
	return at.img.FuncAddr(at.pc), true
}

// ReadMemory reads what can be read of n bytes from addr; the error is that of the first byte.
func (s *Session) ReadMemory(addr uint64, n int) ([]byte, error) {
	out := make([]byte, min(max(n, 0), maxRead))
	if err := s.peek(addr, out); err == nil {
		return out, nil
	}
	for i := range out {
		if addr+uint64(i) < addr {
			return out[:i], nil
		}
		if err := s.peek(addr+uint64(i), out[i:i+1]); err != nil {
			if i == 0 {
				return nil, err
			}
			return out[:i], nil
		}
	}
	return out, nil
}

// IsUnknown reports whether an error is about a name that means nothing here, or text that is not an expression.
func IsUnknown(err error) bool {
	var u *UnknownError
	var x *SyntaxError
	return errors.As(err, &u) || errors.As(err, &x)
}
