package debug

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/machine"
	"github.com/bpfrun/bpfrun/mem"
	"github.com/bpfrun/bpfrun/progtype"
)

// Register is a register of the selected frame.
type Register struct {
	Name  string
	Value uint64
	// Known is false for r0 to r5 of callers.
	Known bool
	// Note names what an address points to.
	Note string
}

// Registers returns r0 to r10 of the selected frame.
func (s *Session) Registers() ([]Register, error) {
	if s.state == Idle {
		return nil, ErrIdle
	}
	var out []Register
	for i := range 11 {
		v, ok := s.m.Thread().FrameReg(s.frame, i)
		r := Register{Name: fmt.Sprintf("r%d", i), Value: v, Known: ok}
		if ok {
			r.Note = s.addressName(v)
		}
		out = append(out, r)
	}
	return out, nil
}

// WhatIs describes what lies at an address: the object, the field, the region.
func (s *Session) WhatIs(addr uint64) string {
	k := s.m.Kernel()
	if o, typ, path, ok := k.Resolve(addr); ok {
		text := fmt.Sprintf("%#x: ", addr)
		switch {
		case path == "" || addr == o.Addr():
			text += fmt.Sprintf("%s %s", typ, o.Role())
		default:
			text += fmt.Sprintf("%s.%s of %s", typ, path, o.Role())
		}
		text += fmt.Sprintf(" (kernel object of %d bytes at %#x)", o.Size(), o.Addr())
		switch known, made := k.Known(addr, 1); {
		case addr == o.Addr():
		case made:
			text += ", value made up"
		case !known:
			text += ", no value yet"
		}
		return text
	}
	if img, pc, ok := s.codeAt(addr); ok {
		return fmt.Sprintf("%#x: instruction %d of %s: %s", addr, pc, img.Name, s.place(img, pc))
	}
	if text, ok := s.frameSlot(addr); ok {
		return fmt.Sprintf("%#x: %s", addr, text)
	}
	if n, ok := s.m.NameAddr(addr); ok {
		return fmt.Sprintf("%#x: %s", addr, n.Text)
	}
	r := s.m.Memory().Find(addr)
	if r == nil {
		near, delta, _ := s.m.Memory().Nearest(addr)
		if near != nil && delta < 1<<16 && delta > -1<<16 {
			return fmt.Sprintf("%#x: nothing is there; the nearest memory is %s, %d bytes away", addr, near.Describe(addr), delta)
		}
		return fmt.Sprintf("%#x: nothing is there", addr)
	}
	return fmt.Sprintf("%#x: %s, offset %d", addr, r.Describe(addr), addr-r.Base)
}

// frameSlot names a place in the stack of an activation.
func (s *Session) frameSlot(addr uint64) (string, bool) {
	if s.state == Idle {
		return "", false
	}
	for i, f := range s.m.Thread().Frames() {
		if f.Stack == nil || addr != f.FP && !f.Stack.Contains(addr) {
			continue
		}
		name := ""
		if fn, ok := s.place(f.Image, max(f.PC-1, 0)).Func(); ok {
			name = " (" + fn.Name + ")"
		}
		return fmt.Sprintf("stack of frame %d%s, r10%+d", i, name, int64(addr-f.FP)), true
	}
	return "", false
}

// Examine reads n units of size bytes from addr.
func (s *Session) Examine(addr uint64, size, n int) ([]uint64, error) {
	out := make([]uint64, 0, n)
	b := make([]byte, size)
	for i := range n {
		if err := s.peek(addr+uint64(i*size), b); err != nil {
			if i > 0 {
				return out, err
			}
			return nil, err
		}
		out = append(out, s.uint(b))
	}
	return out, nil
}

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
func (s *Session) Maps() []MapInfo {
	s.looking()
	var out []MapInfo
	for _, def := range s.linked.Maps {
		i := MapInfo{Name: def.Name, Type: def.Type.String(), MaxEntries: def.MaxEntries, Section: len(def.Vars) > 0 || def.Datasec != 0}
		m, ok := s.m.Map(def)
		if !ok {
			i.Err = &UnavailableError{def.Name, "not simulated"}
			out = append(out, i)
			continue
		}
		i.Keys, i.Values, i.MaxEntries = s.keyType(m).String(), s.valueType(m).String(), m.Spec().MaxEntries
		if isSender(m) {
			i.Entries, i.Keys, i.Values = len(s.recordsOf(def)), "", ""
		} else {
			i.Entries = len(m.Entries())
		}
		out = append(out, i)
	}
	return out
}

// Events are the records sent so far in the run, oldest first, each with its map.
func (s *Session) Events() []string {
	var out []string
	if s.state == Ended && s.result != nil {
		for _, e := range s.result.Events {
			out = append(out, fmt.Sprintf("%s: %s", e.Map, s.RecordText(e.Map, e.Data)))
		}
		return out
	}
	for _, def := range s.linked.Maps {
		m, ok := s.m.Map(def)
		if !ok {
			continue
		}
		for _, r := range sent(m) {
			out = append(out, fmt.Sprintf("%s: %s", def.Name, s.RecordText(def.Name, r.Data)))
		}
	}
	return out
}

// KernelReads are the accesses of kernel memory that the run made so far.
func (s *Session) KernelReads() (reads, writes []machine.KernelAccess) {
	res := s.result
	if s.state == Running {
		res = s.run.Result()
	}
	if res == nil {
		return nil, nil
	}
	return res.Reads, res.Writes
}

// Arguments are the arguments of the selected function and, where that is the program itself, those of its hook, with their values, as
// "name = value".
func (s *Session) Arguments() ([]string, error) {
	if !s.live() {
		return nil, ErrIdle
	}
	c := s.run.Context()
	var out []string
	s.eachLocal(func(l *localVar) bool {
		if l.param {
			if v, err := s.localOrArgument(l); err != nil {
				out = append(out, err.Error())
			} else {
				out = append(out, l.name+" = "+s.Format(v, FormatOptions{}))
			}
		}
		return true
	})
	if !s.outermost() || s.inline < len(s.inlinedAt(s.Here())) {
		return out, nil
	}
	for _, a := range c.Args {
		v, err := s.argValue(a)
		if err != nil {
			out = append(out, fmt.Sprintf("%s: %v", a.Name, err))
			continue
		}
		out = append(out, fmt.Sprintf("%s = %s", a.Name, s.Format(v, FormatOptions{})))
	}
	if c.Returns {
		v, err := s.argValue(c.Ret)
		if err == nil {
			out = append(out, "ret = "+s.Format(v, FormatOptions{}))
		}
	}
	return out, nil
}

// ContextText describes what the program was called with.
func (s *Session) ContextText() (string, error) {
	if !s.live() {
		return "", ErrIdle
	}
	c := s.run.Context()
	text := fmt.Sprintf("%s at %#x, %d bytes", c.Type, c.Addr, c.Size)
	if c.Func != "" {
		text += ", of " + c.Func
	}
	v, err := s.context()
	if err != nil {
		return text, nil
	}
	if el, ok := v.Type.elem(); ok && el.isComposite() {
		if x, err := s.deref(v); err == nil {
			text += "\n" + s.Format(x, FormatOptions{})
		}
	}
	return text, nil
}

// FaultText explains why the run was stopped, in a few lines; "" when it was not.
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

// TypeText is the declaration of a type, or the type of an expression.
func (s *Session) TypeText(text string) (string, error) {
	t, ok, err := s.typeOfText(text)
	if err != nil {
		return "", err
	}
	if ok {
		return s.declaration(t), nil
	}
	v, err := s.Eval(text)
	if err != nil {
		return "", err
	}
	switch {
	case v.isText:
		return fmt.Sprintf("char[%d]", len(v.text)+1), nil
	case v.kind == aMap:
		sp := v.m.Spec()
		return fmt.Sprintf("%v map of %s to %s", sp.Type, s.keyType(v.m), s.valueType(v.m)), nil
	case v.kind == aPacket:
		return fmt.Sprintf("packet of %d bytes", len(v.Data)), nil
	}
	return v.Type.String(), nil
}

// declaration writes out a struct, union or enum; other types are their names.
func (s *Session) declaration(t Type) string {
	b := t.base()
	if t.Ptr > 0 || t.Elems > 0 || !b.Kind.IsComposite() && !b.Kind.IsEnum() {
		return t.String()
	}
	var lines []string
	lines = append(lines, t.Spec.TypeString(b.ID)+" {")
	lines = declareMembers(lines, t.Spec, b, 0, 1)
	for _, v := range b.Values {
		lines = append(lines, fmt.Sprintf("  %s = %s,", v.Name, btf.Int{V: v.Value, Bits: 64, Signed: b.Signed()}))
	}
	lines = append(lines, "}")
	if n, err := t.size(); err == nil && b.Kind.IsComposite() {
		lines[len(lines)-1] += fmt.Sprintf(" /* %d bytes */", n)
	}
	return strings.Join(lines, "\n")
}

// declareMembers appends the members of a struct that begins at a bit; those without a name of their type are written out.
func declareMembers(lines []string, spec *btf.Spec, b *btf.Type, at uint32, depth int) []string {
	const deepest = 8
	indent := strings.Repeat("  ", depth-1)
	for i := range b.Members {
		m := &b.Members[i]
		bit, width := spec.MemberBits(b, m)
		bit += at
		if in, err := spec.Type(m.Type); err == nil && in.Kind.IsComposite() && in.Name == "" && depth < deepest {
			lines = append(lines, fmt.Sprintf("              %s%s {", indent, strings.ToLower(in.Kind.String())))
			lines = declareMembers(lines, spec, in, bit, depth+1)
			end := "}"
			if m.Name != "" {
				end += " " + m.Name
			}
			lines = append(lines, fmt.Sprintf("              %s%s;", indent, end))
			continue
		}
		text := spec.Declare(m.Type, m.Name)
		if width > 0 {
			text += fmt.Sprintf(" : %d", width)
		}
		lines = append(lines, fmt.Sprintf("  /* %5d */ %s%s;", bit/8, indent, text))
	}
	return lines
}

// Region returns the memory region of an address, nil when there is none.
func (s *Session) Region(addr uint64) *mem.Region { return s.m.Memory().Find(addr) }

// Verdict names the result of the run in the words of the program's type ("XDP_PASS"), "" for a plain number.
func (s *Session) Verdict() string {
	lp, ok := s.linked.Program(s.prog)
	if s.result == nil || s.result.Fault != nil || !ok {
		return ""
	}
	return progtype.VerdictName(lp.Type, int32(s.result.Ret))
}

// Changes are the map elements that the run created, changed and deleted, once it has ended.
func (s *Session) Changes() []string {
	if s.result == nil {
		return nil
	}
	var out []string
	for _, c := range s.result.Changes {
		def, ok := s.linked.Map(c.Map)
		if !ok {
			continue
		}
		m, ok := s.m.Map(def)
		if !ok {
			continue
		}
		if len(def.Vars) > 0 {
			out = append(out, s.changedVariables(def, c)...)
			continue
		}
		name := fmt.Sprintf("%s[%s]", c.Map, s.Format(&Value{Type: s.keyType(m), Data: c.Key}, FormatOptions{}))
		if c.CPU >= 0 {
			name += fmt.Sprintf(" on CPU %d", c.CPU)
		}
		text := func(b []byte) string {
			if b == nil {
				return "none"
			}
			return s.Format(&Value{Type: s.valueType(m), Data: b}, FormatOptions{})
		}
		out = append(out, fmt.Sprintf("%s: %s -> %s", name, text(c.Old), text(c.New)))
	}
	return out
}

// changedVariables names the global variables that differ in two images of a section.
func (s *Session) changedVariables(def *loader.Map, c machine.Change) []string {
	var out []string
	if c.Old == nil { // all zero
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
		t := Type{Spec: s.linked.Object.BTF, ID: v.Type}
		if b, err := t.Spec.Type(v.Type); err == nil && b.Kind == btf.KindVar {
			t.ID = b.Ref
		}
		out = append(out, fmt.Sprintf("%s: %s -> %s", v.Name, s.Format(&Value{Type: t, Data: c.Old[lo:hi]}, FormatOptions{}), s.Format(&Value{Type: t, Data: c.New[lo:hi]}, FormatOptions{})))
	}
	return out
}

// Address is where a value lies, or what a pointer or number says.
func (s *Session) Address(v *Value) (uint64, error) {
	if v.kind == aPacket {
		return v.Addr, nil
	}
	if v.kind == inMemory && (v.Type.isComposite() || v.Type.kind() == btf.KindArray) {
		return v.Addr, nil
	}
	n, _, err := s.asInt(v)
	return n, err
}

// StringAt reads text up to a zero byte.
func (s *Session) StringAt(addr uint64) (string, error) { return s.cString(addr) }

// Variables lists the global variables of the object.
func (s *Session) Variables() []string { return machine.VariableNames(s.linked) }

// Members lists the members of what an expression is or points to, for completion; an expression that is none has none.
func (s *Session) Members(expr string) []string {
	v, err := s.Eval(expr)
	if err != nil || v.isText || v.kind == aMap {
		return nil
	}
	if v.kind == aPacket {
		var out []string
		if h, err := s.Headers(); err == nil {
			for _, l := range h.Layers {
				out = append(out, l.Path())
			}
		}
		return out
	}
	if v.layer != nil {
		return s.layerNames(v)
	}
	t, addr := v.Type, v.Addr
	if t.kind() == btf.KindPtr {
		addr = s.uint(v.Data)
		if t, _ = t.elem(); t.kind() == btf.KindPtr {
			return nil
		}
	}
	if t = s.layoutAt(t, addr); !t.isComposite() {
		return nil
	}
	return t.Spec.MemberNames(t.ID)
}

// CodeAt returns the instruction at a text address.
func (s *Session) CodeAt(addr uint64) (Place, bool) {
	img, pc, ok := s.codeAt(addr)
	if !ok {
		return Place{}, false
	}
	p := s.place(img, pc)
	return p, p.Prog != nil
}

// AddressText is an address with the name of what is there.
func (s *Session) AddressText(addr uint64) string { return s.addressText(addr) }

// Points returns where the value of an expression lies, or for a pointer in no memory what it points to.
func (s *Session) Points(expr string) (uint64, bool) {
	v, err := s.Eval(expr)
	switch {
	case err != nil:
		return 0, false
	case v.kind == inMemory:
		return v.Addr, true
	case v.Type.kind() == btf.KindPtr && !v.isText && v.kind != aMap && v.kind != aPacket,
		v.kind == inRegister && s.addressName(s.uint(v.Data)) != "":
		return s.uint(v.Data), true
	}
	return 0, false
}

// Declaration is the declaration of a type, or of the type of an expression: of what it points to, for a pointer.
func (s *Session) Declaration(text string) (string, error) {
	t, ok, err := s.typeOfText(text)
	if err != nil {
		return "", err
	}
	if ok && t.Ptr == 0 {
		return s.declaration(t), nil
	}
	if !ok {
		v, err := s.Eval(text)
		if err != nil {
			return "", err
		}
		if v.isText || v.kind == aMap || v.kind == aPacket {
			return s.TypeText(text)
		}
		t = v.Type
	}
	suffix := ""
	for t.kind() == btf.KindPtr {
		suffix += " *"
		t, _ = t.elem()
	}
	return s.declaration(t) + suffix, nil
}

// Printed returns the lines the run wrote to the trace log so far.
func (s *Session) Printed() []string {
	switch {
	case s.result != nil && s.state == Ended:
		return s.result.Trace
	case s.run != nil && s.state == Running:
		return s.run.Result().Trace
	}
	return nil
}

// ShortText is a value in a line, cut at about most bytes.
func (s *Session) ShortText(v *Value, most int) string {
	text := s.Format(v, FormatOptions{})
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "..."
}
