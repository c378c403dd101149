package vm

import (
	"sync"

	"github.com/bpfrun/bpfrun/decode"
)

// ways lists the branches of an image's conditional jumps that must be recorded explicitly. Any
// other branch was taken if its successor was executed, because nothing else leads there.
type ways struct {
	once        sync.Once
	branch      []uint64 // bitmap of conditional jumps with two ways
	taken, fell []uint64 // bitmaps of those whose branch must be recorded
}

// Way is an outcome of a conditional jump.
type Way uint8

// The outcomes: to the target, and to the next instruction.
const (
	Taken Way = iota
	Fell
)

func bit(words []uint64, pc int) bool { return words[pc/64]>>(pc%64)&1 != 0 }

func setBit(words []uint64, pc int) { words[pc/64] |= 1 << (pc % 64) }

// findWays examines the program once; threads share images.
func (img *Image) findWays() *ways {
	w := &img.ways
	w.once.Do(func() {
		n := len(img.insns)
		words := (n + 63) / 64
		w.branch, w.taken, w.fell = make([]uint64, words), make([]uint64, words), make([]uint64, words)
		preds := make([]int, n)
		enter := func(pc int) {
			if pc >= 0 && pc < n {
				preds[pc]++
			}
		}
		for _, pc := range img.starts {
			enter(pc)
		}
		computed := false // has jumps to unknown targets
		var next []int
		for pc := 0; pc < n; pc += img.insns[pc].Len() {
			computed = computed || img.insns[pc].Info().Form == decode.FormGotoX
			for _, to := range decode.Successors(next[:0], img.insns, pc) {
				enter(to)
			}
		}
		alone := func(pc int) bool { return !computed && pc >= 0 && pc < n && preds[pc] == 1 }
		for pc := 0; pc < n; pc += img.insns[pc].Len() {
			in := img.insns[pc]
			target, ok := in.Target(pc)
			if !ok || in.Info().Flags&decode.FlagBranch == 0 || target == pc+1 {
				continue
			}
			setBit(w.branch, pc)
			if !alone(target) {
				setBit(w.taken, pc)
			}
			if !alone(pc + 1) {
				setBit(w.fell, pc)
			}
		}
	})
	return w
}

// Branches reports whether the slot is a conditional jump with two successors, and which outcomes
// must be recorded because nothing else shows that they occurred.
func (img *Image) Branches(pc int) (branch, taken, fell bool) {
	w := img.findWays()
	return bit(w.branch, pc), bit(w.taken, pc), bit(w.fell, pc)
}

// RecordWays also records the outcomes of conditional jumps. Call it before the first run.
func (p *Patches) RecordWays() { p.ways = true }

// RecordsWays reports whether outcomes are recorded.
func (p *Patches) RecordsWays() bool { return p != nil && p.ways }

// MarkWay records an outcome of the conditional jump at slot pc; engines call it for those that
// must be recorded.
func (p *Patches) MarkWay(img *Image, pc int, way Way) {
	q := p.image(img)
	if !bit(q.gone[way], pc) {
		p.news++
		setBit(q.gone[way], pc)
	}
	if q.code[pc].op == opCover && bit(q.seen, pc) && !p.pending(img, q, pc) {
		q.code[pc] = img.plain[pc]
	}
}

// pending reports whether an outcome of the slot must be recorded and has not occurred yet.
func (p *Patches) pending(img *Image, q *patched, pc int) bool {
	if !p.ways {
		return false
	}
	w := img.findWays()
	return bit(w.taken, pc) && !bit(q.gone[Taken], pc) || bit(w.fell, pc) && !bit(q.gone[Fell], pc)
}

// Gone reports whether an outcome of the conditional jump at slot pc has occurred.
func (p *Patches) Gone(img *Image, pc int, way Way) bool {
	p.fetch()
	w, q := img.findWays(), p.images[img]
	if q == nil || !p.ways || pc < 0 || pc >= img.Len() || !bit(w.branch, pc) {
		return false
	}
	target, _ := img.insns[pc].Target(pc)
	switch {
	case way == Taken && bit(w.taken, pc), way == Fell && bit(w.fell, pc):
		return bit(q.gone[way], pc)
	case way == Taken:
		return bit(q.seen, target)
	}
	return bit(q.seen, pc+1)
}

// stepBranch executes the conditional jump at t.pc and records its outcome.
func (t *Thread) stepBranch() exit {
	img, pc := t.img, t.pc
	x := t.stepPlain()
	if x == exitGo {
		way := Taken
		if t.pc == pc+1 {
			way = Fell
		}
		t.patch.MarkWay(img, pc, way)
	}
	return x
}
