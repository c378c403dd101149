package fuzz

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/machine/finding"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// pairing is the programs at the entry and at the return of one function: a call is one event of
// each. Or it is those at hooks that begin something, and those at the hook where it ends.
type pairing struct {
	entries, returns []string
	// named means that only the names of the hooks say so. Then it counts what the programs do:
	// what the first stores the second was seen to delete.
	named bool
}

// pairings lists them for the programs that are searched.
func (f *Fuzzer) pairings(l *loader.Linked) (out []pairing) {
	var names []string
	for _, run := range f.order {
		if prog := f.first.runs[run].Prog; !slices.Contains(names, prog) {
			names = append(names, prog)
		}
	}
	for _, h := range l.Pairs(names) {
		if len(h.Entries) > 0 && len(h.Returns) > 0 {
			out = append(out, pairing{entries: h.Entries, returns: h.Returns})
		}
	}
	for _, e := range l.Ends(names) {
		out = append(out, pairing{e.Entries, e.Returns, true})
	}
	return out
}

// balance tries calls of a function as a whole for an input that reached something new in a program
// at its entry or its return: what one of them stores, the other may have to delete.
func (w *worker) balance(ctx context.Context, in *Input) error {
	f := w.f
	last := len(in.Events) - 1
	prog := f.first.runs[in.Events[last].Run].Prog
	for _, p := range f.pairs {
		var out []*Input
		switch {
		case slices.Contains(p.returns, prog) && (last == 0 || !slices.Contains(p.entries, f.first.runs[in.Events[last-1].Run].Prog)):
			for _, from := range f.eventsOf(p.entries) {
				next := in.clone()
				next.insert(from)
				out = append(out, next)
			}
		case slices.Contains(p.entries, prog):
			for _, then := range f.eventsOf(p.returns) {
				next := in.clone()
				next.adopt(then)
				next.Events = append(next.Events, then.clone().Events[len(then.Events)-1])
				out = append(out, next)
			}
		}
		for _, next := range out {
			if len(next.Events) > maxEvents {
				continue
			}
			if ctx.Err() != nil || f.spent() {
				return nil
			}
			if err := w.try(ctx, next); err != nil {
				return err
			}
		}
	}
	return nil
}

// eventsOf are inputs that end with an event of one of some programs: as the scenario has it, and
// those that got furthest.
func (f *Fuzzer) eventsOf(progs []string) (out []*Input) {
	for _, run := range f.order {
		if slices.Contains(progs, f.first.runs[run].Prog) {
			out = append(out, &Input{Events: []Event{{Run: run}}})
			out = append(out, f.latest(run, 2)...)
		}
	}
	return out
}

// noRoom are the helpers that fail in a kernel under load, whatever the program does.
var noRoom = []string{"bpf_ringbuf_reserve", "bpf_ringbuf_reserve_dynptr", "bpf_ringbuf_output", "bpf_perf_event_output"}

// sameCall reports whether an entry and a return are of one call, or two events of one thing: made
// by the same thread, with the same arguments.
func (f *Fuzzer) sameCall(entry, ret *Event) bool {
	for _, h := range slices.Concat(entry.Helpers, ret.Helpers) {
		same := func(list []Answer) bool {
			return slices.ContainsFunc(list, func(o Answer) bool { return o.Helper == h.Helper && o.At == 0 && slices.Equal(o.Returns, h.Returns) })
		}
		if !slices.Contains(noRoom, h.Helper) && !(slices.Contains(subjects, h.Helper) && same(entry.Helpers) && same(ret.Helpers)) {
			return false
		}
	}
	for _, l := range slices.Concat(entry.Links, ret.Links) {
		if !slices.Contains(entry.Links, l) || !slices.Contains(ret.Links, l) {
			return false
		}
	}
	a, b := f.space.runs[entry.Run].args, f.space.runs[ret.Run].args
	for i := range a {
		if o := find(b, a[i].Name); o != nil && valueIn(entry.Args, a[i].Name, a[i].Value) != valueIn(ret.Args, o.Name, o.Value) {
			return false
		}
	}
	return true
}

// unbalanced are elements that the entry of a call stored and its return left, although no other
// program deletes any: a map that keeps them fills up.
func (s *side) unbalanced(in *Input, results []*machine.Result) (out []problem) {
	f, w := s.f, s.f.space.writers
	for i := 1; i < len(results) && !w.deletes; i++ {
		entry, ret := results[i-1], results[i]
		if !entry.Ran || !ret.Ran || entry.Fault != nil || ret.Fault != nil || !f.sameCall(&in.Events[i-1], &in.Events[i]) {
			continue
		}
		for _, p := range f.pairs {
			if !slices.Contains(p.entries, entry.Program) || !slices.Contains(p.returns, ret.Program) {
				continue
			}
			for _, c := range entry.Changes {
				def, ok := s.linked().Map(c.Map)
				if !ok || c.Old != nil || c.New == nil || def.Type != uapi.MapTypeHash && def.Type != uapi.MapTypePercpuHash || !w.deletedBy(c.Map, ret.Program, p.returns) {
					continue
				}
				deleted := slices.ContainsFunc(ret.Changes, func(r machine.Change) bool { return r.Map == c.Map && r.New == nil && bytes.Equal(r.Key, c.Key) })
				if p.named && !f.balances(entry.Program+" "+ret.Program+" "+c.Map, deleted) || deleted {
					continue
				}
				text := fmt.Sprintf("%s keeps what %s stored: with this input %s, which deletes such elements, does not, and nothing else does; ", c.Map, entry.Program, ret.Program)
				if p.named {
					text += fmt.Sprintf("after as many of both events as it has room for (max_entries %d) nothing can be stored", def.MaxEntries)
				} else {
					text += fmt.Sprintf("after as many calls by other threads as it has room for (max_entries %d) nothing can be stored", def.MaxEntries)
				}
				q := problem{Finding: finding.Finding{Kind: finding.Full, Program: ret.Program, Insn: -1, Text: text}, event: i, full: c.Map}
				q.object = p.named && i == len(results)-1 && s.holdsObject(&in.Events[i], c.Key)
				out = append(out, q)
				break
			}
		}
	}
	return out
}

// deletedBy reports whether a program deletes elements of a map, and none does but those at its
// hook.
func (w *writers) deletedBy(name, prog string, hook []string) bool {
	by := w.deleters[name]
	return slices.Contains(by, prog) && !slices.ContainsFunc(by, func(o string) bool { return !slices.Contains(hook, o) })
}

// balances notes that two programs were seen to balance a map, and reports whether they ever were.
func (f *Fuzzer) balances(key string, now bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.balanced[key] = f.balanced[key] || now
	return f.balanced[key]
}

// holdsObject reports whether a key has the address of an object that the last event is about:
// there are as many of them as the kernel makes.
func (s *side) holdsObject(e *Event, key []byte) bool {
	c := s.watch.ctx
	if c == nil {
		return false
	}
	for _, name := range s.f.space.runs[e.Run].pointers {
		var b [8]byte
		v, size, ok := c.ArgValue(name)
		s.whole.Machine().Memory().ByteOrder().PutUint64(b[:], v)
		if ok && size == len(b) && v != 0 && bytes.Contains(key, b[:]) {
			return true
		}
	}
	return false
}

// whoCalls is the helper that tells one thread from another, and subjects are it and others that
// tell which of many things an event is about.
const whoCalls = "bpf_get_current_pid_tgid"

var subjects = []string{whoCalls, "bpf_get_socket_cookie"}

// fills reports whether the map of a problem keeps another element for each further call by another
// thread, or about another thing. Maps whose keys are few never fill up.
func (w *worker) fills(ctx context.Context, s *side, in *Input, p *problem) (bool, error) {
	if p.object {
		return true, nil
	}
	for _, other := range w.f.others(s, in.Events[p.event-1:p.event+1]) {
		if ok, err := w.fillsWith(ctx, s, in, p, other); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// others are the ways in which another pair of events may be about something else.
func (f *Fuzzer) others(s *side, pair []Event) (out []func(e *Event, round int)) {
	for _, helper := range subjects {
		if !slices.ContainsFunc(pair, func(e Event) bool { return !slices.Contains(s.whole.Machine().Calls(f.first.runs[e.Run].Prog), helper) }) {
			out = append(out, func(e *Event, round int) {
				e.setAnswer(Answer{Helper: helper, Returns: []uint64{uint64(0x7a0000+round)<<32 | uint64(0x7b0000+round)}})
			})
		}
	}
	for _, a := range f.space.runs[pair[0].Run].args {
		if b := find(f.space.runs[pair[1].Run].args, a.Name); b != nil && min(a.bits, b.bits) >= 32 {
			out = append(out, func(e *Event, round int) { e.setArg(a.Name, valueIn(e.Args, a.Name, a.Value)+uint64(round)<<8) })
		}
	}
	return out
}

// fillsWith reports it for one of these ways.
func (w *worker) fillsWith(ctx context.Context, s *side, in *Input, p *problem, other func(*Event, int)) (bool, error) {
	next := in.clone()
	next.Events = next.Events[:p.event+1]
	had := -1
	for round := range 3 {
		if round > 0 {
			pair := next.clone().Events[p.event-1 : p.event+1]
			for i := range pair {
				other(&pair[i], round)
			}
			next.Events = append(next.Events, pair...)
		}
		if len(next.Events) > maxEvents {
			break
		}
		if _, err := s.examine(ctx, next, -1, nil); err != nil {
			return false, err
		}
		b, ok := s.whole.Machine().MapByName(p.full)
		if !ok {
			return false, nil
		}
		n := len(b.Entries())
		if n <= had {
			return false, nil
		}
		had = n
	}
	return len(next.Events) > p.event+1, nil
}

// expectBalance adds to a scenario that the map of a problem has no more elements after the event
// than before.
func (d *draft) expectBalance(p *problem) {
	b, ok := d.f.first.whole.Machine().MapByName(p.full)
	if !ok {
		return
	}
	list := d.root.Get("invariants")
	if list == nil {
		list = &grammar.Node{Kind: grammar.Sequence}
		d.root.Put("invariants", list)
	}
	n := &grammar.Node{Kind: grammar.Mapping}
	n.Put("name", grammar.Quote(p.full+" keeps nothing of a call that is over"))
	n.Put("prog", grammar.Word(p.Program))
	n.Put("holds", grammar.Quote(fmt.Sprintf("count(%s) == %d", p.full, len(d.f.first.initial(b)))))
	list.Items = append(list.Items, n)
}
