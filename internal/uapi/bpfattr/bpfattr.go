// Package bpfattr contains union bpf_attr, the argument of bpf(2): where the fields of each command
// are, of which type, and since which release (parts_gen.go, generated from the BTF of Linux 7.2).
//
// It does not know what the commands do. A view of one of the union's structs ([MapCreate],
// [LinkCreate], ...) reads fields by name from the copy that a call works on, and writes to the
// caller's memory those that the kernel writes. A [Part] lists the fields of a struct. Start at
// [Union] and [Part].
//
// All simulated kernels are little-endian, whatever the host is.
package bpfattr

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

var le = binary.LittleEndian

// Max is longer than the union of every release, in bytes.
const Max = 256

// Memory is the memory of a caller. Write reports whether all of it is writable.
type Memory interface {
	Write(addr uint64, b []byte) bool
}

// Union is the copy of a caller's union that one call works on. Bytes that the caller did not pass
// are zero.
type Union struct {
	b    [Max]byte
	addr uint64
	size int
	mem  Memory
}

// New returns the union that begins with raw. The caller has size bytes of it at addr in its
// memory.
func New(raw []byte, mem Memory, addr uint64, size int) *Union {
	u := &Union{addr: addr, size: size, mem: mem}
	copy(u.b[:], raw)
	return u
}

// ZeroFrom reports whether all bytes from an offset on are zero.
func (u *Union) ZeroFrom(at int) bool {
	return !slices.ContainsFunc(u.b[at:], func(b byte) bool { return b != 0 })
}

func (u *Union) u32(at int) uint32         { return le.Uint32(u.b[at:]) }
func (u *Union) u64(at int) uint64         { return le.Uint64(u.b[at:]) }
func (u *Union) bytes(at, size int) []byte { return u.b[at : at+size] }

// The kernel writes each field on its own (put_user).

func (u *Union) put32(at int, v uint32) bool {
	return u.mem.Write(u.addr+uint64(at), le.AppendUint32(nil, v))
}

func (u *Union) put64(at int, v uint64) bool {
	return u.mem.Write(u.addr+uint64(at), le.AppendUint64(nil, v))
}

// Field is a field of a struct in the union.
type Field struct {
	// Name is the kernel's, as in "link_create.tcx.relative_fd"; structs without a name add
	// nothing.
	Name string
	// At and Size are in bytes.
	At, Size uint16
	// Since is the release that brought the field; 0 means that all releases have it.
	Since uapi.Release
}

// End returns the offset of what follows the last field that a release has.
func End(fields []Field, r uapi.Release) int {
	end := 0
	for _, f := range fields {
		if r.Has(f.Since) {
			end = max(end, int(f.At)+int(f.Size))
		}
	}
	return end
}

// Since returns the release that brought the first of the fields.
func Since(fields []Field) uapi.Release {
	return slices.MinFunc(fields, func(a, b Field) int { return int(a.Since) - int(b.Since) }).Since
}

// Fields returns the fields of all structs.
func Fields() []Field { return slices.Concat(parts()...) }

// Size returns sizeof(union bpf_attr) of a release.
func Size(r uapi.Release) int { return (End(Fields(), r) + 7) &^ 7 }

// Part is a struct of the union, with a view of type V, or the fields of it that one command knows.
type Part[V any] struct {
	Fields []Field
	View   func(*Union) V
}

// Only returns the part with some of its fields: commands that share a struct do not know all of
// it.
func (p Part[V]) Only(names ...string) Part[V] {
	all := p.Fields
	p.Fields = nil
	for _, name := range names {
		p.Fields = append(p.Fields, *find(all, name))
	}
	return p
}

// Later returns the part with a field that the command knows only since a later release than the
// others that share the struct.
func (p Part[V]) Later(name string, since uapi.Release) Part[V] {
	p.Fields = slices.Clone(p.Fields)
	find(p.Fields, name).Since = since
	return p
}

// find panics if there is no such field: names are constants of the program.
func find(fields []Field, name string) *Field {
	i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == name })
	if i < 0 {
		panic(fmt.Sprintf("bpfattr: there is no field %s", name))
	}
	return &fields[i]
}
