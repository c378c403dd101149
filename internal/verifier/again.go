package verifier

import (
	"sync"
	"unsafe"
)

// again is memory for values of one type that verifications use one after another: most are short,
// and getting memory and freeing it would be a quarter of their work. What is taken is zero, as new
// memory is, so that no verification depends on those before.
type again[T any] struct {
	kept   *sync.Pool // of *piece[T]
	pieces []*piece[T]
	used   int // values of the last piece
}

type piece[T any] struct{ values []T }

// Memory of ended verifications.
var (
	keptFrames, keptStates, keptSlots, keptHistory, keptAux sync.Pool
)

const (
	pieceBytes = 64 << 10
	mostPieces = 32      // of a type that an ended verification leaves to others
	mostAux    = 4 << 10 // and instructions
)

// take returns n values, which fit into a piece.
func (a *again[T]) take(n int) []T {
	last := len(a.pieces) - 1
	if last < 0 || a.used+n > len(a.pieces[last].values) {
		p, ok := a.kept.Get().(*piece[T])
		if !ok {
			p = &piece[T]{make([]T, pieceBytes/unsafe.Sizeof(*new(T)))}
		}
		a.pieces, a.used = append(a.pieces, p), 0
		last++
	}
	out := a.pieces[last].values[a.used : a.used+n : a.used+n]
	a.used += n
	return out
}

// leave leaves the memory to others: nothing may refer to it any more.
func (a *again[T]) leave() {
	for i, p := range a.pieces[:min(len(a.pieces), mostPieces)] {
		if i == len(a.pieces)-1 {
			clear(p.values[:a.used])
		} else {
			clear(p.values)
		}
		a.kept.Put(p)
	}
	a.pieces = nil
}

// takeAux returns what is known about n instructions: nothing.
func takeAux(n int) []insnAux {
	if p, ok := keptAux.Get().(*piece[insnAux]); ok && n <= len(p.values) {
		return p.values[:n]
	}
	return make([]insnAux, n, max(n, min(2*n, mostAux)))
}

// leave leaves the memory of an ended verification to others.
func (e *explorer) leave() {
	e.pool.frames.leave()
	e.pool.states.leave()
	e.pool.slots.leave()
	e.precision.hists.leave()
	if all := e.aux[:cap(e.aux)]; len(all) <= mostAux {
		clear(e.aux)
		keptAux.Put(&piece[insnAux]{all})
	}
	e.aux = nil
}
