package verifier_test

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier"
)

// Timers of programs that may sleep do not sleep from 6.18 on; the program itself still may.
func TestCallbacksOfTimersDoNotSleep(t *testing.T) {
	b := btf.NewBuilder(nil)
	word, long := b.Int("int", 4, 1), b.Int("unsigned long", 8, 0)
	timer := b.Add(btf.Type{Kind: btf.KindStruct, Name: "bpf_timer", Size: 16, Members: []btf.Member{{Name: "a", Type: long}, {Name: "b", Type: long, BitOffset: 64}}})
	value := b.Add(btf.Type{Kind: btf.KindStruct, Name: "value", Size: 16, Members: []btf.Member{{Name: "t", Type: timer}}})
	none := b.Add(btf.Type{Kind: btf.KindFuncProto, Ref: word})
	main := b.Add(btf.Type{Kind: btf.KindFunc, Name: "main", Ref: none, Linkage: btf.LinkageGlobal})
	callback := b.Add(btf.Type{Kind: btf.KindFunc, Name: "callback", Ref: none, Linkage: btf.LinkageStatic})
	spec, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	m := &verifier.Map{Name: "timers", Type: uapi.MapTypeArray, KeySize: 4, ValueSize: 16, MaxEntries: 1, BTF: spec, KeyType: word, ValueType: value}
	const copyFromUser = "r1 = r10\nr1 += -8\nr2 = 8\nr3 = 0\ncall 148\n" // bpf_copy_from_user
	for _, c := range []struct {
		release uapi.Release
		want    string
	}{{since.R(6, 17), ""}, {since.R(6, 18), "helper call might sleep in a non-sleepable prog"}, {since.R(7, 0), "helper call might sleep in a non-sleepable prog"}, {since.R(7, 1), "sleepable helper bpf_copy_from_user#148 in non-sleepable prog"}, {since.R(7, 2), "sleepable helper bpf_copy_from_user#148 in non-sleepable prog"}} {
		p := &verifier.Program{
			Type: uapi.ProgTypeSyscall, Sleepable: true, BTF: spec,
			Funcs: []verifier.FuncInfo{{Type: main, Name: "main"}, {Insn: 12, Type: callback, Name: "callback"}},
			Refs:  map[int]verifier.Ref{5: {Kind: verifier.RefMapValue, Map: m}, 7: {Kind: verifier.RefFunc, Func: 12}},
		}
		v := verdict(t, &verifier.Kernel{Release: c.release}, p, copyFromUser+"r1 = map_value(0, 0)\nr2 = func(+4)\ncall 170\nr0 = 0\nexit\n"+copyFromUser+"r0 = 0\nexit")
		assert.Equal(t, c.want, v.Message, "%v: %s", c.release, v.Missing)
		assert.Equal(t, c.want == "", v.Outcome == verifier.Accepted, "%v: %s", c.release, v.Missing)
	}
}

// A lookup with a constant key in an array that may be an inner map of any size may fail from 7.2
// and some updates on.
func TestLookupsInInnerMapsMayFail(t *testing.T) {
	for _, c := range []struct {
		release uapi.Release
		patch   int
		flags   uint32
		refused bool
	}{
		{since.R(6, 18), 33, uapi.MapInnerMap, false}, {since.R(6, 18), 44, uapi.MapInnerMap, true}, {since.R(6, 19), 0, uapi.MapInnerMap, false},
		{since.R(7, 1), 3, uapi.MapInnerMap, false}, {since.R(7, 1), 5, uapi.MapInnerMap, true}, {since.R(7, 2), 0, uapi.MapInnerMap, true},
		{since.R(6, 18), 44, 0, false}, {since.R(7, 2), 0, 0, false},
	} {
		m := &verifier.Map{Name: "array", Type: uapi.MapTypeArray, KeySize: 4, ValueSize: 8, MaxEntries: 4, Flags: c.flags}
		p := &verifier.Program{Type: uapi.ProgTypeSocketFilter, Refs: map[int]verifier.Ref{3: {Kind: verifier.RefMap, Map: m}}}
		v := verdict(t, &verifier.Kernel{Release: c.release, Patch: c.patch}, p, "*(u32 *)(r10 - 8) = 3\nr2 = r10\nr2 += -8\nr1 = map_fd(0)\ncall 1\nr0 = *(u64 *)(r0 + 0)\nr0 = 0\nexit")
		assert.Equal(t, c.refused, v.Outcome == verifier.Refused, "%v.%d, flags %#x: %s %s", c.release, c.patch, c.flags, v.Message, v.Missing)
		if c.refused {
			assert.Equal(t, "R0 invalid mem access 'map_value_or_null'", v.Message)
		}
	}
}

// A call may take two objects that must be released from 7.2 on, here two records of ring buffers.
func TestCallsTakeSeveralReferences(t *testing.T) {
	m := &verifier.Map{Name: "ring", Type: uapi.MapTypeRingbuf, MaxEntries: 4096}
	for _, c := range []struct {
		release uapi.Release
		refused bool
	}{{since.R(6, 12), true}, {since.R(7, 1), true}, {since.R(7, 2), false}} {
		p := &verifier.Program{Type: uapi.ProgTypeSchedCls, Refs: map[int]verifier.Ref{0: {Kind: verifier.RefMap, Map: m}, 7: {Kind: verifier.RefMap, Map: m}}}
		// bpf_csum_diff(first, 16, second, 16, 0)
		v := verdict(t, &verifier.Kernel{Release: c.release}, p, `
			r1 = map_fd(0)
			r2 = 16
			r3 = 0
			call 131
			if r0 == 0 goto out
			r6 = r0
			r1 = map_fd(0)
			r2 = 16
			r3 = 0
			call 131
			if r0 == 0 goto one
			r7 = r0
			*(u64 *)(r6 + 0) = 0
			*(u64 *)(r6 + 8) = 0
			*(u64 *)(r7 + 0) = 0
			*(u64 *)(r7 + 8) = 0
			r1 = r6
			r2 = 16
			r3 = r7
			r4 = 16
			r5 = 0
			call 28
			r1 = r7
			r2 = 0
			call 133
		one:
			r1 = r6
			r2 = 0
			call 133
		out:
			r0 = 0
			exit`)
		assert.Equal(t, c.refused, v.Outcome == verifier.Refused, "%v: %s %s", c.release, v.Message, v.Missing)
		if c.refused {
			assert.Contains(t, v.Message, "more than one arg with ref_obj_id R3 ")
		}
	}
}

// Probes may store to their registers from 6.19 on; what they are attached to is not known when
// they are loaded.
func TestProbesStoreToRegisters(t *testing.T) {
	k := verifier.KernelOf(embeddedTarget(t))
	for _, c := range []struct {
		release uapi.Release
		store   string
		want    string
	}{
		{since.R(6, 18), "*(u64 *)(r1 + 8) = 1", "invalid bpf_context access off=8 size=8"},
		{since.R(6, 19), "*(u64 *)(r1 + 8) = 1", ""},
		{since.R(7, 2), "r0 = 7\n*(u32 *)(r1 + 12) = r0", ""},
		{since.R(7, 2), "*(u64 *)(r1 + 4) = 1", "invalid bpf_context access off=4 size=8"},
		{since.R(7, 2), "*(u64 *)(r1 + 168) = 1", "invalid bpf_context access off=168 size=8"},
	} {
		k.Release = c.release
		v := verdict(t, k, &verifier.Program{Type: uapi.ProgTypeKprobe}, c.store+"\nr0 = 0\nexit")
		assert.Equal(t, c.want, v.Message, "%s on %v: %s", c.store, c.release, v.Missing)
	}
}

// From 7.1 on an extension may return nothing, as the function that it replaces does.
func TestExtensionsReturnNothing(t *testing.T) {
	b := btf.NewBuilder(nil)
	word := b.Int("int", 4, 1)
	context := b.Add(btf.Type{Kind: btf.KindStruct, Name: "__sk_buff", Size: 4, Members: []btf.Member{{Name: "len", Type: word}}})
	types := map[bool]btf.ID{}
	for returns, ref := range map[bool]btf.ID{false: 0, true: word} {
		proto := b.Add(btf.Type{Kind: btf.KindFuncProto, Ref: ref, Params: []btf.Param{{Name: "skb", Type: b.Ptr(context)}}})
		types[returns] = b.Add(btf.Type{Kind: btf.KindFunc, Name: "f", Ref: proto, Linkage: btf.LinkageGlobal})
	}
	spec, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	for _, c := range []struct {
		release  uapi.Release
		returns  bool
		accepted bool
	}{{since.R(7, 0), false, false}, {since.R(7, 1), false, true}, {since.R(7, 1), true, false}, {since.R(7, 2), false, true}} {
		p := &verifier.Program{
			Type: uapi.ProgTypeExt, BTF: spec, AttachTo: "f", AttachID: types[c.returns], Funcs: []verifier.FuncInfo{{Type: types[c.returns], Name: "f"}},
			AttachProg: &verifier.Program{Type: uapi.ProgTypeSchedCls, BTF: spec, Funcs: []verifier.FuncInfo{{Type: types[true], Name: "main"}, {Insn: 2, Type: types[c.returns], Name: "f"}}},
		}
		v := verdict(t, &verifier.Kernel{Release: c.release}, p, "exit")
		assert.Equal(t, c.accepted, v.Outcome == verifier.Accepted, "%+v: %s %s", c, v.Message, v.Missing)
	}
}

// What a precise number was added to was taken for equal to something else until 5.10.163: the
// second way through this program, where r7 is 1000, was left out.
func TestWhatIsAddedToPreciseNumbersIsPrecise(t *testing.T) {
	m := &verifier.Map{Name: "array", Type: uapi.MapTypeArray, KeySize: 4, ValueSize: 8, MaxEntries: 1}
	for _, c := range []struct {
		minor, patch int
		refused      bool
	}{{10, 162, false}, {10, 163, true}, {15, 85, false}, {15, 86, true}} {
		p := &verifier.Program{Type: uapi.ProgTypeSocketFilter, Refs: map[int]verifier.Ref{8: {Kind: verifier.RefMapValue, Map: m}, 12: {Kind: verifier.RefMapValue, Map: m}}}
		v := verdict(t, &verifier.Kernel{Release: since.R(5, c.minor), Patch: c.patch}, p, `
			call 7
			r6 = r0
			r6 &= 1
			call 7
			r7 = 0
			if r0 > 5 goto more
			goto add
		more:
			r7 = 1000
		add:
			r1 = map_value(0, 0)
			r1 += r6
			r6 += r7
			r1 = map_value(0, 0)
			r1 += r6
			r0 = *(u8 *)(r1 + 0)
			exit`)
		assert.Equal(t, c.refused, v.Outcome == verifier.Refused, "5.%d.%d: %s", c.minor, c.patch, v.Message)
	}
}
