package debug

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/debug/expr"
	"github.com/bpfrun/bpfrun/internal/debug/scopes"
)

// outcomes are the last values of an evaluated watchpoint, each with what it was evaluated from. A
// watchpoint is evaluated again only if that has changed.
type outcomes struct {
	// positional means that names in the expression may be those of local variables or arguments:
	// what they mean depends on the instruction.
	positional bool
	at         map[spot]int // the meaning of the names at an instruction, as an index into meanings
	meanings   map[string]int
	of         map[outcomeKey]*outcome
	// latest and latestKey are the outcome used last.
	latest    *outcome
	latestKey outcomeKey
}

type outcomeKey struct{ meaning, frame, cpu int }

// outcome is one value of a watchpoint.
type outcome struct {
	from  expr.Trace
	value *expr.Value // nil for none
	// unknown means that there is no value at the instruction, and that the last one counts.
	unknown bool
}

// maxOutcomes limits what a watchpoint remembers.
const maxOutcomes = 1 << 14

// forget drops all outcomes.
func (o *outcomes) forget() { *o = outcomes{positional: o.positional} }

// mayBeLocal reports whether names in an expression are those of local variables or arguments of
// any function.
func (fr *frames) mayBeLocal(n expr.Node) bool {
	var names []string
	expr.EachName(n, func(name string) { names = append(names, name) })
	if len(names) == 0 {
		return false
	}
	found := false
	var search func(list []*scopes.Scope)
	search = func(list []*scopes.Scope) {
		for _, sc := range list {
			for _, v := range sc.Vars {
				found = found || slices.Contains(names, v.Name)
			}
			search(sc.Inner)
		}
	}
	if fr.dwarf != nil {
		search(fr.dwarf.Scopes)
	}
	spec := fr.linked.Object.BTF
	if spec == nil || found {
		return found
	}
	for id := spec.FirstID(); int(id) < spec.NumTypes(); id++ {
		if spec.Kind(id) != btf.KindFuncProto {
			continue
		}
		t, err := spec.Type(id)
		if err != nil {
			return true
		}
		for _, p := range t.Params {
			found = found || slices.Contains(names, p.Name)
		}
	}
	return found
}

// watchedSpot returns the instruction at which an activation is; for a caller, the call.
func (fr *frames) watchedSpot(frame int) (spot, bool) {
	t := fr.m.Thread()
	if frame == 0 {
		return spot{t.Image(), t.PC()}, true
	}
	list := t.Frames()
	if frame < 0 || frame >= len(list) {
		return spot{}, false
	}
	return spot{list[frame].Image, list[frame].PC - 1}, true
}

// outcomeKey returns the key that distinguishes the outcomes of a watchpoint now; ok is false if
// nothing does.
func (sp *stops) outcomeKey(w *Watch) (key outcomeKey, ok bool) {
	key.cpu = sp.cpu
	switch {
	case sp.state != Running:
		return key, false
	case w.framed:
		if key.frame = sp.m.Thread().Depth() - w.depth; key.frame < 0 {
			return key, false
		}
	case sp.frame != 0 || sp.inline != 0:
		return key, false
	}
	o := &w.outcomes
	if !o.positional {
		return key, true
	}
	at, ok := sp.watchedSpot(key.frame)
	if !ok {
		return key, false
	}
	if key.meaning, ok = o.at[at]; ok {
		return key, true
	}
	if o.at == nil || len(o.at) >= maxOutcomes {
		o.at, o.meanings, o.of, o.latest = map[spot]int{}, map[string]int{}, map[outcomeKey]*outcome{}, nil
	}
	text := sp.meaning(w, key.frame)
	if key.meaning, ok = o.meanings[text]; !ok {
		key.meaning = len(o.meanings)
		o.meanings[text] = key.meaning
	}
	o.at[at] = key.meaning
	return key, true
}

// meaning describes what the names of a watchpoint's expression stand for in an activation: equal
// texts mean the same variables in the same places.
func (sp *stops) meaning(w *Watch, frame int) string {
	was, inline := sp.frame, sp.inline
	defer func() { sp.frame, sp.inline = was, inline }()
	sp.frame = frame
	if w.framed {
		sp.inline = sp.inlineOf(frame, w)
	}
	here := sp.Here()
	f, _ := here.Func()
	text := fmt.Sprintf("%p %d %t", here.Prog, f.Start, here.PC == f.Start)
	addr, _ := sp.codeAddress(here)
	expr.EachName(w.expr, func(name string) {
		sp.eachLocal(func(v *scopes.Variable) bool {
			if v.Name != name {
				return true
			}
			where, err := sp.dwarf.Location(v, addr)
			text += fmt.Sprintf(" %s %p %x %t", name, v, where, err == nil)
			return false
		})
	})
	return text
}

// same reports whether an evaluated watchpoint has the value it had, since nothing it was evaluated
// from has changed.
func (sp *stops) same(w *Watch) bool {
	key, ok := sp.outcomeKey(w)
	if !ok {
		return false
	}
	o := &w.outcomes
	if o.latest == nil || o.latestKey != key {
		x := o.of[key]
		if x == nil {
			return false
		}
		o.latest, o.latestKey = x, key
	}
	x := o.latest
	switch {
	case !sp.Same(&x.from):
		return false
	case x.unknown:
		return true
	case x.value == nil:
		return w.last == nil
	case w.last == nil || !bytes.Equal(x.value.Data, w.last):
		return false
	}
	if w.value != x.value { // of another type, perhaps
		w.value, w.text = x.value, ""
	}
	return true
}

// evaluate evaluates a watchpoint's expression in the selected frame, and remembers the outcome.
func (sp *stops) evaluate(w *Watch) (v *expr.Value, err error) {
	key, ok := sp.outcomeKey(w)
	if !ok {
		return sp.EvalNode(w.expr)
	}
	o := &w.outcomes
	x := o.of[key]
	if x == nil {
		if o.of == nil {
			o.of = map[outcomeKey]*outcome{}
		}
		x = &outcome{}
		o.of[key] = x
	}
	sp.Follow(&x.from, func() { v, err = sp.EvalNode(w.expr) })
	o.latest, o.latestKey = x, key
	x.value, x.unknown = nil, false
	switch {
	case err == nil:
		x.value = v
	case w.framed && !expr.IsAbsent(err):
		x.unknown = true
	}
	return v, err
}
