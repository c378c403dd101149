package race

import (
	"cmp"
	"encoding/binary"
	"fmt"
	stdmaps "maps"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/bpfrun/bpfrun/internal/find/race/order"
	"github.com/bpfrun/bpfrun/internal/machine/finding"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/loader"
)

// spot is an instruction.
type spot struct {
	prog *loader.LinkedProgram
	pc   int
}

// side describes an instruction of an actor.
func (h *hunt) side(actor int, prog *loader.LinkedProgram, pc int) Side {
	a := &h.s.actors[actor]
	out := Side{Actor: actor, Insn: pc, CPU: a.Input.CPU, Program: a.Program}
	if prog == nil {
		if a.User != nil && pc < len(a.User) {
			out.Program, out.Line, out.CPU = a.label(), a.User[pc].Text, -1
		}
		return out
	}
	out.Program = prog.Name
	if line, ok := prog.LineAt(pc); ok {
		out.Source, out.Line = fmt.Sprintf("%s:%d:%d", path.Base(line.File), line.Line, line.Col), strings.TrimSpace(line.Text)
	}
	return out
}

// tell describes what a verdict is about.
func (h *hunt) tell(f *Finding, w *watch, v verdict) {
	for _, i := range v.events {
		e := &w.events[i]
		s := h.side(e.actor, e.prog, e.pc)
		s.What = h.what(e)
		f.Sides = append(f.Sides, s)
	}
	act := &w.events[v.act]
	place := h.place(act)
	switch {
	case v.read >= 0 && v.torn && h.element(&w.events[v.read]) != h.element(&w.events[v.late]):
		f.Text = fmt.Sprintf("%s uses %s from before and %s from after a change by %s", h.s.actors[act.actor].label(), h.place(&w.events[v.read]), h.place(&w.events[v.late]), h.other(act.actor))
	case v.read >= 0 && v.torn:
		f.Text = fmt.Sprintf("%s uses parts of %s from before and after a change by %s", h.s.actors[act.actor].label(), h.place(&w.events[v.read]), h.other(act.actor))
	case v.torn:
		var programs []string
		for _, s := range f.Sides {
			programs = append(programs, s.Program)
		}
		slices.Sort(programs)
		f.whole = h.element(act) + " " + strings.Join(slices.Compact(programs), " ")
		f.Text = fmt.Sprintf("%s is a mixture of what %s and %s write", h.element(act), h.s.actors[act.actor].label(), h.other(act.actor))
	case act.kind == validated && act.failed:
		f.Text = fmt.Sprintf("%s goes on as if it had changed %s, which %s changed after it was looked up", h.s.actors[act.actor].label(), place, h.other(act.actor))
	case w.events[v.read].kind == lookup:
		f.Text = fmt.Sprintf("%s changes %s because of what it looked up before %s changed it", h.s.actors[act.actor].label(), place, h.other(act.actor))
	case h.place(&w.events[v.read]) == place && act.kind == plainWrite:
		f.Text = fmt.Sprintf("an update of %s is lost: %s writes what it computed before %s changed it", place, h.s.actors[act.actor].label(), h.other(act.actor))
	default:
		f.Text = fmt.Sprintf("%s acts on %s, which %s changed after it was read", h.s.actors[act.actor].label(), h.place(&w.events[v.read]), h.other(act.actor))
	}
	nested := slices.ContainsFunc(f.Actors, func(a Actor) bool { return a.Over >= 0 })
	if nested && v.torn && h.ownCPU(act) && h.s.actors[act.actor].Over < 0 {
		f.Text = fmt.Sprintf("%s changes %s while %s uses it", h.other(act.actor), h.element(act), h.s.actors[act.actor].label())
	}
	if v.count && nested { // of one CPU: on two it is found as a race of two CPUs
		f.Kind, f.Benign = finding.DataRace, true
		f.Text = fmt.Sprintf("%s may lose a count when %s is interrupted", place, h.s.actors[act.actor].label())
	}
	f.Advice = listed(advise(h.s.m.Linked().Target.Version, w, v, nested, h.ownCPU(act)))
}

// element names the element of a map that an event is about, without the member.
func (h *hunt) element(e *event) string {
	name, depth := h.place(e), 0
	for i, c := range name {
		switch {
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			depth--
		case depth == 0 && (c == '.' || c == '+'):
			return name[:i]
		}
	}
	return name
}

// ownCPU reports whether an event is about memory of one CPU.
func (h *hunt) ownCPU(e *event) bool {
	if len(e.touches) == 0 || structural(e.touches[0].Addr) {
		return false
	}
	r := h.s.memory.Find(e.touches[0].Addr)
	if r == nil {
		return false
	}
	m, ok := r.Owner.(maps.Map)
	return ok && m.Spec().Type.PerCPU()
}

// other names the actor that interferes with one.
func (h *hunt) other(actor int) string {
	for i := range h.s.actors {
		if i == actor {
			continue
		}
		a, b := &h.s.actors[actor], &h.s.actors[i]
		if a.label() != b.label() {
			return b.label()
		}
		switch {
		case a.Input.CPU != b.Input.CPU:
			return fmt.Sprintf("%s on another CPU", b.label())
		default:
			return fmt.Sprintf("%s in an interrupt", b.label())
		}
	}
	return "another run"
}

// what says what an event does.
func (h *hunt) what(e *event) string {
	place := h.place(e)
	n := uint64(0)
	if len(e.touches) > 0 {
		n = e.touches[0].Size
	}
	value := ""
	if e.known && n > 0 && n <= 8 {
		value = " = " + number(e.value&(^uint64(0)>>(64-8*n)))
	}
	switch e.kind {
	case plainRead, atomicRead:
		return "reads " + place + value
	case plainWrite:
		return "writes " + place + value
	case atomicWrite:
		return "changes " + place + " atomically"
	case compare:
		if e.failed {
			return "does not exchange " + place
		}
		return "exchanges " + place
	case lookup:
		return "looks up " + place
	case change, validated:
		if e.failed {
			return "does not change " + place
		}
		return "changes " + place
	case lock:
		return "takes the lock " + place
	case unlock:
		return "releases the lock " + place
	}
	if e.effect {
		if len(e.touches) == 0 {
			return "ends, or sends, with that"
		}
		return "sends " + place
	}
	return "uses " + place
}

// place names what an event accesses.
func (h *hunt) place(e *event) string {
	if len(e.touches) == 0 {
		return "its result"
	}
	t := e.touches[0]
	if t.Addr == worldCell {
		return "the kernel's queues"
	}
	if structural(t.Addr) {
		if e.table != nil {
			return "an element of " + e.table.Spec().Name
		}
		return "an element"
	}
	return h.s.field(t)
}

// number formats a value: small ones in decimal.
func number(v uint64) string {
	if v < 1<<20 || v > ^uint64(0)-1<<20 {
		return fmt.Sprintf("%d", int64(v))
	}
	return fmt.Sprintf("%#x", v)
}

// differs compares an outcome with the sequential ones.
func (h *hunt) differs(out *outcome) []Difference {
	index := func(o *outcome) map[string]string {
		all, seen := map[string]string{}, map[string]int{}
		for _, p := range o.parts {
			if p.name == "" {
				continue
			}
			name := p.name
			if seen[p.name]++; seen[p.name] > 1 {
				name = fmt.Sprintf("%s (%d)", p.name, seen[p.name])
			}
			all[name] = h.value(p)
		}
		return all
	}
	here := index(out)
	var others []map[string]string
	keys := make([]string, 0, len(h.sequential))
	for k := range h.sequential {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	names := map[string]bool{}
	for n := range here {
		names[n] = true
	}
	for _, k := range keys {
		o := index(h.sequential[k])
		others = append(others, o)
		for n := range o {
			names[n] = true
		}
	}
	sorted := make([]string, 0, len(names))
	for n := range names {
		sorted = append(sorted, n)
	}
	sort.Strings(sorted)
	var all, wrong []Difference
	for _, n := range sorted {
		d := Difference{What: n, Here: orAbsent(here, n)}
		different, never := false, true
		for _, o := range others {
			v := orAbsent(o, n)
			if !slices.Contains(d.Sequential, v) {
				d.Sequential = append(d.Sequential, v)
			}
			different = different || v != d.Here
			never = never && v != d.Here
		}
		if different {
			all = append(all, d)
			if never {
				wrong = append(wrong, d)
			}
		}
	}
	if len(wrong) > 0 {
		return wrong
	}
	return all
}

func orAbsent(m map[string]string, name string) string {
	if v, ok := m[name]; ok {
		return v
	}
	return "nothing"
}

// value formats the bytes of a part.
func (h *hunt) value(p part) string {
	switch b := p.value; {
	case p.text || strings.HasPrefix(p.name, "end of") || strings.HasPrefix(p.name, "trace of"):
		return string(b)
	case strings.HasPrefix(p.name, "r0 of"):
		return number(binary.LittleEndian.Uint64(b))
	case p.typ != 0:
		return p.spec.FormatString(p.typ, b)
	case len(b) == 8:
		return number(h.s.memory.ByteOrder().Uint64(b))
	case len(b) == 4:
		return number(uint64(h.s.memory.ByteOrder().Uint32(b)))
	case len(b) == 1:
		return number(uint64(b[0]))
	default:
		return digits(b)
	}
}

// digits formats bytes of no known type: many that are equal as one with their number, and the first
// ones if there are too many.
func digits(b []byte) string {
	const most, repeated = 48, 8
	if len(b) <= most {
		return fmt.Sprintf("%x", b)
	}
	var out strings.Builder
	for at := 0; at < len(b); {
		if out.Len() >= 4*most {
			fmt.Fprintf(&out, "... (%d bytes)", len(b))
			break
		}
		n := 1
		for at+n < len(b) && b[at+n] == b[at] {
			n++
		}
		if n >= repeated {
			fmt.Fprintf(&out, " %02x <x %d> ", b[at], n)
		} else {
			fmt.Fprintf(&out, "%x", b[at:at+n])
		}
		at += n
	}
	return strings.TrimSpace(out.String())
}

// faulted describes a fault that the order leads to; false if there is none.
func (h *hunt) faulted(f *Finding) bool {
	for i := range h.s.now {
		fault := h.s.now[i].end.fault
		if fault == nil || h.faults[i] {
			continue
		}
		prog, _ := h.s.m.ProgramOf(fault.Image)
		f.Text = fmt.Sprintf("%s faults: %v", h.s.actors[i].label(), fault)
		f.Sides = append(f.Sides, h.side(i, prog, fault.PC))
	}
	return len(f.Sides) > 0
}

// interruptedHere is what an actor does that was stopped by one on its CPU.
const interruptedHere = "was interrupted here"

// reused describes the use of an element whose memory became another one's; false if there is none.
func (h *hunt) reused(f *Finding, w *watch) bool {
	at := slices.IndexFunc(w.events, func(e event) bool { return e.stale != nil })
	if at < 0 {
		return false
	}
	e := &w.events[at]
	name := func(key []byte) string { return h.s.elementOf(e.stale, key) }
	f.Kind = finding.UseAfterDelete
	f.Text = fmt.Sprintf("%s uses %s after %s deleted it and its memory became %s", h.s.actors[e.actor].label(), name(e.was), h.other(e.actor), name(e.now))
	if e.own {
		f.Text = fmt.Sprintf("%s uses %s after it deleted it and its memory became %s of %s", h.s.actors[e.actor].label(), name(e.was), name(e.now), h.other(e.actor))
	}
	was := cellOf(e.stale, e.was)
	for i := range w.events[:at+1] {
		o := &w.events[i]
		about := slices.ContainsFunc(o.touches, func(t order.Touch) bool { return t.Addr == was || t.Addr == cellOf(e.stale, e.now) })
		if i == at || about && (o.actor != e.actor && o.writes() || o.actor == e.actor && (o.kind == lookup || e.own && o.kind == change)) {
			s := h.side(o.actor, o.prog, o.pc)
			s.What = h.what(o)
			f.Sides = append(f.Sides, s)
		}
	}
	if e.own {
		f.Advice = []string{"read what is needed of an element before bpf_map_delete_elem"}
		return true
	}
	f.Advice = []string{
		"hold a bpf_spin_lock in the value, and mark an element as deleted under it before it is deleted", "or let the map allocate (BPF_F_NO_PREALLOC): then memory is reused after all programs that may have it",
	}
	return true
}

// stuck adds a finding for actors that wait for each other.
func (h *hunt) stuck(o order.Order) {
	f := Finding{Kind: finding.Deadlock, Actors: h.s.actors, Trail: slices.Clone(o.Trail), Preemptions: o.Preemptions}
	f.Text = "the runs wait for each other: none of them ends"
	f.Advice = []string{"release the lock before anything else can wait for it, or take it with interrupts disabled (bpf_spin_lock does; bpf_local_irq_save from Linux 6.14)"}
	for i := range h.s.now {
		p := &h.s.now[i]
		if state, _ := h.s.Next(i); state == order.Done || p.state == order.Done {
			continue
		}
		if h.s.run[i] < 0 {
			continue
		}
		h.s.turn(i)
		prog, _ := h.s.m.ProgramOf(h.s.thread.Image())
		s := h.side(i, prog, h.s.thread.PC())
		switch {
		case h.s.stopped(i):
			s.What = interruptedHere
		case p.idle:
			s.What = "tries forever to exchange " + h.s.field(p.next.touches[0])
		case h.s.awaits(i):
			s.What = "waits for the callback of a timer"
			f.Advice = []string{"let a program cancel or delete it, not the callback of another timer; from Linux 6.10 on bpf_timer_cancel fails there with -EDEADLK"}
		default:
			s.What = "waits for a lock"
		}
		f.Sides = append(f.Sides, s)
	}
	h.add(f)
}

// pair notes two plain writes that can come in either order.
func (h *hunt) pair(a, b int) {
	if b >= len(h.s.actors) {
		return
	}
	x, y := &h.s.now[a], &h.s.now[b]
	if h.s.actors[a].Input.CPU == h.s.actors[b].Input.CPU {
		return // one ends before the other goes on
	}
	if x.next.kind != plainWrite || y.next.kind != plainWrite || h.s.run[a] < 0 || h.s.run[b] < 0 {
		return
	}
	h.s.turn(a)
	at := h.s.here()
	h.s.turn(b)
	h.races[[2]spot{at, h.s.here()}] = true
}

// addRaces adds the data races that no finding mentions: their order decides which value remains.
func (h *hunt) addRaces() {
	pairs := slices.SortedFunc(stdmaps.Keys(h.races), func(a, b [2]spot) int {
		return cmp.Or(cmp.Compare(a[0].prog.Name, b[0].prog.Name), cmp.Compare(a[0].pc, b[0].pc), cmp.Compare(a[1].prog.Name, b[1].prog.Name), cmp.Compare(a[1].pc, b[1].pc))
	})
	for _, pair := range pairs {
		f := Finding{Kind: finding.DataRace, Benign: true, Actors: h.s.actors, Text: "nothing orders two writes of the same bytes: which value remains is chance"}
		for i, at := range pair {
			s := h.side(min(i, len(h.s.actors)-1), at.prog, at.pc)
			s.What = "writes"
			f.Sides = append(f.Sides, s)
		}
		told := func(s Side) bool {
			return slices.ContainsFunc(h.report.Findings, func(o Finding) bool {
				return slices.ContainsFunc(o.Sides, func(p Side) bool { return p.Program == s.Program && p.Insn == s.Insn })
			})
		}
		if told(f.Sides[0]) && told(f.Sides[1]) {
			continue
		}
		key := "race" + f.Sides[0].Source + f.Sides[1].Source
		if !h.known[key] {
			h.known[key] = true
			h.report.Findings = append(h.report.Findings, f)
		}
	}
}

// here is the instruction that the actor at work executes next.
func (s *system) here() spot {
	p, _ := s.m.ProgramOf(s.thread.Image())
	return spot{p, s.thread.PC()}
}

// insns returns how many instructions an actor executed. The first half of a copy counts as one,
// and so does the beginning of a callback, so that an order can be told by counts.
func (s *system) insns(i int) uint64 {
	if s.run[i] < 0 {
		return uint64(s.now[i].step) // calls
	}
	s.turn(i)
	n := s.x.Session(s.run[i]).Insns() + s.now[i].copies
	if s.actors[i].Callback != nil && s.now[i].begun {
		n++
	}
	return n
}

// sortFindings puts those first that do most harm.
func sortFindings(list []Finding) {
	rank := func(f *Finding) int {
		switch {
		case f.Benign:
			return 3
		case f.Kind == finding.Deadlock:
			return 0
		case f.Kind == finding.NotSerialisable:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(list, func(a, b Finding) int { return rank(&a) - rank(&b) })
}
