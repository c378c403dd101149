package fuzz

import (
	"math/rand/v2"
	"slices"
	"time"
)

// mutate returns a changed copy of an input.
func (w *worker) mutate(in *Input) *Input {
	out := in.clone()
	for range 1 + w.rnd.IntN(2)*w.rnd.IntN(3) {
		w.change(out)
	}
	return out
}

// change changes one thing.
func (w *worker) change(in *Input) {
	f, r := w.f, w.rnd
	vary := f.opt.Vary
	e := &in.Events[len(in.Events)-1]
	if !w.tail {
		e = &in.Events[r.IntN(len(in.Events))]
	}
	sp := f.space.runs[e.Run]
	var options []option
	if !w.tail {
		options = []option{{1, func() { w.events(in) }}, {1, func() { w.drop(in) }}}
		options = append(options, w.stateOptions(in, e)...)
	}
	if vary[Packet] && sp.packet != nil {
		options = append(options, option{12, func() { w.packet(e, sp) }})
	}
	if vary[Ctx] && len(sp.fields) > 0 {
		options = append(options, option{2, func() {
			name := sp.fields[r.IntN(len(sp.fields))]
			e.Args = setNumber(e.Args, name, uint64(uint32(number(r, valueIn(e.Args, name, 0), f.space.values))))
		}})
	}
	if vary[Args] && len(sp.args) > 0 {
		options = append(options, option{6, func() {
			a := sp.args[r.IntN(len(sp.args))]
			e.setArg(a.Name, a.fit(number(r, valueIn(e.Args, a.Name, a.Value), f.space.values)))
		}})
	}
	if vary[User] && len(sp.user) > 0 {
		options = append(options, option{4, func() {
			b, _ := f.bufferOf(e, sp.user[r.IntN(len(sp.user))].Name)
			mutateBuffer(r, &b, f.space.values)
			e.setBuffer(b)
		}})
	}
	if vary[Ctx] && len(sp.ctx) > 0 {
		options = append(options, option{6, func() {
			if e.Ctx == nil {
				e.Ctx = slices.Clone(sp.ctx)
			}
			mutateBytes(r, e.Ctx, f.space.values)
		}})
	}
	if vary[Ctx] && sp.option != nil {
		options = append(options, option{6, func() { e.Option = mutateOption(r, sp.optionOf(e), f.space.values) }})
	}
	if vary[Ctx] && sp.sysctl != nil {
		options = append(options, option{6, func() { e.Sysctl = mutateSysctl(r, sp.sysctlOf(e), f.space.values) }})
	}
	if vary[Helpers] && len(sp.helpers) > 0 {
		options = append(options, option{2, func() { e.setAnswer(answer(r, sp.helpers[r.IntN(len(sp.helpers))], f.space.values)) }})
	}
	if vary[Time] {
		options = append(options, option{1, func() {
			e.After = []time.Duration{0, 1, time.Microsecond, time.Millisecond, time.Second, 5 * time.Second, time.Minute, time.Hour, 20 * time.Hour}[r.IntN(9)]
		}})
	}
	if len(options) == 0 {
		return
	}
	total := 0
	for _, o := range options {
		total += o.weight
	}
	n := r.IntN(total)
	for _, o := range options {
		if n -= o.weight; n < 0 {
			o.do()
			return
		}
	}
}

// option is a change that may be made, as often as its weight says.
type option struct {
	weight int
	do     func()
}

// stateOptions are the changes of the state before the events.
func (w *worker) stateOptions(in *Input, e *Event) (out []option) {
	f, r := w.f, w.rnd
	fields, texts := f.kernelSpace()
	if f.opt.Vary[Kernel] && len(fields) > 0 {
		out = append(out, option{3, func() {
			n := fields[r.IntN(len(fields))]
			in.Fields = setNumber(in.Fields, n.Name, n.fit(number(r, valueIn(in.Fields, n.Name, n.Value), f.space.values)))
		}})
	}
	if f.opt.Vary[Kernel] && len(texts) > 0 {
		out = append(out, option{2, func() {
			t := texts[r.IntN(len(texts))]
			was := t.Value
			for _, x := range in.Texts {
				if x.Name == t.Name {
					was = x.Value
				}
			}
			in.Texts = setText(in.Texts, t.Name, mutateText(r, was, t.most))
		}})
	}
	if f.opt.Vary[Maps] && len(f.space.maps) > 0 {
		out = append(out, option{4, func() { w.element(in, e) }})
	}
	if f.opt.Vary[Globals] && len(f.space.vars) > 0 {
		out = append(out, option{1, func() { w.global(in) }})
	}
	if f.stateful.Load() {
		out = append(out, option{1, func() { w.splice(in) }})
	}
	return out
}

// splice takes over the state of another input: what two inputs need one by one may be needed
// together.
func (w *worker) splice(in *Input) {
	f := w.f
	f.mu.Lock()
	from := f.corpus[w.rnd.IntN(len(f.corpus))].in
	f.mu.Unlock()
	in.adopt(from.clone())
}

// mutateText returns another string of at most most bytes: its length matters more than what is in
// it.
func mutateText(r *rand.Rand, was string, most int) string {
	letter := func() byte { return byte('a' + r.IntN(26)) }
	b := []byte(was)
	switch n := r.IntN(8); {
	case n == 0:
		return ""
	case n < 3: // as long as there is room
		for len(b) < most {
			b = append(b, letter())
		}
		b = b[:most]
	case n == 3 && len(b) > 0:
		b = b[:r.IntN(len(b))]
	case n < 6:
		for range 1 + r.IntN(16) {
			b = append(b, letter())
		}
		b = b[:min(len(b), most)]
	case len(b) > 0:
		b[r.IntN(len(b))] = []byte("/.-_ :%0A~")[r.IntN(10)]
	}
	return string(b)
}

func valueIn(list []Number, name string, or uint64) uint64 {
	for _, n := range list {
		if n.Name == name {
			return n.Value
		}
	}
	return or
}

// packet changes the packet of an event, or takes that of another input.
func (w *worker) packet(e *Event, sp *runSpace) {
	p := []byte(e.Packet)
	if p == nil {
		p = sp.packet
	}
	if w.rnd.IntN(12) == 0 {
		if q := w.another(); len(q) > 14 {
			at := w.rnd.IntN(min(len(p), len(q)))
			p = append(slices.Clone(p[:at]), q[at:]...)
		}
	}
	e.Packet = mutatePacket(w.rnd, p, w.f.space.values, sp.least, sp.most)
}

// another returns a packet of the corpus.
func (w *worker) another() []byte {
	f := w.f
	f.mu.Lock()
	defer f.mu.Unlock()
	in := f.corpus[w.rnd.IntN(len(f.corpus))].in
	return in.Events[w.rnd.IntN(len(in.Events))].Packet
}

// element stores an element in a map that only user space writes.
func (w *worker) element(in *Input, e *Event) {
	f, r := w.f, w.rnd
	def := f.space.maps[r.IntN(len(f.space.maps))]
	b, ok := f.first.fast.Machine().Map(def)
	if !ok || !f.isInput(def.Name) {
		return
	}
	switch {
	case b.Spec().Inner != nil && r.IntN(2) == 0:
		w.newInner(in, e, def, b)
		return
	case len(in.Maps) > 0 && r.IntN(2) == 0: // another value of an element that exists
		m := &in.Maps[r.IntN(len(in.Maps))]
		if r.IntN(8) == 0 {
			in.Maps = slices.DeleteFunc(in.Maps, func(x Element) bool { return x.is(m.Map, m.In, m.Key) })
			return
		}
		if len(m.Value) > 0 {
			mutateBytes(r, m.Value, f.space.values)
		}
		if b, ok := f.first.fast.Machine().MapByName(m.Map); ok && m.In == nil {
			f.fill(b.Spec().Type, m.Value)
		}
		return
	}
	key, value := w.newKey(e, b.Spec()), w.newValue(b.Spec().ValueSize)
	f.fill(b.Spec().Type, value)
	in.setElement(def.Name, nil, key, value)
}

// global changes a variable that only user space writes.
func (w *worker) global(in *Input) {
	f, r := w.f, w.rnd
	v := f.space.vars[r.IntN(len(f.space.vars))]
	if !f.isInput(v.Name) {
		return
	}
	b := slices.Clone([]byte(v.Value))
	for i := range in.Globals {
		if in.Globals[i].Name == v.Name {
			b = slices.Clone([]byte(in.Globals[i].Value))
		}
	}
	if len(b) == 1 {
		b[0] ^= 1
	} else {
		mutateBytes(r, b, f.space.values)
	}
	in.setGlobal(v.Name, b)
}

// events adds an event of a program that shares a map with another one, takes one away, repeats
// one, or moves one to another CPU.
func (w *worker) events(in *Input) {
	f, r := w.f, w.rnd
	i := r.IntN(len(in.Events))
	switch n := r.IntN(6); {
	case n < 3 && len(in.Events) < maxEvents:
		list := f.space.shares[in.Events[i].Run]
		if len(list) == 0 {
			return
		}
		e := Event{Run: list[r.IntN(len(list))]}
		if e.Run == in.Events[i].Run && r.IntN(2) == 0 { // the same event again
			e = in.clone().Events[i]
		}
		in.Events = slices.Insert(in.Events, i+r.IntN(2), e)
	case n < 5 && len(in.Events) > 1:
		in.Events = slices.Delete(in.Events, i, i+1)
	case n == 5 && f.opt.Vary[Ctx] && len(in.Events) > 1:
		in.Events[i].CPU = r.IntN(3)
	}
}

// drop takes something out of an input.
func (w *worker) drop(in *Input) {
	r := w.rnd
	e := &in.Events[r.IntN(len(in.Events))]
	switch n := r.IntN(8); {
	case n == 7 && len(e.User) > 0:
		i := r.IntN(len(e.User))
		e.User = slices.Delete(e.User, i, i+1)
	case n == 6 && len(in.Links) > 0:
		i := r.IntN(len(in.Links))
		in.Links = slices.Delete(in.Links, i, i+1)
	case n == 6 && len(e.Links) > 0:
		i := r.IntN(len(e.Links))
		e.Links = slices.Delete(e.Links, i, i+1)
	case n == 5 && len(in.Texts) > 0:
		i := r.IntN(len(in.Texts))
		in.Texts = slices.Delete(in.Texts, i, i+1)
	case n == 0 && len(in.Maps) > 0:
		i := r.IntN(len(in.Maps))
		in.Maps = slices.Delete(in.Maps, i, i+1)
	case n == 1 && len(in.Fields) > 0:
		i := r.IntN(len(in.Fields))
		in.Fields = slices.Delete(in.Fields, i, i+1)
	case n == 2 && len(in.Globals) > 0:
		i := r.IntN(len(in.Globals))
		in.Globals = slices.Delete(in.Globals, i, i+1)
	case n == 3 && len(e.Helpers) > 0:
		i := r.IntN(len(e.Helpers))
		e.Helpers = slices.Delete(e.Helpers, i, i+1)
	case n == 4 && len(e.Args) > 0:
		i := r.IntN(len(e.Args))
		e.Args = slices.Delete(e.Args, i, i+1)
	}
}
