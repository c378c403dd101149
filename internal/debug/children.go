package debug

import (
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/debug/expr"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/packet"
)

// inspector answers the queries of front ends: parts of values, maps, events, arguments, the
// changes a run made. It has no state.
type inspector struct {
	*subject
	*expr.Memory
	*codeMap
	*expr.Values
	*expr.Printer
	*expr.Evaluator
	*timeline
	*selection
	*frames
	*launch
}

// Child is a part of a value: a member, an element, the target of a pointer, a packet header.
type Child struct {
	Name string
	// Expr is an expression that denotes the part, "" if there is none.
	Expr string
	// Value is nil if Err is set, and if Unset is: reading an unset field of a kernel object sets
	// it, so callers read it only on demand ([Session.Part]).
	Value *expr.Value
	Err   error
	Unset bool
}

// Parts returns the number of parts of a value, and whether they are numbered elements.
func (ip *inspector) Parts(v *expr.Value) (n int, indexed bool) {
	switch {
	case v == nil || v.IsText || v.Field != nil:
		return 0, false
	case v.Kind == expr.WholeMap:
		return ip.mapLen(v), false
	case v.Kind == expr.WholePacket:
		return len(packet.Decode(v.Data, ip.Now.PacketStart()).Layers), false
	case v.Walk != nil:
		return len(v.Walk.Entries), true
	case v.Layer != nil:
		return len(ip.LayerNames(v)), false
	}
	t, ok := ip.whole(v)
	switch {
	case !ok:
		return 0, false
	case t.IsComposite():
		return len(t.Spec.MemberNames(t.ID)), false
	case v.Type.Kind() == btf.KindArray:
		return v.Type.Count(), true
	case v.Type.Kind() == btf.KindPtr:
		return 1, false
	}
	return 0, false
}

// whole returns the type whose parts a value has; for a pointer to a struct, the struct. ok is
// false for a value without parts.
func (ip *inspector) whole(v *expr.Value) (t expr.Type, ok bool) {
	t, addr := v.Type, v.Addr
	if t.Kind() == btf.KindPtr {
		el, _ := t.Elem()
		if addr = ip.Uint(v.Data); addr == 0 || el.IsChar() {
			return t, false
		}
		switch el.Kind() {
		case btf.KindVoid, btf.KindFunc, btf.KindFuncProto:
			return t, false
		}
		t = el
	}
	if t = ip.LayoutAt(t, addr); t.Kind() == btf.KindFwd {
		return t, false
	}
	return t, t.IsComposite() || v.Type.Kind() == btf.KindPtr || v.Type.Kind() == btf.KindArray
}

// Children returns at most n parts, starting with part number from. text is an expression that
// denotes the whole, "" if there is none.
func (ip *inspector) Children(v *expr.Value, text string, from, n int) []Child {
	total, indexed := ip.Parts(v)
	from = max(from, 0)
	to := min(total, from+max(n, 0))
	if from >= to {
		return nil
	}
	switch {
	case v.Kind == expr.WholeMap:
		return ip.mapChildren(v, text, from, to)
	case v.Kind == expr.WholePacket:
		var out []Child
		for _, l := range packet.Decode(v.Data, ip.Now.PacketStart()).Layers[from:to] {
			c := Child{Name: l.Path(), Expr: "pkt." + l.Path()}
			c.Value, c.Err = ip.LayerValue(v, l)
			out = append(out, c)
		}
		return out
	case v.Walk != nil:
		var out []Child
		for i := from; i < to; i++ {
			out = append(out, Child{Name: fmt.Sprintf("[%d]", i), Expr: ip.part(text, "[%d]", i), Value: v.Walk.Entries[i]})
		}
		return out
	case v.Layer != nil:
		return ip.members(v, text, ip.LayerNames(v)[from:to])
	case indexed:
		var out []Child
		for i := from; i < to; i++ {
			c := Child{Name: fmt.Sprintf("[%d]", i), Expr: ip.part(text, "[%d]", i)}
			c.Value, c.Err = ip.Index(v, int64(i))
			out = append(out, c)
		}
		return out
	}
	t, _ := ip.whole(v)
	if t.IsComposite() {
		return ip.members(v, text, t.Spec.MemberNames(t.ID)[from:to])
	}
	c := Child{Name: "*" + text}
	if text != "" {
		c.Expr = "*" + expr.Enclosed(text)
	}
	c.Value, c.Err = ip.Deref(v)
	return []Child{c}
}

// Part returns a member of a value by name. It may set an unset field of a kernel object.
func (ip *inspector) Part(v *expr.Value, name string) (*expr.Value, error) { return ip.Member(v, name) }

func (ip *inspector) members(v *expr.Value, text string, names []string) []Child {
	op := "."
	base := v
	if v.Type.Kind() == btf.KindPtr && v.Layer == nil {
		op = "->"
		if p, err := ip.Deref(v); err == nil {
			base = p
		}
	}
	out := make([]Child, 0, len(names))
	for _, name := range names {
		c := Child{Name: name, Expr: ip.part(text, op+"%s", name)}
		if ip.unset(base, name) {
			c.Unset = true
		} else {
			c.Value, c.Err = ip.Member(base, name)
		}
		out = append(out, c)
	}
	return out
}

// unset reports whether a member is an unset field of a kernel object.
func (ip *inspector) unset(v *expr.Value, name string) bool {
	if v.Kind != expr.InMemory || v.Layer != nil || ip.m.Kernel().ObjectAt(v.Addr) == nil || !v.Type.IsComposite() {
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
	if (expr.Type{Spec: v.Type.Spec, ID: f.Type}).IsComposite() {
		return false // its own members are checked separately
	}
	return !ip.AnySet(v.Addr+uint64(f.BitOffset/8), size)
}

// part appends to an expression.
func (ip *inspector) part(text, format string, arg any) string {
	if text == "" {
		return ""
	}
	return expr.Enclosed(text) + fmt.Sprintf(format, arg)
}

func (ip *inspector) mapLen(v *expr.Value) int {
	if expr.IsSender(v.Map) {
		if def := ip.DefOf(v.Map); def != nil {
			return len(ip.RecordsOf(def))
		}
		return 0
	}
	n := len(v.Map.Entries())
	if v.Map.Spec().Type.PerCPU() {
		n *= ip.m.Kernel().CPUs()
	}
	return n
}

func (ip *inspector) mapChildren(v *expr.Value, text string, from, to int) []Child {
	var out []Child
	if expr.IsSender(v.Map) {
		for i := from; i < to; i++ {
			c := Child{Name: fmt.Sprintf("[%d]", i), Expr: ip.part(text, "[%d]", i)}
			c.Value, c.Err = ip.RecordElement(v, uint64(i))
			out = append(out, c)
		}
		return out
	}
	ip.Looking()
	entries, cpus := v.Map.Entries(), 1
	if v.Map.Spec().Type.PerCPU() {
		cpus = ip.m.Kernel().CPUs()
	}
	for i := from; i < to && i/cpus < len(entries); i++ {
		out = append(out, ip.mapChild(v, text, entries[i/cpus], i%cpus, cpus > 1))
	}
	return out
}

func (ip *inspector) mapChild(v *expr.Value, text string, e maps.Entry, cpu int, perCPU bool) Child {
	kt, vt := ip.KeyType(v.Map), ip.ValueType(v.Map)
	key := &expr.Value{Type: kt, Data: e.Key}
	c := Child{Name: "[" + ip.Format(key, expr.FormatOptions{}) + "]"}
	at := ip.keyText(key)
	if perCPU {
		c.Name = fmt.Sprintf("[%s, cpu %d]", ip.Format(key, expr.FormatOptions{}), cpu)
		at += fmt.Sprintf(", %d", cpu)
	}
	if ip.keyText(key) != "" {
		c.Expr = ip.part(text, "[%s]", at)
	}
	if inner, ok := e.Ref.(maps.Map); ok {
		c.Value = &expr.Value{Kind: expr.WholeMap, Map: inner, Name: inner.Spec().Name}
		return c
	}
	if e.Ref != nil {
		c.Value = &expr.Value{IsText: true, Text: ip.RefText(e.Ref)}
		return c
	}
	data := e.Value
	if e.PerCPU != nil && cpu < len(e.PerCPU) {
		data = e.PerCPU[cpu]
	}
	c.Value = &expr.Value{Type: vt, Data: data}
	if c.Expr != "" { // evaluated in place, so that it can be expanded and assigned
		if x, err := ip.Eval(c.Expr); err == nil {
			c.Value = x
		}
	}
	return c
}

// keyText formats a key as an expression accepts it, "" if none can.
func (ip *inspector) keyText(key *expr.Value) string {
	if len(key.Data) == 0 {
		return ""
	}
	if k := key.Type.Kind(); k == btf.KindInt || k.IsEnum() {
		if n, signed, err := ip.AsInt(key); err == nil {
			if signed {
				return fmt.Sprint(int64(n))
			}
			return fmt.Sprint(n)
		}
	}
	text := ip.Format(key, expr.FormatOptions{Full: true})
	again := make([]byte, len(key.Data))
	if strings.HasPrefix(text, "{") && key.Type.Ptr == 0 && key.Type.Elems == 0 && ip.EncodeText(key.Type, text, again) == nil && string(again) == string(key.Data) {
		return text
	}
	return ""
}

// TypeOf returns the type of a value in C syntax.
func (ip *inspector) TypeOf(v *expr.Value) string {
	switch {
	case v == nil:
		return "void"
	case v.IsText:
		return fmt.Sprintf("char[%d]", len(v.Text)+1)
	case v.Kind == expr.WholeMap:
		sp := v.Map.Spec()
		return fmt.Sprintf("%v map of %s to %s", sp.Type, ip.KeyType(v.Map), ip.ValueType(v.Map))
	case v.Kind == expr.WholePacket:
		return fmt.Sprintf("packet of %d bytes", len(v.Data))
	}
	return v.Type.String()
}

// Pointee returns the address of a value or, for a pointer, its target; ok is false for other
// values.
func (ip *inspector) Pointee(v *expr.Value) (addr uint64, ok bool) {
	switch {
	case v == nil || v.IsText || v.Kind == expr.WholeMap:
		return 0, false
	case v.Kind == expr.InMemory && v.Type.Kind() != btf.KindPtr, v.Kind == expr.WholePacket:
		return v.Addr, true
	case v.Type.Kind() == btf.KindPtr:
		return ip.Uint(v.Data), true
	}
	return 0, false
}

// KernelObject is an object of the simulated kernel that the run has accessed.
type KernelObject struct {
	Role, Type string
	// Expr is an expression that denotes the object.
	Expr string
}

// KernelObjects lists the kernel objects that the run has accessed, in the order of first access,
// limited to most.
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
			t := expr.Type{Spec: o.Spec(), ID: o.Type()}
			if !t.IsComposite() {
				continue
			}
			out = append(out, KernelObject{Role: o.Role(), Type: t.String(), Expr: fmt.Sprintf("*(%s *)%#x", t, o.Addr())})
		}
	}
	return out
}
