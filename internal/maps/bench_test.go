package maps

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

func benchLookup(b *testing.B, s Spec) {
	env := newEnv(b, 2)
	m := newMap(b, env, s)
	const n = 1000
	keys := make([][]byte, n)
	for i := range keys {
		keys[i] = make([]byte, s.KeySize)
		binary.LittleEndian.PutUint32(keys[i], uint32(i))
		require.Equal(b, OK, m.Update(0, keys[i], make([]byte, s.ValueSize), 0))
	}
	b.ReportAllocs()
	b.ResetTimer()
	i := 0
	for b.Loop() {
		if _, e := m.Lookup(0, keys[i]); e != OK {
			b.Fatal(e)
		}
		if i++; i == n {
			i = 0
		}
	}
}

func BenchmarkLookup(b *testing.B) {
	for _, s := range []Spec{
		{Name: "hash4", Type: uapi.MapTypeHash, KeySize: 4, ValueSize: 8, MaxEntries: 1024},
		{Name: "hash16", Type: uapi.MapTypeHash, KeySize: 16, ValueSize: 8, MaxEntries: 1024},
		{Name: "percpu_hash4", Type: uapi.MapTypePercpuHash, KeySize: 4, ValueSize: 8, MaxEntries: 1024},
		{Name: "lru4", Type: uapi.MapTypeLRUHash, KeySize: 4, ValueSize: 8, MaxEntries: 1024},
		{Name: "array", Type: uapi.MapTypeArray, KeySize: 4, ValueSize: 8, MaxEntries: 1024},
		{Name: "percpu_array", Type: uapi.MapTypePercpuArray, KeySize: 4, ValueSize: 8, MaxEntries: 1024},
	} {
		b.Run(s.Name, func(b *testing.B) { benchLookup(b, s) })
	}
}

func BenchmarkUpdate(b *testing.B) {
	for _, s := range []Spec{
		{Name: "hash4", Type: uapi.MapTypeHash, KeySize: 4, ValueSize: 8, MaxEntries: 1024},
		{Name: "lru4_evict", Type: uapi.MapTypeLRUHash, KeySize: 4, ValueSize: 8, MaxEntries: 256},
		{Name: "array", Type: uapi.MapTypeArray, KeySize: 4, ValueSize: 8, MaxEntries: 1024},
	} {
		b.Run(s.Name, func(b *testing.B) {
			m := newMap(b, newEnv(b, 2), s)
			key, value := make([]byte, 4), make([]byte, 8)
			b.ReportAllocs()
			i := uint32(0)
			for b.Loop() {
				binary.LittleEndian.PutUint32(key, i&1023)
				if e := m.Update(0, key, value, 0); e != OK {
					b.Fatal(e)
				}
				i++
			}
		})
	}
}

func BenchmarkRingbuf(b *testing.B) {
	env := newEnv(b, 2)
	env.Consume = ConsumeAtOnce
	r := newMap(b, env, Spec{Type: uapi.MapTypeRingbuf, MaxEntries: 1 << 18}).(RingBuffer)
	b.ReportAllocs()
	for b.Loop() {
		a, ok := r.Reserve(64, 0)
		if !ok {
			b.Fatal("full")
		}
		r.Submit(a, 0)
		if env.seq%1024 == 0 {
			r.TakeRecords()
		}
	}
}
