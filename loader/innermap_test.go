package loader

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/uapi"
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
