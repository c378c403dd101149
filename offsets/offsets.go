// Package offsets finds accesses of kernel types at fixed offsets: reads that no CO-RE relocation adjusts, without running the program.
//
// It follows pointers to kernel types through registers and the stack: arguments by the BTF of the hook, in the registers of a kprobe too, what helpers and
// kfuncs return by their prototypes, members that are pointers, and constants that are added before bpf_probe_read_kernel, those of offsetof and sizeof too. Where BTF says
// nothing of an address that is read by helper, the DWARF of the object may tell the type of the variable it is in. Where paths that meet disagree nothing is known, and
// nothing is reported. It does not judge what a program may do (package verifier).
//
// Start from [Find].
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package offsets

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/uapi"
)

// Access is one access at a fixed offset.
type Access struct {
	Program string
	Insn    int
	// Source is "file:line: text", empty without line information.
	Source string
	// Type is the kernel type, Offset where it is read, Size how many bytes; 0 is a string of any length. An offset outside the type
	// is one that offsetof or sizeof made: of the struct it is part of, or of another element of an array.
	Type   string
	Offset int64
	Size   int
	// Meant is the field the object's own declaration of the type has there, Hit the one of the target; "" when there is none.
	Meant, Hit string
	// Instead is the macro to use.
	Instead string
}

// stable are kernel types whose layout is ABI: programs may have their offsets baked in.
var stable = map[string]bool{
	"pt_regs": true, "user_pt_regs": true, "user_regs_struct": true, "sockaddr": true, "sockaddr_in": true, "sockaddr_in6": true, "sockaddr_un": true, "sockaddr_storage": true,
	"ethhdr": true, "iphdr": true, "ipv6hdr": true, "tcphdr": true, "udphdr": true, "icmphdr": true, "in6_addr": true, "in_addr": true, "iovec": true, "timespec": true,
	"bpf_list_node": true, "bpf_rb_node": true, // parts of objects that programs own
}

// Stable reports whether the layout of a kernel type is ABI.
func Stable(name string) bool { return stable[name] }

// Find returns the accesses at fixed offsets of the programs of a linked object, in the order of instructions.
func Find(l *loader.Linked) []Access {
	var out []Access
	if l.Target == nil || l.Target.BTF == nil {
		return nil
	}
	dwarf := &variables{object: l.Object}
	for _, p := range l.Programs {
		if len(p.Insns) == 0 {
			continue
		}
		f := finder{
			l: l, p: p, spec: specOf(l, p), dwarf: dwarf, caller: p.Caller(), release: uapi.ReleaseOf(l.Target.Version), relocs: map[int]bool{}, found: map[int]Access{},
		}
		for i := range p.Relocs {
			f.relocs[p.Relocs[i].Insn] = true
		}
		f.walk()
		var pcs []int
		for pc := range f.found {
			pcs = append(pcs, pc)
		}
		slices.Sort(pcs)
		for _, pc := range pcs {
			out = append(out, f.found[pc])
		}
	}
	return out
}

// maxOffset bounds constants that are taken for offsets.
const maxOffset = 1 << 20

// declared returns the object's own declaration of a kernel type.
func (f *finder) declared(typ btf.ID) (*btf.Spec, btf.ID) {
	own := f.l.Object.BTF
	if own == nil {
		return nil, 0
	}
	id, ok := own.FindID(f.spec.Kind(typ), f.spec.Name(typ))
	if !ok {
		return nil, 0
	}
	return own, id
}

// several reports whether a read from the start of a struct is of more than its first field: all of it as the object declares it, or, when the
// object's BTF has no more than the name, a size that no field there has.
func (f *finder) several(typ btf.ID, own *btf.Spec, id btf.ID, size int) bool {
	if size <= f.spec.PointerSize() {
		return false
	}
	if own == nil {
		path, _, _ := f.spec.FieldAt(typ, 0, size)
		return path == ""
	}
	total, err := own.Sizeof(id)
	return err == nil && int64(size) == total && len(own.MustType(id).Members) > 1
}

// note keeps an access that nothing proves.
func (f *finder) note(pc int, v value, off int64, size int, reloc bool, instead string) {
	name := f.spec.Name(v.typ)
	if reloc || v.proved || off < -maxOffset || off > maxOffset || stable[name] {
		return
	}
	total, err := f.spec.Sizeof(v.typ)
	if err != nil {
		return
	}
	a := Access{Program: f.p.Name, Insn: pc, Type: f.spec.TypeString(v.typ), Offset: off, Size: size, Instead: instead}
	n := max(size, 1)
	own, id := f.declared(v.typ)
	switch {
	case off < 0 || off >= total:
		a.Instead = "bpf_core_field_offset or bpf_core_type_size in place of offsetof or sizeof"
	case off == 0 && f.several(v.typ, own, id, size):
		a.Meant, a.Hit = fmt.Sprintf("%d bytes of it", size), fmt.Sprintf("%d of its %d bytes", min(int64(size), total), total)
		a.Instead = "bpf_core_type_size in place of sizeof, and BPF_CORE_READ of the fields that are used"
	default:
		a.Hit, _, _ = f.spec.FieldAt(v.typ, uint32(off), n)
		if own != nil {
			a.Meant, _, _ = own.FieldAt(id, uint32(off), n)
		}
	}
	if line, ok := f.p.LineAt(pc); ok {
		a.Source = line.File + ":" + strconv.Itoa(int(line.Line))
		if text := strings.TrimSpace(line.Text); text != "" {
			a.Source += ": " + text
		}
	}
	f.found[pc] = a
}
