package debug

import (
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/machine"
	"github.com/bpfrun/bpfrun/maps"
	"github.com/bpfrun/bpfrun/packet"
)

// inspector answers what front ends show: parts of values, maps, events, arguments, what a run changed. It has no state.
type inspector struct {
	*subject
	*memory
	*codeMap
	*values
	*printer
	*evaluator
	*timeline
	*selection
	*frames
	*launch
}

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
func (ip *inspector) Parts(v *Value) (n int, indexed bool) {
	switch {
	case v == nil || v.isText || v.field != nil:
		return 0, false
	case v.kind == aMap:
		return ip.mapLen(v), false
	case v.kind == aPacket:
		return len(packet.Decode(v.Data, ip.now.packetStart()).Layers), false
	case v.walk != nil:
		return len(v.walk.entries), true
	case v.layer != nil:
		return len(ip.layerNames(v)), false
	}
	t, ok := ip.whole(v)
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
func (ip *inspector) whole(v *Value) (t Type, ok bool) {
	t, addr := v.Type, v.Addr
	if t.kind() == btf.KindPtr {
		el, _ := t.elem()
		if addr = ip.uint(v.Data); addr == 0 || el.isChar() {
			return t, false
		}
		switch el.kind() {
		case btf.KindVoid, btf.KindFunc, btf.KindFuncProto:
			return t, false
		}
		t = el
	}
	if t = ip.layoutAt(t, addr); t.kind() == btf.KindFwd {
		return t, false
	}
	return t, t.isComposite() || v.Type.kind() == btf.KindPtr || v.Type.kind() == btf.KindArray
}

// Children returns parts from number from on, at most n. expr is an expression that means the whole, "" when there is none.
func (ip *inspector) Children(v *Value, expr string, from, n int) []Child {
	total, indexed := ip.Parts(v)
	from = max(from, 0)
	to := min(total, from+max(n, 0))
	if from >= to {
		return nil
	}
	switch {
	case v.kind == aMap:
		return ip.mapChildren(v, expr, from, to)
	case v.kind == aPacket:
		var out []Child
		for _, l := range packet.Decode(v.Data, ip.now.packetStart()).Layers[from:to] {
			c := Child{Name: l.Path(), Expr: "pkt." + l.Path()}
			c.Value, c.Err = ip.layerValue(v, l)
			out = append(out, c)
		}
		return out
	case v.walk != nil:
		var out []Child
		for i := from; i < to; i++ {
			out = append(out, Child{Name: fmt.Sprintf("[%d]", i), Expr: ip.part(expr, "[%d]", i), Value: v.walk.entries[i]})
		}
		return out
	case v.layer != nil:
		return ip.members(v, expr, ip.layerNames(v)[from:to])
	case indexed:
		var out []Child
		for i := from; i < to; i++ {
			c := Child{Name: fmt.Sprintf("[%d]", i), Expr: ip.part(expr, "[%d]", i)}
			c.Value, c.Err = ip.index(v, int64(i))
			out = append(out, c)
		}
		return out
	}
	t, _ := ip.whole(v)
	if t.isComposite() {
		return ip.members(v, expr, t.Spec.MemberNames(t.ID)[from:to])
	}
	c := Child{Name: "*" + expr}
	if expr != "" {
		c.Expr = "*" + enclosed(expr)
	}
	c.Value, c.Err = ip.deref(v)
	return []Child{c}
}

// Part is a member of a value by name, also one of a kernel object that has no value yet.
func (ip *inspector) Part(v *Value, name string) (*Value, error) { return ip.member(v, name) }

func (ip *inspector) members(v *Value, expr string, names []string) []Child {
	op := "."
	base := v
	if v.Type.kind() == btf.KindPtr && v.layer == nil {
		op = "->"
		if p, err := ip.deref(v); err == nil {
			base = p
		}
	}
	out := make([]Child, 0, len(names))
	for _, name := range names {
		c := Child{Name: name, Expr: ip.part(expr, op+"%s", name)}
		if ip.unset(base, name) {
			c.Unset = true
		} else {
			c.Value, c.Err = ip.member(base, name)
		}
		out = append(out, c)
	}
	return out
}

// unset reports whether a member is a field of a kernel object without a value.
func (ip *inspector) unset(v *Value, name string) bool {
	if v.kind != inMemory || v.layer != nil || ip.m.Kernel().ObjectAt(v.Addr) == nil || !v.Type.isComposite() {
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
	return !ip.anySet(v.Addr+uint64(f.BitOffset/8), size)
}

// part continues an expression.
func (ip *inspector) part(expr, format string, arg any) string {
	if expr == "" {
		return ""
	}
	return enclosed(expr) + fmt.Sprintf(format, arg)
}

func (ip *inspector) mapLen(v *Value) int {
	if isSender(v.m) {
		if def := ip.defOf(v.m); def != nil {
			return len(ip.recordsOf(def))
		}
		return 0
	}
	n := len(v.m.Entries())
	if v.m.Spec().Type.PerCPU() {
		n *= ip.m.Kernel().CPUs()
	}
	return n
}

func (ip *inspector) mapChildren(v *Value, expr string, from, to int) []Child {
	var out []Child
	if isSender(v.m) {
		for i := from; i < to; i++ {
			c := Child{Name: fmt.Sprintf("[%d]", i), Expr: ip.part(expr, "[%d]", i)}
			c.Value, c.Err = ip.recordElement(v, uint64(i))
			out = append(out, c)
		}
		return out
	}
	ip.looking()
	entries, cpus := v.m.Entries(), 1
	if v.m.Spec().Type.PerCPU() {
		cpus = ip.m.Kernel().CPUs()
	}
	for i := from; i < to && i/cpus < len(entries); i++ {
		out = append(out, ip.mapChild(v, expr, entries[i/cpus], i%cpus, cpus > 1))
	}
	return out
}

func (ip *inspector) mapChild(v *Value, expr string, e maps.Entry, cpu int, perCPU bool) Child {
	kt, vt := ip.keyType(v.m), ip.valueType(v.m)
	key := &Value{Type: kt, Data: e.Key}
	c := Child{Name: "[" + ip.Format(key, FormatOptions{}) + "]"}
	text := ip.keyText(key)
	if perCPU {
		c.Name = fmt.Sprintf("[%s, cpu %d]", ip.Format(key, FormatOptions{}), cpu)
		text += fmt.Sprintf(", %d", cpu)
	}
	if ip.keyText(key) != "" {
		c.Expr = ip.part(expr, "[%s]", text)
	}
	if inner, ok := e.Ref.(maps.Map); ok {
		c.Value = &Value{kind: aMap, m: inner, name: inner.Spec().Name}
		return c
	}
	if e.Ref != nil {
		c.Value = &Value{isText: true, text: ip.refText(e.Ref)}
		return c
	}
	data := e.Value
	if e.PerCPU != nil && cpu < len(e.PerCPU) {
		data = e.PerCPU[cpu]
	}
	c.Value = &Value{Type: vt, Data: data}
	if c.Expr != "" { // in its place, so that it can be followed and changed
		if x, err := ip.Eval(c.Expr); err == nil {
			c.Value = x
		}
	}
	return c
}

// keyText is a key as an expression takes it, "" when none does.
func (ip *inspector) keyText(key *Value) string {
	if len(key.Data) == 0 {
		return ""
	}
	if k := key.Type.kind(); k == btf.KindInt || k.IsEnum() {
		if n, signed, err := ip.asInt(key); err == nil {
			if signed {
				return fmt.Sprint(int64(n))
			}
			return fmt.Sprint(n)
		}
	}
	text := ip.Format(key, FormatOptions{Full: true})
	again := make([]byte, len(key.Data))
	if strings.HasPrefix(text, "{") && key.Type.Ptr == 0 && key.Type.Elems == 0 && ip.encodeText(key.Type, text, again) == nil && string(again) == string(key.Data) {
		return text
	}
	return ""
}

// TypeOf writes the type of a value in C.
func (ip *inspector) TypeOf(v *Value) string {
	switch {
	case v == nil:
		return "void"
	case v.isText:
		return fmt.Sprintf("char[%d]", len(v.text)+1)
	case v.kind == aMap:
		sp := v.m.Spec()
		return fmt.Sprintf("%v map of %s to %s", sp.Type, ip.keyType(v.m), ip.valueType(v.m))
	case v.kind == aPacket:
		return fmt.Sprintf("packet of %d bytes", len(v.Data))
	}
	return v.Type.String()
}

// Pointee returns where a value lies, or what a pointer points to; ok is false for other values.
func (ip *inspector) Pointee(v *Value) (addr uint64, ok bool) {
	switch {
	case v == nil || v.isText || v.kind == aMap:
		return 0, false
	case v.kind == inMemory && v.Type.kind() != btf.KindPtr, v.kind == aPacket:
		return v.Addr, true
	case v.Type.kind() == btf.KindPtr:
		return ip.uint(v.Data), true
	}
	return 0, false
}

// KernelObject is an object of the simulated kernel that the run has accessed.
type KernelObject struct {
	Role, Type string
	// Expr is an expression that means it.
	Expr string
}

// KernelObjects lists the kernel objects that the run accessed so far, in the order of first access, at most most.
func (ip *inspector) KernelObjects(most int) []KernelObject {
	reads, writes := ip.KernelReads()
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
