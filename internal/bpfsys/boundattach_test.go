package bpfsys_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// TestWhereProgramsOfCgroupsMayBeAttached: elsewhere than they said when they were loaded, unless
// the kernel relies on what they said (bpf_prog_attach_check_attach_type).
func TestWhereProgramsOfCgroupsMayBeAttached(t *testing.T) {
	const in, out = uapi.AttachCgroupInetIngress, uapi.AttachCgroupInetEgress
	for _, tt := range []struct {
		name     string
		typ      uapi.ProgType
		expected uapi.AttachType
		insns    []decode.Insn
		at       uapi.AttachType
		want     uapi.Errno
	}{
		{"ingress", uapi.ProgTypeCgroupSkb, in, returning(1), in, 0},
		{"ingress as egress", uapi.ProgTypeCgroupSkb, in, returning(1), out, 0},
		{"egress that passes and drops, as ingress", uapi.ProgTypeCgroupSkb, out, returning(1), in, 0},
		{"egress that tells of congestion", uapi.ProgTypeCgroupSkb, out, returning(2), out, 0},
		{"the same as ingress", uapi.ProgTypeCgroupSkb, out, returning(2), in, uapi.EINVAL},
		{"egress that drops and tells of congestion, as ingress", uapi.ProgTypeCgroupSkb, out, returning(3), in, uapi.EINVAL},
		{"any of four results, as ingress", uapi.ProgTypeCgroupSkb, out, []decode.Insn{{Code: 0x61, Dst: 0, Src: 1}, {Code: 0x57, Dst: 0, Imm: 3}, {Code: 0x95}}, in, 0},
		{"addresses of IPv4", uapi.ProgTypeCgroupSockAddr, uapi.AttachCgroupInet4Connect, returning(1), uapi.AttachCgroupInet4Connect, 0},
		{"addresses of IPv4 as IPv6", uapi.ProgTypeCgroupSockAddr, uapi.AttachCgroupInet4Connect, returning(1), uapi.AttachCgroupInet6Connect, uapi.EINVAL},
	} {
		k := newCaller(t, newestKernel(t))
		p := k.must(k.load(tt.typ, tt.insns, field{68, int(tt.expected)}))
		_, r := k.try(uapi.CmdProgAttach, field{0, cgroupFD}, field{4, p}, field{8, int(tt.at)}, field{12, 0})
		assert.Equal(t, tt.want, r.errno, tt.name)
		k = newCaller(t, newestKernel(t))
		p = k.must(k.load(tt.typ, tt.insns, field{68, int(tt.expected)}))
		_, r = k.try(uapi.CmdLinkCreate, field{0, p}, field{4, cgroupFD}, field{8, int(tt.at)}, field{12, 0})
		assert.Equal(t, tt.want, r.errno, "a link: %s", tt.name)
	}
}
