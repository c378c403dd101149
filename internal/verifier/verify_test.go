package verifier_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/loader"
)

// recorded is what Linux 6.12.107 said of a program (conformance record verdicts).
type recorded struct {
	Object, Program, Verdict string
	Insns, States            int
}

func embeddedTarget(t testing.TB) *loader.Target {
	spec, err := embedded.Spec()
	require.NoError(t, err)
	return loader.NewTarget(embedded.Name, spec)
}

func linkAll(t testing.TB, target *loader.Target, path string) *loader.Linked {
	o, err := loader.Open(path)
	require.NoError(t, err)
	var names []string
	for _, p := range o.Programs {
		names = append(names, p.Name)
	}
	l, err := o.Load(target, loader.LoadOptions{LinkOnly: true, Only: names})
	require.NoError(t, err)
	return l
}

// Own programs get the verdicts that Linux 6.12.107 gave, after as many instructions and states.
func TestVerdictsOfLinux612(t *testing.T) {
	f, err := os.Open("testdata/own-6.12.107.jsonl")
	require.NoError(t, err)
	defer f.Close()
	target := embeddedTarget(t)
	objects := map[string]*loader.Linked{}
	unknown := 0
	for sc := bufio.NewScanner(f); sc.Scan(); {
		var r recorded
		require.NoError(t, json.Unmarshal(sc.Bytes(), &r))
		if objects[r.Object] == nil {
			objects[r.Object] = linkAll(t, target, filepath.Join("..", "..", r.Object))
		}
		l := objects[r.Object]
		lp, ok := l.Program(r.Program)
		require.True(t, ok, "%s %s", r.Object, r.Program)
		p, err := verifier.FromLinked(l, lp)
		require.NoError(t, err)
		v, err := verifier.Verify(context.Background(), verifier.KernelOf(target), p, verifier.Options{})
		require.NoError(t, err)
		if v.Outcome == verifier.Unknown {
			unknown++
			continue
		}
		if !assert.Equal(t, r.Verdict, v.Outcome.String(), "%s %s: %s", r.Object, r.Program, v.Message) || v.Outcome == verifier.Refused {
			continue
		}
		assert.Equal(t, []int{r.Insns, r.States}, []int{v.ProcessedInsns, v.TotalStates}, "%s %s: instructions and states", r.Object, r.Program)
	}
	assert.LessOrEqual(t, unknown, 2)
}

// Functions that are hidden in the object are static for the kernel, as libbpf tells it: their
// arguments are those of the calls, here the address of a variable that the function writes without
// a check for NULL.
func TestHiddenFunctionsAreStatic(t *testing.T) {
	target := embeddedTarget(t)
	l := linkAll(t, target, "../../examples/usdt/usdt.bpf.o")
	p, err := verifier.FromLinked(l, l.Programs[0])
	require.NoError(t, err)
	hidden := 0
	for i := range p.Funcs {
		if p.Funcs[i].Static {
			hidden++
		}
	}
	require.NotZero(t, hidden)
	assert.False(t, p.Funcs[0].Static, "a program")
	v, err := verifier.Verify(context.Background(), verifier.KernelOf(target), p, verifier.Options{})
	require.NoError(t, err)
	assert.Equal(t, verifier.Accepted, v.Outcome, v.Message)
}

func TestVerifyEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	target := embeddedTarget(t)
	l := linkAll(t, target, "../../examples/exec/exec.bpf.o")
	p, err := verifier.FromLinked(l, l.Programs[0])
	require.NoError(t, err)
	_, err = verifier.Verify(ctx, verifier.KernelOf(target), p, verifier.Options{})
	assert.ErrorIs(t, err, context.Canceled)
	_, err = verifier.Verify(context.Background(), nil, p, verifier.Options{})
	assert.ErrorIs(t, err, verifier.ErrProgram)
	v, err := verifier.Verify(context.Background(), verifier.KernelOf(target), p, verifier.Options{Memory: 1})
	require.NoError(t, err)
	assert.Equal(t, verifier.Unknown, v.Outcome)
	assert.Equal(t, "more memory than the limit", v.Missing)
}

// judge is the verdict on a socket filter of a release.
func judge(t testing.TB, k *verifier.Kernel, text string) *verifier.Verdict {
	insns, err := decode.Assemble(text)
	require.NoError(t, err, text)
	v, err := verifier.Verify(context.Background(), k, &verifier.Program{Type: uapi.ProgTypeSocketFilter, License: "GPL", Insns: insns}, verifier.Options{})
	require.NoError(t, err)
	return v
}

// below ends a program that uses r0, from 0 to 7, as an offset on the stack.
const below = "\nr1 = r10\nr1 += r0\n*(u8 *)(r1 - 8) = 0\nr0 = 0\nexit"

// beginnings are programs that the release before a rule refuses, and updates of older releases
// accept.
var beginnings = []struct {
	rule    since.Rule
	from    string // the first versions that accept it
	text    string
	message string // of the release before, "" for any
}{
	{since.UninitStack, "6.3 5.10.222 5.15.163 6.1.100", "*(u64 *)(r10 - 16) = 0\nr0 = *(u64 *)(r10 - 8)\nr0 = 0\nexit", "invalid read from stack off -8+0 size 8"},
	{since.UninitGrows, "6.8 6.1.191 6.6.14 6.7.3", "r0 = *(u64 *)(r10 - 8)\nr0 = 0\nexit", "invalid read from stack R10 off=-8 size=8"},
	{since.StoreConstToContext, "6.4", "*(u32 *)(r1 + 48) = 1\nr0 = 0\nexit", "BPF_ST stores into R1 ctx is not allowed"},
	{since.CPUv4, "6.6", "r0 = 5\nr0 s/= 2\nexit", "BPF_ALU uses reserved fields"},
	{since.LongJump, "6.6 6.1.72", "r0 = 0\ngotol +0\nexit", "unknown opcode 06"},
	{since.AtomicsFull, "5.12", "r1 = 1\n*(u64 *)(r10 - 8) = r1\nlock *(u64 *)(r10 - 8) |= r1\nr0 = 0\nexit", "BPF_STX uses reserved fields"},
	{since.MayGoto, "6.9", "r0 = 0\nmay_goto +1\nr0 = 1\nexit", "unknown opcode e5"},
	{since.LoadAcquire, "6.15", "r1 = 1\n*(u64 *)(r10 - 8) = r1\nr0 = load_acquire((u64 *)(r10 - 8))\nexit", "BPF_ATOMIC uses invalid atomic opcode 100"},
	{since.SubregSpill, "5.16 5.10.168 5.15.93", "*(u64 *)(r10 - 8) = 0\ncall 7\nr0 &= 7\n*(u32 *)(r10 - 16) = r0\nr0 = *(u32 *)(r10 - 16)" + below, ""},
	{since.TwoRegisterRanges, "6.8", "call 7\nr6 = r0\nr6 &= 7\ncall 7\nif r0 > r6 goto +4" + below, ""},
	{since.LinkedOffsets, "6.11", "call 7\nr0 &= 255\nr2 = r0\nr2 += 4\nif r2 > 11 goto +4" + below, ""},
	{since.LinkedNegative, "7.0 6.18.33", "call 7\nr0 &= 255\nr2 = r0\nr2 += -4\nif r2 s> 3 goto +4" + below, ""},
	{since.MulSigned, "6.14", "call 7\nr0 &= 7\nr0 *= -1\nr0 += 7" + below, ""},
	{since.NegRange, "6.17", "call 7\nr0 &= 7\nr0 = -r0\nr0 += 7" + below, ""},
	{since.BswapRange, "7.0 6.18.33", "call 7\nr0 &= 1792\nr0 = be16 r0" + below, ""},
	{since.EqBits, "6.18", "call 7\nr0 |= 1\nif r0 != 4 goto +1\nr0 = r9\nr0 = 0\nexit", "R9 !read_ok"},
	{since.DivRange, "7.0", "call 7\nw0 = w0\nr0 /= 1073741824" + below, ""},
	{since.StoredConstants, "6.3 5.10.186 5.15.119 6.1.36", "*(u64 *)(r10 - 8) = 5\nr0 = *(u64 *)(r10 - 8)" + below, ""},
	{since.ConstLeft, "6.4", "call 5\nif r0 < 4 goto +3\nr2 = 4\nif r2 <= r0 goto +1\nr0 = r9\nr0 = 0\nexit", "R9 !read_ok"},
	{since.UnknownOperands, "6.10", "call 7\nr6 = r0\nr6 &= 3\ncall 7\nr0 &= 4\nr0 |= r6" + below, ""},
	{since.EqRange, "6.4", "call 7\nif r0 < 3 goto +2\nif r0 != 2 goto +1\nr0 = r9\nr0 = 0\nexit", "R9 !read_ok"},
	{since.SameRegister, "6.19", "call 7\nif r0 == r0 goto +1\nr0 = r9\nr0 = 0\nexit", "R9 !read_ok"},
	{since.NullRegisters, "7.1", "r1 = *(u64 *)(r1 + 168)\nr2 = 0\nif r1 == r2 goto +1\nr0 = *(u32 *)(r1 + 4)\nr0 = 0\nexit", "R1 invalid mem access 'sock_common_or_null'"},
}

// What a release began to accept is refused by the one before it; so are updates of older releases.
func TestReleasesBegin(t *testing.T) {
	spec, err := embedded.Spec()
	require.NoError(t, err)
	for _, c := range beginnings {
		verdictOn := func(r since.Release, patch int) *verifier.Verdict {
			return judge(t, &verifier.Kernel{Release: r, Patch: patch, BTF: spec}, c.text)
		}
		for _, name := range strings.Fields(c.from) {
			_, version, ok := loader.ParseRelease(name)
			require.True(t, ok, name)
			at := since.Of(version)
			v := verdictOn(at.Release, at.Patch)
			assert.Equal(t, verifier.Accepted, v.Outcome, "%s on %s: %s (%s)", c.text, name, v.Message, c.rule)
			before := since.Version{Release: at.Release, Patch: at.Patch - 1}
			if at.Patch == 0 {
				before = since.Version{Release: since.Previous(at.Release)}
			}
			v = verdictOn(before.Release, before.Patch)
			assert.Equal(t, verifier.Refused, v.Outcome, "%s before %s: %s", c.text, name, c.rule)
			if c.message != "" && at.Release == c.rule.From() {
				assert.Equal(t, c.message, v.Message, "%s", c.rule)
			}
		}
	}
}

// A program type that a release does not have is refused before there is a log.
func TestProgramTypesBegin(t *testing.T) {
	insns, err := decode.Assemble("r0 = 1\nexit")
	require.NoError(t, err)
	for _, c := range []struct {
		typ  uapi.ProgType
		from since.Release
	}{{uapi.ProgTypeNetfilter, since.R(6, 4)}, {uapi.ProgTypeSyscall, since.R(5, 14)}} {
		for _, r := range []since.Release{c.from - 1, c.from} {
			v, err := verifier.Verify(context.Background(), &verifier.Kernel{Release: r}, &verifier.Program{Type: c.typ, License: "GPL", Insns: insns, Sleepable: c.typ == uapi.ProgTypeSyscall}, verifier.Options{})
			require.NoError(t, err)
			if r < c.from {
				assert.Equal(t, verifier.Refused, v.Outcome, "%s on %s", c.typ, r)
				assert.Empty(t, v.Message)
				assert.Contains(t, v.Reason, "does not know program type "+c.typ.String())
				assert.Equal(t, uapi.EINVAL, v.Errno)
			} else {
				assert.Equal(t, verifier.Accepted, v.Outcome, "%s on %s: %s", c.typ, r, v.Message)
			}
		}
	}
}

// Before 7.1 accesses to the context of a syscall program are aligned
// (syscall_prog_is_valid_access), and its pointer is unchanged.
func TestContextsOfSyscallProgramsAreAlignedBefore71(t *testing.T) {
	for _, c := range []struct{ text, message string }{
		{"r0 = *(u64 *)(r1 + 8)", ""},
		{"r0 = *(u64 *)(r1 + 4)", "invalid bpf_context access off=4 size=8"},
		{"*(u16 *)(r1 + 1) = 7\nr0 = 0", "invalid bpf_context access off=1 size=2"},
		{"r1 += 8\nr0 = *(u64 *)(r1 + 0)", "dereference of modified ctx ptr R1 off=8 disallowed"},
	} {
		insns, err := decode.Assemble(c.text + "\nexit")
		require.NoError(t, err)
		for _, r := range []since.Release{since.R(6, 18), since.R(7, 0), since.R(7, 1)} {
			v, err := verifier.Verify(context.Background(), &verifier.Kernel{Release: r}, &verifier.Program{Type: uapi.ProgTypeSyscall, License: "GPL", Insns: insns, Sleepable: true}, verifier.Options{})
			require.NoError(t, err)
			want := c.message
			if r >= since.R(7, 1) {
				want = ""
			}
			assert.Equal(t, want, v.Message, "%s on %s", c.text, r)
			assert.Equal(t, want == "", v.Outcome == verifier.Accepted, "%s on %s", c.text, r)
		}
	}
}

// Callbacks are part of the call before 6.7 (6.6 with its updates), and called again and again from
// then on.
func TestCallbacksOfEveryRelease(t *testing.T) {
	l := linkAll(t, embeddedTarget(t), "../../testdata/objects/clang-22/callbacks.o")
	seen := map[verifier.Outcome]int{}
	for _, r := range []since.Release{since.R(5, 17), since.R(6, 1), since.R(6, 5), since.R(6, 6), since.R(6, 12), since.R(6, 18), since.R(7, 2)} {
		for _, lp := range l.Programs {
			p, err := verifier.FromLinked(l, lp)
			require.NoError(t, err)
			k := verifier.KernelOf(l.Target)
			k.Release, k.Patch = r, 0
			v, err := verifier.Verify(context.Background(), k, p, verifier.Options{})
			require.NoError(t, err)
			assert.NotEqual(t, verifier.Unknown, v.Outcome, "%s on %s: %s", lp.Name, r, v.Missing)
			seen[v.Outcome]++
		}
	}
	assert.Greater(t, seen[verifier.Accepted], 10)
}

// A program that would be explored without end is refused after a million instructions.
func TestVerifyEndsWithinLimits(t *testing.T) {
	spec, err := embedded.Spec()
	require.NoError(t, err)
	v := judge(t, &verifier.Kernel{Release: since.R(6, 12), BTF: spec}, "r0 = 0\nr0 += 1\nif r0 < 10000000 goto -2\nexit")
	assert.Equal(t, verifier.Refused, v.Outcome)
	assert.Equal(t, "BPF program is too large. Processed 1000001 insn", v.Message)
	assert.Equal(t, uapi.E2BIG, v.Errno)
}

// FuzzVerify: whatever the instructions are, there is an answer.
func FuzzVerify(f *testing.F) {
	spec, err := embedded.Spec()
	require.NoError(f, err)
	for _, text := range []string{"r0 = 0\nexit", "r0 = 0\nr0 += 1\nif r0 < 100 goto -2\nexit", "call 7\nr1 = r10\nr1 += -8\n*(u64 *)(r1 + 0) = r0\nexit"} {
		insns, err := decode.Assemble(text)
		require.NoError(f, err)
		f.Add(decode.Marshal(insns, binary.LittleEndian), uint8(1), uint8(18))
	}
	releases := []since.Release{since.R(5, 10), since.R(5, 15), since.R(6, 1), since.R(6, 6), since.R(6, 12), since.R(6, 18), since.R(7, 2)}
	f.Fuzz(func(t *testing.T, code []byte, typ, release uint8) {
		insns, err := decode.Unmarshal(code[:len(code)/8*8], binary.LittleEndian)
		if err != nil || len(insns) == 0 {
			return
		}
		k := &verifier.Kernel{Release: releases[int(release)%len(releases)], BTF: spec}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		v, err := verifier.Verify(ctx, k, &verifier.Program{Type: uapi.ProgType(typ % 33), License: "GPL", Insns: insns}, verifier.Options{Memory: 256 << 20})
		if err == nil && v.Outcome == verifier.Refused && v.Errno == 0 {
			t.Error("refused without an error")
		}
	})
}

// endings are programs of any type that a rule refuses, or with accepts that it accepts, on each
// side of the versions that brought the rule. Linux 5.10.262, 6.12.107, 6.17.13, 6.18.15, 6.18.44,
// 6.19.14, 7.0.13 and 7.2.13 answered so.
var endings = []struct {
	rule     since.Rule
	from     string // the first versions with the rule
	typ      uapi.ProgType
	mapType  uapi.MapType // of the map that instruction 0 refers to
	lockdown proto.Lockdown
	text     string
	accepts  bool
	message  string // of the refusal
}{
	{since.SleepableProgArrays, "7.0", uapi.ProgTypeSyscall, uapi.MapTypeProgArray, 0, "r1 = 0 ll\nr0 = 0\nexit", true,
		"Sleepable programs can only use array, hash, ringbuf and local storage maps"},
	{since.ContextMemArgs, "7.1", uapi.ProgTypeSyscall, 0, 0, "r2 = 8\nr3 = 0\ncall 113\nr0 = 0\nexit", true,
		"R1 type=ctx expected=fp, pkt, pkt_meta, map_key, map_value, mem, ringbuf_mem, buf, trusted_ptr_"},
	{since.NoSeg6PullData, "7.2 6.1.189 6.12.112", uapi.ProgTypeLwtSeg6local, 0, 0, "r2 = 0\ncall 39\nr0 = 0\nexit", false, ""},
	{since.LockdownWrites, "5.14", uapi.ProgTypeKprobe, 0, proto.Integrity, "*(u64 *)(r10 - 8) = 0\nr1 = 4096\nr2 = r10\nr2 += -8\nr3 = 8\ncall 36\nr0 = 0\nexit", false, ""},
}

func TestRulesRefuse(t *testing.T) {
	spec, err := embedded.Spec()
	require.NoError(t, err)
	for _, c := range endings {
		insns, err := decode.Assemble(c.text)
		require.NoError(t, err)
		p := &verifier.Program{Type: c.typ, License: "GPL", Insns: insns, Sleepable: c.typ == uapi.ProgTypeSyscall}
		if c.mapType != 0 {
			p.Insns[0].Src = decode.PseudoMapFD
			p.Refs = map[int]verifier.Ref{0: {Kind: verifier.RefMap, Map: &verifier.Map{Name: "m", Type: c.mapType, KeySize: 4, ValueSize: 4, MaxEntries: 1}}}
		}
		for _, name := range strings.Fields(c.from) {
			_, version, ok := loader.ParseRelease(name)
			require.True(t, ok, name)
			at := since.Of(version)
			before := since.Version{Release: at.Release, Patch: at.Patch - 1}
			if at.Patch == 0 {
				before = since.Version{Release: since.Previous(at.Release)}
			}
			for _, x := range []since.Version{before, at} {
				v, err := verifier.Verify(context.Background(), &verifier.Kernel{Release: x.Release, Patch: x.Patch, BTF: spec, Lockdown: c.lockdown}, p, verifier.Options{})
				require.NoError(t, err)
				if (x == at) == c.accepts {
					assert.Equal(t, verifier.Accepted, v.Outcome, "%s on %v: %s", c.rule, x, v.Message)
					continue
				}
				assert.Equal(t, verifier.Refused, v.Outcome, "%s on %v", c.rule, x)
				if c.message != "" {
					assert.Equal(t, c.message, v.Message)
				}
			}
		}
	}
}

// A kernel that is locked down lacks helpers; a verdict for one that is not says so, if the kernel
// may be.
func TestLockdown(t *testing.T) {
	spec, err := embedded.Spec()
	require.NoError(t, err)
	for _, c := range []struct {
		call     string
		accepted proto.Lockdown // the highest level
		assumes  bool
	}{{"call 36", proto.NotLocked, true}, {"call 4", proto.Integrity, false}, {"call 45", proto.Integrity, false}, {"call 113", proto.Integrity, false}, {"call 112", proto.Confidentiality, false}} {
		insns, err := decode.Assemble("*(u64 *)(r10 - 8) = 0\nr1 = r10\nr1 += -8\nr2 = 8\nr3 = r1\n" + c.call + "\nr0 = 0\nexit")
		require.NoError(t, err)
		if c.call == "call 36" { // the memory is the second argument
			insns[3], insns[4] = decode.Insn{Code: 0xbf, Dst: 2, Src: 1}, decode.Insn{Code: 0xb7, Dst: 3, Imm: 8}
		}
		for l := proto.NotLocked; l <= proto.Confidentiality; l++ {
			v, err := verifier.Verify(context.Background(), &verifier.Kernel{Release: since.R(6, 12), BTF: spec, Lockdown: l}, &verifier.Program{Type: uapi.ProgTypeKprobe, License: "GPL", Insns: insns}, verifier.Options{})
			require.NoError(t, err)
			assert.Equal(t, l <= c.accepted, v.Outcome == verifier.Accepted, "%s at %s: %s", c.call, l, v.Message)
			assert.Equal(t, c.assumes && l == proto.NotLocked, v.Unlocked, "%s at %s", c.call, l)
		}
	}
}

// On 5.10 an atomic operation other than an addition is refused wherever it is, as the reserved
// fields of stores are.
func TestAtomicsInDeadCodeOn510(t *testing.T) {
	for _, c := range []struct{ op, message string }{{"|=", "BPF_STX uses reserved fields"}, {"+=", ""}} {
		text := "r1 = 1\nr0 = 0\nif r0 == 0 goto +1\nlock *(u64 *)(r10 - 8) " + c.op + " r1\nexit"
		assert.Equal(t, c.message, judge(t, &verifier.Kernel{Release: since.R(5, 10)}, text).Message)
		assert.Empty(t, judge(t, &verifier.Kernel{Release: since.R(5, 12)}, text).Message)
	}
}
