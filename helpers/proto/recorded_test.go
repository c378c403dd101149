package proto_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// kind is a kind of program that a kernel without trampolines can be asked about.
type kind struct {
	name    string
	caller  proto.Caller
	flags   uint32
	btfKind btf.Kind
	btfName string // what it attaches to
	member  int    // of a struct_ops type
}

const flagSleepable = 1 << 4

func plain(t uapi.ProgType) kind { return kind{name: t.String(), caller: proto.Caller{Type: t}} }

func attached(t uapi.ProgType, a uapi.AttachType) kind {
	return kind{name: t.String() + "/" + a.String(), caller: proto.Caller{Type: t, Attach: a}}
}

func iterator(target string) kind {
	return kind{
		name:    "tracing/iter_" + target,
		caller:  proto.Caller{Type: uapi.ProgTypeTracing, Attach: uapi.AttachTraceIter, Target: target},
		btfKind: btf.KindFunc, btfName: "bpf_iter_" + target,
	}
}

// askable are the kinds, with everything that distinguishes callers but for functions, LSM hooks
// and what the kernel does not have.
var askable = []kind{
	plain(uapi.ProgTypeSocketFilter), plain(uapi.ProgTypeKprobe), plain(uapi.ProgTypeTracepoint), plain(uapi.ProgTypePerfEvent),
	plain(uapi.ProgTypeRawTracepoint), plain(uapi.ProgTypeRawTracepointWritable), plain(uapi.ProgTypeSchedCls), plain(uapi.ProgTypeSchedAct),
	plain(uapi.ProgTypeXDP), plain(uapi.ProgTypeLwtIn), plain(uapi.ProgTypeLwtOut), plain(uapi.ProgTypeLwtXmit), plain(uapi.ProgTypeLwtSeg6local),
	plain(uapi.ProgTypeSkSkb), plain(uapi.ProgTypeSkMsg), plain(uapi.ProgTypeSkReuseport), plain(uapi.ProgTypeFlowDissector),
	plain(uapi.ProgTypeCgroupDevice), plain(uapi.ProgTypeCgroupSysctl),
	attached(uapi.ProgTypeSockOps, uapi.AttachCgroupSockOps),
	attached(uapi.ProgTypeCgroupSkb, uapi.AttachCgroupInetIngress), attached(uapi.ProgTypeCgroupSkb, uapi.AttachCgroupInetEgress),
	attached(uapi.ProgTypeCgroupSock, uapi.AttachCgroupInetSockCreate), attached(uapi.ProgTypeCgroupSock, uapi.AttachCgroupInet4PostBind),
	attached(uapi.ProgTypeCgroupSockAddr, uapi.AttachCgroupInet4Connect), attached(uapi.ProgTypeCgroupSockAddr, uapi.AttachCgroupInet6Bind),
	attached(uapi.ProgTypeCgroupSockAddr, uapi.AttachCgroupUdp4Sendmsg), attached(uapi.ProgTypeCgroupSockAddr, uapi.AttachCgroupUdp4Recvmsg),
	attached(uapi.ProgTypeCgroupSockAddr, uapi.AttachCgroupInet6Getpeername), attached(uapi.ProgTypeCgroupSockAddr, uapi.AttachCgroupUnixConnect),
	attached(uapi.ProgTypeCgroupSockAddr, uapi.AttachCgroupUnixGetsockname), attached(uapi.ProgTypeCgroupSockAddr, uapi.AttachCgroupUnixRecvmsg),
	attached(uapi.ProgTypeCgroupSockopt, uapi.AttachCgroupGetsockopt), attached(uapi.ProgTypeCgroupSockopt, uapi.AttachCgroupSetsockopt),
	attached(uapi.ProgTypeSkLookup, uapi.AttachSkLookup), attached(uapi.ProgTypeNetfilter, uapi.AttachNetfilter),
	{name: "syscall", caller: proto.Caller{Type: uapi.ProgTypeSyscall}, flags: flagSleepable},
	{
		name: "tracing/raw_tp", caller: proto.Caller{Type: uapi.ProgTypeTracing, Attach: uapi.AttachTraceRawTp},
		btfKind: btf.KindTypedef, btfName: "btf_trace_sched_switch",
	},
	iterator("task"), iterator("tcp"), iterator("unix"),
	{
		name:    "struct_ops/tcp_congestion_ops",
		caller:  proto.Caller{Type: uapi.ProgTypeStructOps, Target: "tcp_congestion_ops", Member: "ssthresh"},
		btfKind: btf.KindStruct, btfName: "tcp_congestion_ops",
	},
}

// TestRowsAgreeWithKernels compares with what kernels said, file by file.
func TestRowsAgreeWithKernels(t *testing.T) {
	files, err := filepath.Glob("testdata/callers-*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) { compareFile(t, f) })
	}
}

func compareFile(t *testing.T, file string) {
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	var major, minor int
	_, err = fmt.Sscanf(filepath.Base(file), "callers-%d.%d.txt", &major, &minor)
	require.NoError(t, err)
	at := uapi.R(major, minor)
	compared := 0
	for _, line := range strings.Split(string(raw), "\n") {
		head, rest, _ := strings.Cut(line, ": ")
		word, name, _ := strings.Cut(strings.TrimSuffix(head, ":"), " ")
		switch word {
		case "calls":
			i := slices.IndexFunc(askable, func(k kind) bool { return k.name == name })
			require.GreaterOrEqual(t, i, 0, name)
			may := parseRanges(t, rest)
			for _, h := range proto.Helpers() {
				compared++
				if slices.Contains(notBuilt, h.ID) {
					continue
				}
				assert.Equal(t, may[int(h.ID)], h.For(at, askable[i].caller) != nil, "%s by %s", h.Name(), name)
			}
		case "gpl":
			compareAttr(t, parseRanges(t, rest), at, proto.GPLOnly)
		case "sleeps":
			compareAttr(t, parseRanges(t, rest), at, proto.MightSleep)
		case "r1":
			n, err := strconv.Atoi(name)
			require.NoError(t, err)
			h, ok := proto.Lookup(uapi.FuncID(n))
			require.True(t, ok)
			assert.True(t, slices.ContainsFunc(h.Protos, func(p proto.Proto) bool {
				return p.By(at) != 0 && len(p.Args) > 0 && firstArgument(p.Args[0]) == rest
			}), "%s: the kernel takes %s", h.Name(), rest)
			compared++
		}
	}
	assert.Greater(t, compared, 8000)
}

func compareAttr(t *testing.T, is map[int]bool, at uapi.Release, attr proto.Attr) {
	t.Helper()
	var all proto.Class
	for _, k := range askable {
		all |= k.caller.Class()
	}
	for _, h := range proto.Helpers() {
		row, asked := false, false
		for _, p := range h.Protos {
			if p.By(at)&all != 0 {
				asked = true
				row = row || p.Attr&attr != 0
			}
		}
		if asked && !slices.Contains(notBuilt, h.ID) {
			assert.Equal(t, is[int(h.ID)], row, "%s", h.Name())
		}
	}
}

// firstArgument is what the verifier says it expects where an argument of that kind is the context
// (kernel/bpf/verifier.c compatible_reg_types).
func firstArgument(a proto.Arg) string {
	switch a.Kind {
	case proto.ConstMap:
		return "map_ptr"
	case proto.Mem, proto.FixedMem, proto.MapKey, proto.MapValue:
		return "fp, pkt, pkt_meta, map_key, map_value, mem, ringbuf_mem, buf, trusted_ptr_"
	case proto.Dynptr:
		return "fp, dynptr_ptr"
	case proto.Timer:
		return "map_value"
	case proto.SpinLock, proto.Kptr:
		return "map_value, ptr_"
	case proto.PercpuBTFID:
		return "percpu_ptr_, percpu_rcu_ptr_, percpu_trusted_ptr_"
	case proto.BTFID:
		return "ptr_, trusted_ptr_, rcu_ptr_"
	case proto.RingbufMem:
		return "ringbuf_mem"
	case proto.SockCommon:
		return "sock_common, sock, tcp_sock, xdp_sock"
	case proto.BTFSockCommon:
		return "sock_common, sock, tcp_sock, xdp_sock, ptr_, trusted_ptr_"
	}
	return ""
}

// notBuilt are helpers that the kernel that was asked has left out: no CONFIG_BPF_KPROBE_OVERRIDE,
// and locked down.
var notBuilt = []uapi.FuncID{uapi.FuncOverrideReturn, uapi.FuncProbeWriteUser}

func parseRanges(t *testing.T, s string) map[int]bool {
	t.Helper()
	out := map[int]bool{}
	for _, f := range strings.Fields(s) {
		from, to, is := strings.Cut(f, "-")
		if !is {
			to = from
		}
		a, err := strconv.Atoi(from)
		require.NoError(t, err)
		b, err := strconv.Atoi(to)
		require.NoError(t, err)
		for n := a; n <= b; n++ {
			out[n] = true
		}
	}
	return out
}
