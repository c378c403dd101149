package loader

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

func TestExternsAndInnerMapsThatUserSpaceSets(t *testing.T) {
	o := object(t, "clang-14/userset.o")
	k := kernel(t, linux72)
	l := load(t, o, k, LoadOptions{})
	var e *Error
	require.ErrorAs(t, l.Err, &e)
	assert.ErrorIs(t, e, ErrExtern)
	assert.Contains(t, e.Hint, "--extern user_limit=VALUE")

	l = load(t, o, k, LoadOptions{Externs: map[string]uint64{"user_limit": 0x1234567890}, InnerMaps: map[string]string{"rules": "hash,value_size=8,max_entries=0x10"}})
	require.NoError(t, l.Err)
	p, _ := l.Program("lookup")
	found := false
	for pc, in := range p.Insns {
		if in.Code == codeLdImm && in.Src == 0 && uint64(uint32(in.Imm))|uint64(uint32(p.Insns[pc+1].Imm))<<32 == 0x1234567890 {
			found = true
		}
	}
	assert.True(t, found, "the constant is in the instructions")
	m, _ := l.Map("rules")
	require.NotNil(t, m.Inner)
	assert.Equal(t, Map{Name: "rules.inner", Index: -1, Autocreate: true, Type: uapi.MapTypeHash, KeySize: 4, ValueSize: 8, MaxEntries: 16}, *m.Inner)
	l = load(t, o, k, LoadOptions{Externs: map[string]uint64{"user_limit": 0}, InnerMaps: map[string]string{"rules": "like"}})
	m, _ = l.Map("rules")
	assert.EqualValues(t, 8, m.Inner.ValueSize)
	assert.NotZero(t, m.Inner.ValueType, "defined alike, with its types")

	for _, bad := range []LoadOptions{
		{Externs: map[string]uint64{"other": 1}},
		{InnerMaps: map[string]string{"like": "hash"}}, {InnerMaps: map[string]string{"none": "hash"}}, {InnerMaps: map[string]string{"rules": "hush"}},
		{InnerMaps: map[string]string{"rules": "hash,size=4"}}, {InnerMaps: map[string]string{"rules": "hash,key_size=-1"}}, {InnerMaps: map[string]string{"rules": ""}},
	} {
		_, err := o.Load(k, bad)
		assert.ErrorIs(t, err, ErrOption, "%v", bad)
	}
}

// TestExternsInMemory: --extern writes a constant into the instruction. For a symbol whose memory
// the program accesses it is not offered, and refused.
func TestExternsInMemory(t *testing.T) {
	const mov, ldx, stx, st, add, exit, lock = 0xbf, 0x61, 0x63, 0x62, 0x07, 0x95, 0xdb
	for _, tt := range []struct {
		name   string
		insns  []decode.Insn
		memory bool
	}{
		{"a value", []decode.Insn{{Code: mov, Src: 1}}, false},
		{"a load", []decode.Insn{{Code: ldx, Src: 1}}, true},
		{"a load over it", []decode.Insn{{Code: ldx, Dst: 1, Src: 1}}, true},
		{"a store", []decode.Insn{{Code: stx, Dst: 1}}, true},
		{"a store of it", []decode.Insn{{Code: stx, Dst: 10, Src: 1}}, false},
		{"a store of a constant", []decode.Insn{{Code: st, Dst: 1}}, true},
		{"an atomic operation", []decode.Insn{{Code: lock, Dst: 1}}, true},
		{"a member", []decode.Insn{{Code: add, Dst: 1, Imm: 4}, {Code: ldx, Src: 1}}, true},
		{"another value in the register", []decode.Insn{{Code: mov, Dst: 1, Src: 10}, {Code: ldx, Src: 1}}, false},
		{"a load of something else", []decode.Insn{{Code: ldx, Dst: 1, Src: 10}, {Code: ldx, Src: 1}}, false},
		{"after the end", []decode.Insn{{Code: exit}, {Code: ldx, Src: 1}}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := object(t, "clang-14/userset.o")
			for _, fn := range o.Functions {
				for _, r := range fn.relocs {
					if r.ext != nil && r.ext.Name == "user_limit" {
						fn.Insns[r.insn].Dst = 1
						fn.Insns = append(slices.Clone(fn.Insns[:r.insn+2]), append(tt.insns, decode.Insn{Code: exit})...)
						fn.relocs = []codeReloc{r}
						break
					}
				}
			}
			k := kernel(t, linux72)
			var e *Error
			require.ErrorAs(t, load(t, o, k, LoadOptions{}).Err, &e)
			_, err := o.Load(k, LoadOptions{Externs: map[string]uint64{"user_limit": 1}})
			if tt.memory {
				assert.NotContains(t, e.Hint, "--extern user_limit=")
				assert.Contains(t, e.Hint, "link the object")
				assert.ErrorIs(t, err, ErrOption)
				assert.ErrorContains(t, err, "accesses in memory")
			} else {
				assert.Contains(t, e.Hint, "--extern user_limit=VALUE")
				assert.NoError(t, err)
			}
		})
	}
}
