package bpfsys_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// TestASocketMapHasOneProgramOfEachKind: links and attached programs exclude each other as in
// net/core/sock_map.c.
func TestASocketMapHasOneProgramOfEachKind(t *testing.T) {
	const message, stream, verdict = uapi.AttachSkMsgVerdict, uapi.AttachSkSkbStreamVerdict, uapi.AttachSkSkbVerdict
	spec := newestKernel(t)
	type setup struct {
		*caller
		m, msg, other, skb int
		link               int64
	}
	attach := func(k *setup, p int, at uapi.AttachType, more ...field) uapi.Errno {
		_, r := k.try(uapi.CmdProgAttach, append([]field{{0, k.m}, {4, p}, {8, int(at)}, {12, 0}, {16, 0}}, more...)...)
		return r.errno
	}
	detach := func(k *setup, p int, at uapi.AttachType) uapi.Errno {
		_, r := k.try(uapi.CmdProgDetach, field{0, k.m}, field{4, p}, field{8, int(at)}, field{12, 0}, field{16, 0})
		return r.errno
	}
	link := func(k *setup, p int, at uapi.AttachType) uapi.Errno {
		fd, r := k.try(uapi.CmdLinkCreate, field{0, p}, field{4, k.m}, field{8, int(at)}, field{12, 0})
		if r.errno == 0 {
			k.link = fd
		}
		return r.errno
	}
	query := func(k *setup, at uapi.AttachType) (id, count uint32, e uapi.Errno) {
		to := k.room(4)
		_, e, out := k.call(uint32(uapi.CmdProgQuery), field{0, k.m}, field{4, int(at)}, field{8, 0}, field{12, 0}, field{16, to}, field{24, 1})
		return le.Uint32(k.at(to, 4)), le.Uint32(out[24:]), e
	}
	id := func(k *setup, fd int) uint32 { return k.files[int32(fd)].Object.ID() }
	for _, tt := range []struct {
		name string
		do   func(k *setup) uapi.Errno
		want uapi.Errno
	}{
		{"a program replaces another", func(k *setup) uapi.Errno {
			assert.Zero(t, attach(k, k.msg, message))
			assert.Zero(t, attach(k, k.other, message))
			got, n, e := query(k, message)
			assert.Equal(t, id(k, k.other), got)
			assert.EqualValues(t, 1, n)
			return e
		}, 0},
		{"not that of a link", func(k *setup) uapi.Errno { assert.Zero(t, link(k, k.msg, message)); return attach(k, k.msg, message) }, uapi.EBUSY},
		{"nor does another link", func(k *setup) uapi.Errno { assert.Zero(t, link(k, k.msg, message)); return link(k, k.other, message) }, uapi.EBUSY},
		{"a link replaces a program", func(k *setup) uapi.Errno {
			assert.Zero(t, attach(k, k.msg, message))
			assert.Zero(t, link(k, k.other, message))
			got, n, e := query(k, message)
			assert.Equal(t, id(k, k.other), got)
			assert.EqualValues(t, 1, n)
			return e
		}, 0},
		{"one kind of verdict", func(k *setup) uapi.Errno { assert.Zero(t, attach(k, k.skb, stream)); return link(k, k.skb, verdict) }, uapi.EBUSY},
		{"the other kind", func(k *setup) uapi.Errno { assert.Zero(t, link(k, k.skb, verdict)); return attach(k, k.skb, stream) }, uapi.EBUSY},
		{"whose query fails", func(k *setup) uapi.Errno {
			assert.Zero(t, attach(k, k.skb, stream))
			_, n, e := query(k, verdict)
			assert.Zero(t, n)
			return e
		}, uapi.EBUSY},
		{"messages beside verdicts", func(k *setup) uapi.Errno { assert.Zero(t, attach(k, k.skb, stream)); return link(k, k.msg, message) }, 0},
		{"a link ends", func(k *setup) uapi.Errno {
			assert.Zero(t, link(k, k.skb, verdict))
			k.close(k.link)
			return attach(k, k.skb, stream)
		}, 0},
		{"a link is updated", func(k *setup) uapi.Errno {
			assert.Zero(t, link(k, k.msg, message))
			_, r := k.try(uapi.CmdLinkUpdate, field{0, int(k.link)}, field{4, k.other}, field{8, 0})
			assert.Zero(t, r.errno)
			got, _, e := query(k, message)
			assert.Equal(t, id(k, k.other), got)
			return e
		}, 0},
		{"detached", func(k *setup) uapi.Errno { assert.Zero(t, attach(k, k.msg, message)); return detach(k, k.msg, message) }, 0},
		{"another is detached", func(k *setup) uapi.Errno {
			assert.Zero(t, attach(k, k.msg, message))
			return detach(k, k.other, message)
		}, uapi.ENOENT},
		{"no program is named", func(k *setup) uapi.Errno { assert.Zero(t, attach(k, k.msg, message)); return detach(k, 0, message) }, uapi.EBADF},
		{"a program of another type", func(k *setup) uapi.Errno { assert.Zero(t, attach(k, k.msg, message)); return detach(k, k.skb, message) }, uapi.EINVAL},
		{"a link's is not detached", func(k *setup) uapi.Errno { assert.Zero(t, link(k, k.msg, message)); return detach(k, k.msg, message) }, uapi.EBUSY},
		{"no flags", func(k *setup) uapi.Errno { return attach(k, k.msg, message, field{12, 2}) }, uapi.EINVAL},
		{"the map ends", func(k *setup) uapi.Errno {
			assert.Zero(t, attach(k, k.msg, message))
			k.close(int64(k.m))
			k.close(int64(k.msg))
			assert.Len(t, k.s.Objects(bpfsys.KindProg), 2, "the map does not keep its program")
			return 0
		}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := &setup{caller: newCaller(t, spec)}
			k.m = k.must(k.createMap(uapi.MapTypeSockmap, 4, 4, 4, 0))
			k.msg, k.other, k.skb = k.must(k.load(uapi.ProgTypeSkMsg, returning(1))), k.must(k.load(uapi.ProgTypeSkMsg, returning(1))), k.must(k.load(uapi.ProgTypeSkSkb, returning(1)))
			assert.Equal(t, tt.want, tt.do(k), k.notes)
		})
	}
}
