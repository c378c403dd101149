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
// each.
type pairing struct{ entries, returns []string }

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
			out = append(out, pairing{h.Entries, h.Returns})
		}
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

// sameCall reports whether an entry and a return are of one call: made by the same thread, with the
// same arguments.
func (f *Fuzzer) sameCall(entry, ret *Event) bool {
	for _, h := range slices.Concat(entry.Helpers, ret.Helpers) {
		same := func(list []Answer) bool {
			return slices.ContainsFunc(list, func(o Answer) bool { return o.Helper == h.Helper && o.At == 0 && slices.Equal(o.Returns, h.Returns) })
		}
		if !slices.Contains(noRoom, h.Helper) && !(h.Helper == whoCalls && same(entry.Helpers) && same(ret.Helpers)) {
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
		at := slices.IndexFunc(f.pairs, func(p pairing) bool {
			return slices.Contains(p.entries, entry.Program) && slices.Contains(p.returns, ret.Program)
		})
		if at < 0 || !entry.Ran || !ret.Ran || entry.Fault != nil || ret.Fault != nil || !f.sameCall(&in.Events[i-1], &in.Events[i]) {
			continue
		}
		for _, c := range entry.Changes {
			by := w.deleters[c.Map]
			def, ok := s.linked().Map(c.Map)
			if !ok || c.Old != nil || c.New == nil || def.Type != uapi.MapTypeHash && def.Type != uapi.MapTypePercpuHash || !slices.Contains(by, ret.Program) ||
				slices.ContainsFunc(by, func(name string) bool { return !slices.Contains(f.pairs[at].returns, name) }) ||
				slices.ContainsFunc(ret.Changes, func(r machine.Change) bool { return r.Map == c.Map && r.New == nil && bytes.Equal(r.Key, c.Key) }) {
				continue
			}
			out = append(out, problem{Finding: finding.Finding{
				Kind: finding.Full, Program: ret.Program, Insn: -1,
				Text: fmt.Sprintf("%s keeps what %s stored: with this input %s, which deletes such elements, does not, and nothing else does; after as many calls by other threads as it has room for (max_entries %d) nothing can be stored",
					c.Map, entry.Program, ret.Program, def.MaxEntries),
			}, event: i, full: c.Map})
		}
	}
	return out
}

// whoCalls is the helper that tells one thread from another.
const whoCalls = "bpf_get_current_pid_tgid"

// fills reports whether the map of a problem keeps another element for each further call by another
// thread. Maps whose keys are few never fill up.
func (w *worker) fills(ctx context.Context, s *side, in *Input, p *problem) (bool, error) {
	next := in.clone()
	next.Events = next.Events[:p.event+1]
	had := -1
	for round := range 3 {
		if round > 0 {
			pair := next.clone().Events[p.event-1 : p.event+1]
			for i := range pair {
				if !slices.Contains(s.whole.Machine().Calls(w.f.first.runs[pair[i].Run].Prog), whoCalls) {
					return false, nil
				}
				pair[i].setAnswer(Answer{Helper: whoCalls, Returns: []uint64{uint64(0x7a0000+round)<<32 | uint64(0x7b0000+round)}})
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
