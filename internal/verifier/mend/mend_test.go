package mend_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/internal/verifier/mend"
	"github.com/bpfrun/bpfrun/loader"
)

func suggested(t *testing.T, object, program string, release since.Release) (*mend.Suggestion, *verifier.Verdict) {
	t.Helper()
	obj, err := loader.Open("../../../testdata/objects/clang-14/" + object)
	require.NoError(t, err)
	spec, err := embedded.Spec()
	require.NoError(t, err)
	linked, err := obj.Load(loader.NewTarget(embedded.Name, spec), loader.LoadOptions{LinkOnly: true, Only: []string{program}})
	require.NoError(t, err)
	lp, ok := linked.Program(program)
	require.True(t, ok)
	p, err := verifier.FromLinked(linked, lp)
	require.NoError(t, err)
	k := verifier.KernelOf(linked.Target)
	k.Release = release
	v, err := verifier.Verify(context.Background(), k, p, verifier.Options{})
	require.NoError(t, err)
	before := append([]decode.Insn(nil), p.Insns...)
	s, err := mend.Suggest(context.Background(), k, p, v, nil)
	require.NoError(t, err)
	assert.Equal(t, before, p.Insns, "the program itself is not changed")
	return s, v
}

func TestMissingLinesOfFamousRefusals(t *testing.T) {
	all := []since.Release{since.R(5, 10), since.R(6, 1), since.R(6, 12), since.R(6, 18), since.R(7, 2)}
	for _, c := range []struct {
		object, program string
		releases        []since.Release
		want            string
	}{
		{"refused.o", "null_access", all, "with `if (!e) return 0;` after refused.bpf.c:42 the program loads"},
		{"refused.o", "null_argument", all, "with `if (!e) return 0;` after refused.bpf.c:52 the program loads"},
		{"refused.o", "unbounded_index", all, "with `if (i > 15) return 0;` before refused.bpf.c:66 the program loads"},
		{"refused.o", "index_too_large", all, "with `if (i > 15) return 0;` before refused.bpf.c:78 the program loads"},
		{"refused.o", "unbounded_size", all[2:], "before refused.bpf.c:88 the program loads"},
		{"refused.o", "packet_end", all, "with `if ((void *)data + 13 > (void *)(long)ctx->data_end) return XDP_PASS;` before refused.bpf.c:98 the program loads"},
		{"refused.o", "leaked", all, "with `bpf_ringbuf_discard(r, 0);` before leaving at refused.bpf.c:110 the program loads"},
		{"refused.o", "constant_written", all, "with no `const` in the definition of the variable that refused.bpf.c:120 writes the program loads"},
		{"refused.o", "cannot_sleep", all[2:], "because bpf_copy_from_user may sleep, the program loads"},
		{"refused.o", "padding", all[:1], "padding too */` before refused.bpf.c:143 the program loads"},
		{"refused.o", "two_mistakes", all, "with `if (!e) return 0;` after refused.bpf.c:154 and `if (i > 15) return 0;` before refused.bpf.c:156 the program loads"},
		{"unlicensed.o", "traces", all, "with `char LICENSE[] SEC(\"license\") = \"GPL\";` the program loads"},
	} {
		for _, release := range c.releases {
			t.Run(c.program+"/"+release.String(), func(t *testing.T) {
				s, v := suggested(t, c.object, c.program, release)
				require.Equal(t, verifier.Refused, v.Outcome)
				require.NotNil(t, s, v.Message)
				assert.Contains(t, s.Text(), c.want, v.Message)
			})
		}
	}
}

// Where no change is known nothing is suggested.
func TestNothingIsGuessed(t *testing.T) {
	for _, program := range []string{"err_endless_loop", "err_wild_pointer", "err_above_frame"} {
		s, v := suggested(t, "faults.o", program, since.R(6, 12))
		require.Equal(t, verifier.Refused, v.Outcome)
		assert.Nil(t, s, program)
	}
}

// The values of a map may be larger than any number that an instruction compares with.
func TestHugeValues(t *testing.T) {
	insns, err := decode.Assemble(`
	r6 = *(u32 *)(r1 + 0)
	r2 = r10
	r2 += -4
	*(u32 *)(r10 - 4) = 0
	r1 = map_fd(0)
	call 1
	if r0 == 0 goto out
	r0 += r6
	r0 = *(u8 *)(r0 - 32768)
out:	r0 = 0
	exit`)
	require.NoError(t, err)
	for _, size := range []uint32{1 << 29, 1 << 31, 1<<32 - 8} {
		m := &verifier.Map{Name: "m", Type: uapi.MapTypeArray, KeySize: 4, ValueSize: size, MaxEntries: 1}
		p := &verifier.Program{Name: "p", Type: uapi.ProgTypeSocketFilter, Insns: insns, Refs: map[int]verifier.Ref{4: {Kind: verifier.RefMap, Map: m}}}
		k := &verifier.Kernel{Release: since.R(6, 12)}
		v, err := verifier.Verify(context.Background(), k, p, verifier.Options{})
		require.NoError(t, err)
		require.Equal(t, verifier.Refused, v.Outcome)
		require.Contains(t, v.Message, "R0", "of the access")
		s, err := mend.Suggest(context.Background(), k, p, v, nil)
		require.NoError(t, err)
		assert.Nil(t, s)
	}
}

// Code that is inserted anywhere and does nothing changes no verdict: jumps, calls and references
// still lead where they led.
func TestInsertedCodeMovesNothingElse(t *testing.T) {
	for _, object := range []string{"subprog.o", "callbacks.o", "refused.o", "globals.o"} {
		obj, err := loader.Open("../../../testdata/objects/clang-14/" + object)
		require.NoError(t, err)
		spec, err := embedded.Spec()
		require.NoError(t, err)
		var names []string
		for _, p := range obj.Programs {
			names = append(names, p.Name)
		}
		linked, err := obj.Load(loader.NewTarget(embedded.Name, spec), loader.LoadOptions{LinkOnly: true, Only: names})
		require.NoError(t, err)
		k := verifier.KernelOf(linked.Target)
		for _, lp := range linked.Programs {
			p, err := verifier.FromLinked(linked, lp)
			if err != nil {
				continue
			}
			want, err := verifier.Verify(context.Background(), k, p, verifier.Options{})
			require.NoError(t, err)
			for at := 0; at < len(p.Insns); at += p.Insns[at].Len() {
				q := mend.Padded(p, at)
				require.NotNil(t, q)
				got, err := verifier.Verify(context.Background(), k, q, verifier.Options{})
				require.NoError(t, err)
				assert.Equal(t, want.Outcome, got.Outcome, "%s %s at %d: %s", object, lp.Name, at, got.Message)
				assert.Equal(t, want.Errno, got.Errno)
				if want.Outcome == verifier.Refused {
					assert.Equal(t, uapi.Errno(want.Errno), got.Errno)
				}
			}
		}
	}
}

// What is released in a branch keeps the result that the program has set before.
func TestResultsAreKeptWhereReferencesAreReleased(t *testing.T) {
	const apart = "exit\nleaks: " // nothing falls into the code that leaks
	for name, c := range map[string]struct{ before, after, to string }{
		"no result yet": {"", "r0 = 2\n", "out"}, "a result": {"r0 = 2\n", "", "out"}, "a result that is not constant": {"r0 = r7\nr0 &= 7\nr0 ^= r7\n", "", "out"},
		"apart, no result yet": {"", apart + "r0 = 2\n", "leaks"}, "apart, a result that is not constant": {"r0 = r7\nr0 &= 7\nr0 ^= r7\n", apart, "leaks"},
	} {
		insns, err := decode.Assemble("r1 = map_fd(0)\nr2 = 8\nr3 = 0\ncall 131\nif r0 == 0 goto out\nr6 = r0\ncall 7\nr7 = r0\n" + c.before +
			"if r7 > 5 goto " + c.to + "\nr1 = r6\nr2 = 0\ncall 133\nr0 = 1\nout: " + c.after + "exit")
		require.NoError(t, err)
		m := &verifier.Map{Name: "m", Type: uapi.MapTypeRingbuf, MaxEntries: 4096}
		p := &verifier.Program{Name: "p", Type: uapi.ProgTypeSocketFilter, Insns: insns, Refs: map[int]verifier.Ref{0: {Kind: verifier.RefMap, Map: m}}}
		k := &verifier.Kernel{Release: since.R(6, 12)}
		v, err := verifier.Verify(context.Background(), k, p, verifier.Options{})
		require.NoError(t, err)
		require.Equal(t, verifier.Refused, v.Outcome)
		require.Contains(t, v.Message, "Unreleased reference")
		s, err := mend.Suggest(context.Background(), k, p, v, nil)
		require.NoError(t, err)
		require.NotNil(t, s, name)
		assert.Equal(t, "with `bpf_ringbuf_discard(it, 0);` the program loads", s.Text(), name)
	}
}
