package mem

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMovedBoundsGiveTheSameShadowAsFreshOnes(t *testing.T) {
	for _, ro := range []bool{false, true} {
		m := newMem(t, Config{})
		moved, err := m.Alloc(200, Region{Kind: Packet, ReadOnly: ro})
		require.NoError(t, err)
		base := moved.ext
		rng := rand.New(rand.NewPCG(1, 2))
		for range 2000 {
			lo := base + rng.Uint64N(201)
			hi := lo + rng.Uint64N(base+201-lo)
			require.NoError(t, m.SetBounds(moved, lo, hi))
			first, last := (base-m.base)/granule, (base+200-m.base+granule-1)/granule
			got := append([]byte(nil), m.shadowRange(first, last)...)
			// The long way: everything is painted anew.
			m.fill(base-m.base, (base-m.base+200+granule-1)&^(granule-1), ClassRedzone)
			m.paint(moved)
			require.Equal(t, m.shadowRange(first, last), got, "[%d, %d)", lo-base, hi-base)
		}
	}
}
