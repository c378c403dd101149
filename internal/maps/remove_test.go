package maps

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// A map names all of its memory, so that freeing it does not search the memory of all others.
func TestRemovedMapsLeaveNoMemory(t *testing.T) {
	env := newEnv(t, 2)
	count := func() (n int) {
		env.Mem.Regions(func(*mem.Region) bool { n++; return true })
		return n
	}
	before := count()
	for _, s := range snapshotSpecs() {
		newMap(t, env, s)
	}
	drive(env, rand.New(rand.NewPCG(3, 3)), 6000)
	for _, m := range env.Maps() {
		if x, ok := m.(RefArray); ok && m.Spec().Type == uapi.MapTypeXskmap {
			require.Zero(t, x.(interface {
				SetSocket(index, queue uint32) uapi.Errno
			}).SetSocket(1, 2))
		}
		if x, ok := m.(UserRing); ok {
			_ = x.Push([]byte{1})
			_, _, e := x.Next() // being read
			require.Zero(t, e)
		}
	}
	all := env.Maps()
	slices.Reverse(all) // maps of maps after what they contain
	for _, m := range all {
		env.Remove(m)
		env.Mem.Regions(func(r *mem.Region) bool {
			require.NotEqual(t, any(m), r.Owner, "%s", m.Spec().Name)
			return true
		})
	}
	assert.Equal(t, before, count())
	assert.Empty(t, env.Maps())
}

// Freeing a map costs the same however many there are.
func TestRemovingMapsIsLinear(t *testing.T) {
	looks := func(n int) int {
		env := newEnv(t, 1)
		for range n {
			newMap(t, env, Spec{Type: uapi.MapTypeHash, Flags: uapi.MapNoPrealloc, KeySize: 4, ValueSize: 4, MaxEntries: 1})
		}
		for _, m := range env.Maps() {
			env.Remove(m)
		}
		return env.maps.Looks() + env.enders.Looks()
	}
	few, many := looks(250), looks(1000)
	assert.LessOrEqual(t, many, 5*few)
}

// What the fields of a map's values own is released with the map, on every CPU that has values.
func TestRemovedMapsReleaseWhatTheirFieldsOwn(t *testing.T) {
	for _, typ := range []uapi.MapType{uapi.MapTypeHash, uapi.MapTypePercpuHash, uapi.MapTypeArray} {
		for _, kind := range []SpecialKind{Timer, Kptr, SpinLock} {
			env := newEnv(t, 2)
			freed := map[uint64]int{}
			env.FreeField = func(_ Map, _ Special, addr uint64) { freed[addr]++ }
			m := newMap(t, env, Spec{Type: typ, KeySize: 4, ValueSize: 16, MaxEntries: 2, BTF: nil})
			b := m.(interface{ baseOf() *base }).baseOf()
			b.fields, b.owning = []Special{{Kind: kind, Off: 0, Size: 8}}, kind.Owns()
			want := 0
			for n := range uint32(2) {
				require.Equal(t, OK, m.Update(0, k32(n), make([]byte, 16), 0))
			}
			if clear(freed); kind.Owns() {
				if want = 2; typ.PerCPU() {
					want = 4
				}
			}
			env.Remove(m)
			assert.Len(t, freed, want, "%v with %v", typ, kind)
			for addr, n := range freed {
				assert.Equal(t, 1, n, "%#x", addr)
			}
		}
	}
}
