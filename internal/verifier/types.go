package verifier

import (
	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

// kernelSpec is the number of the kernel's own types; without them there is no verdict.
func (u *subject) kernelSpec() uint8 {
	if u.k.BTF == nil {
		u.unknown("types of the kernel: no BTF")
	}
	return u.addSpec(u.k.BTF)
}

// isKernelSpec reports whether the types are those of the kernel or a module.
func (u *subject) isKernelSpec(n uint8) bool {
	return n == 0 || u.specs[n-1] != u.p.BTF && u.specs[n-1] != u.targetBTF()
}

func (u *subject) targetBTF() *btf.Spec {
	if u.p.AttachProg != nil {
		return u.p.AttachProg.BTF
	}
	return nil
}

// kernelType finds a struct of the kernel by name.
func (u *subject) kernelType(name string) (btf.ID, bool) {
	if u.k.BTF == nil {
		return 0, false
	}
	return u.k.BTF.FindID(btf.KindStruct, name)
}

func (u *subject) specName(spec uint8, id uint32) string {
	if spec == 0 {
		return ""
	}
	return u.specs[spec-1].SkipMods(btf.ID(id)).Name
}

// sameType reports whether two types are one. Ids mean something within one BTF only.
func (u *subject) sameType(a uint8, aid btf.ID, b uint8, bid btf.ID) bool {
	return u.specs[a-1] == u.specs[b-1] && aid == bid
}

// moduleSpec returns the types of a module, which continue those of the kernel.
func (u *subject) moduleSpec(name string) *btf.Spec {
	if name == "" || name == "vmlinux" {
		return u.k.BTF
	}
	for _, m := range u.k.Modules {
		if m.Name == name {
			return m.BTF
		}
	}
	return nil
}

// declared returns the kfuncs that the image of the kernel or of a module declares.
func (u *subject) declared(module string) *proto.Declared {
	for i := range u.k.Modules {
		if u.k.Modules[i].Name == module {
			return u.k.Modules[i].Kfuncs
		}
	}
	return u.k.Kfuncs
}

// scalarStruct reports whether a struct has nothing but numbers, so that a program may fill it with
// anything (__btf_type_is_scalar_struct). The kernel looks four levels deep.
func (u *subject) scalarStruct(s *btf.Spec, t *btf.Type, depth int) bool {
	if t.Kind != btf.KindStruct && t.Kind != btf.KindUnion {
		return false
	}
	for i := range t.Members {
		m := s.SkipMods(t.Members[i].Type)
		switch m.Kind {
		case btf.KindStruct, btf.KindUnion:
			if depth >= 3 {
				u.say(refusal.MaxStructNestingDepthExceeded)
				return false
			}
			if !u.scalarStruct(s, m, depth+1) {
				return false
			}
		case btf.KindArray:
			// The kernel does not look into arrays of structs.
			if m.Array.Nelems == 0 || !isScalarType(s.SkipMods(m.Ref)) {
				return false
			}
		default:
			if !isScalarType(m) {
				return false
			}
		}
	}
	return true
}

// isScalarType reports integers and enumerations (btf_type_is_scalar).
func isScalarType(t *btf.Type) bool {
	return t.Kind == btf.KindInt || t.Kind == btf.KindEnum || t.Kind == btf.KindEnum64
}

// lineAt returns the source line of an instruction.
func (u *subject) lineAt(i int) *Line {
	var out *Line
	for j := range u.p.Lines {
		if u.p.Lines[j].Insn > i {
			break
		}
		out = &u.p.Lines[j]
	}
	return out
}

// typeName names a type as messages of the release do.
func (u *subject) typeName(t regType) string {
	if t == scalar && !u.has(since.ScalarWords) {
		return "inv"
	}
	if t&memRingbuf != 0 && !u.has(since.RingbufWords) {
		t &^= memRingbuf
		if u.has(since.AllocWords) {
			return "alloc_" + t.String()
		}
	}
	return t.String()
}
