package debug

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/debug/expr"
	"github.com/bpfrun/bpfrun/internal/debug/scopes"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/loader"
)

// MapInfo describes a map in a line.
type MapInfo struct {
	Name, Type   string
	Keys, Values string
	MaxEntries   uint32
	Entries      int
	Section      bool // a data section
	Err          error
}

// Maps describes the object's maps.
func (ip *inspector) Maps() []MapInfo {
	ip.Looking()
	var out []MapInfo
	for _, def := range ip.linked.Maps {
		i := MapInfo{Name: def.Name, Type: def.Type.String(), MaxEntries: def.MaxEntries, Section: len(def.Vars) > 0 || def.Datasec != 0}
		m, ok := ip.m.Map(def)
		if !ok {
			i.Err = &expr.UnavailableError{Name: def.Name, Why: "not simulated"}
			out = append(out, i)
			continue
		}
		i.Keys, i.Values, i.MaxEntries = ip.KeyType(m).String(), ip.ValueType(m).String(), m.Spec().MaxEntries
		if expr.IsSender(m) {
			i.Entries, i.Keys, i.Values = len(ip.RecordsOf(def)), "", ""
		} else {
			i.Entries = len(m.Entries())
		}
		out = append(out, i)
	}
	return out
}

// Events returns the records sent so far in the run, oldest first, each with its map.
func (ip *inspector) Events() []string {
	var out []string
	if events, over := ip.received(); over {
		for _, e := range events {
			out = append(out, fmt.Sprintf("%s: %s", e.Map, ip.RecordText(e.Map, e.Data)))
		}
		return out
	}
	for _, def := range ip.linked.Maps {
		m, ok := ip.m.Map(def)
		if !ok {
			continue
		}
		for _, r := range expr.RecordsIn(m) {
			out = append(out, fmt.Sprintf("%s: %s", def.Name, ip.RecordText(def.Name, r.Data)))
		}
	}
	return out
}

// Arguments returns the arguments of the selected function and, for the program itself, those of
// its hook, formatted as "name = value".
func (ip *inspector) Arguments() ([]string, error) {
	if !ip.live() {
		return nil, ErrIdle
	}
	c := ip.run.Context()
	var out []string
	ip.eachLocal(func(l *scopes.Variable) bool {
		if l.Param {
			if v, err := ip.localOrArgument(l); err != nil {
				out = append(out, err.Error())
			} else {
				out = append(out, l.Name+" = "+ip.Format(v, expr.FormatOptions{}))
			}
		}
		return true
	})
	if !ip.outermost() || ip.inline < len(ip.inlinedAt(ip.Here())) {
		return out, nil
	}
	for _, a := range c.Args {
		v, err := ip.ArgOf(a)
		if err != nil {
			out = append(out, fmt.Sprintf("%s: %v", a.Name, err))
			continue
		}
		out = append(out, fmt.Sprintf("%s = %s", a.Name, ip.Format(v, expr.FormatOptions{})))
	}
	if c.Returns {
		v, err := ip.ArgOf(c.Ret)
		if err == nil {
			out = append(out, "ret = "+ip.Format(v, expr.FormatOptions{}))
		}
	}
	return out, nil
}

// ContextText describes the program's context.
func (ip *inspector) ContextText() (string, error) {
	if !ip.live() {
		return "", ErrIdle
	}
	c := ip.run.Context()
	text := fmt.Sprintf("%s at %#x, %d bytes", c.Type, c.Addr, c.Size)
	if c.Func != "" {
		text += ", of " + c.Func
	}
	v, err := ip.context()
	if err != nil {
		return text, nil
	}
	if el, ok := v.Type.Elem(); ok && el.IsComposite() {
		if x, err := ip.Deref(v); err == nil {
			text += "\n" + ip.Format(x, expr.FormatOptions{})
		}
	}
	return text, nil
}

// FaultText explains in a few lines why the run was stopped; "" without a fault.
func FaultText(f *machine.Fault) string {
	if f == nil {
		return ""
	}
	lines := []string{fmt.Sprintf("%s: %s", f.Kind, strings.TrimSpace(f.Fault.Error()))}
	if f.Source != "" {
		lines = append(lines, fmt.Sprintf("  %s: %s", f.Source, strings.TrimSpace(f.Line)))
	}
	if f.Hint != "" {
		lines = append(lines, "  hint: "+f.Hint)
	}
	return strings.Join(lines, "\n")
}

// TypeText returns the declaration of a type, or the type of an expression.
func (ip *inspector) TypeText(text string) (string, error) {
	t, ok, err := ip.TypeOfText(text)
	if err != nil {
		return "", err
	}
	if ok {
		return ip.Declare(t), nil
	}
	v, err := ip.Eval(text)
	if err != nil {
		return "", err
	}
	switch {
	case v.IsText:
		return fmt.Sprintf("char[%d]", len(v.Text)+1), nil
	case v.Kind == expr.WholeMap:
		sp := v.Map.Spec()
		return fmt.Sprintf("%v map of %s to %s", sp.Type, ip.KeyType(v.Map), ip.ValueType(v.Map)), nil
	case v.Kind == expr.WholePacket:
		return fmt.Sprintf("packet of %d bytes", len(v.Data)), nil
	}
	return v.Type.String(), nil
}

// Verdict names the result of the run by the constants of the program type ("XDP_PASS"), "" for a
// plain number.
func (ip *inspector) Verdict() string {
	lp, ok := ip.programOf()
	if ip.result == nil || ip.result.Fault != nil || !ok {
		return ""
	}
	return progtype.VerdictName(lp.Type, int32(ip.result.Ret))
}

// Changes returns the map elements that the run created, changed and deleted, once it has ended.
func (ip *inspector) Changes() []string {
	if ip.result == nil {
		return nil
	}
	var out []string
	for _, c := range ip.result.Changes {
		def, ok := ip.linked.Map(c.Map)
		if !ok {
			continue
		}
		m, ok := ip.m.Map(def)
		if !ok {
			continue
		}
		if len(def.Vars) > 0 {
			out = append(out, ip.changedVariables(def, c)...)
			continue
		}
		name := fmt.Sprintf("%s[%s]", c.Map, ip.Format(&expr.Value{Type: ip.KeyType(m), Data: c.Key}, expr.FormatOptions{}))
		if c.CPU >= 0 {
			name += fmt.Sprintf(" on CPU %d", c.CPU)
		}
		text := func(b []byte) string {
			if b == nil {
				return "none"
			}
			return ip.Format(&expr.Value{Type: ip.ValueType(m), Data: b}, expr.FormatOptions{})
		}
		out = append(out, fmt.Sprintf("%s: %s -> %s", name, text(c.Old), text(c.New)))
	}
	return out
}

// changedVariables names the global variables that differ between two images of a section.
func (ip *inspector) changedVariables(def *loader.Map, c machine.Change) []string {
	var out []string
	if c.Old == nil { // all zeros
		c.Old = make([]byte, len(c.New))
	}
	if c.New == nil {
		c.New = make([]byte, len(c.Old))
	}
	for _, v := range def.Vars {
		lo, hi := uint64(v.Off), uint64(v.Off)+uint64(v.Size)
		if hi > uint64(len(c.Old)) || hi > uint64(len(c.New)) || bytes.Equal(c.Old[lo:hi], c.New[lo:hi]) {
			continue
		}
		t := expr.Type{Spec: ip.linked.Object.BTF, ID: v.Type}
		if b, err := t.Spec.Type(v.Type); err == nil && b.Kind == btf.KindVar {
			t.ID = b.Ref
		}
		out = append(out, fmt.Sprintf("%s: %s -> %s", v.Name, ip.Format(&expr.Value{Type: t, Data: c.Old[lo:hi]}, expr.FormatOptions{}), ip.Format(&expr.Value{Type: t, Data: c.New[lo:hi]}, expr.FormatOptions{})))
	}
	return out
}

// Members lists the members of the value of an expression, or of the struct it points to, for
// completion; invalid expressions have none.
func (ip *inspector) Members(text string) []string {
	v, err := ip.Eval(text)
	if err != nil || v.IsText || v.Kind == expr.WholeMap {
		return nil
	}
	if v.Kind == expr.WholePacket {
		var out []string
		if h, err := ip.Headers(); err == nil {
			for _, l := range h.Layers {
				out = append(out, l.Path())
			}
		}
		return out
	}
	if v.Layer != nil {
		return ip.LayerNames(v)
	}
	t, addr := v.Type, v.Addr
	if t.Kind() == btf.KindPtr {
		addr = ip.Uint(v.Data)
		if t, _ = t.Elem(); t.Kind() == btf.KindPtr {
			return nil
		}
	}
	if t = ip.LayoutAt(t, addr); !t.IsComposite() {
		return nil
	}
	return t.Spec.MemberNames(t.ID)
}

// Points returns the address of the value of an expression or, for a pointer that is not in memory,
// its target.
func (ip *inspector) Points(text string) (uint64, bool) {
	v, err := ip.Eval(text)
	switch {
	case err != nil:
		return 0, false
	case v.Kind == expr.InMemory:
		return v.Addr, true
	case v.Type.Kind() == btf.KindPtr && !v.IsText && v.Kind != expr.WholeMap && v.Kind != expr.WholePacket,
		v.Kind == expr.InRegister && ip.AddressName(ip.Uint(v.Data)) != "":
		return ip.Uint(v.Data), true
	}
	return 0, false
}

// Declaration returns the declaration of a type, or of the type of an expression; for a pointer, of
// the type it points to.
func (ip *inspector) Declaration(text string) (string, error) {
	t, ok, err := ip.TypeOfText(text)
	if err != nil {
		return "", err
	}
	if ok && t.Ptr == 0 {
		return ip.Declare(t), nil
	}
	if !ok {
		v, err := ip.Eval(text)
		if err != nil {
			return "", err
		}
		if v.IsText || v.Kind == expr.WholeMap || v.Kind == expr.WholePacket {
			return ip.TypeText(text)
		}
		t = v.Type
	}
	suffix := ""
	for t.Kind() == btf.KindPtr {
		suffix += " *"
		t, _ = t.Elem()
	}
	return ip.Declare(t) + suffix, nil
}
