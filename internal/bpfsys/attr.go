package bpfsys

import (
	"encoding/binary"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/bpfattr"
)

var le = binary.LittleEndian

// attrSize returns sizeof(union bpf_attr) according to the kernel's BTF.
func attrSize(spec *btf.Spec, r uapi.Release) int {
	if spec != nil {
		if t, ok := spec.Find(btf.KindUnion, "bpf_attr"); ok && t.Size >= 112 && t.Size <= bpfattr.Max {
			return int(t.Size)
		}
	}
	return bpfattr.Size(r)
}

// readAttr copies the union from the caller (bpf_check_uarg_tail_zero and copy_from_bpfptr).
func (s *System) readAttr(c Caller, addr uint64, size uint32) (*bpfattr.Union, uapi.Errno) {
	if size > uapi.PageSize {
		return nil, uapi.E2BIG
	}
	raw := make([]byte, size)
	if !c.Read(addr, raw) {
		return nil, uapi.EFAULT
	}
	if !zeroFrom(raw, s.attrSize) {
		return nil, uapi.E2BIG
	}
	return bpfattr.New(raw[:min(len(raw), s.attrSize)], c, addr, int(size)), 0
}

func zeroFrom(b []byte, at int) bool {
	for i := at; i < len(b); i++ {
		if b[i] != 0 {
			return false
		}
	}
	return true
}
