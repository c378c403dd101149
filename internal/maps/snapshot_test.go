package maps

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// snapshotSpecs is a map of every type; ringbuf and others with methods of their own are driven by
// those.
func snapshotSpecs() []Spec {
	inner := Spec{Name: "in", Type: uapi.MapTypeHash, KeySize: 4, ValueSize: 8, MaxEntries: 4}
	specs := []Spec{inner}
	for typ := range constructors {
		s := good(typ)
		s.Name, s.MaxEntries = fmt.Sprint(typ), max(s.MaxEntries, 6)
		switch typ {
		case uapi.MapTypeArrayOfMaps, uapi.MapTypeHashOfMaps:
			s.ValueSize, s.Inner = 4, &inner
		case uapi.MapTypeSkStorage, uapi.MapTypeTaskStorage, uapi.MapTypeInodeStorage, uapi.MapTypeCgrpStorage:
			s.Flags, s.MaxEntries = uapi.MapNoPrealloc, 0
		case uapi.MapTypeCgroupStorage, uapi.MapTypePercpuCgroupStorage:
			s.MaxEntries = 0
		case uapi.MapTypeStructOps:
			s.MaxEntries = 1
		case uapi.MapTypeInsnArray:
			s.ValueSize = 16
		case uapi.MapTypeRingbuf:
			s.MaxEntries = 4096
			over := s
			over.Name, over.Flags = "ring that overwrites", uapi.MapRbOverwrite
			specs = append(specs, over)
		case uapi.MapTypeUserRingbuf:
			s.MaxEntries = 4096
		case uapi.MapTypeRhash:
			s.Flags = uapi.MapNoPrealloc
		case uapi.MapTypeHash:
			np := s
			np.Name, np.Flags = "hash without preallocation", uapi.MapNoPrealloc
			specs = append(specs, np)
		case uapi.MapTypeLRUHash:
			per := s
			per.Name, per.Flags = "lru by CPU", uapi.MapNoCommonLRU
			specs = append(specs, per)
		}
		specs = append(specs, s)
	}
	slices.SortFunc(specs, func(a, b Spec) int { return int(a.Type) - int(b.Type) })
	return specs
}

// drive performs random operations on all maps and returns a log of every result.
func drive(env *Env, rnd *rand.Rand, steps int) []string {
	var log []string
	var held []uint64 // value addresses, as a program holds them
	note := func(m Map, what string, v ...any) { log = append(log, m.Spec().Name+" "+what+" "+fmt.Sprint(v...)) }
	all := env.Maps()
	for range steps {
		m := all[rnd.IntN(len(all))]
		cpu := rnd.IntN(env.CPUs)
		key, value := make([]byte, m.Spec().KeySize), make([]byte, max(UserValueSize(m), 4))
		if _, ok := m.(LocalStorage); ok {
			key = make([]byte, 8)
		}
		if len(key) > 0 {
			key[0] = byte(rnd.IntN(8))
		}
		value[0] = byte(1 + rnd.IntN(3))
		switch op := rnd.IntN(12); op {
		case 0, 1, 2:
			note(m, "update", m.Update(cpu, key, value, uint64(rnd.IntN(3))))
		case 3, 4:
			a, e := m.Lookup(cpu, key)
			if e == OK {
				held = append(held, a)
				if _, isMap := env.ByAddr(a); !isMap {
					note(m, "store", env.Mem.Store(a, 1, rnd.Uint64N(256)))
				}
			}
			note(m, "lookup", a, e)
		case 5:
			note(m, "delete", m.Delete(key))
		case 6:
			k, e := m.NextKey(key)
			note(m, "next", k, e)
		case 7:
			if len(held) > 0 {
				v, f := env.Mem.Load(held[rnd.IntN(len(held))], 1)
				note(m, "load", v, f)
			}
		case 8:
			if rnd.IntN(4) == 0 {
				env.EndRun()
			}
		default:
			driveOwn(env, m, rnd, cpu, value, note)
		}
	}
	return log
}

func driveOwn(env *Env, m Map, rnd *rand.Rand, cpu int, value []byte, note func(Map, string, ...any)) {
	switch x := m.(type) {
	case RingBuffer:
		if open := x.Open(); len(open) > 2 || len(open) > 0 && rnd.IntN(2) == 0 {
			if rnd.IntN(3) == 0 {
				note(m, "discard", x.Discard(open[rnd.IntN(len(open))], 0))
			} else {
				note(m, "submit", x.Submit(open[rnd.IntN(len(open))], 0))
			}
			return
		}
		a, ok := x.Reserve(uint64(rnd.IntN(300)), 0)
		note(m, "reserve", a, ok, x.Output(value, 0), x.Query(uint64(rnd.IntN(4))))
	case PerfArray:
		note(m, "output", x.Output(cpu, uint64(rnd.IntN(3)), value))
	case StackTrace:
		note(m, "stackid", x.StackID([]uint64{uint64(rnd.IntN(9)), 5}, uint64(rnd.IntN(2))*uapi.StackReuseID))
	case Queue:
		note(m, "push", x.Push(value, uint64(rnd.IntN(2))*2))
		if rnd.IntN(2) == 0 {
			note(m, "pop", x.Pop(value), value)
		}
	case UserRing:
		note(m, "push", x.Push(value))
		a, n, e := x.Next()
		note(m, "next", a, n, e)
		x.Release(a)
	case OuterMap:
		note(m, "inner", x.SetInner(append([]byte{byte(rnd.IntN(7))}, 0, 0, 0), env.Maps()[0], 0))
	case RefArray:
		note(m, "ref", x.SetRef(uint32(rnd.IntN(7)), rnd.IntN(3)))
	case LocalStorage:
		a, e := x.Get(uint64(1+rnd.IntN(5)), value, true)
		note(m, "get", a, e)
	case Arena:
		a := x.AllocPages(0, uint32(1+rnd.IntN(2)))
		if a != 0 {
			note(m, "store", env.Mem.Store(x.ToKernel(a), 8, rnd.Uint64()))
		}
		note(m, "alloc", a)
		if rnd.IntN(2) == 0 {
			x.FreePages(x.UserBase()+4096*uint64(rnd.IntN(6)), 1)
		}
	}
}

// contents is everything that can be seen from outside.
func contents(env *Env) []string {
	var out []string
	for _, m := range env.Maps() {
		out = append(out, fmt.Sprintf("%s %v", m.Spec().Name, m.Entries()))
		switch x := m.(type) {
		case RingBuffer:
			out = append(out, fmt.Sprint(x.Records(), x.Open(), x.Query(uapi.RbConsPos), x.Query(uapi.RbProdPos), x.Query(uapi.RbOverwritePos)))
		case PerfArray:
			out = append(out, fmt.Sprint(x.Records(), x.Lost()))
		}
	}
	return out
}

func TestSnapshotRestoreRerun(t *testing.T) {
	t.Run("compared", func(t *testing.T) { restoreRerun(t, newEnv(t, 2), 8) })
	t.Run("tracked", func(t *testing.T) {
		m, err := mem.New(mem.Config{TrackStores: 1})
		require.NoError(t, err)
		t.Cleanup(m.Close)
		restoreRerun(t, &Env{Mem: m, CPUs: 2}, 600) // several blocks for few elements
	})
}

func restoreRerun(t *testing.T, env *Env, size uint32) {
	env.PerfBytes = 4096
	for _, s := range snapshotSpecs() {
		switch s.Type {
		case uapi.MapTypeHash, uapi.MapTypePercpuHash, uapi.MapTypeLRUHash, uapi.MapTypeLRUPercpuHash, uapi.MapTypeArray, uapi.MapTypePercpuArray,
			uapi.MapTypeLPMTrie, uapi.MapTypeRhash, uapi.MapTypeSkStorage, uapi.MapTypeTaskStorage, uapi.MapTypeCgroupStorage:
			s.ValueSize = size
		}
		newMap(t, env, s)
	}
	require.Len(t, env.Maps(), len(constructors)+4)
	drive(env, rand.New(rand.NewPCG(1, 1)), 4000)
	before := contents(env)
	ms, s := env.Mem.Snapshot(), env.Snapshot()
	first := drive(env, rand.New(rand.NewPCG(2, 2)), 6000)
	after := contents(env)
	newMap(t, env, Spec{Type: uapi.MapTypeArray, KeySize: 4, ValueSize: 4, MaxEntries: 4})
	for range 3 {
		env.Mem.Restore(ms)
		env.Restore(s)
		assert.Equal(t, before, contents(env))
		again := drive(env, rand.New(rand.NewPCG(2, 2)), 6000)
		require.Equal(t, first, again)
		require.Equal(t, after, contents(env))
	}
	require.NoError(t, env.Err())
}

// good is a specification of each type that must be accepted.
func good(typ uapi.MapType) Spec {
	s := Spec{Name: "m", Type: typ, KeySize: 4, ValueSize: 8, MaxEntries: 4}
	switch typ {
	case uapi.MapTypeProgArray, uapi.MapTypePerfEventArray, uapi.MapTypeCgroupArray, uapi.MapTypeXskmap:
		s.ValueSize = 4
	case uapi.MapTypeLPMTrie:
		s.KeySize, s.Flags = 8, uapi.MapNoPrealloc
	case uapi.MapTypeQueue, uapi.MapTypeStack, uapi.MapTypeBloomFilter:
		s.KeySize = 0
	case uapi.MapTypeRingbuf, uapi.MapTypeUserRingbuf:
		s.KeySize, s.ValueSize, s.MaxEntries = 0, 0, 4096
	case uapi.MapTypeArena:
		s.KeySize, s.ValueSize, s.Flags = 0, 0, uapi.MapMmapable
	case uapi.MapTypeCgroupStorage, uapi.MapTypePercpuCgroupStorage:
		s.KeySize, s.MaxEntries = 16, 0
	}
	return s
}

// The end of a run changes only what becomes of deleted elements, which restoring takes back: they
// end again with the run that is repeated.
func TestDeletedElementsOfRestoredRuns(t *testing.T) {
	for _, typ := range []uapi.MapType{uapi.MapTypeHash, uapi.MapTypeLPMTrie} {
		env := newEnv(t, 1)
		s := good(typ)
		s.Flags |= uapi.MapNoPrealloc
		m := newMap(t, env, s)
		key := append(k32(8), make([]byte, s.KeySize-4)...)
		require.Equal(t, OK, m.Update(0, key, make([]byte, s.ValueSize), 0))
		addr, e := m.Lookup(0, key)
		require.Equal(t, OK, e)
		require.Equal(t, OK, m.Delete(key))
		memory, state := env.Mem.Snapshot(), env.Snapshot()
		for range 3 {
			_, f := env.Mem.Load(addr, 1)
			assert.Nil(t, f, "%v: until the run ends", typ)
			env.EndRun()
			_, f = env.Mem.Load(addr, 1)
			assert.NotNil(t, f, "%v: afterwards", typ)
			env.Mem.Restore(memory)
			env.Restore(state)
		}
	}
}
