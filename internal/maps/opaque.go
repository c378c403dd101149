package maps

import (
	"slices"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// structOps implements BPF_MAP_TYPE_STRUCT_OPS: the image of the struct that a set of programs
// implements. The map only stores the bytes; the machine registers them.
type structOps struct {
	base
	value []byte
}

const structOpsFlags = uapi.MapLink | uapi.MapVtypeBTFObjFD

func newStructOps(b base) (Map, error) {
	s := &b.spec
	switch {
	case s.KeySize != 4 || s.MaxEntries != 1 || s.Flags&^uint32(structOpsFlags) != 0 || s.ValueSize == 0:
		return nil, b.refuse(uapi.EINVAL, "struct_ops needs key_size 4, max_entries 1 and the value type of the kernel's struct")
	case s.ValueSize > kmallocMax:
		return nil, b.refuse(uapi.E2BIG, "value_size is at most 4 MiB")
	}
	m := &structOps{base: b}
	m.self = m
	return m, nil
}

func (m *structOps) zeroKey(key []byte) bool {
	return len(key) >= 4 && m.env.u32(key) == 0
}

// Lookup fails, because only user space gets a copy: bpf_struct_ops_map_lookup_elem returns EINVAL
// to programs.
func (m *structOps) Lookup(int, []byte) (uint64, uapi.Errno) { return 0, uapi.EINVAL }

// Update registers the struct: once, until it is deleted.
func (m *structOps) Update(_ int, key, value []byte, flags uint64) uapi.Errno {
	switch {
	case flags != 0 || len(key) < 4 || len(value) < int(m.spec.ValueSize):
		return uapi.EINVAL
	case !m.zeroKey(key):
		return uapi.E2BIG
	case m.value != nil:
		return uapi.EBUSY
	}
	m.value = slices.Clone(value[:m.spec.ValueSize])
	return OK
}

func (m *structOps) Delete(key []byte) uapi.Errno {
	switch {
	case m.spec.Flags&uapi.MapLink != 0:
		return uapi.EOPNOTSUPP
	case m.value == nil:
		return uapi.ENOENT
	}
	m.value = nil
	return OK
}

func (m *structOps) NextKey(key []byte) ([]byte, uapi.Errno) {
	if m.zeroKey(key) {
		return nil, uapi.ENOENT
	}
	return m.env.key32(0), OK
}

func (m *structOps) Entries() []Entry {
	if m.value == nil {
		return nil
	}
	return []Entry{{Key: m.env.key32(0), Value: slices.Clone(m.value)}}
}

// Snapshot shares the value, which never changes.
func (m *structOps) Snapshot() any { return m.value }
func (m *structOps) Restore(v any) { m.value = v.([]byte) }

// insnArray implements BPF_MAP_TYPE_INSN_ARRAY (Linux 6.19): offsets of instructions, for indirect
// jumps. Values are struct bpf_insn_array_value {orig_off, xlated_off, jitted_off, unused}; user
// space sets only orig_off.
type insnArray struct {
	array
}

func newInsnArray(b base) (Map, error) {
	s := &b.spec
	if s.MaxEntries == 0 || s.KeySize != 4 || s.ValueSize != 16 || s.Flags != 0 {
		return nil, b.refuse(uapi.EINVAL, "an insn_array needs key_size 4, value_size 16, max_entries and no flags")
	}
	s.Flags = uapi.MapRdonlyProg // programs only read it
	in, err := newArray(b)
	if err != nil {
		return nil, err
	}
	a := &insnArray{*in.(*array)}
	a.self = a
	a.spec.Flags = 0
	return a, nil
}

// Update accepts only values whose other fields are 0 (insn_array_update_elem).
func (a *insnArray) Update(cpu int, key, value []byte, flags uint64) uapi.Errno {
	if flags&uapi.Lock == 0 && flags != uapi.NoExist && len(value) >= 16 && !allZero(value[4:16]) {
		return uapi.EINVAL
	}
	return a.array.Update(cpu, key, value, flags)
}

// DirectValue returns the base address of the table, from which an indirect jump computes its
// target.
func (a *insnArray) DirectValue(off uint32) (uint64, uapi.Errno) {
	if off%16 != 0 || off/16 >= a.n || len(a.bases) != 1 {
		return 0, uapi.EINVAL
	}
	return a.At(off/16, 0)
}
