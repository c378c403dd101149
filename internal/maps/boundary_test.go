package maps

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// TestLargestSizes: of each limit the largest size that the kernel takes, and the next one.
func TestLargestSizes(t *testing.T) {
	for name, c := range map[string]struct {
		fits Spec
		grow func(*Spec)
	}{
		"frames of a stack trace": {
			Spec{Type: uapi.MapTypeStackTrace, KeySize: 4, ValueSize: 127 * 8, MaxEntries: 1}, func(s *Spec) { s.ValueSize += 8 },
		},
		"key of an LPM trie": {
			Spec{Type: uapi.MapTypeLPMTrie, KeySize: 4 + 256, ValueSize: 4, MaxEntries: 1, Flags: uapi.MapNoPrealloc}, func(s *Spec) { s.KeySize++ },
		},
		"CPUs of a cpumap": {
			Spec{Type: uapi.MapTypeCpumap, KeySize: 4, ValueSize: 4, MaxEntries: maxCPUs}, func(s *Spec) { s.MaxEntries++ },
		},
		"value of a local storage": {
			Spec{Type: uapi.MapTypeTaskStorage, KeySize: 4, ValueSize: storageValueMax, Flags: uapi.MapNoPrealloc}, func(s *Spec) { s.ValueSize++ },
		},
	} {
		t.Run(name, func(t *testing.T) {
			env := newEnv(t, 2)
			c.fits.Name = "m"
			_, err := New(env, c.fits)
			require.NoError(t, err)
			c.grow(&c.fits)
			_, err = New(env, c.fits)
			assert.Error(t, err)
		})
	}
}

// TestValuesOfTries: the largest value that trie_alloc takes, by release.
func TestValuesOfTries(t *testing.T) {
	for version, largest := range map[uint32]uint32{uapi.VersionCode(6, 12): 4194008, uapi.VersionCode(6, 13): 4194024, 0: 4194024} {
		env := newEnv(t, 1)
		env.KernelVersion = version
		s := Spec{Name: "m", Type: uapi.MapTypeLPMTrie, KeySize: 8, ValueSize: largest, MaxEntries: 1, Flags: uapi.MapNoPrealloc}
		_, err := New(env, s)
		assert.NoError(t, err, "%#x", version)
		s.ValueSize++
		_, err = New(env, s)
		assert.ErrorIs(t, err, uapi.EINVAL, "%#x", version)
	}
}

// TestReleaseOfARule: a rule holds from its release on, not before, and not one later.
func TestReleaseOfARule(t *testing.T) {
	for version, want := range map[uint32]bool{
		uapi.VersionCode(6, 18): false, uapi.VersionCode(6, 18) + 200: false, uapi.VersionCode(6, 19): true, uapi.VersionCode(6, 19) + 1: true, uapi.VersionCode(7, 0): true, 0: true,
	} {
		assert.Equal(t, want, (&Env{KernelVersion: version}).has(since.RingOverwrite), "%#x", version)
	}
}

func TestQueueFlags(t *testing.T) {
	env := newEnv(t, 1)
	q := newMap(t, env, Spec{Type: uapi.MapTypeQueue, ValueSize: 4, MaxEntries: 1}).(Queue)
	for flags, want := range map[uint64]uapi.Errno{uint64(uapi.Any): OK, uint64(uapi.NoExist): uapi.EINVAL, 3: uapi.EINVAL, 4: uapi.EINVAL} {
		assert.Equal(t, want, q.Push(k32(1), flags), "%d", flags)
		_ = q.Pop(make([]byte, 4))
	}
	require.Equal(t, OK, q.Push(k32(1), 0))
	assert.Equal(t, uapi.E2BIG, q.Push(k32(2), 0))
	assert.Equal(t, OK, q.Push(k32(2), uint64(uapi.Exist)), "the oldest makes room")
}

// TestBuffersCanBeFilled: a record that just fits is taken, the next one is not.
func TestBuffersCanBeFilled(t *testing.T) {
	env := newEnv(t, 1)
	env.PerfBytes, env.Consume = 4*perfRecordSize(10), ConsumeNever
	p := newMap(t, env, Spec{Type: uapi.MapTypePerfEventArray, KeySize: 4, ValueSize: 4, MaxEntries: 1}).(PerfArray)
	for range 4 {
		assert.Equal(t, OK, p.Output(0, 0, make([]byte, 10)))
	}
	assert.Equal(t, uapi.ENOSPC, p.Output(0, 0, nil))
	assert.Equal(t, uapi.E2BIG, p.Output(0, 1, make([]byte, 1)), "there is one slot")
	assert.Len(t, p.TakeRecords(), 4)

	u := newMap(t, env, Spec{Type: uapi.MapTypeUserRingbuf, MaxEntries: 4096}).(UserRing)
	assert.Equal(t, OK, u.Push(make([]byte, 4096-8)))
	assert.Equal(t, uapi.ENOSPC, u.Push(nil))
}

// TestWalksOfOtherCPUs: a walk on a CPU that a map has no copies for sees those of the first.
func TestWalksOfOtherCPUs(t *testing.T) {
	env := newEnv(t, 2)
	m := newMap(t, env, Spec{Type: uapi.MapTypePercpuHash, KeySize: 4, ValueSize: 8, MaxEntries: 4})
	for key := range uint32(2) {
		require.Equal(t, OK, m.Update(AllCPUs, k32(key), append(k64(1), k64(2)...), 0))
	}
	first := map[int]uint64{}
	for cpu := -1; cpu <= 2; cpu++ {
		var c Cursor
		_, addr, ok := m.(Walker).Walk(cpu, &c)
		require.True(t, ok)
		first[cpu] = addr
	}
	assert.Equal(t, first[0], first[-1])
	assert.Equal(t, first[0], first[2])
	assert.NotEqual(t, first[0], first[1])
}
