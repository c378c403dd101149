package model

import "github.com/bpfrun/bpfrun/internal/kernel/object"

// slabCaches lists caches that every kernel has, with the type of their objects, and those for
// objects of no type by size.
var slabCaches = []struct {
	name, typ string
	size      uint64
}{
	{"task_struct", "task_struct", 0}, {"mm_struct", "mm_struct", 0}, {"vm_area_struct", "vm_area_struct", 0}, {"cred", "cred", 0}, {"files_cache", "files_struct", 0},
	{"dentry", "dentry", 0}, {"inode_cache", "inode", 0}, {"filp", "file", 0}, {"pid", "pid", 0},
	{"kmalloc-8k", "", 8192}, {"kmalloc-4k", "", 4096}, {"kmalloc-2k", "", 2048}, {"kmalloc-1k", "", 1024}, {"kmalloc-512", "", 512}, {"kmalloc-256", "", 256},
	{"kmalloc-128", "", 128}, {"kmalloc-64", "", 64}, {"kmalloc-32", "", 32}, {"kmalloc-16", "", 16}, {"kmalloc-8", "", 8},
}

// SlabCaches returns the slab caches: the objects of the type that exist, else those that every
// kernel has.
func (m *Model) SlabCaches() []*object.Object {
	var out []*object.Object
	for _, o := range m.Objects() {
		if o.TypeName() == "kmem_cache" && m.Kept("slab "+o.Role()) == nil {
			out = append(out, o)
		}
	}
	if len(out) > 0 {
		return out
	}
	for i := range slabCaches {
		if o := m.slabCache(i); o != nil {
			out = append(out, o)
		}
	}
	return out
}

func (m *Model) slabCache(i int) *object.Object {
	c := slabCaches[i]
	if o := m.Kept("slab " + c.name); o != nil {
		return o
	}
	o, err := m.NewObjectNamed(c.name, "kmem_cache")
	if err != nil {
		return nil
	}
	o.MarkBuiltin()
	size := c.size
	if l := m.LayoutNamed(c.typ); c.typ != "" && l != nil {
		size = l.Size
	}
	b := object.Build(o)
	b.Text("name", c.name)
	b.Num("object_size", size)
	b.Num("size", (size+7)&^7)
	m.Keep("slab "+c.name, o)
	return o
}

// SlabCacheOf returns the cache that an object comes from, by its type or its size; nil for what is
// too large for any.
func (m *Model) SlabCacheOf(o *object.Object) *object.Object {
	best := -1
	for i, c := range slabCaches {
		switch {
		case c.typ != "" && c.typ == o.TypeName():
			return m.slabCache(i)
		case c.typ == "" && o.StorageSize() <= c.size:
			best = i // sizes fall
		}
	}
	if best < 0 {
		return nil
	}
	return m.slabCache(best)
}
