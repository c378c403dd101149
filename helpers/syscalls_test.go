package helpers

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// fakeProcess has descriptor 3, whatever is called.
type fakeProcess struct {
	calls  []uint32
	closed []uint32
	user   map[uint64]byte
}

func (p *fakeProcess) Bpf(cmd uint32, _ uint64, size uint32) (int64, string) {
	p.calls = append(p.calls, cmd)
	if size < 8 {
		return uapi.EINVAL.Neg(), "refused"
	}
	return 3, "made"
}

func (p *fakeProcess) Close(fd uint32) uapi.Errno {
	if p.closed = append(p.closed, fd); fd != 3 {
		return uapi.EBADF
	}
	return 0
}

func (p *fakeProcess) OpenBTF(*btf.Spec) (uint32, uapi.Errno) { return 5, 0 }

func (p *fakeProcess) ReadUser(addr uint64, b []byte) bool {
	for i := range b {
		c, ok := p.user[addr+uint64(i)]
		if !ok {
			return false
		}
		b[i] = c
	}
	return true
}

// TestSyscallsOfPrograms: bpf_sys_bpf makes the calls that the release allows, in the name of the
// process.
func TestSyscallsOfPrograms(t *testing.T) {
	r := newRig(t, newest)
	attr := r.space(16)
	_, f := r.call(uapi.FuncSysBpf, uint64(uapi.CmdMapCreate), attr, 16)
	require.NotNil(t, f, "there is no process")
	assert.Equal(t, vm.NotSimulated, f.Kind)
	assert.Equal(t, neg(uapi.EBADF), r.ok(uapi.FuncSysClose, 3), "nor a descriptor")

	p := &fakeProcess{user: map[uint64]byte{0x7f1234567000: 42}}
	r.env.SetSyscalls(p)
	assert.EqualValues(t, 3, r.ok(uapi.FuncSysBpf, uint64(uapi.CmdMapCreate), attr, 16))
	assert.Equal(t, neg(uapi.EINVAL), r.ok(uapi.FuncSysBpf, uint64(uapi.CmdProgLoad), attr, 4), "too short")
	require.Len(t, r.env.Run.Events, 2)
	assert.Equal(t, SysBPF, r.env.Run.Events[0].Kind)
	assert.EqualValues(t, 3, r.env.Run.Events[0].Number)
	assert.Zero(t, r.env.Run.Events[1].Number)
	for _, cmd := range []uapi.Cmd{uapi.CmdMapLookupElem, uapi.CmdProgTestRun, uapi.CmdObjPin, 99} {
		assert.Equal(t, neg(uapi.EINVAL), r.ok(uapi.FuncSysBpf, uint64(cmd), attr, 16), cmd)
	}
	assert.Equal(t, []uint32{uint32(uapi.CmdMapCreate), uint32(uapi.CmdProgLoad)}, p.calls)
	assert.Zero(t, r.ok(uapi.FuncSysClose, 3))
	assert.Equal(t, neg(uapi.EBADF), r.ok(uapi.FuncSysClose, 77))

	// User memory that is not simulated is the process's.
	out := r.alloc([]byte{1, 1})
	assert.Zero(t, r.ok(uapi.FuncCopyFromUser, out, 1, 0x7f1234567000))
	assert.Equal(t, []byte{42, 1}, r.bytes(out, 2))
	assert.Equal(t, neg(uapi.EFAULT), r.ok(uapi.FuncCopyFromUser, out, 2, 0x7f1234567000))
	r.env.SetSyscalls(nil)
	assert.Equal(t, neg(uapi.EFAULT), r.ok(uapi.FuncCopyFromUser, out, 1, 0x7f1234567000))
}

// TestSyscallsBegin: commands that bpf_sys_bpf takes since a later release.
func TestSyscallsBegin(t *testing.T) {
	for cmd, since := range map[uapi.Cmd]uint32{
		uapi.CmdMapFreeze: uapi.VersionCode(5, 14), uapi.CmdLinkCreate: uapi.VersionCode(5, 18), uapi.CmdRawTracepointOpen: uapi.VersionCode(5, 18),
		uapi.CmdMapDeleteElem: uapi.VersionCode(6, 1), uapi.CmdMapGetFdById: uapi.VersionCode(6, 1),
	} {
		for _, version := range []uint32{uapi.VersionCode(5, 14), uapi.VersionCode(5, 17), uapi.VersionCode(5, 18), uapi.VersionCode(6, 0), uapi.VersionCode(6, 1)} {
			r := newRig(t, version)
			r.env.SetSyscalls(&fakeProcess{})
			want := uint64(3)
			if version < since {
				want = neg(uapi.EINVAL)
			}
			assert.Equal(t, want, r.ok(uapi.FuncSysBpf, uint64(cmd), r.space(16), 16), "%v on %#x", cmd, version)
		}
	}
}
