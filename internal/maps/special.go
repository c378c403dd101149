package maps

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// SpecialKind is the kind of a field in values that the kernel manages (enum btf_field_type).
type SpecialKind uint8

const (
	// SpinLock is struct bpf_spin_lock.
	SpinLock SpecialKind = iota + 1
	// ResSpinLock is struct bpf_res_spin_lock.
	ResSpinLock
	// Timer is struct bpf_timer.
	Timer
	// Workqueue is struct bpf_wq.
	Workqueue
	// TaskWork is struct bpf_task_work.
	TaskWork
	// KptrUntrusted is a pointer with the type tag kptr_untrusted.
	KptrUntrusted
	// Kptr is a pointer with the type tag kptr.
	Kptr
	// KptrPercpu is a pointer with the type tag percpu_kptr.
	KptrPercpu
	// Uptr is a pointer with the type tag uptr.
	Uptr
	// ListHead is struct bpf_list_head.
	ListHead
	// ListNode is struct bpf_list_node.
	ListNode
	// RBRoot is struct bpf_rb_root.
	RBRoot
	// RBNode is struct bpf_rb_node.
	RBNode
	// Refcount is struct bpf_refcount.
	Refcount
)

var specialNames = [...]string{
	SpinLock: "bpf_spin_lock", ResSpinLock: "bpf_res_spin_lock", Timer: "bpf_timer", Workqueue: "bpf_wq",
	TaskWork: "bpf_task_work", KptrUntrusted: "kptr_untrusted", Kptr: "kptr", KptrPercpu: "percpu_kptr", Uptr: "uptr",
	ListHead: "bpf_list_head", ListNode: "bpf_list_node", RBRoot: "bpf_rb_root", RBNode: "bpf_rb_node", Refcount: "bpf_refcount",
}

// String returns the struct's name or the type tag: "bpf_timer", "kptr".
func (k SpecialKind) String() string {
	if int(k) < len(specialNames) && k != 0 {
		return specialNames[k]
	}
	return fmt.Sprintf("special(%d)", uint8(k))
}

// Owns reports whether freeing an element with such a field releases something: a timer, an object,
// a list.
func (k SpecialKind) Owns() bool {
	switch k {
	case SpinLock, ResSpinLock, Refcount, ListNode, RBNode:
		return false
	}
	return true
}

// stored reports whether programs may store to the field directly: only to kptrs without a
// reference count (kernel/bpf/verifier.c check_map_access, check_map_kptr_access).
func (k SpecialKind) stored() bool { return k == KptrUntrusted }

// Guards returns the fields that programs may not store to.
func Guards(fields []Special) []mem.Guard {
	var out []mem.Guard
	for _, f := range fields {
		if !f.Kind.stored() {
			out = append(out, mem.Guard{Off: uint64(f.Off), Size: uint64(f.Size), What: "the " + f.Kind.String() + " " + f.Name})
		}
	}
	return out
}

// allowed reports whether values of a map type may contain the field (kernel/bpf/syscall.c
// map_check_btf).
func (k SpecialKind) allowed(t uapi.MapType) bool {
	locks := k == SpinLock || k == ResSpinLock
	pointers := k == KptrUntrusted || k == Kptr || k == KptrPercpu || k == Refcount
	switch t.Fields() {
	case uapi.AllFields:
		return k != Uptr
	case uapi.UnlockedFields:
		return !locks && k != Uptr
	case uapi.PointerFields:
		return pointers
	case uapi.StorageFields:
		return pointers || locks
	case uapi.TaskFields:
		return pointers || locks || k == Uptr
	case uapi.CgroupFields:
		return locks || k == Refcount
	}
	return false
}

// Special is a special field in a value.
type Special struct {
	Kind SpecialKind
	Off  uint32 // bytes from the start of the value
	Size uint32 // bytes
	Name string // path of the member
	// Type is the pointee of a kptr, else the field's own struct.
	Type btf.ID
	// ContainsType and ContainsField name the struct, and its node, that a list or tree contains
	// (decl tag "contains:TYPE:FIELD").
	ContainsType, ContainsField string
}

// ErrSpecial means that the kernel would not accept a special field.
var ErrSpecial = errors.New("special field")

const (
	maxSpecialDepth = 4  // nesting limit of the kernel (btf_find_nested_struct)
	maxSpecials     = 11 // BTF_FIELDS_MAX
)

// FieldSpecials returns the special fields of a map's values on a kernel's version, by offset. There
// are none without BTF, without a value type, or if its size is not value_size (libbpf then creates
// the map without BTF). A kernel that does not know the tag of one takes none of them for special.
func FieldSpecials(s *Spec, version uint32) ([]Special, error) {
	if s.BTF == nil || s.ValueType == 0 {
		return nil, nil
	}
	if s.BTF.Kind(s.BTF.SkipID(s.ValueType)) != btf.KindDatasec {
		if n, err := s.BTF.Sizeof(s.ValueType); err != nil || n != int64(s.ValueSize) {
			return nil, nil
		}
	}
	fields, err := specials(s.BTF, s.ValueType, s.Offsets)
	for _, f := range fields {
		if f.Kind == Uptr && !since.Of(version).Has(since.UserPtrs) {
			return nil, nil
		}
		if err == nil && uint64(f.Off)+uint64(f.Size) > uint64(s.ValueSize) {
			err = fmt.Errorf("%w: %s at %d does not fit a value of %d bytes", ErrSpecial, f.Name, f.Off, s.ValueSize)
		}
	}
	return fields, err
}

// Specials returns the special fields of a struct or data section by offset (btf_parse_fields).
func Specials(spec *btf.Spec, id btf.ID) ([]Special, error) { return specials(spec, id, nil) }

func specials(spec *btf.Spec, id btf.ID, offsets map[string]uint32) ([]Special, error) {
	w := specialWalk{spec: spec}
	t, err := spec.Type(spec.SkipID(id))
	if err != nil {
		return nil, err
	}
	switch t.Kind {
	case btf.KindStruct:
		err = w.members(t, 0, "", 0)
	case btf.KindDatasec:
		for _, v := range t.Vars {
			var vt *btf.Type
			if vt, err = spec.Type(v.Type); err != nil {
				return nil, err
			}
			at := v.Offset
			if off, ok := offsets[vt.Name]; ok {
				at = off
			}
			if err = w.field(vt.Ref, at, vt.Name, v.Type, -1, 0); err != nil {
				break
			}
		}
	}
	if err != nil {
		return nil, err
	}
	slices.SortFunc(w.out, func(a, b Special) int { return cmp.Compare(a.Off, b.Off) })
	return w.out, w.check()
}

type specialWalk struct {
	spec *btf.Spec
	out  []Special
}

func (w *specialWalk) members(t *btf.Type, at uint32, path string, depth int) error {
	if depth > maxSpecialDepth {
		return nil
	}
	for i := range t.Members {
		m := &t.Members[i]
		if m.BitfieldSize != 0 || m.BitOffset%8 != 0 {
			continue
		}
		name := m.Name
		if path != "" {
			name = strings.TrimSuffix(path+"."+name, ".")
		}
		if err := w.field(m.Type, at+m.BitOffset/8, name, t.ID, int32(i), depth); err != nil {
			return err
		}
	}
	return nil
}

// field examines one member or variable. holder and index locate its decl tags.
func (w *specialWalk) field(id btf.ID, at uint32, path string, holder btf.ID, index int32, depth int) error {
	n := uint32(1)
	t := w.spec.SkipMods(id)
	for range 32 {
		if t.Kind != btf.KindArray {
			break
		}
		if t.Array.Nelems == 0 || n > maxSpecials*64/max(t.Array.Nelems, 1) && w.plain(t.Ref) {
			return nil
		}
		n *= t.Array.Nelems
		id = t.Ref
		t = w.spec.SkipMods(id)
	}
	size, err := w.spec.Sizeof(id)
	if err != nil || size <= 0 {
		return nil
	}
	f := Special{Size: uint32(size), Type: t.ID}
	switch t.Kind {
	case btf.KindPtr:
		f.Kind, f.Type = w.kptr(t)
	case btf.KindStruct:
		f.Kind = structKind(t.Name)
	default:
		return nil
	}
	for i := range n {
		f.Off, f.Name = at+i*f.Size, path
		if n > 1 {
			f.Name = fmt.Sprintf("%s[%d]", path, i)
		}
		if f.Kind == 0 {
			if t.Kind != btf.KindStruct {
				return nil
			}
			had := len(w.out)
			if err := w.members(t, f.Off, f.Name, depth+1); err != nil {
				return err
			}
			if len(w.out) == had { // the element type has none
				return nil
			}
			continue
		}
		if len(w.out) >= maxSpecials {
			return fmt.Errorf("%w %s: a value has at most %d", ErrSpecial, f.Name, maxSpecials)
		}
		if f.Kind == ListHead || f.Kind == RBRoot {
			f.ContainsType, f.ContainsField = w.contains(holder, index)
		}
		w.out = append(w.out, f)
	}
	return nil
}

// plain reports whether elements of a large array cannot hold special fields.
func (w *specialWalk) plain(id btf.ID) bool {
	t := w.spec.SkipMods(id)
	return t.Kind != btf.KindStruct && t.Kind != btf.KindArray && t.Kind != btf.KindPtr
}

func structKind(name string) SpecialKind {
	if !strings.HasPrefix(name, "bpf_") {
		return 0
	}
	for k := SpinLock; int(k) < len(specialNames); k++ {
		if specialNames[k] == name {
			return k
		}
	}
	return 0
}

// kptr looks for the type tag between a pointer and its pointee.
func (w *specialWalk) kptr(ptr *btf.Type) (SpecialKind, btf.ID) {
	t, err := w.spec.Type(ptr.Ref)
	if err != nil || t.Kind != btf.KindTypeTag {
		return 0, 0
	}
	for _, k := range []SpecialKind{KptrUntrusted, Kptr, KptrPercpu, Uptr} {
		if t.Name == specialNames[k] {
			return k, w.spec.SkipID(t.Ref)
		}
	}
	return 0, 0
}

// contains finds the decl tag of a list head or tree root.
func (w *specialWalk) contains(holder btf.ID, index int32) (typ, field string) {
	for id := w.spec.FirstID(); int(id) < w.spec.NumTypes(); id++ {
		if w.spec.Kind(id) != btf.KindDeclTag {
			continue
		}
		t, err := w.spec.Type(id)
		if err != nil || t.Ref != holder || t.ComponentIdx != index {
			continue
		}
		if rest, ok := strings.CutPrefix(t.Name, "contains:"); ok {
			typ, field, _ = strings.Cut(rest, ":")
			return typ, field
		}
	}
	return "", ""
}

// check returns the errors of btf_parse_fields.
func (w *specialWalk) check() error {
	var seen [Refcount + 1]int
	for i, f := range w.out {
		seen[f.Kind]++
		if i > 0 && w.out[i-1].Off+w.out[i-1].Size > f.Off {
			return fmt.Errorf("%w %s overlaps %s", ErrSpecial, f.Name, w.out[i-1].Name)
		}
	}
	for _, k := range []SpecialKind{SpinLock, ResSpinLock, Timer, Workqueue, TaskWork, Refcount} {
		if seen[k] > 1 {
			return fmt.Errorf("%w %s: only one per value", ErrSpecial, k)
		}
	}
	if seen[SpinLock]+seen[ResSpinLock] > 1 {
		return fmt.Errorf("%w: bpf_spin_lock and bpf_res_spin_lock exclude each other", ErrSpecial)
	}
	if (seen[ListHead] != 0 || seen[RBRoot] != 0) && seen[SpinLock]+seen[ResSpinLock] == 0 {
		return fmt.Errorf("%w: a list or tree needs a lock in the same value", ErrSpecial)
	}
	return nil
}
