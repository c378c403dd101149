package order

// word is what is known of eight bytes that actors touch.
type word struct {
	// reads and writes are the bytes that each actor touched in some order before this exploration
	// began; found are those that it also touched since.
	reads, writes           [MaxActors]uint8
	foundReads, foundWrites [MaxActors]uint8

	// The access that last wrote each byte, in the order with number run.
	run     uint64
	written [8]uint64
}

// bytes is a table of words by address. It is emptied when a system is explored anew, not for each
// order.
type bytes struct {
	index map[uint64]int32
	words []word
	run   uint64
	// news means that an actor touched bytes which it was not known to touch.
	news  bool
	wrong mutation
}

// at returns the word that contains an address.
func (b *bytes) at(addr uint64) *word {
	i, ok := b.index[addr>>3]
	if !ok {
		if b.index == nil {
			b.index = map[uint64]int32{}
		}
		i = int32(len(b.words))
		b.index[addr>>3] = i
		b.words = append(b.words, word{})
	}
	return &b.words[i]
}

// part returns the word in which an access begins, the bytes of it that it touches, and what
// remains of the access.
func (b *bytes) part(t Touch) (w *word, mask uint8, rest Touch) {
	n := min(8-t.Addr&7, t.Size)
	mask = uint8((uint(1)<<n - 1) << (t.Addr & 7))
	w = b.at(t.Addr)
	t.Addr, t.Size = t.Addr+n, t.Size-n
	if b.wrong == firstWord {
		t.Size = 0
	}
	return w, mask, t
}

// learn notes that an actor touches bytes.
func (b *bytes) learn(actor int, touches []Touch) {
	for _, t := range touches {
		for t.Size > 0 {
			w, mask, rest := b.part(t)
			known := &w.foundReads[actor]
			if t.Write {
				known = &w.foundWrites[actor]
			}
			if *known|mask != *known {
				*known |= mask
				b.news = true
			}
			t = rest
		}
	}
}

// learned makes known what was found.
func (b *bytes) learned() {
	for i := range b.words {
		w := &b.words[i]
		w.reads, w.writes = w.foundReads, w.foundWrites
	}
	b.news = false
}

// contested reports whether another actor touches the same bytes, and one of the two writes.
func (b *bytes) contested(actor int, touches []Touch) bool {
	for _, t := range touches {
		for t.Size > 0 {
			w, mask, rest := b.part(t)
			for other := range w.writes {
				theirs := w.writes[other]
				if t.Write && b.wrong != noReaders {
					theirs |= w.reads[other]
				}
				if other != actor && theirs&mask != 0 {
					return true
				}
			}
			t = rest
		}
	}
	return false
}

// history identifies the accesses made so far, and which of them depend on which. It is enough to
// know which write each access finds: who reads and who writes next follows from that.
type history struct {
	bytes *bytes
	last  [MaxActors]uint64 // the last access of each actor
	all   uint64            // a sum over all accesses
}

// reset begins a new order.
func (h *history) reset() {
	h.bytes.run++
	h.last, h.all = [MaxActors]uint64{}, 0
}

// add adds an access of an actor.
func (h *history) add(actor int, touches []Touch) {
	id := mix(h.last[actor] + uint64(actor) + 1)
	for _, t := range touches {
		for t.Size > 0 {
			w, mask, rest := h.bytes.part(t)
			if w.run != h.bytes.run {
				w.run, w.written = h.bytes.run, [8]uint64{}
			}
			for i := range 8 {
				if mask>>i&1 != 0 && h.bytes.wrong != noWriters {
					id = mix(id ^ w.written[i])
				}
			}
			t = rest
		}
	}
	for _, t := range touches {
		for t.Write && t.Size > 0 {
			w, mask, rest := h.bytes.part(t)
			for i := range 8 {
				if mask>>i&1 != 0 {
					w.written[i] = id
				}
			}
			t = rest
		}
	}
	h.last[actor] = id
	h.all += mix(id ^ 0x5851f42d4c957f2d)
}

// mix is the finalizer of splitmix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
