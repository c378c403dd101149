package configs

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/endian"
	"github.com/bpfrun/bpfrun/loader"
)

// Limits on what counts as constants: the members of a variable, and of all.
const (
	maxMembers   = 256
	maxConstants = 4096
)

// Constants returns the constants of a linked object that a configuration decides: global variables
// in .rodata sections, which user space may set, and CONFIG_ values. What static variables and
// tables of constants contain is part of the program.
func Constants(l *loader.Linked) []Constant {
	c := collector{spec: l.Object.BTF, order: l.Object.ByteOrder}
	if c.spec == nil {
		return nil
	}
	for _, m := range l.Maps {
		switch m.DataKind {
		case loader.DataRodata:
			for _, v := range m.Vars {
				if !v.Static && c.settable(v.Type) {
					c.add(m, v.Name, v.Type, v.Off, 0)
				}
			}
		case loader.DataKconfig:
			for _, e := range l.Externs {
				if e.Kind != loader.ExternKconfig || !strings.HasPrefix(e.Name, "CONFIG_") {
					continue
				}
				n := len(c.out)
				c.add(m, e.Name, e.Type, e.Off, 0)
				for i := n; i < len(c.out); i++ {
					c.out[i].Kconfig = true
				}
			}
		}
	}
	return c.out
}

// collector finds numbers in variables.
type collector struct {
	spec  *btf.Spec
	order binary.ByteOrder
	out   []Constant
}

// settable reports whether a variable is meant to be set: one that is volatile (in an array its
// elements), or a single number, as in Rust. Others, such as tables, compilers may have used.
func (c *collector) settable(id btf.ID) bool {
	for range 32 {
		t := c.spec.MustType(id)
		switch t.Kind {
		case btf.KindVolatile, btf.KindInt, btf.KindEnum, btf.KindEnum64:
			return true
		case btf.KindConst, btf.KindTypedef, btf.KindRestrict, btf.KindTypeTag:
			id = t.Ref
		case btf.KindArray:
			return c.volatile(t.Ref)
		default:
			return false
		}
	}
	return false
}

// volatile reports whether a type is volatile.
func (c *collector) volatile(id btf.ID) bool {
	for range 32 {
		t := c.spec.MustType(id)
		switch t.Kind {
		case btf.KindVolatile:
			return true
		case btf.KindConst, btf.KindTypedef, btf.KindRestrict, btf.KindTypeTag, btf.KindArray:
			id = t.Ref
		default:
			return false
		}
	}
	return false
}

// add adds the numbers in a variable or member.
func (c *collector) add(m *loader.Map, name string, id btf.ID, off uint32, depth int) {
	t := c.spec.SkipMods(id)
	switch t.Kind {
	case btf.KindInt, btf.KindEnum, btf.KindEnum64:
		c.number(m, name, t, off)
	case btf.KindStruct:
		if depth > 8 || len(t.Members) > maxMembers {
			return
		}
		for i := range t.Members {
			if f := &t.Members[i]; f.BitfieldSize == 0 && f.BitOffset%8 == 0 {
				member := name
				if f.Name != "" {
					member += "." + f.Name
				}
				c.add(m, member, f.Type, off+f.BitOffset/8, depth+1)
			}
		}
	case btf.KindArray:
		size, err := c.spec.Sizeof(t.Ref)
		if depth > 8 || err != nil || t.Array.Nelems > maxMembers {
			return
		}
		for i := range t.Array.Nelems {
			c.add(m, fmt.Sprintf("%s[%d]", name, i), t.Ref, off+i*uint32(size), depth+1)
		}
	}
}

func (c *collector) number(m *loader.Map, name string, t *btf.Type, off uint32) {
	switch t.Size {
	case 1, 2, 4, 8:
	default:
		return
	}
	if len(c.out) >= maxConstants || int(off)+int(t.Size) > len(m.Data) {
		return
	}
	x := Constant{Map: m.Name, Name: name, Off: off, Size: t.Size, Max: ^uint64(0) >> (64 - 8*t.Size)}
	switch {
	case t.Kind == btf.KindInt && t.Int.Encoding&btf.IntBool != 0:
		x.Max = 1
	case t.Kind == btf.KindEnum && t.Name == "libbpf_tristate":
		x.Max = 2
	}
	x.Initial = endian.Uint(c.order, m.Data[off:off+t.Size])
	c.out = append(c.out, x)
}
