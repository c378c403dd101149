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

// A kernel with a function to trace, and from 7.2 on the one that stands for those that programs
// are attached to later.
func tracedKernel(t testing.TB, r since.Release) *verifier.Kernel {
	b := btf.NewBuilder(nil)
	word := b.Int("int", 4, 1)
	one := b.Add(btf.Type{Kind: btf.KindFuncProto, Ref: word, Params: []btf.Param{{Name: "a", Type: word}}})
	none := b.Add(btf.Type{Kind: btf.KindFuncProto, Ref: word})
	b.Add(btf.Type{Kind: btf.KindFunc, Name: "traced", Ref: one})
	b.Add(btf.Type{Kind: btf.KindFunc, Name: "do_exit", Ref: one})
	wide := b.Add(btf.Type{Kind: btf.KindFuncProto, Ref: b.Int("__int128", 16, 1)})
	b.Add(btf.Type{Kind: btf.KindFunc, Name: "wide", Ref: wide})
	if r >= since.R(7, 2) {
		b.Add(btf.Type{Kind: btf.KindFunc, Name: "bpf_multi_func", Ref: none})
	}
	spec, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	return &verifier.Kernel{Release: r, BTF: spec}
}

// Programs that trace many functions are verified as if they traced one without arguments, from 7.2
// on.
func TestProgramsOfManyFunctions(t *testing.T) {
	for _, c := range []struct {
		text     string
		sleeps   bool
		accepted bool
		message  string
	}{
		{"r0 = 0\nexit", false, true, ""},
		{"r0 = 0\nexit", true, true, ""}, // whether the functions allow it is decided later
		{"call 173\nr0 = 0\nexit", false, true, ""},
		{"r0 = 1\nexit", false, false, "At program exit the register R0 has smin=1 smax=1 should have been in [0, 0]"},
		{"r0 = *(u64 *)(r1 + 8)\nr0 = 0\nexit", false, false, "invalid bpf_context access off=8 size=8"},
	} {
		for _, at := range []uapi.AttachType{uapi.AttachTraceFentryMulti, uapi.AttachTraceFexitMulti, uapi.AttachTraceFsessionMulti} {
			for _, r := range []since.Release{since.R(7, 1), since.R(7, 2)} {
				p := &verifier.Program{Type: uapi.ProgTypeTracing, Attach: at, AttachTo: "traced", Sleepable: c.sleeps}
				v := verdict(t, tracedKernel(t, r), p, c.text)
				want := c.accepted && r >= since.R(7, 2)
				assert.Equal(t, want, v.Outcome == verifier.Accepted, "%s of %s on %s: %s %s", c.text, at, r, v.Message, v.Missing)
				if r >= since.R(7, 2) {
					assert.Equal(t, c.message, v.Message, "%s of %s", c.text, at)
				}
			}
		}
	}
}

// bpf_get_func_ip is for programs with a trampoline, those of sessions among them.
func TestFuncIPOfSessions(t *testing.T) {
	for _, c := range []struct {
		at      uapi.AttachType
		release since.Release
		want    verifier.Outcome
	}{
		{uapi.AttachTraceFentry, since.R(6, 18), verifier.Accepted},
		{uapi.AttachTraceFsession, since.R(7, 0), verifier.Accepted},
		{uapi.AttachTraceFsession, since.R(7, 2), verifier.Accepted},
	} {
		p := &verifier.Program{Type: uapi.ProgTypeTracing, Attach: c.at, AttachTo: "traced"}
		v := verdict(t, tracedKernel(t, c.release), p, "call 173\nr0 = 0\nexit")
		assert.Equal(t, c.want, v.Outcome, "%s on %s: %s %s", c.at, c.release, v.Message, v.Missing)
	}
}

// A socket is read behind a comparison with a register that is 0 (from 7.1 on), or with a constant.
func TestNullInRegisters(t *testing.T) {
	const sock = "r1 = *(u64 *)(r1 + 168)\n"
	for _, c := range []struct {
		text string
		from since.Release
	}{
		{sock + "if r1 == 0 goto +1\nr0 = *(u32 *)(r1 + 4)\nr0 = 0\nexit", since.R(7, 0)},
		{sock + "r2 = 0\nif r1 == r2 goto +1\nr0 = *(u32 *)(r1 + 4)\nr0 = 0\nexit", since.R(7, 1)},
		{sock + "r2 = 0\nif r1 != r2 goto +1\ngoto +1\nr0 = *(u32 *)(r1 + 4)\nr0 = 0\nexit", since.R(7, 1)},
		{sock + "r2 = 1\nif r1 == r2 goto +1\nr0 = *(u32 *)(r1 + 4)\nr0 = 0\nexit", since.R(7, 3)},
		{sock + "w2 = 0\nif w1 == w2 goto +1\nr0 = *(u32 *)(r1 + 4)\nr0 = 0\nexit", since.R(7, 3)},
	} {
		for _, r := range []since.Release{since.R(7, 0), since.R(7, 1), since.R(7, 2)} {
			v := verdict(t, &verifier.Kernel{Release: r}, &verifier.Program{Type: uapi.ProgTypeSchedCls}, c.text)
			assert.Equal(t, r >= c.from, v.Outcome == verifier.Accepted, "%s on %s: %s %s", c.text, r, v.Message, v.Missing)
		}
	}
}

// A 32-bit sum says something about the register it was made of only if that has no more than 32
// bits.
func TestLinksOf32BitSums(t *testing.T) {
	for _, c := range []struct {
		text string
		want verifier.Outcome
	}{
		{"call 7\nw0 = w0\nr1 = r0\nw1 += 1\nif r1 > 10 goto +4\nr0 >>= 32\nif r0 == 0 goto +2\nr0 = r9\nexit\nr0 = 0\nexit", verifier.Accepted},
		{"call 7\nr1 = r0\nw1 += 1\nif r1 > 10 goto +4\nr0 >>= 32\nif r0 == 0 goto +2\nr0 = r9\nexit\nr0 = 0\nexit", verifier.Refused},
	} {
		v := verdict(t, &verifier.Kernel{Release: since.R(7, 2)}, &verifier.Program{Type: uapi.ProgTypeSocketFilter}, c.text)
		assert.Equal(t, c.want, v.Outcome, "%s: %s", c.text, v.Message)
	}
}

// The quotient of the least number and -1 is that number, and nothing is known if others may be
// divided too.
func TestQuotientOfTheLeastNumber(t *testing.T) {
	for _, c := range []struct {
		text string
		want verifier.Outcome
	}{
		{"w1 = 0x80000000\nw1 s/= -1\nif w1 != 0x80000000 goto +2\nr0 = 0\nexit\nr0 = r9\nexit", verifier.Accepted},
		{"r1 = 1\nr1 <<= 63\nr2 = r1\nr1 s/= -1\nif r1 != r2 goto +2\nr0 = 0\nexit\nr0 = r9\nexit", verifier.Accepted},
		{"call 7\nw1 = w0\nw2 = 0x80000001\nif w1 s> w2 goto +2\nw1 s/= -1\nif w1 != 0x80000000 goto +2\nr0 = 0\nexit\nr0 = r9\nexit", verifier.Refused},
	} {
		v := verdict(t, &verifier.Kernel{Release: since.R(7, 2)}, &verifier.Program{Type: uapi.ProgTypeSocketFilter}, c.text)
		assert.Equal(t, c.want, v.Outcome, "%s: %s", c.text, v.Message)
	}
}

// Programs that run when a function returns are not for functions that never do, those of sessions
// among them, nor, from 7.2 on, for results of more than eight bytes.
func TestFunctionsWhoseReturnIsTraced(t *testing.T) {
	for _, c := range []struct {
		to      string
		at      uapi.AttachType
		release since.Release
		errno   uapi.Errno
	}{
		{"do_exit", uapi.AttachTraceFexit, since.R(6, 14), 0},
		{"do_exit", uapi.AttachTraceFexit, since.R(6, 15), uapi.EINVAL},
		{"do_exit", uapi.AttachTraceFsession, since.R(7, 0), uapi.EINVAL},
		{"do_exit", uapi.AttachTraceFentry, since.R(7, 2), 0},
		{"wide", uapi.AttachTraceFexit, since.R(7, 1), 0},
		{"wide", uapi.AttachTraceFexit, since.R(7, 2), uapi.EOPNOTSUPP},
		{"wide", uapi.AttachTraceFsession, since.R(7, 2), uapi.EOPNOTSUPP},
		{"wide", uapi.AttachTraceFentry, since.R(7, 2), 0},
	} {
		p := &verifier.Program{Type: uapi.ProgTypeTracing, Attach: c.at, AttachTo: c.to}
		v := verdict(t, tracedKernel(t, c.release), p, "r0 = 0\nexit")
		assert.Equal(t, c.errno, v.Errno, "%s of %s on %s: %s %s", c.at, c.to, c.release, v.Message, v.Missing)
	}
}

// Which pointers are known not to be null (reg_not_null): those to values, whatever is added to
// them, and to maps, but not XDP sockets (measured on Linux 6.18).
func TestWhichPointersAreNotNull(t *testing.T) {
	const lookup = "*(u32 *)(r10 - 4) = 0\nr1 = map_fd(0)\nr2 = r10\nr2 += -4\ncall 1\nif r0 == 0 goto +2\nif r0 != 0 goto +1\nr0 = r9\nr0 = 2\nexit"
	const far = "call 7\nw6 = w0\nr7 = map_value(0, 0)\nr7 += r6\nif r7 != 0 goto +1\nr0 = r9\nr0 = 2\nexit"
	const itself = "r1 = map_fd(0)\nif r1 != 0 goto +1\nr0 = r9\nr0 = 2\nexit"
	for _, c := range []struct {
		text     string
		at       int // of the map in the program
		kind     verifier.RefKind
		typ      uapi.MapType
		kernel   verifier.Kernel
		accepted bool
	}{
		{far, 2, verifier.RefMapValue, uapi.MapTypeArray, verifier.Kernel{Release: since.R(6, 11)}, true},
		{far, 2, verifier.RefMapValue, uapi.MapTypeArray, verifier.Kernel{Release: since.R(6, 18)}, true},
		{lookup, 1, verifier.RefMap, uapi.MapTypeArray, verifier.Kernel{Release: since.R(6, 18)}, true},
		{lookup, 1, verifier.RefMap, uapi.MapTypeXskmap, verifier.Kernel{Release: since.R(6, 18)}, false},
		{itself, 0, verifier.RefMap, uapi.MapTypeArray, verifier.Kernel{Release: since.R(6, 12), Patch: 42}, false},
		{itself, 0, verifier.RefMap, uapi.MapTypeArray, verifier.Kernel{Release: since.R(6, 12), Patch: 43}, true},
		{itself, 0, verifier.RefMap, uapi.MapTypeArray, verifier.Kernel{Release: since.R(6, 16)}, false},
		{itself, 0, verifier.RefMap, uapi.MapTypeArray, verifier.Kernel{Release: since.R(6, 17)}, true},
	} {
		m := &verifier.Map{Name: "m", Type: c.typ, KeySize: 4, ValueSize: 4, MaxEntries: 1}
		v := verdict(t, &c.kernel, &verifier.Program{Type: uapi.ProgTypeXDP, Refs: map[int]verifier.Ref{c.at: {Kind: c.kind, Map: m}}}, c.text)
		assert.Equal(t, c.accepted, v.Outcome == verifier.Accepted, "%s on %v.%d: %s", c.text, c.kernel.Release, c.kernel.Patch, v.Message)
	}
}
