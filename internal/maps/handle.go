package maps

import (
	"math/bits"
	"sync"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// handleSize is the size in bytes of a map's handle if the kernel's struct bpf_map is unknown.
const handleSize = 256

// handleView is the memory view of a map's kernel object, which is struct bpf_map and the struct of
// the map's type that embeds it. Programs may read it through a map pointer (kernel/bpf/verifier.c
// check_ptr_to_map_access). Only attributes and fields derived from them are simulated. Stores are
// not permitted.
type handleView struct {
	env  *Env
	m    Map
	spec *btf.Spec // nil if the struct is unknown
	typ  btf.ID
	at   map[uint64]handleField // by offset
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

// typeFields lists the simulated fields of the structs of map types.
var typeFields = map[string][]handleField{
	"bpf_array": { // array_map_alloc
		{"elem_size", 4, func(m Map) uint64 { return roundUp8(m.Spec().ValueSize) }},
		{"index_mask", 4, func(m Map) uint64 { return powerOfTwo(m.Spec().MaxEntries) - 1 }},
	},
	"bpf_arena": { // arena_map_mmap: the address of its first page to user space, which libbpf maps with the map
		{"user_vm_start", 8, func(m Map) uint64 { return m.(Arena).UserBase() }},
	},
	"bpf_htab": { // htab_map_alloc
		{"n_buckets", 4, func(m Map) uint64 { return powerOfTwo(m.Spec().MaxEntries) }},
	},
}

func roundUp8(n uint32) uint64 { return (uint64(n) + 7) &^ 7 }

// powerOfTwo rounds n up to a power of two (roundup_pow_of_two).
func powerOfTwo(n uint32) uint64 { return 1 << bits.Len32(max(n, 1)-1) }

// counted returns the getter of bpf_htab.count. Preallocated maps do not use that field, nor do
// large maps on kernels with a per-CPU counter (PERCPU_COUNTER_BATCH).
func (v *handleView) counted(perCPU bool) func(Map) uint64 {
	const batch = 32
	return func(m Map) uint64 {
		s := m.Spec()
		if s.Flags&uapi.MapNoPrealloc == 0 || perCPU && int(s.MaxEntries/2) > v.env.CPUs*batch {
			return 0
		}
		return uint64(len(m.Entries()))
	}
}

// elementSize returns the getter of bpf_htab.elem_size: the size of an element's head, its key, and
// its value or the pointer to its per-CPU values (htab_map_alloc).
func elementSize(head uint32) func(Map) uint64 {
	return func(m Map) uint64 {
		s := m.Spec()
		value := roundUp8(s.ValueSize)
		if s.Type.PerCPU() {
			value = 8
		}
		return uint64(head) + roundUp8(s.KeySize) + value
	}
}

// newHandle allocates the handle and returns its view; the caller fills in the view's map.
func (b *base) newHandle() (*handleView, error) {
	v := &handleView{env: b.env, at: make(map[uint64]handleField)}
	size := uint64(handleSize)
	if k := b.env.KernelBTF; k != nil {
		if t, ok := k.Find(btf.KindStruct, "bpf_map"); ok && t.Size > 0 {
			size = uint64(t.Size)
			v.spec, v.typ = k, t.ID
			v.place(t.ID, handleFields)
			if b.spec.Inner == nil {
				v.placeNull(t.ID, "inner_map_meta")
			}
			v.placeName(t.ID)
		}
		size = max(size, v.placeType(b.spec.Type.Struct()))
	}
	r, err := b.env.Mem.Alloc(size, mem.Region{Kind: mem.MapHandle, Name: b.spec.Name, View: v})
	b.handle = r
	return v, err
}

func (v *handleView) place(id btf.ID, fields []handleField) {
	for _, hf := range fields {
		if f, ok := v.spec.FindMember(id, hf.name); ok && f.BitSize == 0 {
			v.at[uint64(f.Offset())] = hf
		}
	}
}

// placeNull makes a pointer of the struct null.
func (v *handleView) placeNull(id btf.ID, name string) {
	f, ok := v.spec.FindMember(id, name)
	if !ok {
		return
	}
	if size, err := v.spec.Sizeof(f.Type); err == nil {
		v.at[uint64(f.Offset())] = handleField{name, int(size), func(Map) uint64 { return 0 }}
	}
}

func (v *handleView) placeName(id btf.ID) {
	f, ok := v.spec.FindMember(id, "name")
	if !ok {
		return
	}
	for i, char := range nameChars() {
		v.at[uint64(f.Offset())+uint64(i)] = handleField{"name", 1, char}
	}
}

// nameChars return the characters of a map's name in the kernel.
var nameChars = sync.OnceValue(func() *[uapi.ObjNameLen]func(Map) uint64 {
	var chars [uapi.ObjNameLen]func(Map) uint64
	for i := range chars {
		chars[i] = func(m Map) uint64 {
			if n := m.Spec().Name; i < len(n) && i < uapi.ObjNameLen-1 {
				return uint64(n[i])
			}
			return 0
		}
	}
	return &chars
})

// placeType adds the fields of the struct of the map's type, which must start with struct bpf_map,
// and returns its size, or 0 if it is unknown.
func (v *handleView) placeType(name string) uint64 {
	if v.spec == nil || name == "bpf_map" {
		return 0
	}
	t, ok := v.spec.Find(btf.KindStruct, name)
	if !ok {
		return 0
	}
	if f, ok := v.spec.FindMember(t.ID, "map"); !ok || f.Offset() != 0 {
		return 0
	}
	v.typ = t.ID
	v.place(t.ID, typeFields[name])
	if head, ok := v.spec.Find(btf.KindStruct, "htab_elem"); ok && name == "bpf_htab" {
		_, perCPU := v.spec.FindMember(t.ID, "use_percpu_counter")
		v.place(t.ID, []handleField{{"elem_size", 4, elementSize(head.Size)}, {"count", 4, v.counted(perCPU)}})
	}
	return uint64(t.Size)
}

func (v *handleView) Load(off uint64, size int) (uint64, *mem.Fault) {
	f, ok := v.at[off]
	switch {
	case ok && f.size == size:
		return f.get(v.m), nil
	case v.spec == nil:
		return 0, &mem.Fault{Kind: mem.NotPermitted, Detail: "a map pointer is for helpers; without the kernel's BTF struct bpf_map is not known"}
	}
	path, field, exact := v.spec.FieldAt(v.typ, uint32(off), size)
	if path == "" {
		return 0, &mem.Fault{Kind: mem.NotPermitted, Detail: "no member of the map's struct is there"}
	}
	if !exact && v.spec.SkipMods(field.Type).Kind == btf.KindPtr { // btf_struct_walk
		return 0, &mem.Fault{Kind: mem.NotPermitted, Detail: "a part of the pointer " + path}
	}
	return 0, &mem.Fault{Kind: mem.NotSimulated, Detail: path + " is not; attributes such as max_entries are"}
}

func (v *handleView) Store(uint64, int, uint64) *mem.Fault {
	return &mem.Fault{Kind: mem.ReadOnly, Write: true}
}

func (v *handleView) Write(uint64, []byte) *mem.Fault {
	return &mem.Fault{Kind: mem.ReadOnly, Write: true}
}

// Read implements probe reads of a single attribute or of bytes of the name.
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
