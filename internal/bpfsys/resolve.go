package bpfsys

import (
	"math"
	"slices"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/bpfattr"
	"github.com/bpfrun/bpfrun/loader"
)

// resolver resolves the descriptors and BTF ids in a program's instructions
// (resolve_pseudo_ldimm64, add_kfunc_call).
type resolver struct {
	s    *System
	c    Caller
	a    bpfattr.ProgLoad
	p    *Prog
	raw  *loader.Raw
	log  *userLog
	dump []byte // instructions as BPF_OBJ_GET_INFO_BY_FD returns them
}

// maxUsedMaps is the kernel's MAX_USED_MAPS.
const maxUsedMaps = 64

func (r *resolver) resolve() uapi.Errno {
	if e := r.listed(); e != 0 {
		return e
	}
	insns := r.raw.Insns
	for i := 0; i < len(insns); i++ {
		in := &insns[i]
		switch op := in.Op(); op {
		case decode.OpLdMapFD, decode.OpLdMapValue, decode.OpLdMapIdx, decode.OpLdMapIdxValue:
			if i+1 >= len(insns) {
				return 0 // the verifier reports it
			}
			if e := r.mapRef(i, op); e != 0 {
				return e
			}
			i++
		case decode.OpLdBTFID:
			if i+1 >= len(insns) {
				return 0
			}
			if e := r.ksym(i); e != 0 {
				return e
			}
			i++
		case decode.OpLdFunc:
			r.raw.Refs[i] = loader.Ref{Kind: loader.RefFunc, Func: i + 1 + int(in.Imm), Resolved: true}
			i++
		case decode.OpLdImm64:
			i++
		case decode.OpCallKfunc:
			if e := r.kfunc(i); e != 0 {
				return e
			}
		}
	}
	return 0
}

// listed checks the descriptors of an fd_array whose length is given (process_fd_array).
func (r *resolver) listed() uapi.Errno {
	n := r.a.FdArrayCnt()
	if n >= math.MaxUint32/4 {
		return uapi.EINVAL
	}
	b := make([]byte, 4)
	for i := range uint64(n) {
		if !r.c.Read(r.a.FdArray()+4*i, b) {
			return uapi.EFAULT
		}
		fd := int32(le.Uint32(b))
		if _, _, e := fileOf[*BTF](r.c, fd); e == 0 {
			continue
		}
		if _, _, e := fileOf[*Map](r.c, fd); e != 0 {
			r.log.printf("fd %d is not pointing to valid bpf_map or btf\n", fd)
			return e
		}
	}
	return 0
}

// mapRef resolves a reference to a map or to its value.
func (r *resolver) mapRef(i int, op decode.Op) uapi.Errno {
	in, next := &r.raw.Insns[i], &r.raw.Insns[i+1]
	fd := in.Imm
	if op == decode.OpLdMapIdx || op == decode.OpLdMapIdxValue {
		var e uapi.Errno
		if fd, e = r.fdArray(in.Imm); e != 0 {
			return e
		}
	}
	m, _, e := fileOf[*Map](r.c, fd)
	if e != 0 {
		r.log.printf("fd %d is not pointing to valid bpf_map\n", fd)
		return e
	}
	value := op == decode.OpLdMapValue || op == decode.OpLdMapIdxValue
	ref := loader.Ref{Kind: loader.RefMap, Map: m.def, Resolved: true}
	if value {
		off := uint32(next.Imm)
		direct, ok := m.m.(maps.ValueBase)
		if !ok {
			r.log.printf("no map_direct_value_addr for this map type\n")
			return uapi.EINVAL
		}
		if off >= 1<<29 {
			r.log.printf("direct value offset of %d is not allowed\n", off)
			return uapi.EINVAL
		}
		if _, e := direct.DirectValue(off); e != 0 {
			r.log.printf("invalid access to map value pointer, value_size=%d off=%d\n", m.def.ValueSize, off)
			return e
		}
		ref.Kind, ref.Off = loader.RefMapValue, off
	} else if next.Imm != 0 {
		r.log.printf("unrecognized bpf_ld_imm64 insn\n")
		return uapi.EINVAL
	}
	r.raw.Refs[i] = ref
	// The program holds its maps, each once.
	if !slices.Contains(r.p.maps, m) {
		if len(r.p.maps) >= maxUsedMaps {
			return uapi.E2BIG
		}
		r.p.maps, r.raw.Maps = append(r.p.maps, m), append(r.raw.Maps, m.def)
	}
	// Descriptors mean nothing to others, so the program is shown with ids.
	le.PutUint32(r.dump[8*i+4:], m.id)
	// Refs holds the reference from here on.
	in.Imm, in.Src = 0, 1
	if value {
		in.Src = 2
	}
	next.Imm = int32(ref.Off)
	if !value {
		next.Imm = 0
	}
	r.setSource(i, in.Src)
	return 0
}

// setSource sets the source register field of the instruction that is shown.
func (r *resolver) setSource(i int, src uint8) {
	r.dump[8*i+1] = r.dump[8*i+1]&0x0f | src<<4
}

// fdArray reads an element of the caller's fd_array.
func (r *resolver) fdArray(index int32) (int32, uapi.Errno) {
	at := r.a.FdArray()
	if at == 0 {
		r.log.printf("fd_idx without fd_array is invalid\n")
		return 0, uapi.EPROTO
	}
	if index < 0 {
		return 0, uapi.EINVAL
	}
	b := make([]byte, 4)
	if !r.c.Read(at+4*uint64(index), b) {
		return 0, uapi.EFAULT
	}
	return int32(le.Uint32(b)), 0
}

// module returns the BTF object of a module's descriptor; fd 0 means the kernel.
func (r *resolver) module(fd int32) (*BTF, uapi.Errno) {
	if fd == 0 {
		if r.s.vmlinux == nil {
			return nil, uapi.EINVAL
		}
		return r.s.vmlinux, 0
	}
	b, _, e := fileOf[*BTF](r.c, fd)
	switch {
	case e != 0:
		r.log.printf("invalid module BTF object FD specified.\n")
		return nil, uapi.EINVAL
	case !b.kernel:
		return nil, uapi.EINVAL
	}
	if b != r.s.vmlinux && !slices.Contains(r.p.btfs, b) {
		r.p.btfs = append(r.p.btfs, b)
	}
	return b, 0
}

// ksym resolves the address of a kernel variable (check_pseudo_btf_id).
func (r *resolver) ksym(i int) uapi.Errno {
	in, next := &r.raw.Insns[i], &r.raw.Insns[i+1]
	b, e := r.module(next.Imm)
	if e != 0 {
		return e
	}
	id := btf.ID(in.Imm)
	t, err := b.spec.Type(id)
	if err != nil || t.Kind != btf.KindVar && t.Kind != btf.KindFunc {
		r.log.printf("pseudo btf_id %d in ldimm64 isn't KIND_VAR or KIND_FUNC\n", id)
		return uapi.EINVAL
	}
	r.raw.Refs[i] = loader.Ref{Kind: loader.RefKsymBTF, Name: t.Name, TypeID: id, Module: b.name, Resolved: true}
	in.Imm, next.Imm = 0, 0
	return 0
}

// kfunc resolves a call to a kernel function; the instruction's offset selects the module in
// fd_array.
func (r *resolver) kfunc(i int) uapi.Errno {
	in := &r.raw.Insns[i]
	fd := int32(0)
	if in.Off != 0 {
		if in.Off < 0 {
			r.log.printf("negative offset disallowed for kernel module function call\n")
			return uapi.EINVAL
		}
		var e uapi.Errno
		if fd, e = r.fdArray(int32(in.Off)); e != 0 {
			return e
		}
	}
	ref := loader.Ref{Kind: loader.RefKfunc, TypeID: btf.ID(in.Imm), Module: "vmlinux"}
	b, e := r.module(fd)
	if e != 0 {
		return e
	}
	if t, err := b.spec.Type(ref.TypeID); err == nil && t.Kind == btf.KindFunc && in.Imm > 0 {
		ref.Name, ref.Resolved = t.Name, true
	}
	ref.Module = b.name
	r.raw.Refs[i] = ref
	in.Off = 0
	return 0
}
