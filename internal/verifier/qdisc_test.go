package verifier_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/btffile"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/loader"
)

// qdiscMembers returns the operations of an example's queueing discipline on Linux 7.2, and its
// kernel.
func qdiscMembers(t *testing.T) (*verifier.Kernel, map[string]*verifier.StructOpsMember) {
	t.Helper()
	const kernel = "../../testdata/btf/linux-7.2.13-amd64.btf.xz"
	spec, err := btffile.Load(kernel, nil)
	require.NoError(t, err)
	l := linkAll(t, loader.NewTarget(kernel, spec), "../../examples/qdiscfifo/qdiscfifo.bpf.o")
	members := map[string]*verifier.StructOpsMember{}
	for _, lp := range l.Programs {
		p, err := verifier.FromLinked(l, lp)
		require.NoError(t, err)
		require.NotNil(t, p.StructOps, lp.Name)
		members[p.StructOps.Member] = p.StructOps
	}
	return verifier.KernelOf(l.Target), members
}

// TestWritesOfQueueingDisciplines: a discipline writes its limit, its length, its statistics, a
// packet's time, and the part of its control block that is for disciplines
// (bpf_qdisc_btf_struct_access).
func TestWritesOfQueueingDisciplines(t *testing.T) {
	k, members := qdiscMembers(t)
	at := func(typ, path string) int {
		id, ok := k.BTF.FindID(btf.KindStruct, typ)
		require.True(t, ok, typ)
		f, err := k.BTF.ResolvePath(id, path)
		require.NoError(t, err)
		return int(f.Offset())
	}
	qdisc := func(off, size int, want string) {
		t.Helper()
		text := fmt.Sprintf("r6 = *(u64 *)(r1 + 0)\nr2 = 0\n*(u%d *)(r6 + %d) = r2\nr0 = 0\nexit", 8*size, off)
		v := verdict(t, k, &verifier.Program{Type: uapi.ProgTypeStructOps, License: "GPL", StructOps: members["reset"]}, text)
		assert.Equal(t, want, v.Message, "Qdisc at %d, %d bytes: %s", off, size, v.Missing)
	}
	limit, qlen, stats := at("Qdisc", "limit"), at("Qdisc", "q.qlen"), at("Qdisc", "qstats")
	qdisc(limit, 4, "")
	qdisc(qlen, 4, "")
	qdisc(stats, 4, "")
	qdisc(stats+4, 8, "")
	qdisc(stats+18, 2, "")
	qdisc(limit, 8, fmt.Sprintf("write access at off %d with size 8 beyond the member of Qdisc ended at %d", limit, limit+4))
	qdisc(limit+2, 2, fmt.Sprintf("no write support to Qdisc at off %d", limit+2))
	flags := at("Qdisc", "flags")
	qdisc(flags, 4, fmt.Sprintf("no write support to Qdisc at off %d", flags))

	skb := func(off, size int, want string) {
		t.Helper()
		text := fmt.Sprintf("r6 = *(u64 *)(r1 + 0)\nr2 = 0\n*(u%d *)(r6 + %d) = r2\nr0 = r6\nexit", 8*size, off)
		v := verdict(t, k, &verifier.Program{Type: uapi.ProgTypeStructOps, License: "GPL", StructOps: members["enqueue"]}, text)
		if want == "" {
			assert.NotContains(t, v.Message, "write", "sk_buff at %d: the packet leaks, but the store is allowed", off)
			return
		}
		assert.Equal(t, want, v.Message, "sk_buff at %d, %d bytes: %s", off, size, v.Missing)
	}
	cb, data := at("sk_buff", "cb"), at("qdisc_skb_cb", "data")
	skb(at("sk_buff", "tstamp"), 8, "")
	skb(cb+data, 4, "")
	skb(cb+data+16, 4, "")
	skb(cb+data+16, 8, fmt.Sprintf("write access at off %d with size 8 beyond the member of sk_buff ended at %d", cb+data+16, cb+data+20))
	skb(cb, 4, fmt.Sprintf("no write support to sk_buff at off %d", cb))
	skb(at("sk_buff", "len"), 4, fmt.Sprintf("no write support to sk_buff at off %d", at("sk_buff", "len")))
}

// TestPacketsOfQueueingDisciplines: enqueue has a reference to its packet, from 6.16 on an
// operation may return one it has, and the list to free is a pointer.
func TestPacketsOfQueueingDisciplines(t *testing.T) {
	k, members := qdiscMembers(t)
	ask := func(release since.Release, member, text string) string {
		t.Helper()
		at := *k
		at.Release, at.Patch = release, 0
		v := verdict(t, &at, &verifier.Program{Type: uapi.ProgTypeStructOps, License: "GPL", StructOps: members[member]}, text)
		assert.NotEqual(t, verifier.Unknown, v.Outcome, v.Missing)
		return v.Message
	}
	const leak = "BPF_EXIT instruction in main prog would lead to reference leak"
	assert.Equal(t, leak, ask(since.R(7, 2), "enqueue", "r0 = 0\nexit"))
	assert.Equal(t, leak, ask(since.R(6, 16), "enqueue", "r0 = 0\nexit"))
	assert.Empty(t, ask(since.R(7, 2), "dequeue", "r0 = 0\nexit"))
	const returns = "r6 = *(u64 *)(r1 + 0)\nr0 = r6\nexit"
	assert.Equal(t, leak, ask(since.R(6, 15), "enqueue", returns), "before returned references")
	assert.Empty(t, ask(since.R(6, 16), "enqueue", returns), "whatever the operation returns")
	const list = "r6 = *(u64 *)(r1 + 16)\nr0 = *(u64 *)(r6 + 0)\nr0 = 0\nexit"
	assert.Equal(t, leak, ask(since.R(7, 2), "enqueue", list), "it is read as a struct")
	assert.Contains(t, ask(since.R(7, 2), "enqueue", "r6 = *(u64 *)(r1 + 16)\nr2 = 0\n*(u64 *)(r6 + 0) = r2\nr0 = 0\nexit"), "only read is supported")
}
