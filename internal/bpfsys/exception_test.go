package bpfsys_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// TestExceptionCallbacksRun: loaders pass exception callbacks as further functions, which only a
// tag in the program's BTF tells apart.
func TestExceptionCallbacksRun(t *testing.T) {
	for name, want := range map[string]uint32{"exception_callback:cb": 43, "": 42} {
		k := newCaller(t, newestKernel(t))
		b := btf.NewBuilder(nil)
		word := b.Int("int", 4, 1)
		long := b.Int("unsigned long", 8, 0)
		skb := b.Ptr(b.Add(btf.Type{Kind: btf.KindStruct, Name: "__sk_buff", Size: 4, Members: []btf.Member{{Name: "len", Type: word}}}))
		mainProto := b.Add(btf.Type{Kind: btf.KindFuncProto, Ref: word, Params: []btf.Param{{Name: "skb", Type: skb}}})
		cbProto := b.Add(btf.Type{Kind: btf.KindFuncProto, Ref: word, Params: []btf.Param{{Name: "cookie", Type: long}}})
		main := b.Add(btf.Type{Kind: btf.KindFunc, Name: "main", Ref: mainProto, Linkage: btf.LinkageGlobal})
		cb := b.Add(btf.Type{Kind: btf.KindFunc, Name: "cb", Ref: cbProto, Linkage: btf.LinkageGlobal})
		funcs := le.AppendUint32(le.AppendUint32(nil, 0), uint32(main))
		insns := []decode.Insn{{Code: 0xb7, Dst: 1, Imm: 42}, {Code: 0x85, Src: 2, Imm: int32(k.typeID(btf.KindFunc, "bpf_throw"))}, {Code: 0xb7}, {Code: 0x95}}
		if name != "" {
			b.Add(btf.Type{Kind: btf.KindDeclTag, Name: name, Ref: main, ComponentIdx: -1})
			funcs = le.AppendUint32(le.AppendUint32(funcs, uint32(len(insns))), uint32(cb))
			insns = append(insns, decode.Insn{Code: 0xbf, Src: 1}, decode.Insn{Code: 0x07, Imm: 1}, decode.Insn{Code: 0x95}) // cookie + 1
		}
		spec, err := b.Spec(le)
		require.NoError(t, err)
		types, r := k.try(uapi.CmdBtfLoad, field{0, k.put(spec.Raw())}, field{16, len(spec.Raw())})
		p := k.must(k.load(uapi.ProgTypeSchedCls, insns, field{72, k.must(types, r.errno)}, field{76, 8}, field{80, k.put(funcs)}, field{88, len(funcs) / 8}))
		_, e, out := k.call(uint32(uapi.CmdProgTestRun), field{0, p}, field{4, 0}, field{8, 64}, field{16, k.room(64)}, field{32, 1}, field{36, 0})
		require.Zero(t, e, k.notes)
		assert.Equal(t, want, le.Uint32(out[4:]), name)
	}
}
