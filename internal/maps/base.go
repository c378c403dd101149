package maps

import (
	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// base is common to all map types. Its operations fail as for a type that lacks them.
type base struct {
	env    *Env
	spec   Spec
	id     uint32
	handle *mem.Region
	self   Map
	// fields are the special fields of the value, plain the byte ranges between them.
	fields []Special
	plain  []span
	owning bool // deleting an element must release what a field owns
	guards []mem.Guard
	hosted uint64 // host memory in bytes for tables
}

type span struct{ off, end uint32 }

func (b *base) Spec() *Spec  { return &b.spec }
func (b *base) ID() uint32   { return b.id }
func (b *base) Addr() uint64 { return b.handle.Base }

func (b *base) Lookup(int, []byte) (uint64, uapi.Errno)       { return 0, uapi.EOPNOTSUPP }
func (b *base) Update(int, []byte, []byte, uint64) uapi.Errno { return uapi.EINVAL }
func (b *base) Delete([]byte) uapi.Errno                      { return uapi.EINVAL }
func (b *base) NextKey([]byte) ([]byte, uapi.Errno)           { return nil, uapi.EINVAL }
func (b *base) Entries() []Entry                              { return nil }
func (b *base) Snapshot() any                                 { return nil }
func (b *base) Restore(any)                                   {}
func (b *base) refuse(e uapi.Errno, detail string) *CreateError {
	return &CreateError{Map: b.spec.Name, Type: b.spec.Type, Errno: e, Detail: detail}
}

// region returns the template of the regions that hold this map's values.
func (b *base) region() mem.Region {
	r := mem.Region{Kind: mem.MapValue, Name: b.spec.Name, Owner: b.self, ReadOnly: b.spec.Flags&uapi.MapRdonlyProg != 0}
	if b.spec.Data {
		r.Kind = mem.Global
	}
	r.Guards = b.guards
	return r
}

// open returns the size of a value that programs may read and write anywhere, 0 if this map's
// values have bytes that they may not, or if stores are tracked ([mem.Config.TrackStores]).
func (b *base) open() uint64 {
	if b.spec.Flags&uapi.MapRdonlyProg != 0 || len(b.guards) != 0 || b.env.Mem.TracksStores() {
		return 0
	}
	return uint64(b.spec.ValueSize)
}

// setFields determines the special fields of the value.
func (b *base) setFields() *CreateError {
	b.plain = []span{{0, b.spec.ValueSize}}
	fields, err := FieldSpecials(&b.spec, b.env.KernelVersion)
	if err != nil {
		return b.refuse(uapi.EINVAL, err.Error())
	}
	if len(fields) == 0 {
		return nil
	}
	for _, f := range fields {
		if !f.Kind.allowed(b.spec.Type) {
			return b.refuse(uapi.EOPNOTSUPP, "a value of this map type may not contain "+f.Kind.String())
		}
		if f.Kind == Uptr {
			if err := b.checkUserPtr(&f); err != nil {
				return err
			}
		}
		b.owning = b.owning || f.Kind.Owns()
	}
	if b.spec.Flags&(uapi.MapRdonlyProg|uapi.MapWronlyProg) != 0 {
		return b.refuse(uapi.EACCES, "a map that programs may only read or only write cannot contain "+fields[0].Kind.String())
	}
	b.fields, b.plain = fields, gaps(fields, b.spec.ValueSize)
	b.guards = Guards(fields)
	return nil
}

// checkUserPtr checks what a pointer to user memory points to: a struct of the program, at most a
// page (btf_check_and_fixup_fields).
func (b *base) checkUserPtr(f *Special) *CreateError {
	t, err := b.spec.BTF.Type(f.Type)
	switch k := b.env.KernelBTF; {
	case err != nil || t.Kind != btf.KindStruct || t.Size == 0:
		return b.refuse(uapi.EINVAL, f.Name+" has to point to a struct with members")
	case t.Size > uapi.PageSize:
		return b.refuse(uapi.E2BIG, f.Name+" points to more than a page of user memory")
	case k != nil:
		if _, ok := k.FindID(t.Kind, t.Name); ok {
			return b.refuse(uapi.EINVAL, f.Name+" points to user memory, which has no struct "+t.Name+" of the kernel")
		}
	}
	return nil
}

// gaps returns the ranges of a value of size bytes that no field covers.
func gaps(fields []Special, size uint32) []span {
	var out []span
	at := uint32(0)
	for _, f := range fields {
		if f.Off > at {
			out = append(out, span{at, f.Off})
		}
		at = max(at, f.Off+f.Size)
	}
	if at < size {
		out = append(out, span{at, size})
	}
	return out
}

func (b *base) has(k SpecialKind) bool {
	for _, f := range b.fields {
		if f.Kind == k {
			return true
		}
	}
	return false
}

func (b *base) hasLock() bool { return b.has(SpinLock) || b.has(ResSpinLock) }

// copyValue copies everything but special fields, as copy_map_value does.
func (b *base) copyValue(dst, src []byte) {
	if len(b.fields) == 0 {
		copy(dst[:b.spec.ValueSize], src)
		return
	}
	for _, s := range b.plain {
		copy(dst[s.off:s.end], src[s.off:s.end])
	}
}

// userCopy returns the value as user space sees it: special fields read as zero
// (check_and_init_map_value on the copy).
func (b *base) userCopy(src []byte) []byte {
	out := make([]byte, b.spec.ValueSize)
	b.copyValue(out, src)
	return out
}

// freeFields releases what the special fields of the value at addr own and zeroes them. Locks and
// reference counts are kept (bpf_obj_free_fields).
func (b *base) freeFields(addr uint64, val []byte) {
	if !b.owning {
		return
	}
	for _, f := range b.fields {
		if !f.Kind.Owns() {
			continue
		}
		if b.env.FreeField != nil {
			b.env.FreeField(b.self, f, addr+uint64(f.Off))
		}
		clear(val[f.Off : f.Off+f.Size])
	}
}

// initFields zeroes all special fields of a new element (check_and_init_map_value).
func (b *base) initFields(val []byte) {
	for _, f := range b.fields {
		clear(val[f.Off : f.Off+f.Size])
	}
}

func round8(n uint32) uint64 { return (uint64(n) + 7) &^ 7 }

func allZero(p []byte) bool {
	for _, c := range p {
		if c != 0 {
			return false
		}
	}
	return true
}
