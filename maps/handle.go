package maps

import (
	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/mem"
	"github.com/bpfrun/bpfrun/uapi"
)

// handleSize is the size in bytes of a map's handle if the kernel's struct bpf_map is unknown.
const handleSize = 256

// handleView is the part of the kernel's struct bpf_map that programs may read through a map pointer: read-only
// attributes.
type handleView struct {
	env *Env
	m   Map
	at  map[uint64]handleField // by offset
}

type handleField struct {
	name string
	size int
	get  func(m Map) uint64
}

var handleFields = []handleField{
	{"map_type", 4, func(m Map) uint64 { return uint64(m.Spec().Type) }},
	{"key_size", 4, func(m Map) uint64 { return uint64(m.Spec().KeySize) }},
	{"value_size", 4, func(m Map) uint64 { return uint64(m.Spec().ValueSize) }},
	{"max_entries", 4, func(m Map) uint64 { return uint64(m.Spec().MaxEntries) }},
	{"map_flags", 4, func(m Map) uint64 { return uint64(m.Spec().Flags) }},
	{"map_extra", 8, func(m Map) uint64 { return m.Spec().Extra }},
	{"id", 4, func(m Map) uint64 { return uint64(m.ID()) }},
	{"numa_node", 4, func(m Map) uint64 {
		if m.Spec().Flags&uapi.MapNumaNode == 0 {
			return 0xffffffff // NUMA_NO_NODE
		}
		return uint64(uint32(m.Spec().NumaNode))
	}},
}

// newHandle allocates the handle and returns its view; the caller fills in the view's map.
func (b *base) newHandle() (*handleView, error) {
	v := &handleView{env: b.env, at: make(map[uint64]handleField)}
	size := uint64(handleSize)
	if k := b.env.KernelBTF; k != nil {
		if t, ok := k.Find(btf.KindStruct, "bpf_map"); ok && t.Size > 0 {
			size = uint64(t.Size)
			for _, hf := range handleFields {
				if f, ok := k.FindMember(t.ID, hf.name); ok && f.BitSize == 0 {
					v.at[uint64(f.Offset())] = hf
				}
			}
			if f, ok := k.FindMember(t.ID, "name"); ok {
				for i := range uapi.ObjNameLen {
					v.at[uint64(f.Offset())+uint64(i)] = handleField{"name", 1, func(m Map) uint64 {
						if n := m.Spec().Name; i < len(n) && i < uapi.ObjNameLen-1 {
							return uint64(n[i])
						}
						return 0
					}}
				}
			}
		}
	}
	r, err := b.env.Mem.Alloc(size, mem.Region{Kind: mem.MapHandle, Name: b.spec.Name, View: v})
	b.handle = r
	return v, err
}

func (v *handleView) Load(off uint64, size int) (uint64, *mem.Fault) {
	f, ok := v.at[off]
	switch {
	case ok && f.size == size:
		return f.get(v.m), nil
	case len(v.at) == 0:
		return 0, &mem.Fault{Kind: mem.NotPermitted, Detail: "a map pointer is for helpers; without the kernel's BTF struct bpf_map is not known"}
	}
	return 0, &mem.Fault{Kind: mem.NotPermitted, Detail: "of struct bpf_map only attributes such as max_entries are simulated"}
}

func (v *handleView) Store(uint64, int, uint64) *mem.Fault {
	return &mem.Fault{Kind: mem.ReadOnly, Write: true}
}

func (v *handleView) Write(uint64, []byte) *mem.Fault {
	return &mem.Fault{Kind: mem.ReadOnly, Write: true}
}

// Read implements probe reads of one attribute or of bytes of the name.
func (v *handleView) Read(off uint64, p []byte) *mem.Fault {
	if n := len(p); n == 4 || n == 8 {
		x, f := v.Load(off, n)
		if f == nil {
			if order := v.env.Mem.ByteOrder(); n == 4 {
				order.PutUint32(p, uint32(x))
			} else {
				order.PutUint64(p, x)
			}
			return nil
		}
		if v.at[off].size != 1 {
			return f
		}
	}
	for i := range p {
		x, f := v.Load(off+uint64(i), 1)
		if f != nil {
			return f
		}
		p[i] = byte(x)
	}
	return nil
}
