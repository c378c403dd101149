package debug

import (
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/helpers"
	"github.com/bpfrun/bpfrun/kernel"
	"github.com/bpfrun/bpfrun/mem"
	"github.com/bpfrun/bpfrun/uapi"
)

// CallText writes the call that is the next instruction, with its arguments; "" when that is not a call.
func (s *Session) CallText() string {
	if s.state == Idle {
		return ""
	}
	t := s.m.Thread()
	p := s.place(t.Image(), t.PC())
	if p.Prog == nil || p.PC >= len(p.Prog.Insns) {
		return ""
	}
	name, n := callee(p.Prog, p.PC), 0
	switch in := p.Prog.Insns[p.PC]; in.Op() {
	case decode.OpCallHelper:
		if h, ok := helpers.Lookup(uapi.FuncID(in.Imm)); ok {
			n = h.Params()
		}
	case decode.OpCallKfunc:
		n = s.kfuncArgs(name)
	case decode.OpCallLocal:
		f, ok := Place{p.Prog, p.PC + 1 + int(in.Imm)}.Func()
		if !ok {
			return ""
		}
		name, n = f.Name, s.protoArgs(s.linked.Object.BTF, f.Type)
	default:
		return ""
	}
	args := make([]string, n)
	for i := range args {
		args[i] = s.argText(t.Reg(i + 1))
	}
	return name + "(" + strings.Join(args, ", ") + ")"
}

func (s *Session) kfuncArgs(name string) int {
	for _, sp := range s.specs() {
		if id, ok := sp.FindID(btf.KindFunc, name); ok {
			return s.protoArgs(sp, id)
		}
	}
	return 0
}

func (s *Session) protoArgs(spec *btf.Spec, fn btf.ID) int {
	if spec == nil || fn == 0 {
		return 0
	}
	f, err := spec.Type(fn)
	if err != nil || f.Kind != btf.KindFunc {
		return 0
	}
	return min(len(spec.SkipMods(f.Ref).Params), 5)
}

// argText writes an argument: the name of what it points to, or a number.
func (s *Session) argText(v uint64) string {
	if name := s.addressName(v); name != "" {
		return name
	}
	if n := int64(v); n > -4096 && n < 1<<20 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%#x", v)
}

// memoryOrigin describes what memory was before anyone wrote it: a kernel field, a packet byte, a map element, an argument.
func (s *Session) memoryOrigin(addr uint64, size int) string {
	k := s.m.Kernel()
	r := s.m.Memory().Find(addr)
	inContext := r != nil && r.Kind == mem.Context
	if o, typ, path, ok := k.Resolve(addr); ok && !inContext {
		text := "kernel object " + o.Role()
		if path != "" {
			if size > 1 {
				path = strings.TrimSuffix(path, "[0]") // of an array as a whole
			}
			text = fmt.Sprintf("kernel field %s.%s of %s", typ, path, o.Role())
		}
		switch known, made := k.Known(addr, uint64(size)); {
		case made:
			return text + ", a default value"
		case !known && s.cfg.Machine.Mode == kernel.ModeDefault:
			return text + ", a default value"
		case !known:
			return text + ", which nothing set: it reads as 0"
		}
		return text
	}
	if r == nil {
		if k.IsUserAddress(addr) {
			return "user memory " + s.addressText(addr)
		}
		return s.WhatIs(addr)
	}
	switch r.Kind {
	case mem.Context:
		return s.contextOrigin(addr)
	case mem.Packet:
		return s.packetOrigin(addr, size)
	case mem.Stack:
		return "stack that nothing was written to: " + s.addressText(addr)
	case mem.Global:
		return fmt.Sprintf("global data %s, as before the run", s.globalName(addr))
	case mem.MapValue:
		return fmt.Sprintf("map element %s, as before the run", s.globalName(addr))
	case mem.UserMem:
		return "user memory " + s.addressText(addr)
	case mem.RingbufRecord:
		return fmt.Sprintf("byte %d of the record, which nothing was written to", addr-r.Base)
	}
	return s.WhatIs(addr)
}

// globalName names a global variable or a map element.
func (s *Session) globalName(addr uint64) string {
	for _, def := range s.linked.Maps {
		base, err := s.sectionBase(def)
		if len(def.Vars) == 0 || err != nil {
			continue
		}
		for _, v := range def.Vars {
			if off := addr - base - uint64(v.Off); off < uint64(v.Size) {
				if off != 0 {
					return fmt.Sprintf("%s+%d (%s)", v.Name, off, def.Name)
				}
				return fmt.Sprintf("%s (%s)", v.Name, def.Name)
			}
		}
	}
	return s.addressName(addr)
}

// contextOrigin names a place in what the program was called with.
func (s *Session) contextOrigin(addr uint64) string {
	if s.run == nil {
		return s.WhatIs(addr)
	}
	c := s.run.Context()
	off := addr - c.Addr
	if off >= uint64(c.Size) {
		return s.WhatIs(addr)
	}
	if c.Type == "args" {
		at := uint64(0)
		for _, a := range c.Args {
			n := uint64(8)
			if size, err := (Type{Spec: a.Spec, ID: a.Type}).size(); err == nil && size > 8 {
				n = 16
			}
			if off >= at && off < at+n {
				return fmt.Sprintf("argument %s of %s", a.Name, c.Func)
			}
			at += n
		}
		if c.Returns {
			return "return value of " + c.Func
		}
	}
	if t, err := s.FindType("struct", c.Type); err == nil {
		if path := fieldAt(t, off); path != "" {
			text := fmt.Sprintf("context field %s.%s", c.Type, path)
			for _, a := range c.Args {
				if a.Name != "" && a.Value != 0 && c.Type == "pt_regs" {
					if v, err := s.Examine(addr, 8, 1); err == nil && v[0] == a.Value {
						return fmt.Sprintf("%s: argument %s of %s", text, a.Name, c.Func)
					}
				}
			}
			return text
		}
	}
	return s.addressName(addr)
}

// fieldAt names the innermost member at an offset of a struct, "" when there is none.
func fieldAt(t Type, off uint64) string {
	const deepest = 8
	path := ""
	for range deepest {
		b := t.base()
		if t.Ptr > 0 || t.Elems > 0 || !b.Kind.IsComposite() {
			return path
		}
		found := false
		for i := range b.Members {
			m := &b.Members[i]
			bit, _ := t.Spec.MemberBits(b, m)
			size, err := t.Spec.Sizeof(m.Type)
			if lo := uint64(bit / 8); err == nil && off >= lo && off-lo < uint64(size) {
				if m.Name != "" {
					if path != "" {
						path += "."
					}
					path += m.Name
				}
				t, off, found = Type{Spec: t.Spec, ID: m.Type}, off-lo, true
				break
			}
		}
		if !found {
			return path
		}
	}
	return path
}

// packetOrigin names a place in the packet.
func (s *Session) packetOrigin(addr uint64, size int) string {
	pkt, err := s.packet()
	if err != nil || addr < pkt.Addr {
		return "packet metadata"
	}
	off := addr - pkt.Addr
	text := fmt.Sprintf("packet byte %d", off)
	if size > 1 {
		text = fmt.Sprintf("packet bytes %d to %d", off, off+uint64(size)-1)
	}
	if name := s.packetField(off); name != "" {
		text += " (" + name + ")"
	}
	return text
}
