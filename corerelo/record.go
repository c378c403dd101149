package corerelo

import "github.com/bpfrun/bpfrun/btf"

// Record is one CO-RE record of .BTF.ext (struct bpf_core_relo).
type Record struct {
	InsnOff uint32 // bytes from the start of the ELF section
	TypeID  btf.ID // root type in the object's BTF
	Access  string // access string, e.g. "0:1:2"
	Kind    Kind
}

// Target is the kernel that an object is relocated against.
type Target struct {
	// BTF of the kernel itself (vmlinux).
	BTF *btf.Spec
	// Modules holds split BTF on top of BTF. They are searched only for types without a candidate
	// in BTF. Nil entries are skipped.
	Modules []*btf.Spec
	// ModuleNames names Modules in messages; it may be shorter or nil.
	ModuleNames []string
	// InKernel resolves as the kernel itself does for records passed with the program, as light
	// skeletons do (kernel/bpf/btf.c bpf_core_apply): candidates are never pruned, ENUM is not a
	// candidate for ENUM64, and prototypes nest at most two levels.
	InKernel bool
}

// name returns the name in messages of BTF number i; -1 is the kernel.
func (t *Target) name(module int) string {
	if module < 0 {
		return "vmlinux"
	}
	if module < len(t.ModuleNames) && t.ModuleNames[module] != "" {
		return t.ModuleNames[module]
	}
	return "module"
}

// Candidate is a target type with the same kind and essential name as the local root type.
type Candidate struct {
	BTF    *btf.Spec
	ID     btf.ID
	Source string // "vmlinux" or the module's name
}
