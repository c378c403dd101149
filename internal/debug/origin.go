package debug

import (
	"fmt"
	"math"
	"strings"

	"github.com/bpfrun/bpfrun/internal/debug/expr"
	"github.com/bpfrun/bpfrun/internal/mem"
)

// namer names the memory at an address and the origin of its initial value. It has no state.
type namer struct {
	*subject
	*selection
	*timeline
	*codeMap
	*expr.Memory
	*expr.Printer
	*frames
	defaults bool // unset fields have default values
}

// memoryOrigin describes memory before its first write: a kernel field, a packet byte, a map
// element, an argument.
func (na *namer) memoryOrigin(addr uint64, size int) string {
	k := na.m.Kernel()
	r := na.m.Memory().Find(addr)
	inContext := r != nil && r.Kind == mem.Context
	if o, typ, path, ok := k.Resolve(addr); ok && !inContext {
		text := "kernel object " + o.Role()
		if path != "" {
			if size > 1 {
				path = strings.TrimSuffix(path, "[0]") // for an array as a whole
			}
			text = fmt.Sprintf("kernel field %s.%s of %s", typ, path, o.Role())
		}
		switch known, made := k.Known(addr, uint64(size)); {
		case made:
			return text + ", a default value"
		case !known && na.defaults:
			return text + ", a default value"
		case !known:
			return text + ", which was never set: it reads as 0"
		}
		return text
	}
	if r == nil {
		if k.IsUserAddress(addr) {
			return "user memory " + na.AddressText(addr)
		}
		return na.WhatIs(addr)
	}
	switch r.Kind {
	case mem.Context:
		return na.contextOrigin(addr)
	case mem.Packet:
		return na.packetOrigin(addr, size)
	case mem.Stack:
		return "stack that was never written: " + na.AddressText(addr)
	case mem.Global:
		return fmt.Sprintf("global data %s, as before the run", na.globalName(addr))
	case mem.MapValue:
		return fmt.Sprintf("map element %s, as before the run", na.globalName(addr))
	case mem.UserMem:
		return "user memory " + na.AddressText(addr)
	case mem.RingbufRecord:
		return fmt.Sprintf("byte %d of the record, which was never written", addr-r.Base)
	}
	return na.WhatIs(addr)
}

// globalName names a global variable or a map element.
func (na *namer) globalName(addr uint64) string {
	for _, def := range na.linked.Maps {
		base, err := na.SectionBase(def)
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
	return na.AddressName(addr)
}

// contextOrigin names an offset in the program's context.
func (na *namer) contextOrigin(addr uint64) string {
	if na.run == nil {
		return na.WhatIs(addr)
	}
	c := na.run.Context()
	off := addr - c.Addr
	if off >= uint64(c.Size) {
		return na.WhatIs(addr)
	}
	if c.Type == "args" {
		at := uint64(0)
		for _, a := range c.Args {
			n := uint64(8)
			if size, err := (expr.Type{Spec: a.Spec, ID: a.Type}).Size(); err == nil && size > 8 {
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
	if t, err := na.FindType("struct", c.Type); err == nil {
		if path, _, _ := t.Spec.FieldAt(t.ID, uint32(min(off, math.MaxUint32)), 1); path != "" {
			text := fmt.Sprintf("context field %s.%s", c.Type, path)
			for _, a := range c.Args {
				if a.Name != "" && a.Value != 0 && c.Type == "pt_regs" {
					if v, err := na.Examine(addr, 8, 1); err == nil && v[0] == a.Value {
						return fmt.Sprintf("%s: argument %s of %s", text, a.Name, c.Func)
					}
				}
			}
			return text
		}
	}
	return na.AddressName(addr)
}

// packetOrigin names an offset in the packet.
func (na *namer) packetOrigin(addr uint64, size int) string {
	pkt, err := na.Packet()
	if err != nil || addr < pkt.Addr {
		return "packet metadata"
	}
	off := addr - pkt.Addr
	text := fmt.Sprintf("packet byte %d", off)
	if size > 1 {
		text = fmt.Sprintf("packet bytes %d to %d", off, off+uint64(size)-1)
	}
	if name := na.PacketField(off); name != "" {
		text += " (" + name + ")"
	}
	return text
}

// WhatIs describes an address: the object, the field, the region.
func (na *namer) WhatIs(addr uint64) string {
	k := na.m.Kernel()
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
			text += ", invented value"
		case !known:
			text += ", no value yet"
		}
		return text
	}
	if img, pc, ok := na.codeAt(addr); ok {
		return fmt.Sprintf("%#x: instruction %d of %s: %s", addr, pc, img.Name, na.place(img, pc))
	}
	if text, ok := na.frameSlot(addr); ok {
		return fmt.Sprintf("%#x: %s", addr, text)
	}
	if n, ok := na.m.NameAddr(addr); ok {
		return fmt.Sprintf("%#x: %s", addr, n.Text)
	}
	r := na.m.Memory().Find(addr)
	if r == nil {
		if text := na.m.Memory().Released(addr); text != "" {
			return fmt.Sprintf("%#x: %s", addr, text)
		}
		near, delta, _ := na.m.Memory().Nearest(addr)
		if near != nil && delta < 1<<16 && delta > -1<<16 {
			return fmt.Sprintf("%#x: nothing is mapped there; the nearest memory is %s, %d bytes away", addr, near.Describe(addr), delta)
		}
		return fmt.Sprintf("%#x: nothing is mapped there", addr)
	}
	return fmt.Sprintf("%#x: %s, offset %d", addr, r.Describe(addr), addr-r.Base)
}

// frameSlot names an offset in the stack of an activation.
func (na *namer) frameSlot(addr uint64) (string, bool) {
	if na.state == Idle {
		return "", false
	}
	for i, f := range na.m.Thread().Frames() {
		if f.Stack == nil || addr != f.FP && !f.Stack.Contains(addr) {
			continue
		}
		name := ""
		if fn, ok := na.place(f.Image, max(f.PC-1, 0)).Func(); ok {
			name = " (" + fn.Name + ")"
		}
		return fmt.Sprintf("stack of frame %d%s, r10%+d", i, name, int64(addr-f.FP)), true
	}
	return "", false
}
