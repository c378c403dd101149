package verifier

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// allows reports whether what is known allows everything that x allows. A number is allowed by
// everything: if it is used as a pointer, it was none.
func (a argTrack) allows(x argTrack) bool {
	if x.frame < 0 && x.frame != trackSeveral {
		return true
	}
	if x.frames()&^a.frames() != 0 {
		return false
	}
	if a.frame < 0 || a.n == 0 { // any offset
		return true
	}
	return x.frame == a.frame && x.n > 0 && !slices.ContainsFunc(x.off[:x.n], func(off int16) bool { return !slices.Contains(a.off[:a.n], off) })
}

// randomTrack returns what may be known of a value.
func randomTrack(r *rand.Rand) argTrack {
	switch r.IntN(8) {
	case 0:
		return argTrack{frame: trackUnvisited}
	case 1:
		return noTrack
	case 2:
		return argTrack{frame: trackSeveral, mask: uint16(1 + r.IntN(15))}
	case 3:
		return argTrack{frame: int8(r.IntN(3))}
	}
	a := argTrack{frame: int8(r.IntN(3)), n: int8(1 + r.IntN(4))}
	offsets := r.Perm(7)[:a.n]
	slices.Sort(offsets)
	for i, off := range offsets {
		a.off[i] = int16(-8 * off)
	}
	slices.Sort(a.off[:a.n])
	return a
}

// TestTracksOfTwoPaths: where paths meet, everything is allowed that either path allows, whichever
// comes first, and nothing is forgotten that both know.
func TestTracksOfTwoPaths(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 7))
	for range 20_000 {
		a, b := randomTrack(r), randomTrack(r)
		j := joinTracks(a, b)
		assert.True(t, j.allows(a) && j.allows(b), "%+v and %+v: %+v", a, b, j)
		assert.Equal(t, j, joinTracks(b, a), "%+v and %+v", a, b)
		assert.Equal(t, a, joinTracks(a, a))
		assert.Equal(t, a.frames()|b.frames(), j.frames(), "%+v and %+v: %+v", a, b, j)
		assert.Equal(t, a.isPointer() || b.isPointer(), j.isPointer(), "%+v and %+v: %+v", a, b, j)
		if known := append(slices.Clone(a.off[:a.n]), b.off[:b.n]...); a.frame == b.frame && a.n > 0 && b.n > 0 {
			slices.Sort(known)
			if known = slices.Compact(known); len(known) <= 4 {
				assert.Equal(t, known, j.off[:j.n], "%+v and %+v: %+v", a, b, j)
			} else {
				assert.Zero(t, j.n, "more than four")
			}
		}
		if t.Failed() {
			return
		}
	}
}

// TestTracksOfSums: a pointer that is moved by a register may be anywhere in the frames of both.
func TestTracksOfSums(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 7))
	for range 5_000 {
		a, b := randomTrack(r), randomTrack(r)
		if a.frame == trackUnvisited || b.frame == trackUnvisited { // no path gets there
			continue
		}
		sum := a
		sum.combine(b)
		assert.Equal(t, a.frames()|b.frames(), sum.frames(), "%+v and %+v: %+v", a, b, sum)
		assert.Equal(t, a.isPointer() || b.isPointer(), sum.isPointer(), "%+v and %+v: %+v", a, b, sum)
		assert.Zero(t, sum.n, "%+v and %+v: %+v", a, b, sum)
		if t.Failed() {
			return
		}
	}
}

// TestTracksThatMove: by a constant, all offsets move; those that leave 16 bits are forgotten.
func TestTracksThatMove(t *testing.T) {
	two := argTrack{frame: 1, n: 2, off: [4]int16{-16, 8}}
	for delta, want := range map[int64]argTrack{
		0: two, 8: {frame: 1, n: 2, off: [4]int16{-8, 16}}, -8: {frame: 1, n: 2, off: [4]int16{-24, 0}},
		math.MaxInt16 - 8: {frame: 1, n: 2, off: [4]int16{math.MaxInt16 - 24, math.MaxInt16}}, math.MaxInt16 - 7: {frame: 1},
		math.MinInt16 + 16: {frame: 1, n: 2, off: [4]int16{math.MinInt16, math.MinInt16 + 24}}, math.MinInt16 + 15: {frame: 1},
		math.MaxInt64: {frame: 1}, math.MinInt64: {frame: 1}, 1 << 16: {frame: 1}, 1 << 32: {frame: 1},
	} {
		got := two
		got.add(delta)
		assert.Equal(t, want, got, "%d", delta)
	}
	for off, want := range map[int16]int{0: -1, 8: -1, -1: -1, -7: -1, -8: 0, -9: -1, -16: 1, -504: 62, -512: 63, -520: -1, -513: -1, math.MinInt16: -1} {
		assert.Equal(t, want, slotOf(off), "%d", off)
	}
}
