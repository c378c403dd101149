package verifier_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

// The structural checks round stacks on the same releases as the walk.
func TestStackRoundingBeginsWithTheChecksOwn(t *testing.T) {
	insns, err := decode.Assemble("*(u64 *)(r10 - 488) = 0; call f; exit; f: exit") // 488 + 0 bytes: 496 by 16, 544 by 32
	require.NoError(t, err)
	on := func(r uapi.Release) error {
		return decode.Check(insns, decode.CheckConfig{Kernel: decode.KernelVersion(int(r>>8), int(r&0xff), 0)})
	}
	assert.ErrorIs(t, on(since.StackByJIT.Before()), decode.ErrStackDepth)
	assert.NoError(t, on(since.StackByJIT.From()))
}

// A function makes no tail call when its callers have 256 bytes of stack or more
// (check_max_stack_depth_subprog).
func TestTailCallsKeepLittleStack(t *testing.T) {
	b := btf.NewBuilder(nil)
	proto := b.Add(btf.Type{Kind: btf.KindFuncProto, Ref: b.Int("int", 4, btf.IntSigned)})
	main := b.Add(btf.Type{Kind: btf.KindFunc, Name: "main", Ref: proto, Linkage: btf.LinkageGlobal})
	jumps := b.Add(btf.Type{Kind: btf.KindFunc, Name: "jumps", Ref: proto, Linkage: btf.LinkageStatic})
	spec, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	array := &verifier.Map{Name: "m", Type: uapi.MapTypeProgArray, KeySize: 4, ValueSize: 4, MaxEntries: 1}
	for offset, want := range map[int]verifier.Outcome{240: verifier.Accepted, 241: verifier.Refused, 256: verifier.Refused} {
		text := fmt.Sprintf("*(u8 *)(r10 - %d) = 0\ncall +2\nr0 = 0\nexit\nr2 = map_fd(0)\nr3 = 0\ncall 12\nr0 = 0\nexit", offset)
		p := &verifier.Program{
			Type: uapi.ProgTypeSocketFilter, Refs: map[int]verifier.Ref{4: {Kind: verifier.RefMap, Map: array}},
			BTF: spec, Funcs: []verifier.FuncInfo{{Insn: 0, Type: main, Name: "main"}, {Insn: 4, Type: jumps, Name: "jumps"}},
		}
		v := verdict(t, &verifier.Kernel{Release: since.R(6, 18)}, p, text)
		assert.Equal(t, want, v.Outcome, "%d: %s", offset, v.Message)
		if want == verifier.Refused {
			assert.Equal(t, refusal.TailCallsNotAllowedWhenCall, v.Refusal, v.Message)
		}
	}
}

// A function of a program that may interrupt itself has a stack of its own from 64 bytes on, which
// its callees' do not add to (BPF_PRIV_STACK_MIN_SIZE).
func TestWhichFunctionsHaveTheirOwnStack(t *testing.T) {
	for offset, want := range map[int]string{48: "stack depth 48+32 max 80\n", 64: "stack depth 64+32 max 64\n"} {
		insns, err := decode.Assemble(fmt.Sprintf("*(u64 *)(r10 - %d) = 0\ncall +2\nr0 = 0\nexit\n*(u64 *)(r10 - 32) = 0\nr0 = 0\nexit", offset))
		require.NoError(t, err)
		var log bytes.Buffer
		v, err := verifier.Verify(context.Background(), &verifier.Kernel{Release: since.R(7, 2)}, &verifier.Program{Type: uapi.ProgTypeKprobe, License: "GPL", Insns: insns},
			verifier.Options{Log: &log, LogLevel: 1, Stats: true})
		require.NoError(t, err)
		require.Equal(t, verifier.Accepted, v.Outcome, v.Message)
		assert.Contains(t, log.String(), want)
	}
}
