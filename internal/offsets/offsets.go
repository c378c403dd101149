// Package offsets finds accesses to kernel types at fixed offsets, which no CO-RE relocation
// adjusts, without running the program.
//
// It follows pointers to kernel types through registers and the stack: arguments by the hook's BTF,
// also in the registers of a kprobe; results of helpers and kfuncs by their prototypes; pointer
// members; and constants added before bpf_probe_read_kernel, including those of offsetof and
// sizeof. When BTF does not type an address that a helper reads, the object's DWARF may type the
// variable that holds it. Where joining paths disagree, the value is unknown and nothing is
// reported. It does not decide what a program may do (package verifier).
//
// Start at [Find].
package offsets

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// Access is one access at a fixed offset.
type Access struct {
	Program string
	Insn    int
	// Source is "file:line: text", empty without line information.
	Source string
	// Type is the kernel type, Offset the byte offset read, Size the number of bytes; 0 means a
	// string of any length. An offset outside the type comes from offsetof or sizeof: it refers to
	// the enclosing struct or to another array element.
	Type   string
	Offset int64
	Size   int
	// Meant is the field at Offset in the object's own declaration of the type, Hit the one in the
	// target's; "" when there is none.
	Meant, Hit string
	// Whole means that the access reads the target's whole type, as its size is there: nothing of
	// it is missed.
	Whole bool
	// Instead is the macro to use.
	Instead string
}

// stable are kernel types whose layout is ABI: programs may hard-code their offsets.
var stable = map[string]bool{
	"pt_regs": true, "user_pt_regs": true, "user_regs_struct": true, "sockaddr": true, "sockaddr_in": true, "sockaddr_in6": true, "sockaddr_un": true, "sockaddr_storage": true,
	"ethhdr": true, "iphdr": true, "ipv6hdr": true, "tcphdr": true, "udphdr": true, "icmphdr": true, "in6_addr": true, "in_addr": true, "iovec": true, "timespec": true,
	"bpf_list_node": true, "bpf_rb_node": true, // parts of objects that programs own
}

// Stable reports whether the layout of a kernel type is ABI.
func Stable(name string) bool { return stable[name] }

// Find returns the fixed-offset accesses of a linked object's programs, in instruction order.
func Find(l *loader.Linked) []Access {
	var out []Access
	if l.Target == nil || l.Target.BTF == nil {
		return nil
	}
	dwarf, made := &variables{object: l.Object}, kept.Get().(*states)
	defer kept.Put(made)
	for _, p := range l.Programs {
		if len(p.Insns) == 0 {
			continue
		}
		f := finder{
			l: l, p: p, spec: specOf(l, p), dwarf: dwarf, caller: p.Caller(), release: uapi.ReleaseOf(l.Target.Version), relocs: map[int]bool{}, found: map[int]Access{}, states: made,
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

// maxOffset bounds constants that count as offsets.
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

// several reports whether a read from the start of a struct covers more than its first field: the
// whole struct as the object declares it or, if the object's BTF has only the name, a size that no
// field there has.
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

// note records an access unless a relocation proves it.
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
		a.Whole = int64(size) == total
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
