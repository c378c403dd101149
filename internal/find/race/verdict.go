package race

import "github.com/bpfrun/bpfrun/internal/find/race/order"

// verdict is why an outcome that no sequential order has is wrong.
type verdict struct {
	torn   bool  // a value consists of parts of several
	events []int // that interfere, in order
	count  bool  // it is a count that nothing else depends on
	// read and act are the outdated read and what it decided; -1 for torn writes. late is the read
	// that did not fit read, for reads between which another actor wrote.
	read, late, act int
}

// judge looks for the mistake in an order whose outcome is not serialisable. Code that is free of
// locks by design has such outcomes too: they are no mistake as long as no read that another
// actor's write outdated decided what was done later, and no value is torn. false means that there
// is none.
func (w *watch) judge() (verdict, bool) {
	for _, torn := range []bool{false, true} { // an outdated read says more about the mistake
		for act := range w.events {
			if v, ok := w.decided(act, torn); ok {
				return v, true
			}
		}
	}
	if v, ok := w.ignored(); ok {
		return v, true
	}
	if v, ok := w.overwritten(); ok {
		return v, true
	}
	return w.tornWrite()
}

// ignored looks for a change with BPF_NOEXIST or BPF_EXIST that failed because another actor had
// changed the element after it was looked up, and of which nobody looked at the result: what the
// lookup decides afterwards is done as if it had succeeded. What the program returns does not
// count: it may be right for both.
func (w *watch) ignored() (verdict, bool) {
	for at := range w.events {
		e := &w.events[at]
		if e.kind != validated || !e.failed || e.asked {
			continue
		}
		for act := at + 1; act < len(w.events); act++ {
			a := &w.events[act]
			if a.actor != e.actor || a.failed || a.ends || a.locks() || !a.writes() && !a.effect {
				continue
			}
			for _, read := range a.by {
				if r := &w.events[read]; r.kind != lookup || read > at || r.touches[0].Addr != e.touches[0].Addr {
					continue
				}
				for other := range w.flows {
					if other == e.actor {
						continue
					}
					if w1 := w.next(read, other); w1 >= 0 && w1 < at {
						return verdict{read: read, act: at, events: ordered(read, w1, at, act)}, true
					}
				}
			}
		}
	}
	return verdict{}, false
}

// overwritten looks for a call that sends what another actor wrote over the actor's own bytes.
func (w *watch) overwritten() (verdict, bool) {
	for act := range w.events {
		e := &w.events[act]
		if !e.effect || e.kind != otherCall || len(e.touches) == 0 || e.writes() {
			continue
		}
		for other := range w.flows {
			if other == e.actor {
				continue
			}
			over := w.plainly(act, other, -1)
			if over < 0 {
				continue
			}
			if own := w.plainly(over, e.actor, -1); own >= 0 && w.events[own].conflicts(&w.events[over]) {
				return verdict{torn: true, read: -1, act: act, events: ordered(own, over, act)}, true
			}
		}
	}
	return verdict{}, false
}

// decided reports whether an effect depends on a read after which another actor wrote what it
// changes, or, torn, on reads between which another actor wrote: together they fit into no
// sequential order.
func (w *watch) decided(act int, torn bool) (verdict, bool) {
	e := &w.events[act]
	if e.failed || e.locks() || e.ofWorld() || !e.writes() && !e.effect {
		return verdict{}, false
	}
	parts := append(append([]int(nil), e.by...), act)
	if w.weak && len(e.by) > 0 { // stores that others saw only after it had read
		for i := e.by[0] + 1; i < len(w.events); i++ {
			if o := &w.events[i]; o.actor == e.actor && o.kind == plainWrite && i != act {
				parts = append(parts, i)
			}
		}
	}
	for other := range w.flows {
		if other == e.actor {
			continue
		}
		// The first part that another's write follows, the last one that another's write precedes.
		for _, d1 := range parts {
			if !w.events[d1].looks() {
				continue
			}
			w1 := w.next(d1, other)
			if w1 < 0 || w1 < act && w.current(d1, act) {
				continue
			}
			for i := len(parts) - 1; i >= 0; i-- {
				d2 := parts[i]
				w2 := w.before(d2, other)
				if w2 < 0 || d2 == d1 || torn == (d2 == act) || d2 == act && w1 > act || w.events[d2].ofWorld() {
					continue
				}
				v := verdict{torn: torn, read: d1, late: d2, act: act, events: ordered(d1, w1, w2, d2, act)}
				v.count = !torn && w.counts(e, d1)
				return v, true
			}
		}
	}
	return verdict{}, false
}

// current reports whether what was read is still there when an actor acts, as if nobody had come in
// between: whoever wrote last left what the actor read, or what it then wrote itself.
func (w *watch) current(read, act int) bool {
	r := &w.events[read]
	if r.kind != plainRead || len(r.touches) != 1 {
		return false
	}
	value, last := r.value, -1
	for i := read + 1; i < act; i++ {
		e := &w.events[i]
		if !e.writes() || !e.conflicts(r) {
			continue
		}
		if e.kind != plainWrite || len(e.touches) != 1 || e.touches[0] != (order.Touch{Addr: r.touches[0].Addr, Size: r.touches[0].Size, Write: true}) {
			return false
		}
		if last = i; e.actor == r.actor {
			value = e.value
		}
	}
	return last >= 0 && low(w.events[last].value, r.touches[0].Size) == low(value, r.touches[0].Size)
}

// low returns the lowest n bytes of a value.
func low(v, n uint64) uint64 {
	if n >= 8 {
		return v
	}
	return v & (1<<(8*n) - 1)
}

// apart reports whether two operations on an element of a per-CPU hash are about values of
// different CPUs: that another CPU has added the element changes nothing for this one, whose value
// is as new as before.
func (w *watch) apart(a, b *event) bool {
	return w.cpus[a.actor] != w.cpus[b.actor] && (a.own && (b.own || b.kind == lookup) || b.own && a.kind == lookup)
}

// next returns the first event of another actor after an event that conflicts with it, -1 for none.
func (w *watch) next(at, other int) int {
	for i := at + 1; i < len(w.events); i++ {
		if w.disturbs(&w.events[i], &w.events[at], other) {
			return i
		}
	}
	return -1
}

// before returns the last event of another actor before one that conflicts with it.
func (w *watch) before(at, other int) int {
	for i := at - 1; i >= 0; i-- {
		if w.disturbs(&w.events[i], &w.events[at], other) {
			return i
		}
	}
	return -1
}

// disturbs reports whether an event is another actor's and it matters for one whether it comes before
// or after it.
func (w *watch) disturbs(e, one *event, other int) bool {
	return e.actor == other && !e.locks() && e.conflicts(one) && !w.apart(e, one) && !e.keeps(one)
}

// tornWrite looks for an element of which two actors wrote several parts without order, and each
// wrote last in one of them.
func (w *watch) tornWrite() (verdict, bool) {
	for a := range w.events {
		if w.events[a].kind != plainWrite {
			continue
		}
		for other := range w.flows {
			if other == w.events[a].actor {
				continue
			}
			later := w.plainly(a, other, 1)
			if later < 0 {
				continue
			}
			for b := range w.events {
				if b == a || w.events[b].actor != w.events[a].actor || w.events[b].kind != plainWrite || !near(&w.events[a], &w.events[b]) {
					continue
				}
				if earlier := w.plainly(b, other, -1); earlier >= 0 {
					return verdict{torn: true, read: -1, act: b, events: ordered(a, later, earlier, b)}, true
				}
			}
		}
	}
	return verdict{}, false
}

// plainly returns a plain write of another actor to the same bytes, after an event or before it.
func (w *watch) plainly(at, other, step int) int {
	for i := at + step; i >= 0 && i < len(w.events); i += step {
		if e := &w.events[i]; e.actor == other && e.kind == plainWrite && e.conflicts(&w.events[at]) {
			return i
		}
	}
	return -1
}

// near reports whether two writes are about different parts of one value: less than a page apart.
func near(a, b *event) bool {
	if len(a.touches) == 0 || len(b.touches) == 0 {
		return false
	}
	x, y := a.touches[0], b.touches[0]
	return !x.Overlaps(y) && x.Addr>>12 == y.Addr>>12
}

// counts reports whether a lost update loses a count that nothing depends on: what was read decides
// only what is written to the same bytes.
func (w *watch) counts(act *event, read int) bool {
	r := &w.events[read]
	if r.kind != plainRead || act.kind != plainWrite {
		return false
	}
	for i := range w.events {
		e := &w.events[i]
		if e.actor != act.actor {
			continue
		}
		for _, by := range e.by {
			if by == read && !(e.kind == plainWrite && len(e.touches) == 1 && e.touches[0].Addr == r.touches[0].Addr) {
				return false
			}
		}
	}
	return true
}

// ordered sorts indices and drops those that occur twice.
func ordered(list ...int) []int {
	var out []int
	for {
		next := -1
		for _, i := range list {
			if i >= 0 && (len(out) == 0 || i > out[len(out)-1]) && (next < 0 || i < next) {
				next = i
			}
		}
		if next < 0 {
			return out
		}
		out = append(out, next)
	}
}
