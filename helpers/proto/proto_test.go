package proto

import (
	"math/bits"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// TestEveryHelperHasACompleteRow goes through all numbers of the UAPI.
func TestEveryHelperHasACompleteRow(t *testing.T) {
	n := 0
	for id := uapi.FuncID(1); id.Known(); id++ {
		n++
		h, ok := Lookup(id)
		require.True(t, ok, id)
		require.Equal(t, id, h.ID, "%v has no row", id)
		assert.NotEmpty(t, h.Topic, id)
		assert.NotZero(t, h.Since, id)
		require.NotEmpty(t, h.Protos, id)
		for _, p := range h.Protos {
			require.NotEmpty(t, p.Uses, id)
			assert.LessOrEqual(t, len(p.Args), 5, id)
			for i, a := range p.Args {
				switch a.Kind {
				case Mem:
					if assert.Less(t, i+1, len(p.Args), "%v: memory without a size", id) {
						assert.Contains(t, []ArgKind{ConstSize, ConstSizeOrZero}, p.Args[i+1].Kind, "%v argument %d", id, i+2)
					}
				case ConstSize, ConstSizeOrZero:
					require.Positive(t, i, id)
					assert.Equal(t, Mem, p.Args[i-1].Kind, "%v: a size follows memory", id)
				case FixedMem:
					assert.NotZero(t, a.Size, id)
				case MapKey, MapValue:
					assert.Contains(t, p.Args[:i], constMap, "%v: a key needs a map", id)
				}
				assert.NotEmpty(t, a.String(), "%v argument %d", id, i+1)
			}
			for _, u := range p.Uses {
				assert.NotZero(t, u.By, id)
				assert.Zero(t, u.By&^all, id)
				assert.True(t, u.Until == 0 || u.Until > u.From, id)
				assert.True(t, u.From == 0 || u.From > h.Since, "%v: %v is not after %v", id, u.From, h.Since)
			}
		}
	}
	assert.Equal(t, 211, n)
	assert.Len(t, Helpers(), n)
	_, ok := Lookup(uapi.FuncID(n + 1))
	assert.False(t, ok)
	_, ok = Lookup(0)
	assert.False(t, ok)
}

// TestOnePrototypeForEachCaller: on no release has a program two prototypes of a helper.
func TestOnePrototypeForEachCaller(t *testing.T) {
	for _, h := range Helpers() {
		for _, release := range Releases {
			var seen Class
			for i := range h.Protos {
				by := h.Protos[i].By(release)
				assert.Zero(t, seen&by, "%s on %v by %v", h.Name(), release, (seen & by).Names())
				seen |= by
			}
		}
	}
}

// TestCallers holds boundaries of permissions: the release before a change, and the release itself.
func TestCallers(t *testing.T) {
	xdpProg := Caller{Type: uapi.ProgTypeXDP}
	fentry := Caller{Type: uapi.ProgTypeTracing, Attach: uapi.AttachTraceFentry}
	for _, tt := range []struct {
		name   string
		id     uapi.FuncID
		caller Caller
		at     uapi.Release
		want   bool
	}{
		{"a number that is too new", uapi.FuncLoop, xdpProg, r(5, 15), false},
		{"that number", uapi.FuncLoop, xdpProg, r(5, 17), true},
		{"tracing helpers are not for packets", uapi.FuncProbeRead, xdpProg, r(6, 18), false},
		{"typed sockets before", uapi.FuncGetSocketCookie, fentry, r(5, 10), false},
		{"typed sockets", uapi.FuncGetSocketCookie, fentry, r(5, 15), true},
		{"socket filters read user memory since the base table has it", uapi.FuncCopyFromUser, Caller{Type: uapi.ProgTypeSocketFilter}, r(6, 12), false},
		{"and now", uapi.FuncCopyFromUser, Caller{Type: uapi.ProgTypeSocketFilter}, r(6, 18), true},
		{"tc congestion control may not set options while it is released", uapi.FuncSetsockopt, Caller{Type: uapi.ProgTypeStructOps, Target: "tcp_congestion_ops", Member: "release"}, r(6, 18), false},
		{"but otherwise", uapi.FuncSetsockopt, Caller{Type: uapi.ProgTypeStructOps, Target: "tcp_congestion_ops", Member: "init"}, r(6, 18), true},
		{"LSM of cgroups at a hook with a locked socket", uapi.FuncSetsockopt, Caller{Type: uapi.ProgTypeLSM, Attach: uapi.AttachLSMCgroup, Target: "sock_graft"}, r(6, 1), true},
		{"and at another", uapi.FuncSetsockopt, Caller{Type: uapi.ProgTypeLSM, Attach: uapi.AttachLSMCgroup, Target: "socket_bind"}, r(6, 1), false},
		{"seq_printf is for iterators", uapi.FuncSeqPrintf, Caller{Type: uapi.ProgTypeTracing, Attach: uapi.AttachTraceIter}, r(5, 10), true},
		{"not for functions", uapi.FuncSeqPrintf, fentry, r(5, 10), false},
		{"the type of no program", uapi.FuncMapLookupElem, Caller{Type: uapi.ProgTypeExt}, 0, false},
		{"a receiver without helpers", uapi.FuncLoop, Caller{Type: uapi.ProgTypeLircMode2}, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h, ok := Lookup(tt.id)
			require.True(t, ok)
			assert.Equal(t, tt.want, h.For(tt.at, tt.caller) != nil)
		})
	}
}

// TestPrototypesFollowTheCaller: one number, several prototypes.
func TestPrototypesFollowTheCaller(t *testing.T) {
	h, _ := Lookup(uapi.FuncSkAssign)
	tc := h.For(0, Caller{Type: uapi.ProgTypeSchedCls})
	lookup := h.For(0, Caller{Type: uapi.ProgTypeSkLookup})
	require.NotNil(t, tc)
	require.NotNil(t, lookup)
	assert.Equal(t, BTFSockCommon, tc.Args[1].Kind)
	assert.Equal(t, Arg{Kind: Socket, Flags: MaybeNull}, lookup.Args[1])
	snprintf, _ := Lookup(uapi.FuncSnprintf)
	c := Caller{Type: uapi.ProgTypeXDP}
	assert.False(t, snprintf.For(r(6, 12), c).Args[0].Writes(), "kernels forgot to say so")
	assert.True(t, snprintf.For(r(6, 18), c).Args[0].Writes())
}

func TestEffects(t *testing.T) {
	tail, _ := Lookup(uapi.FuncTailCall)
	assert.False(t, tail.Has(ChangesPacket, r(6, 6)))
	assert.True(t, tail.Has(ChangesPacket, r(6, 12)))
	pull, _ := Lookup(uapi.FuncSkbPullData)
	assert.True(t, pull.Has(ChangesPacket, r(5, 10)))
	assert.False(t, pull.Has(Acquires, 0))
}

func TestFills(t *testing.T) {
	for _, c := range []struct {
		id  uapi.FuncID
		arg int
		out bool
	}{
		{uapi.FuncProbeReadKernel, 0, true}, {uapi.FuncProbeReadKernel, 1, false}, {uapi.FuncProbeReadKernel, 2, false},
		{uapi.FuncPerfEventOutput, 3, false}, {uapi.FuncMapUpdateElem, 1, false},
		{uapi.FuncGetStack, 1, true}, // some prototypes of which call it read-only
		{uapi.FuncProbeReadKernel, 7, false},
	} {
		h, _ := Lookup(c.id)
		assert.Equal(t, c.out, h.Fills(c.arg), "%s, argument %d", h.Name(), c.arg+1)
	}
}

func TestClassNames(t *testing.T) {
	assert.Len(t, classNames, bits.OnesCount64(uint64(all)))
	assert.Equal(t, []string{"sched_cls", "sched_act"}, sched.Names())
	for _, typ := range []uapi.ProgType{uapi.ProgTypeUnspec, uapi.ProgTypeExt} {
		assert.Zero(t, Caller{Type: typ}.Class())
	}
	for typ := uapi.ProgTypeSocketFilter; typ.Known(); typ++ {
		if typ != uapi.ProgTypeExt {
			assert.Equal(t, 1, bits.OnesCount64(uint64(Caller{Type: typ}.Class())), "%v", typ)
		}
	}
}

func TestKfuncs(t *testing.T) {
	ks := Kfuncs()
	assert.Greater(t, len(ks), 300)
	for _, k := range ks {
		assert.NotEmpty(t, k.Topic, k.Name)
		assert.NotZero(t, k.Since, k.Name)
		assert.True(t, k.Until == 0 || k.Until > k.Since, k.Name)
		require.NotEmpty(t, k.Uses, k.Name)
		for i, l := range k.Later {
			assert.Greater(t, l.From, k.Since, k.Name)
			assert.True(t, i == 0 || l.From > k.Later[i-1].From, k.Name)
		}
		last := uapi.Release(0)
		if k.Until != 0 {
			last = k.Until - 1
		}
		assert.NotZero(t, k.Callers(last), "%s: nobody may call it", k.Name)
	}
	for _, tt := range []struct {
		name string
		at   uapi.Release
		by   Caller
		want bool
	}{
		{"bpf_dynptr_from_xdp", r(6, 3), Caller{Type: uapi.ProgTypeXDP}, false},
		{"bpf_dynptr_from_xdp", r(6, 4), Caller{Type: uapi.ProgTypeXDP}, true},
		{"bpf_dynptr_from_xdp", r(6, 4), Caller{Type: uapi.ProgTypeSchedCls}, false},
		{"bpf_obj_new_impl", r(6, 6), Caller{Type: uapi.ProgTypeTracepoint}, false},
		{"bpf_obj_new_impl", r(6, 12), Caller{Type: uapi.ProgTypeTracepoint}, true},
		{"bpf_sock_destroy", 0, Caller{Type: uapi.ProgTypeTracing, Attach: uapi.AttachTraceFentry}, false},
		{"bpf_sock_destroy", 0, Caller{Type: uapi.ProgTypeTracing, Attach: uapi.AttachTraceIter, Target: "tcp"}, true},
		{"bpf_get_file_xattr", 0, Caller{Type: uapi.ProgTypeTracing, Attach: uapi.AttachTraceFentry}, false},
		{"bpf_get_file_xattr", 0, Caller{Type: uapi.ProgTypeLSM, Attach: uapi.AttachLSMMac}, true},
	} {
		k, ok := LookupKfunc(tt.name)
		require.True(t, ok, tt.name)
		assert.Equal(t, tt.want, k.For(tt.at, tt.by), "%s on %v", tt.name, tt.at)
	}
	arena, _ := LookupKfunc("bpf_arena_alloc_pages")
	assert.NotZero(t, arena.FlagsIn(r(6, 18))&Sleepable)
	assert.Zero(t, arena.FlagsIn(r(7, 2))&Sleepable)
	num, _ := LookupKfunc("bpf_iter_num_new")
	assert.Zero(t, num.FlagsIn(r(6, 18))&TrustedArgs)
	assert.NotZero(t, num.FlagsIn(r(7, 2))&TrustedArgs, "trusted by default")
}

func TestSuffixes(t *testing.T) {
	for name, want := range map[string]Suffix{
		"mem__sz": SuffixSize, "buffer__szk": SuffixConstSize, "local_type_id__k": SuffixConst, "meta__ign": SuffixIgnore,
		"p__refcounted_kptr": SuffixRefcounted, "p__alloc": SuffixAlloc, "size": NoSuffix, "task__nullable": SuffixNullable, "": NoSuffix,
	} {
		assert.Equal(t, want, SuffixOf(name), name)
	}
}

func TestCallsUnderLock(t *testing.T) {
	unlock, _ := Lookup(uapi.FuncSpinUnlock)
	assert.True(t, unlock.InLock(r(5, 10)))
	xchg, _ := Lookup(uapi.FuncKptrXchg)
	assert.False(t, xchg.InLock(r(6, 18)))
	assert.True(t, xchg.InLock(r(7, 2)))
	lookup, _ := Lookup(uapi.FuncMapLookupElem)
	assert.False(t, lookup.InLock(0))
	for name, want := range map[string]uapi.Release{"bpf_rbtree_first": r(6, 3), "bpf_iter_num_new": r(6, 18), "bpf_arena_alloc_pages": r(7, 2)} {
		k, ok := LookupKfunc(name)
		require.True(t, ok, name)
		assert.True(t, k.InLock(want), name)
		assert.False(t, k.InLock(want-1), name)
	}
	k, _ := LookupKfunc("bpf_throw")
	assert.False(t, k.InLock(0))
}
