package loader

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// TestRules: what the kernel's tables permit, at the release that changed it and the one before.
func TestRules(t *testing.T) {
	call := func(f uapi.FuncID) []decode.Insn {
		return []decode.Insn{{Code: codeCall, Imm: int32(f)}, {Code: 0x95}}
	}
	for _, c := range []struct {
		name    string
		section string
		license string
		release uapi.Release
		insns   []decode.Insn
		refs    map[int]Ref
		want    bool
	}{
		{"GPL helper", "kprobe/vfs_read", "GPL", uapi.R(6, 12), call(uapi.FuncProbeReadKernel), nil, true},
		{"GPL helper under another licence", "kprobe/vfs_read", "Apache-2.0", uapi.R(6, 12), call(uapi.FuncProbeReadKernel), nil, false},
		{"GPL helper under two licences", "kprobe/vfs_read", "Dual MIT/GPL", uapi.R(6, 12), call(uapi.FuncProbeReadKernel), nil, true},
		{"GPL helper without licence", "kprobe/vfs_read", "", uapi.R(6, 12), call(uapi.FuncProbeReadKernel), nil, false},
		{"helper for all", "xdp", "Apache-2.0", uapi.R(6, 12), call(uapi.FuncKtimeGetNs), nil, true},
		{"helper of another type", "xdp", "GPL", uapi.R(6, 12), call(uapi.FuncSkbLoadBytes), nil, false},
		{"helper of the type", "tc", "GPL", uapi.R(6, 12), call(uapi.FuncSkbLoadBytes), nil, true},
		{"sleeping helper", "fentry.s/vfs_read", "GPL", uapi.R(6, 12), call(uapi.FuncCopyFromUser), nil, true},
		{"sleeping helper in a program that must not", "fentry/vfs_read", "GPL", uapi.R(6, 12), call(uapi.FuncCopyFromUser), nil, false},
		{"bpf_d_path where the kernel has it", "fentry/vfs_getattr", "GPL", uapi.R(6, 12), call(uapi.FuncDPath), nil, true},
		{"bpf_d_path elsewhere", "fentry/vfs_read", "GPL", uapi.R(6, 12), call(uapi.FuncDPath), nil, false},
		{"LSM", "lsm/file_open", "GPL", uapi.R(6, 12), call(uapi.FuncGetCurrentTask), nil, true},
		{"LSM under another licence", "lsm/file_open", "BSD", uapi.R(6, 12), nil, nil, false},
		{"LSM hook that may sleep", "lsm.s/file_open", "GPL", uapi.R(6, 12), nil, nil, true},
		{"LSM hook that must not sleep", "lsm.s/task_free", "GPL", uapi.R(6, 12), nil, nil, false},
		{"LSM hook that may sleep since 6.12", "lsm.s/bpf_map_create", "GPL", uapi.R(6, 12), nil, nil, true},
		{"LSM hook that may sleep until 6.12", "lsm.s/bpf_map_alloc_security", "GPL", uapi.R(6, 12), nil, nil, false},
		{"LSM hook that may sleep before 6.9", "lsm.s/bpf_map_alloc_security", "GPL", uapi.R(6, 8), nil, nil, true},
		{"LSM hook without programs", "lsm/inode_getsecurity", "GPL", uapi.R(6, 1), nil, nil, false},
		{"LSM hook before it was without programs", "lsm/inode_getsecurity", "GPL", uapi.R(5, 10), nil, nil, true},
		{"bpf_d_path where the LSM may sleep", "lsm/file_open", "GPL", uapi.R(6, 12), call(uapi.FuncDPath), nil, true},
		{"bpf_d_path where the LSM must not", "lsm/task_free", "GPL", uapi.R(6, 12), call(uapi.FuncDPath), nil, false},
		{"hash of an inode", "lsm.s/file_open", "GPL", uapi.R(6, 12), call(uapi.FuncImaInodeHash), nil, true},
		{"hash of an inode in a hook that must not sleep", "lsm/task_free", "GPL", uapi.R(6, 12), call(uapi.FuncImaInodeHash), nil, false},
		{"socket storage in tracing", "fentry/tcp_connect", "GPL", uapi.R(6, 12), call(uapi.FuncSkStorageGet), nil, true},
		{"socket storage in tracing of itself", "fentry/bpf_sk_storage_free", "GPL", uapi.R(6, 12), call(uapi.FuncSkStorageGet), nil, false},
		{"socket storage in fmod_ret", "fmod_ret/tcp_connect", "GPL", uapi.R(6, 12), call(uapi.FuncSkStorageGet), nil, false},
		{"kfunc of sessions", "kprobe.session/tcp_connect", "GPL", uapi.R(6, 12), kfuncCall, kfuncRef("bpf_session_cookie"), true},
		{"kfunc of sessions elsewhere", "kprobe/tcp_connect", "GPL", uapi.R(6, 12), kfuncCall, kfuncRef("bpf_session_cookie"), false},
		{"sleepable uprobe before 6.0", "uprobe.s//bin/sh:main", "GPL", uapi.R(5, 19), nil, nil, false},
		{"sleepable uprobe in 6.0", "uprobe.s//bin/sh:main", "GPL", v60, nil, nil, true},
		{"extension", "freplace/f", "BSD", uapi.R(6, 12), call(uapi.FuncSkbLoadBytes), nil, true},
		{"kfunc", "fentry/vfs_read", "GPL", uapi.R(6, 12), kfuncCall, kfuncRef("bpf_task_acquire"), true},
		{"kfunc under another licence", "fentry/vfs_read", "MIT", uapi.R(6, 12), kfuncCall, kfuncRef("bpf_task_acquire"), false},
		{"kfunc of another type", "fentry/vfs_read", "GPL", uapi.R(6, 12), kfuncCall, kfuncRef("bpf_xdp_metadata_rx_hash"), false},
		{"kfunc no table has", "fentry/vfs_read", "GPL", uapi.R(6, 12), kfuncCall, kfuncRef("some_module_function"), true},
		{"kfunc with a flavor", "xdp", "GPL", uapi.R(6, 12), kfuncCall, kfuncRef("bpf_xdp_metadata_rx_hash___mine"), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &Program{Name: "p", Section: c.section, Insns: c.insns}
			new(Object).classify(p, nil)
			insns := c.insns
			if insns == nil {
				insns = []decode.Insn{{Code: 0x95}}
			}
			target := &Target{Version: uint32(c.release) << 8}
			linked := &Linked{Object: &Object{License: c.license, ByteOrder: binary.LittleEndian}, Target: target}
			lp := &LinkedProgram{Program: p, Insns: insns, Refs: c.refs, linked: linked}
			l := &loading{Linked: linked, o: linked.Object, t: target}
			err := l.checkRules(lp)
			assert.Equal(t, c.want, err == nil, "%v", err)
			if err != nil {
				assert.ErrorIs(t, err, ErrNotAllowed)
				assert.NotEmpty(t, err.Hint)
			}
		})
	}
}

var (
	v60       = uapi.R(6, 0)
	kfuncCall = []decode.Insn{{Code: codeCall, Src: 2, Imm: 1}, {Code: 0x95}}
)

func kfuncRef(name string) map[int]Ref {
	return map[int]Ref{0: {Kind: RefKfunc, Name: name, Resolved: true}}
}
