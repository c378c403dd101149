package bpfsys_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// fdKey is a key that names an object by a descriptor.
func (k *caller) fdKey(fd int) uint64 { return k.put(le.AppendUint64(nil, uint64(fd))) }

// word is an element's value of eight bytes.
func (k *caller) word(v uint64) uint64 { return k.put(le.AppendUint64(nil, v)) }

func (k *caller) elem(cmd uapi.Cmd, m int64, key, value, flags uint64) uapi.Errno {
	_, r := k.try(cmd, field{0, int(m)}, field{8, key}, field{16, value}, field{24, flags})
	return r.errno
}

func (k *caller) read(m int64, key uint64) (uint64, uapi.Errno) {
	at := k.room(64)
	e := k.elem(uapi.CmdMapLookupElem, m, key, at, 0)
	return le.Uint64(k.at(at, 8)), e
}

func TestLocalStorageOfDescriptors(t *testing.T) {
	spec := newestKernel(t)
	for _, tt := range []struct {
		typ    uapi.MapType
		fd     int
		not    int // a descriptor that names no owner
		errnum uapi.Errno
	}{
		{uapi.MapTypeTaskStorage, pidFD, socketFD, uapi.EBADF},
		{uapi.MapTypeInodeStorage, socketFD, 99, uapi.EBADF},
		{uapi.MapTypeSkStorage, socketFD, cgroupFD, uapi.ENOTSOCK},
		{uapi.MapTypeCgrpStorage, cgroupFD, socketFD, uapi.EBADF},
	} {
		t.Run(tt.typ.String(), func(t *testing.T) {
			k := newCaller(t, spec)
			m, r := k.create(tt.typ)
			require.Zero(t, r.errno, r.notes)
			key := k.fdKey(tt.fd)
			_, e := k.read(m, key)
			assert.Equal(t, uapi.ENOENT, e, "nothing is stored yet")
			assert.Equal(t, uapi.ENOENT, k.elem(uapi.CmdMapUpdateElem, m, key, k.word(1), uapi.Exist))
			assert.Zero(t, k.elem(uapi.CmdMapUpdateElem, m, key, k.word(41), 0))
			assert.Equal(t, uapi.EEXIST, k.elem(uapi.CmdMapUpdateElem, m, key, k.word(1), uapi.NoExist))
			assert.Zero(t, k.elem(uapi.CmdMapUpdateElem, m, key, k.word(42), uapi.Exist))
			v, e := k.read(m, key)
			assert.Zero(t, e)
			assert.Equal(t, uint64(42), v)
			assert.Equal(t, uapi.ENOTSUPP, k.elem(uapi.CmdMapGetNextKey, m, 0, k.room(8), 0))
			assert.Equal(t, tt.errnum, k.elem(uapi.CmdMapUpdateElem, m, k.fdKey(tt.not), k.word(1), 0))
			assert.Zero(t, k.elem(uapi.CmdMapDeleteElem, m, key, 0, 0))
			assert.Equal(t, uapi.ENOENT, k.elem(uapi.CmdMapDeleteElem, m, key, 0, 0))
		})
	}
}

// TestProgramsSeeTaskStorage stores values for a process and for a thread of it that is not its
// first; a program that runs in their tasks finds them, one in another task does not.
func TestProgramsSeeTaskStorage(t *testing.T) {
	k := newCaller(t, newestKernel(t))
	m, r := k.create(uapi.MapTypeTaskStorage)
	require.Zero(t, r.errno)
	require.Zero(t, k.elem(uapi.CmdMapUpdateElem, m, k.fdKey(pidFD), k.word(42), 0))
	k.files[pidFD] = bpfsys.File{Kind: bpfsys.PidFile, PID: 1, TGID: 9}
	require.Zero(t, k.elem(uapi.CmdMapUpdateElem, m, k.fdKey(pidFD), k.word(43), 0))
	p := k.must(k.load(uapi.ProgTypeTracing, []decode.Insn{
		{Code: 0x85, Imm: 158},                          // bpf_get_current_task_btf
		{Code: 0xbf, Dst: 2},                            // r2 = r0
		{Code: 0x18, Dst: 1, Src: 1, Imm: int32(m)}, {}, // r1 = map
		{Code: 0xb7, Dst: 3}, {Code: 0xb7, Dst: 4}, // no value, no flags
		{Code: 0x85, Imm: 156},                           // bpf_task_storage_get
		{Code: 0x15, Off: 1}, {Code: 0x79}, {Code: 0x95}, // if r0: r0 = *r0
	}, field{68, int(uapi.AttachTraceRawTp)}, k.target(uapi.ProgTypeTracing, uapi.AttachTraceRawTp)[0], field{112, 0}))
	_, r = k.try(uapi.CmdRawTracepointOpen, field{0, uint64(0)}, field{8, p})
	require.Zero(t, r.errno, r.notes)
	for _, tt := range []struct {
		task map[string]any
		want uint64
	}{
		{map[string]any{"pid": int64(1)}, 42},
		{map[string]any{"pid": int64(1), "tgid": int64(1)}, 42},
		{map[string]any{"pid": int64(1), "tgid": int64(9)}, 43},
		{map[string]any{"pid": int64(2)}, 0},
		{map[string]any{"pid": int64(2), "tgid": int64(2)}, 0},
	} {
		fired, err := k.s.Fire(bpfsys.Event{Hook: "sched_switch", Task: tt.task})
		require.NoError(t, err)
		require.Len(t, fired, 1)
		require.NoError(t, fired[0].Err)
		assert.Equal(t, tt.want, fired[0].Ret, "task %v", tt.task)
	}
}

// TestCgroupStorageIsTheAttachments checks that user space and a program that is attached to a
// cgroup share the storage of cgroup and attach type.
func TestCgroupStorageIsTheAttachments(t *testing.T) {
	spec := newestKernel(t)
	for _, typ := range []uapi.MapType{uapi.MapTypeCgroupStorage, uapi.MapTypePercpuCgroupStorage} {
		t.Run(typ.String(), func(t *testing.T) {
			k := newCaller(t, spec)
			m, r := k.create(typ)
			require.Zero(t, r.errno)
			load := func() int {
				return k.must(k.load(uapi.ProgTypeCgroupSkb, []decode.Insn{
					{Code: 0x18, Dst: 1, Src: 1, Imm: int32(m)}, {}, {Code: 0xb7, Dst: 2}, {Code: 0x85, Imm: 81}, // bpf_get_local_storage
					{Code: 0x79}, {Code: 0x57, Imm: 1}, {Code: 0x95}, // r0 = *r0 & 1
				}))
			}
			key := make([]byte, 16)
			le.PutUint64(key, cgroupFD)
			le.PutUint32(key[8:], uint32(uapi.AttachCgroupInetEgress))
			at := k.put(key)
			_, e := k.read(m, at)
			assert.Equal(t, uapi.ENOENT, e, "no program is attached")
			assert.Equal(t, uapi.ENOENT, k.elem(uapi.CmdMapGetNextKey, m, 0, k.room(16), 0))
			_, r = k.try(uapi.CmdProgAttach, field{0, cgroupFD}, field{4, load()}, field{8, int(uapi.AttachCgroupInetEgress)}, field{12, 0})
			require.Zero(t, r.errno)
			next := k.room(16)
			assert.Zero(t, k.elem(uapi.CmdMapGetNextKey, m, 0, next, 0))
			assert.Equal(t, key, k.at(next, 16))
			assert.Equal(t, uapi.ENOENT, k.elem(uapi.CmdMapGetNextKey, m, next, k.room(16), 0))

			value := make([]byte, 64) // of each CPU
			value[0], value[8] = 1, 3
			require.Zero(t, k.elem(uapi.CmdMapUpdateElem, m, at, k.put(value), 0))
			for cpu, want := range []uint64{1, 1} {
				fired, err := k.s.Fire(bpfsys.Event{Hook: "cgroup_inet_egress", CPU: cpu})
				require.NoError(t, err)
				require.NoError(t, fired[0].Err)
				assert.Equal(t, want, fired[0].Ret)
			}
			out := k.room(64)
			assert.Zero(t, k.elem(uapi.CmdMapLookupElem, m, at, out, 0))
			assert.Equal(t, uint64(1), le.Uint64(k.at(out, 8)))
			if typ == uapi.MapTypePercpuCgroupStorage {
				assert.Equal(t, uint64(3), le.Uint64(k.at(out+8, 8)), "the value of CPU 1")
			}
			assert.Equal(t, uapi.EINVAL, k.elem(uapi.CmdMapDeleteElem, m, at, 0, 0))
			le.PutUint32(key[8:], uint32(uapi.AttachCgroupInetIngress))
			_, e = k.read(m, k.put(key))
			assert.Equal(t, uapi.ENOENT, e, "the storage of another attach type")
		})
	}
}

func TestSocketsInMaps(t *testing.T) {
	spec := newestKernel(t)
	socket := func(k *caller, typ, protocol uint16, state uint8, bound bool) uint64 {
		fd := k.next
		k.next++
		k.files[fd] = bpfsys.File{Kind: bpfsys.SocketFile, Inode: uint64(fd), Socket: &bpfsys.SocketInfo{
			Family: 2, Type: typ, Protocol: protocol, State: state, Bound: bound, Reuseport: bound, Cookie: 1000 + uint64(fd),
		}}
		return k.word(uint64(fd))
	}
	for _, tt := range []struct {
		name          string
		typ, protocol uint16
		state         uint8
		bound         bool
		sock, reuse   uapi.Errno
	}{
		{"established TCP", 1, 6, 1, true, 0, uapi.EINVAL},
		{"listening TCP", 1, 6, 10, true, 0, 0},
		{"closed TCP", 1, 6, 7, false, uapi.EOPNOTSUPP, uapi.EINVAL},
		{"bound UDP", 2, 17, 7, true, 0, 0},
		{"unbound UDP", 2, 17, 7, false, uapi.EOPNOTSUPP, uapi.EINVAL},
		{"raw", 3, 1, 7, true, uapi.EOPNOTSUPP, uapi.ENOTSUPP},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for typ, want := range map[uapi.MapType]uapi.Errno{uapi.MapTypeSockmap: tt.sock, uapi.MapTypeSockhash: tt.sock, uapi.MapTypeReuseportSockarray: tt.reuse} {
				k := newCaller(t, spec)
				m := int64(k.must(k.createMap(typ, 4, 8, 2, 0)))
				fd := socket(k, tt.typ, tt.protocol, tt.state, tt.bound)
				key := k.word(1)
				assert.Equal(t, want, k.elem(uapi.CmdMapUpdateElem, m, key, fd, 0), typ)
				v, e := k.read(m, key)
				if want != 0 {
					assert.Equal(t, uapi.ENOENT, e, typ)
					continue
				}
				assert.Zero(t, e, typ)
				assert.Equal(t, 1000+le.Uint64(k.at(fd, 8)), v, "the cookie; %s", typ)
				assert.Equal(t, uapi.EEXIST, k.elem(uapi.CmdMapUpdateElem, m, key, fd, uapi.NoExist), typ)
				assert.Zero(t, k.elem(uapi.CmdMapDeleteElem, m, key, 0, 0), typ)
				assert.Equal(t, uapi.ENOTSOCK, k.elem(uapi.CmdMapUpdateElem, m, key, k.word(cgroupFD), 0), typ)
				assert.Equal(t, uapi.EINVAL, k.elem(uapi.CmdMapUpdateElem, m, key, k.word(1<<40), 0), typ)
			}
		})
	}
	k := newCaller(t, spec)
	m := int64(k.must(k.createMap(uapi.MapTypeSockmap, 4, 4, 2, 0)))
	assert.Zero(t, k.elem(uapi.CmdMapUpdateElem, m, k.word(0), k.word(socketFD), 0))
	_, e := k.read(m, k.word(0))
	assert.Equal(t, uapi.ENOSPC, e, "cookies have eight bytes")
}

// TestCgroupArrayOfDescriptors checks that a program finds the task's cgroup in an array that user
// space filled.
func TestCgroupArrayOfDescriptors(t *testing.T) {
	k := newCaller(t, newestKernel(t))
	own := k.s.Machine().Kernel().CgroupID()
	k.files[510] = bpfsys.File{Kind: bpfsys.CgroupFile, Inode: own}
	m, r := k.create(uapi.MapTypeCgroupArray)
	require.Zero(t, r.errno)
	assert.Zero(t, k.elem(uapi.CmdMapUpdateElem, m, k.word(0), k.word(cgroupFD), 0))
	assert.Zero(t, k.elem(uapi.CmdMapUpdateElem, m, k.word(1), k.word(510), 0))
	assert.Equal(t, uapi.EBADF, k.elem(uapi.CmdMapUpdateElem, m, k.word(1), k.word(socketFD), 0))
	assert.Equal(t, uapi.E2BIG, k.elem(uapi.CmdMapUpdateElem, m, k.word(9), k.word(510), 0))
	for index, want := range []uint64{0, 1} {
		p := k.must(k.load(uapi.ProgTypeRawTracepoint, []decode.Insn{
			{Code: 0x18, Dst: 1, Src: 1, Imm: int32(m)}, {}, {Code: 0xb7, Dst: 2, Imm: int32(index)}, {Code: 0x85, Imm: 37}, {Code: 0x95}, // bpf_current_task_under_cgroup
		}))
		fd, r := k.try(uapi.CmdRawTracepointOpen, field{0, k.text("sched_switch")}, field{8, p})
		require.Zero(t, r.errno, r.notes)
		fired, err := k.s.Fire(bpfsys.Event{Hook: "sched_switch"})
		require.NoError(t, err)
		require.NoError(t, fired[0].Err)
		assert.Equal(t, want, fired[0].Ret)
		k.close(fd)
	}
}
