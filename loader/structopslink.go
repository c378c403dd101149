package loader

import (
	"bytes"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/progtype"
)

// valuePrefix is the prefix of the kernel's wrapper struct for a struct_ops type.
const valuePrefix = "bpf_struct_ops_"

// linkStructOps converts struct_ops maps to the target's layout, and disables programs that no map
// of this load uses (libbpf bpf_object_adjust_struct_ops_autoload and
// bpf_map__init_kern_struct_ops).
func (l *loading) linkStructOps() error {
	used := map[string]bool{}
	assigned := map[string]bool{}
	for _, m := range l.Maps {
		if m.StructOps == nil {
			continue
		}
		for _, mem := range m.StructOps.Members {
			if mem.Prog != "" {
				assigned[mem.Prog] = true
				used[mem.Prog] = used[mem.Prog] || !l.noMap[m]
			}
		}
	}
	for _, p := range l.o.Programs {
		if (assigned[p.Name] || progtype.Of(p.Type).Target == progtype.OpsMember) && !used[p.Name] && !l.only(p.Name) {
			l.off[p] = true
		}
	}
	for _, m := range l.Maps {
		if m.StructOps == nil {
			continue
		}
		s := &LinkedStructOps{Map: m, Progs: map[string]string{}}
		l.StructOps = append(l.StructOps, s)
		if l.t.BTF == nil {
			continue
		}
		if err := l.layStructOps(s); err != nil {
			err.Object = l.o.Name
			s.Err = err
			if !s.Absent && !l.noMap[m] {
				l.refuse(err)
			}
		}
	}
	return nil
}

func (l *loading) only(name string) bool {
	for _, n := range l.opts.Only {
		if n == name {
			return true
		}
	}
	return false
}

func (l *loading) layStructOps(s *LinkedStructOps) *Error {
	ops := s.Map.StructOps
	name := btf.EssentialName(ops.TypeName)
	mod, vt, ok := l.t.find(btf.KindStruct, valuePrefix+name, "")
	if !ok {
		s.Absent = true
		return failf(ErrNoHook, "struct_ops type %s of map %s: the kernel has no struct %s%s", name, s.Map.Name, valuePrefix, name)
	}
	kt, ok := mod.BTF.Find(btf.KindStruct, name)
	if !ok {
		s.Absent = true
		return failf(ErrNoHook, "struct_ops type %s of map %s: the kernel has no struct %s", name, s.Map.Name, name)
	}
	s.Module, s.ValueType, s.KernType = mod.Name, vt.ID, kt.ID
	s.Data = make([]byte, kt.Size)
	for i := range ops.Members {
		if err := l.copyMember(s, &ops.Members[i], mod.BTF, kt); err != nil {
			return err
		}
	}
	return nil
}

// copyMember copies one member's value to its offset on the target. A member that the target lacks
// must be zero; a program assigned to one is not loaded.
func (l *loading) copyMember(s *LinkedStructOps, mem *StructOpsMember, spec *btf.Spec, kt *btf.Type) *Error {
	ops := s.Map.StructOps
	end := uint64(mem.Off) + uint64(mem.Size)
	if end > uint64(len(ops.Data)) {
		return failf(ErrMapDef, "member %s of %s reaches beyond the variable", mem.Name, s.Map.Name)
	}
	data := ops.Data[mem.Off:end]
	km := kt.Member(mem.Name)
	if km == nil {
		if mem.Prog != "" {
			l.dropped[mem.Prog] = ops.TypeName + "." + mem.Name
			return nil
		}
		if len(bytes.Trim(data, "\x00")) != 0 {
			return failf(ErrNoHook, "member %s of struct_ops map %s is set, but the kernel's struct %s has no such member", mem.Name, s.Map.Name, kt.Name)
		}
		return nil
	}
	lt, tt := l.o.BTF.SkipMods(mem.Type), spec.SkipMods(km.Type)
	if lt.Kind != tt.Kind && !(lt.Kind.IsEnum() && tt.Kind.IsEnum()) {
		return failf(ErrNoHook, "member %s of struct_ops map %s is %s, but %s in the kernel", mem.Name, s.Map.Name, l.o.BTF.TypeString(mem.Type), spec.TypeString(km.Type))
	}
	if lt.Kind == btf.KindPtr && mem.Prog != "" {
		s.Progs[mem.Name] = mem.Prog
		return nil
	}
	size, err := spec.Sizeof(km.Type)
	off := uint64(km.BitOffset / 8)
	if err != nil || size != int64(mem.Size) || off+uint64(size) > uint64(len(s.Data)) {
		return failf(ErrNoHook, "member %s of struct_ops map %s has %d bytes, but %d in the kernel", mem.Name, s.Map.Name, mem.Size, size)
	}
	copy(s.Data[off:], data)
	return nil
}
