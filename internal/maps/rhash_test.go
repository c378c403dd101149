package maps

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// resizable is a map that may be created.
var resizable = Spec{Name: "m", Type: uapi.MapTypeRhash, KeySize: 4, ValueSize: 8, MaxEntries: 2, Flags: uapi.MapNoPrealloc}

// TestRhashIsCreated by the rules of rhtab_map_alloc_check, each at its border.
func TestRhashIsCreated(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Spec)
		want   uapi.Errno
	}{
		"as it is":                {func(*Spec) {}, OK},
		"allocated in advance":    {func(s *Spec) { s.Flags = 0 }, uapi.EINVAL},
		"without seed":            {func(s *Spec) { s.Flags |= uapi.MapZeroSeed }, uapi.EINVAL},
		"as an LRU":               {func(s *Spec) { s.Flags |= uapi.MapNoCommonLRU }, uapi.EINVAL},
		"the longest key":         {func(s *Spec) { s.KeySize = 0xffff }, OK},
		"a longer key":            {func(s *Spec) { s.KeySize = 0x10000 }, uapi.E2BIG},
		"no size":                 {func(s *Spec) { s.MaxEntries = 0 }, uapi.EINVAL},
		"room for all":            {func(s *Spec) { s.Extra = 2 }, OK},
		"room for more":           {func(s *Spec) { s.Extra = 3 }, uapi.EINVAL},
		"room for 65535":          {func(s *Spec) { s.MaxEntries, s.Extra = 1<<17, 0xffff }, OK},
		"room for 65536":          {func(s *Spec) { s.MaxEntries, s.Extra = 1<<17, 0x10000 }, uapi.E2BIG},
		"room beyond 32 bits":     {func(s *Spec) { s.Extra = 1 << 32 }, uapi.EINVAL},
		"map_extra of a hash":     {func(s *Spec) { s.Type, s.Extra = uapi.MapTypeHash, 1 }, uapi.EINVAL},
		"more than 2^31 elements": {func(s *Spec) { s.MaxEntries = 1<<31 + 1 }, uapi.E2BIG},
	} {
		t.Run(name, func(t *testing.T) {
			env, s := newEnv(t, 2), resizable
			c.change(&s)
			_, err := New(env, s)
			if c.want == OK {
				require.NoError(t, err)
				return
			}
			var refused *CreateError
			require.ErrorAs(t, err, &refused)
			assert.Equal(t, c.want, refused.Errno)
		})
	}
}

// TestRhashUpdatesInPlace: a pointer to an element sees its next value, which that of a hash does
// not.
func TestRhashUpdatesInPlace(t *testing.T) {
	env := newEnv(t, 2)
	m := newMap(t, env, resizable)
	require.Equal(t, OK, m.Update(0, k32(1), k64(10), uapi.NoExist))
	at, errno := m.Lookup(0, k32(1))
	require.Equal(t, OK, errno)
	assert.Equal(t, uapi.EEXIST, m.Update(0, k32(1), k64(11), uapi.NoExist))
	assert.Equal(t, uapi.ENOENT, m.Update(0, k32(2), k64(11), uapi.Exist))
	assert.Equal(t, uapi.EINVAL, m.Update(0, k32(1), k64(11), 3))
	assert.Equal(t, uapi.EINVAL, m.Update(0, k32(1), k64(11), uapi.Lock), "the value has no lock")
	require.Equal(t, OK, m.Update(0, k32(1), k64(11), uapi.Exist))
	v, f := env.Mem.Load(at, 8)
	require.Nil(t, f)
	assert.EqualValues(t, 11, v)
	require.Equal(t, OK, m.Update(0, k32(2), k64(20), uapi.Any))
	assert.Equal(t, uapi.E2BIG, m.Update(0, k32(3), k64(30), uapi.Any))
	assert.Len(t, m.Entries(), 2)

	before := env.Snapshot()
	require.Equal(t, OK, m.Delete(k32(1)))
	assert.Equal(t, uapi.ENOENT, m.Delete(k32(1)))
	require.Equal(t, OK, m.Update(0, k32(3), k64(30), uapi.Any), "there is room again")
	env.Restore(before)
	_, errno = m.Lookup(0, k32(3))
	assert.Equal(t, uapi.ENOENT, errno)
	value, errno := UserLookupDelete(m, k32(1), 0)
	require.Equal(t, OK, errno)
	assert.Equal(t, k64(11), value)
	key, errno := m.NextKey(k32(77))
	require.Equal(t, OK, errno, "after a key that is not there comes the first")
	assert.Equal(t, k32(2), key)
	_, errno = m.NextKey(key)
	assert.Equal(t, uapi.ENOENT, errno)
}

// TestRhashEndsTimersOfReplacedValues and leaves kptrs where they are.
func TestRhashEndsTimersOfReplacedValues(t *testing.T) {
	env := newEnv(t, 1)
	var freed []SpecialKind
	env.FreeField = func(_ Map, s Special, _ uint64) { freed = append(freed, s.Kind) }
	s := resizable
	s.ValueSize = 32
	m := newMap(t, env, s).(*rhash)
	m.fields = []Special{{Kind: Timer, Off: 0, Size: 16}, {Kind: Kptr, Off: 16, Size: 8}}
	m.plain, m.owning = []span{{24, 32}}, true
	require.Equal(t, OK, m.Update(0, k32(1), make([]byte, 32), 0))
	require.Empty(t, freed)
	require.Equal(t, OK, m.Update(0, k32(1), make([]byte, 32), 0))
	assert.Equal(t, []SpecialKind{Timer}, freed)
	require.Equal(t, OK, m.Delete(k32(1)))
	assert.Equal(t, []SpecialKind{Timer, Timer, Kptr}, freed)
}
