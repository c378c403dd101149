package maps

import (
	"fmt"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

const (
	accessFlags = uapi.MapRdonly | uapi.MapWronly | uapi.MapRdonlyProg | uapi.MapWronlyProg
	allFlags    = 1<<20 - 1
)

// accessOK mirrors bpf_map_flags_access_ok: a program must be able to read or to write.
func accessOK(flags uint32) bool {
	const both = uapi.MapRdonlyProg | uapi.MapWronlyProg
	return flags&both != both
}

func (b *base) refuseFlags(allowed uint32) *CreateError {
	if !accessOK(b.spec.Flags) {
		return b.refuse(uapi.EINVAL, "BPF_F_RDONLY_PROG and BPF_F_WRONLY_PROG exclude each other")
	}
	return b.refuse(uapi.EINVAL, fmt.Sprintf("map_flags %#x are not allowed for this type", b.spec.Flags&^allowed))
}
