package bpfsys

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// TestWhichProgramsAreAttached: a type of program has its hooks, and some kinds only the one that
// they were loaded for (bpf_prog_attach_check_attach_type).
func TestWhichProgramsAreAttached(t *testing.T) {
	const ingress, egress = uapi.AttachCgroupInetIngress, uapi.AttachCgroupInetEgress
	for _, tt := range []struct {
		typ      uapi.ProgType
		expected uapi.AttachType
		bound    bool // what it returns fits its hook alone
		at       uapi.AttachType
		want     bool
	}{
		{uapi.ProgTypeCgroupSkb, ingress, false, ingress, true}, {uapi.ProgTypeCgroupSkb, ingress, false, egress, true},
		{uapi.ProgTypeCgroupSkb, egress, true, egress, true}, {uapi.ProgTypeCgroupSkb, egress, true, ingress, false},
		{uapi.ProgTypeCgroupSock, ingress, false, ingress, false},
		{uapi.ProgTypeSchedCls, 0, false, uapi.AttachTcxIngress, true}, {uapi.ProgTypeSchedCls, 0, false, uapi.AttachNetkitPeer, true}, {uapi.ProgTypeXDP, 0, false, uapi.AttachTcxEgress, false},
		{uapi.ProgTypeSkSkb, 0, false, uapi.AttachSkSkbVerdict, true}, {uapi.ProgTypeSkMsg, 0, false, uapi.AttachSkSkbVerdict, false},
		{uapi.ProgTypeSkMsg, 0, false, uapi.AttachSkMsgVerdict, true}, {uapi.ProgTypeSkSkb, 0, false, uapi.AttachSkMsgVerdict, false},
		{uapi.ProgTypeFlowDissector, 0, false, uapi.AttachFlowDissector, true}, {uapi.ProgTypeSkMsg, 0, false, uapi.AttachFlowDissector, false},
		{uapi.ProgTypeCgroupSockAddr, uapi.AttachCgroupInet4Bind, false, uapi.AttachCgroupInet4Bind, true},
		{uapi.ProgTypeCgroupSockAddr, uapi.AttachCgroupInet4Bind, false, uapi.AttachCgroupInet6Bind, false},
		{uapi.ProgTypeCgroupSockopt, uapi.AttachCgroupGetsockopt, false, uapi.AttachCgroupSetsockopt, false},
		{uapi.ProgTypeCgroupDevice, 0, false, uapi.AttachCgroupDevice, true}, {uapi.ProgTypeCgroupDevice, 0, false, uapi.AttachCgroupSysctl, false},
	} {
		p := &Prog{typ: tt.typ, expected: tt.expected, bound: tt.bound}
		assert.Equal(t, tt.want, p.attaches(tt.at), "%v for %v at %v", tt.typ, tt.expected, tt.at)
	}
}

// TestErrorsOfMaps: a program sees the kernel's error, or what stands for the simulation's own.
func TestErrorsOfMaps(t *testing.T) {
	assert.Equal(t, uapi.E2BIG, envErrno(&maps.CreateError{Errno: uapi.E2BIG}))
	assert.Equal(t, uapi.EOPNOTSUPP, envErrno(&maps.NotSimulated{}))
	assert.Equal(t, uapi.ENOMEM, envErrno(errors.New("no memory")))
}

// TestPagesOfArenasAreLimited: the copies of arenas' pages count as shared memory.
func TestPagesOfArenasAreLimited(t *testing.T) {
	const cost = 2 * uapi.PageSize
	s := &System{shared: maxShared - cost}
	m := &Map{arena: arenaView{pages: map[uint64][]byte{}}}
	assert.Len(t, s.addPage(m, 0), uapi.PageSize)
	assert.Equal(t, maxShared, s.shared)
	assert.Nil(t, s.addPage(m, uapi.PageSize))
	assert.Equal(t, maxShared, s.shared)
	s.dropArena(m)
	assert.Equal(t, maxShared-cost, s.shared)
}

// TestTestFunctionsOfOtherKernels: what a kernel does not have, or has with other parameters, is not
// called.
func TestTestFunctionsOfOtherKernels(t *testing.T) {
	b := btf.NewBuilder(nil)
	word := b.Int("int", 4, btf.IntSigned)
	fp := b.Add(btf.Type{Kind: btf.KindFuncProto, Ref: word, Params: []btf.Param{{Name: "a", Type: word}}})
	b.Add(btf.Type{Kind: btf.KindFunc, Name: "bpf_fentry_test1", Ref: fp})
	spec, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	s := &System{cfg: Config{Target: loader.NewTarget("small", spec)}}
	for _, f := range []testFunction{{name: "bpf_fentry_test1", args: []any{1, 2}}, {name: "bpf_fentry_test1"}, {name: "bpf_fentry_test2", args: []any{1}}} {
		ret, ran, err := s.call(nil, &f)
		assert.NoError(t, err)
		assert.Zero(t, ret)
		assert.False(t, ran)
	}
}
