package vm

// Patches is a private copy of program code with breakpoints and coverage marks, so that other
// instructions have no extra cost. Several threads of one machine may share it, one at a time.
type Patches struct {
	cover  bool
	ways   bool // see RecordWays
	images map[*Image]*patched
	last   *Image // that image found last
	of     *patched
	breaks int    // breakpoints in all images
	feed   func() // see SetFeed
	look   func() // see SetFeed
	news   uint64 // slots and branches that were recorded for the first time
}

type patched struct {
	code   []inst
	seen   []uint64    // bitmap of slots executed
	gone   [2][]uint64 // by Way: bitmaps of the jumps listed by findWays that went this way
	breaks map[int]bool
}

// NewPatches creates an empty set; with cover it records which slots are executed.
func NewPatches(cover bool) *Patches {
	return &Patches{cover: cover, images: make(map[*Image]*patched)}
}

// SetPatches makes the thread run with p; nil for none.
func (t *Thread) SetPatches(p *Patches) {
	t.patch = p
	t.generation++
}

// Patches returns the thread's set, or nil.
func (t *Thread) Patches() *Patches { return t.patch }

func (p *Patches) image(img *Image) *patched {
	if p.last == img && img != nil {
		return p.of
	}
	q := p.images[img]
	if q == nil {
		words := (len(img.insns) + 63) / 64
		q = &patched{code: append([]inst(nil), img.plain...), seen: make([]uint64, words)}
		if p.ways {
			q.gone = [2][]uint64{make([]uint64, words), make([]uint64, words)}
		}
		if p.cover {
			for i := range img.insns {
				if q.code[i].op != opSecondSlot {
					q.code[i].op = opCover
				}
			}
		}
		p.images[img] = q
	}
	p.last, p.of = img, q
	return q
}

// SetBreak sets a breakpoint on slot pc; it returns false if there is no such instruction.
func (p *Patches) SetBreak(img *Image, pc int) bool {
	if pc < 0 || pc >= img.Len() || img.plain[pc].op == opSecondSlot {
		return false
	}
	q := p.image(img)
	if q.breaks == nil {
		q.breaks = make(map[int]bool)
	}
	if !q.breaks[pc] {
		p.breaks++
	}
	q.breaks[pc] = true
	q.code[pc].op = opBreak
	return true
}

// ClearBreak removes a breakpoint.
func (p *Patches) ClearBreak(img *Image, pc int) {
	q := p.images[img]
	if q == nil || !q.breaks[pc] {
		return
	}
	delete(q.breaks, pc)
	p.breaks--
	q.code[pc] = img.plain[pc]
	if p.cover && (!bit(q.seen, pc) || p.pending(img, q, pc)) {
		q.code[pc].op = opCover
	}
}

// Breaks returns the number of breakpoints in img.
func (p *Patches) Breaks(img *Image) int {
	if q := p.images[img]; q != nil {
		return len(q.breaks)
	}
	return 0
}

func (p *Patches) breakAt(img *Image, pc int) bool {
	if p.breaks == 0 {
		return false
	}
	q := p.images[img]
	return q != nil && q.breaks[pc]
}

// SetFeed lets an [Engine] record the coverage of what it runs: f, which calls Mark, is called
// before coverage is read. look does the same for [Patches.News], for what is new since it was last
// called, and the engine goes on recording what it left. Threads run without their engine if their
// patches have breakpoints or no feed.
func (p *Patches) SetFeed(f, look func()) { p.feed, p.look = f, look }

// News counts the slots and branches that were ever recorded for the first time: it changes with a
// run that reaches something that no run reached since the last [Patches.Restore] forgot it. It
// costs little, however large the programs.
func (p *Patches) News() uint64 {
	if p.look != nil {
		p.look()
	}
	return p.news
}

func (p *Patches) fetch() {
	if p.feed != nil {
		p.feed()
	}
}

// native reports whether an engine may run code with these patches.
func (p *Patches) native() bool { return p == nil || p.feed != nil && p.breaks == 0 }

// Mark records that the slots from lo up to hi were executed.
func (p *Patches) Mark(img *Image, lo, hi int) {
	q := p.image(img)
	for pc := lo; pc < hi; pc++ {
		if img.plain[pc].op != opSecondSlot {
			p.markIn(q, img, pc)
		}
	}
}

// mark notes that slot pc is executed and returns its code to normal.
func (p *Patches) mark(img *Image, pc int) { p.markIn(p.image(img), img, pc) }

func (p *Patches) markIn(q *patched, img *Image, pc int) {
	if !bit(q.seen, pc) {
		p.news++
		setBit(q.seen, pc)
	}
	if q.code[pc].op == opCover && !p.pending(img, q, pc) {
		q.code[pc] = img.plain[pc]
	}
}

// Covered reports whether slot pc of img was reached.
func (p *Patches) Covered(img *Image, pc int) bool {
	p.fetch()
	q := p.images[img]
	return q != nil && pc >= 0 && pc < img.Len() && q.seen[pc/64]>>(pc%64)&1 != 0
}

// Coverage returns a bitmap of the slots of img that were reached (bit pc%64 of word pc/64), nil if
// it never ran.
func (p *Patches) Coverage(img *Image) []uint64 {
	p.fetch()
	if q := p.images[img]; q != nil {
		return append([]uint64(nil), q.seen...)
	}
	return nil
}
