package fuzz

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/find/search"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/packet"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// spot is where a comparison's operand came from, in terms of inputs.
type spot struct {
	part Part
	name string // of an argument, a variable, a field, a helper, a map
	in   []byte // key of the map in a map of maps that the element is in
	key  []byte // of a map's element
	off  int    // of the bytes in the packet, the value, the context
	text string // for people
	// length means that the packet's length decides; add is how much longer it should be.
	length bool
	fixed  bool // text says everything
	add    int
	// pointer means that it is where a pointer to an object of the type typ leads.
	pointer bool
	typ     string
	vector  bool // off counts strings of an array in user memory
	// call, if not nil, stores bytes in the socket option or the sysctl of an event.
	call func(e *Event, bytes []byte)
}

// explore runs an input once more, one instruction after the other, and tries inputs with which its
// comparisons go the other way.
func (w *worker) explore(ctx context.Context, e *entry) error {
	in := e.in
	list, err := w.sides()
	if err != nil {
		return err
	}
	if !e.paired {
		e.paired = true
		if err := w.balance(ctx, in); err != nil {
			return err
		}
	}
	for at := range in.Events {
		cut := in.clone()
		cut.Events = cut.Events[:at+1]
		for _, s := range list {
			if err := w.exploreAt(ctx, e, s, cut, in.Events[at+1:]); err != nil {
				return err
			}
		}
	}
	return nil
}

// exploreAt tries inputs with which the comparisons of the last event of an input, as one build
// makes them, go the other way. rest follows it.
func (w *worker) exploreAt(ctx context.Context, e *entry, s *side, cut *Input, rest []Event) error {
	took, err := w.comparisons(ctx, s, cut)
	if err != nil {
		return err
	}
	for _, c := range w.wishes(s, cut, took) {
		next, err := w.attempt(ctx, s, cut, rest, c)
		if err != nil || next == nil {
			return err
		}
		if c.kind != makes || s.name != "" {
			continue
		}
		w.f.mu.Lock()
		e.asks = true
		w.f.mu.Unlock()
		if err := w.ask(ctx, next, rest, took); err != nil {
			return err
		}
	}
	return nil
}

// ask tries inputs whose last event asks for an element that the events before it made now. What
// they needed may have turned the last event away from the lookup: took are the comparisons with
// which it got there.
func (w *worker) ask(ctx context.Context, in *Input, rest []Event, took []search.Comparison) error {
	type place struct {
		program string
		pc      int
	}
	was := map[place]bool{}
	for i := len(took) - 1; i >= 0; i-- {
		was[place{took[i].Program.Name, took[i].PC}] = took[i].Taken // the first time
	}
	const turns = 4
	for range turns {
		sides, err := w.sides()
		if err != nil {
			return err
		}
		s := sides[0]
		list, err := w.comparisons(ctx, s, in)
		if err != nil {
			return err
		}
		turned := slices.IndexFunc(list, func(c search.Comparison) bool {
			taken, ok := was[place{c.Program.Name, c.PC}]
			return ok && taken != c.Taken
		})
		if turned < 0 || len(list[turned].Wishes) > 0 && list[turned].Wishes[0].Kind == search.Element {
			for _, cmp := range list {
				for _, wish := range cmp.Wishes {
					for _, c := range s.matching(in, wish) {
						if next, err := w.attempt(ctx, s, in, rest, c); err != nil || next == nil {
							return err
						}
					}
				}
			}
			return nil
		}
		back := slices.IndexFunc(list[turned].Wishes, func(wish search.Wish) bool {
			at, ok := s.locate(in, wish)
			return ok && w.f.varied(at)
		})
		if back < 0 || ctx.Err() != nil || w.f.spent() {
			return nil
		}
		wish := list[turned].Wishes[back]
		at, _ := s.locate(in, wish)
		in = in.clone()
		w.f.grant(s, in, at, wish)
	}
	return nil
}

// attempt tries an input with a change, and with the events that follow it. It returns the changed
// input, nil if the search is over.
func (w *worker) attempt(ctx context.Context, s *side, in *Input, rest []Event, c change) (*Input, error) {
	if ctx.Err() != nil || w.f.spent() {
		return nil, nil
	}
	next := in.clone()
	c.do(s, next)
	whole := next.clone()
	whole.Events = append(whole.Events, (&Input{Events: rest}).clone().Events...)
	return next, w.try(ctx, whole)
}

// A change makes an input one with which the last event takes another branch.
type change struct {
	kind changeKind
	do   func(*side, *Input)
}

type changeKind uint8

const (
	sets    changeKind = iota // a value that is compared
	makes                     // an event that makes the element that is looked up
	matches                   // the key of an element that exists
)

// comparisons lists those of the last event of an input. The machine is left as the event leaves
// it.
func (w *worker) comparisons(ctx context.Context, s *side, in *Input) ([]search.Comparison, error) {
	m := s.whole.Machine()
	if m.Memory().ByteOrder() != binary.LittleEndian {
		return nil, nil
	}
	c := search.NewComparing(m)
	c.Read = s.readSysctl
	c.Copied = func(id uapi.FuncID, before, _ *[11]uint64) (to, from, n uint64) { return s.copied(id, before) }
	if _, err := s.examine(ctx, in, len(in.Events)-1, c); err != nil {
		return nil, err
	}
	return c.Comparisons(), nil
}

// wishes lists changes of an input with which its last event, whose comparisons are given, takes
// branches that no run took.
func (w *worker) wishes(s *side, in *Input, comparisons []search.Comparison) []change {
	f := w.f
	var out []change
	for i, cmp := range comparisons {
		want := s.edgeOf(edge{cmp.Program.Name, cmp.PC, !cmp.Taken})
		f.mu.Lock()
		known := f.reached[want]
		f.mu.Unlock()
		if known {
			continue
		}
		var needs []string
		for _, wish := range cmp.Wishes {
			out = append(out, s.matching(in, wish)...)
			sp, ok := s.locate(in, wish)
			if !ok {
				continue
			}
			if wish.Kind == search.Element && !f.isInput(sp.name) {
				needs = append(needs, sp.text)
				out = append(out, f.makers(in, sp.name)...)
				continue
			}
			if !f.varied(sp) {
				continue
			}
			if sp.pointer {
				if to, ok := s.relinked(cmp, sp, wish); ok {
					needs = append(needs, needLink(sp, to))
					out = append(out, change{sets, func(_ *side, in *Input) { in.grantLink(sp, to) }})
				}
				continue
			}
			needs = append(needs, need(cmp, sp, wish, true))
			out = append(out, change{sets, func(s *side, in *Input) { f.grant(s, in, sp, wish) }})
		}
		if len(needs) == 0 {
			joined, names := f.joint(s, in, cmp)
			out = append(out, joined...)
			if len(names) > 0 {
				needs = append(needs, "other values of "+strings.Join(names, " and "))
			}
		}
		if len(needs) == 0 && len(cmp.Wishes) == 0 {
			out = append(out, f.decided(s, in, comparisons[:i])...)
		}
		for _, from := range cmp.From {
			if len(needs) > 0 {
				break
			}
			if sp, ok := s.locate(in, from); ok {
				needs = append(needs, need(cmp, sp, from, false))
			}
		}
		f.mu.Lock()
		if b := f.branch(want); len(needs) > 0 && !f.branches[b] {
			f.needs[b] = strings.Join(needs, " or ")
		}
		f.mu.Unlock()
	}
	return out
}

// decided lists changes for a comparison of a value that other comparisons decided, as in a
// function that returns whether something is so: those just before it, given newest last, come out
// otherwise, one by one and all together, whether they did so in another input or not.
func (f *Fuzzer) decided(s *side, in *Input, before []search.Comparison) (out []change) {
	const most = 6
	seen := map[string]bool{}
	for i := len(before) - 1; i >= 0 && len(out) < most; i-- {
		for _, w := range before[i].Wishes {
			at, ok := s.locate(in, w)
			if !ok || !f.varied(at) || at.pointer || seen[at.text] {
				continue
			}
			seen[at.text] = true
			out = append(out, change{sets, func(s *side, in *Input) { f.grant(s, in, at, w) }})
			break
		}
	}
	if all := slices.Clone(out); len(all) > 1 {
		out = append(out, change{sets, func(s *side, in *Input) {
			for _, c := range all {
				c.do(s, in)
			}
		}})
	}
	return out
}

// joint lists changes of settings that a comparison computes with together, such as a sum of flags,
// so that no value of one alone decides it: each gets another value, then all of them. It names the
// settings.
func (f *Fuzzer) joint(s *side, in *Input, cmp search.Comparison) (out []change, names []string) {
	var all []func(*side, *Input)
	for _, w := range append(slices.Clone(cmp.From), cmp.Beside...) {
		at, ok := s.locate(in, w)
		if !ok || at.part != Globals && at.part != Maps || !f.varied(at) || slices.Contains(names, at.text) {
			continue
		}
		w.Value = 0
		if w.Was == 0 {
			w.Value = 1
		}
		set := func(s *side, in *Input) { f.grant(s, in, at, w) }
		all, names = append(all, set), append(names, at.text)
		out = append(out, change{sets, set})
	}
	if len(all) < 2 {
		return nil, nil
	}
	return append(out, change{sets, func(s *side, in *Input) {
		for _, set := range all {
			set(s, in)
		}
	}}), names
}

// matching lists changes with which a key that was not found is that of an element which the map
// has.
func (s *side) matching(in *Input, w search.Wish) (out []change) {
	type part struct {
		at   spot
		wish search.Wish
	}
next:
	for _, list := range w.Matches {
		var parts []part
		for _, wish := range list {
			at, ok := s.locate(in, wish)
			if !ok || !s.f.varied(at) {
				continue next
			}
			parts = append(parts, part{at, wish})
		}
		out = append(out, change{matches, func(s *side, in *Input) {
			for _, p := range parts {
				s.f.grant(s, in, p.at, p.wish)
			}
		}})
	}
	return out
}

// makers lists changes that add events before the last one, whose program makes elements of a map:
// an entry, before its return. They are the events of inputs that got far in that program, or one
// as the scenario has it.
func (f *Fuzzer) makers(in *Input, name string) (out []change) {
	const most = 8
	for _, run := range f.order {
		if !slices.Contains(f.space.writers.makers[name], f.first.runs[run].Prog) {
			continue
		}
		for _, from := range append(f.latest(run, 3), &Input{Events: []Event{{Run: run}}}) {
			if len(out) >= most || len(in.Events)+len(from.Events) > maxEvents {
				continue
			}
			out = append(out, change{makes, func(_ *side, in *Input) { in.insert(from) }})
		}
	}
	return out
}

// latest returns inputs of the corpus whose last event is of a run, the newest first: they got
// furthest.
func (f *Fuzzer) latest(run string, most int) (out []*Input) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := len(f.corpus) - 1; i >= 0 && len(out) < most; i-- {
		if in := f.corpus[i].in; in.Events[len(in.Events)-1].Run == run {
			out = append(out, in)
		}
	}
	return out
}

// copied says where a helper that package search does not know took the bytes from that it stored.
func (s *side) copied(id uapi.FuncID, before *[11]uint64) (to, from, n uint64) {
	c := s.watch.ctx
	if to, from, n := copiedSysctl(c, id, before); n > 0 {
		return to, from, n
	}
	if id == uapi.FuncGetCurrentComm {
		if o := s.whole.Machine().Kernel().Current(); o != nil {
			if addr, err := o.FieldAddr("comm"); err == nil {
				return before[1], addr, min(before[2]&0xffffffff, 16)
			}
		}
		return 0, 0, 0
	}
	switch {
	case c == nil || c.Packet == nil:
	case id == uapi.FuncSkbLoadBytes, id == uapi.FuncXDPLoadBytes:
		if int64(before[2]) >= 0 && before[2] < maxPacket {
			return before[3], s.watch.data + before[2]&0xffffffff, before[4] & 0xffffffff
		}
	}
	return 0, 0, 0
}

// varied reports whether an input may be changed there.
func (f *Fuzzer) varied(sp spot) bool {
	switch sp.part {
	case Maps, Globals:
		return f.opt.Vary[sp.part] && f.isInput(sp.name)
	}
	return f.opt.Vary[sp.part]
}

// clocks are the helpers that tell the time, which all advance together.
var clocks = map[string]bool{"bpf_ktime_get_ns": true, "bpf_ktime_get_boot_ns": true, "bpf_ktime_get_coarse_ns": true, "bpf_ktime_get_tai_ns": true}

// compares are the helpers whose result follows from memory, which is the input.
var compares = map[string]bool{"bpf_strncmp": true}

// locate finds the input that a comparison's operand came from. The machine is as the run left it.
func (s *side) locate(in *Input, w search.Wish) (spot, bool) {
	m := s.whole.Machine()
	if at, ok := s.inCall(in, w); ok {
		return at, true
	}
	switch w.Kind {
	case search.Result:
		if w.Map != 0 {
			return s.found(w)
		}
		if compares[w.Helper] {
			return spot{part: nowhere, text: "other strings in " + w.Helper + "()"}, true
		}
		if clocks[w.Helper] {
			return spot{part: Time, name: w.Helper, text: w.Helper + "()"}, true
		}
		return spot{part: Helpers, name: w.Helper, text: w.Helper + "()"}, true
	case search.Element:
		for _, def := range m.Linked().Maps {
			if b, ok := m.Map(def); ok && b.Addr() == w.Map && settable(b.Spec().Type) {
				return spot{part: Maps, name: def.Name, key: w.Key, off: -1, text: "an element in " + def.Name + " with key " + s.keyText(def, w.Key)}, true
			}
		}
		return s.innerElement(w)
	}
	if sp, ok := s.inContext(in, w); ok {
		return sp, true
	}
	for _, def := range m.Linked().Maps {
		if b, ok := m.Map(def); ok {
			if sp, ok := s.inMap(def, b, w); ok {
				return sp, true
			}
		}
	}
	if sp, ok := s.inInner(w); ok {
		return sp, true
	}
	if sp, ok := s.inObject(w); ok {
		return sp, true
	}
	if sp, ok := s.inUser(in, w); ok {
		return sp, true
	}
	if n, ok := m.NameAddr(w.Addr); ok {
		return spot{part: nowhere, text: n.Text}, true
	}
	return spot{}, false
}

// found names what a lookup found. No input takes it away: what user space stored is needed
// elsewhere, and arrays have all their elements.
func (s *side) found(w search.Wish) (spot, bool) {
	m := s.whole.Machine()
	for _, def := range m.Linked().Maps {
		if b, ok := m.Map(def); ok && b.Addr() == w.Map {
			if isArray(b.Spec().Type) && !targets(b.Spec().Type) && b.Spec().Inner == nil {
				return spot{part: nowhere, fixed: true, text: "an element that " + def.Name + " lacks, and arrays have all below their size"}, true
			}
			return spot{part: nowhere, fixed: true, text: "no element with that key in " + def.Name}, true
		}
	}
	return spot{}, false
}

// inContext finds an operand in the packet or in the context of the last run.
func (s *side) inContext(in *Input, w search.Wish) (spot, bool) {
	if at, ok := s.inReport(in, w); ok {
		return at, true
	}
	c, m := s.watch.ctx, s.whole.Machine()
	if c == nil {
		return spot{}, false
	}
	p := s.packetOf(in)
	if at := int(w.Addr-s.watch.data) + s.watch.lead; s.watch.data != 0 && w.Addr >= s.watch.data && at+w.Size <= len(p) {
		return spot{part: Packet, off: at, text: packetName(p, at, w.Size)}, true
	}
	if w.Addr < c.Addr || w.Addr >= c.Addr+uint64(c.Size) {
		return spot{}, false
	}
	name, off, ok := c.NameAt(w.Addr - c.Addr)
	switch {
	case !ok && p == nil && s.f.space.runs[in.Events[len(in.Events)-1].Run].ctx != nil:
		at := int(w.Addr - c.Addr)
		return spot{part: Ctx, off: at, text: fmt.Sprintf("ctx[%d:%d]", at, at+w.Size)}, true
	case !ok:
		return spot{}, false
	case p != nil && (name == "data_end" || name == "len"):
		add := int(int32(uint32(w.Value) - uint32(w.Was)))
		text := fmt.Sprintf("a packet of %d bytes", len(p)+add)
		if least := s.f.space.runs[in.Events[len(in.Events)-1].Run].least; len(p)+add < least {
			text = fmt.Sprintf("a packet of less than %d bytes, which the hook never gets", least)
		}
		return spot{part: Packet, length: true, add: add, text: text}, true
	case p != nil && name == "protocol" && len(p) >= 14:
		return spot{part: Packet, off: 12, text: "eth.type"}, true
	}
	part := nowhere
	switch sp := s.f.space.runs[in.Events[len(in.Events)-1].Run]; {
	case slices.Contains(sp.pointers, name) && off == 0 && w.Size == m.Memory().PointerSize():
		at := spot{part: Args, name: name, text: name, pointer: true}
		if v, ok := argValue(c, name); ok {
			if o := m.Kernel().ObjectAt(v); o != nil {
				at.typ = o.TypeName()
			}
		}
		return at, true
	case find(sp.args, name) != nil:
		part = Args
	case slices.Contains(sp.fields, name):
		part = Ctx
	}
	return spot{part: part, name: name, off: int(off), text: name}, true
}

// packetOf is the packet that the last event begins with.
func (s *side) packetOf(in *Input) []byte {
	e := &in.Events[len(in.Events)-1]
	if e.Packet != nil {
		return e.Packet
	}
	if sp := s.f.space.runs[e.Run]; sp.packet != nil {
		return sp.packet
	}
	return nil
}

// packetName names bytes of a packet by the field they are in.
func packetName(p []byte, at, size int) string {
	for _, l := range packet.Decode(p, packet.Ethernet).Layers {
		for _, f := range l.Fields(p) {
			if f.Off <= at && at+size <= f.Off+f.Size() || size > f.Size() && f.Off == at {
				return f.Path()
			}
		}
	}
	return fmt.Sprintf("packet[%d:%d]", at, at+size)
}

// inMap finds an operand in the value of an element, or in a variable.
func (s *side) inMap(def *loader.Map, b maps.Map, w search.Wish) (spot, bool) {
	if def.DataKind != loader.DataNone {
		direct, ok := b.(maps.ValueBase)
		if !ok || def.DataKind == loader.DataArena {
			return spot{}, false
		}
		base, errno := direct.DirectValue(0)
		if errno != 0 || w.Addr < base || w.Addr >= base+uint64(b.Spec().ValueSize) {
			return spot{}, false
		}
		for _, v := range def.Vars {
			if off := w.Addr - base; off >= uint64(v.Off) && off < uint64(v.Off)+uint64(v.Size) {
				in := int(off - uint64(v.Off))
				return spot{part: Globals, name: v.Name, off: in, text: v.Name + s.member(v.Type, in, w.Size)}, true
			}
		}
		return spot{}, false
	}
	key, off, ok := valueAt(b, w.Addr)
	if !ok {
		return spot{}, false
	}
	return spot{part: Maps, name: def.Name, key: key, off: off, text: def.Name + "[" + s.keyText(def, key) + "]" + s.member(b.Spec().ValueType, off, w.Size)}, true
}

// member is the path to some bytes of a value, with the dot before it.
func (s *side) member(id btf.ID, off, size int) string {
	spec := s.whole.Machine().Linked().Object.BTF
	if spec == nil || id == 0 {
		if off == 0 {
			return ""
		}
		return fmt.Sprintf("+%d", off)
	}
	path, _, _ := spec.FieldAt(id, uint32(off), size)
	if path == "" || path[0] == '[' {
		return path
	}
	return "." + path
}

func (s *side) keyText(def *loader.Map, key []byte) string {
	return nodeText(s.whole.KeyNode(def.Name, key), key)
}

// nodeText is how people read a key.
func nodeText(n *grammar.Node, key []byte) string {
	if n.Tag != "" {
		return fmt.Sprintf("%x", key)
	}
	return n.Text
}

// need says what an input would have to be.
func need(cmp search.Comparison, sp spot, w search.Wish, solved bool) string {
	if sp.length || sp.fixed || w.Kind == search.Element {
		return sp.text
	}
	if solved {
		switch op := cmp.Program.Insns[cmp.PC].Op(); {
		case isEqual(op) && !cmp.Taken, isUnequal(op) && cmp.Taken:
			return fmt.Sprintf("%s == %d", sp.text, shown(sp, w))
		case isEqual(op), isUnequal(op):
			return fmt.Sprintf("%s != %d", sp.text, shownWas(sp, w))
		}
		return fmt.Sprintf("%s such as %d", sp.text, shown(sp, w))
	}
	return "another value of " + sp.text
}

func isEqual(op decode.Op) bool {
	return op == decode.OpJeq64Imm || op == decode.OpJeq64Reg || op == decode.OpJeq32Imm || op == decode.OpJeq32Reg
}

func isUnequal(op decode.Op) bool {
	return op == decode.OpJne64Imm || op == decode.OpJne64Reg || op == decode.OpJne32Imm || op == decode.OpJne32Reg
}

// shown is a value as people write it: numbers in packets are in network byte order.
func shown(sp spot, w search.Wish) uint64 { return inOrder(sp, w, w.Value) }

func shownWas(sp spot, w search.Wish) uint64 { return inOrder(sp, w, w.Was) }

func inOrder(sp spot, w search.Wish, v uint64) uint64 {
	if sp.part != Packet || w.Size == 0 {
		return v
	}
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	out := uint64(0)
	for _, c := range b[:min(w.Size, 8)] {
		out = out<<8 | uint64(c)
	}
	return out
}

// grant changes an input to what a comparison wishes.
func (f *Fuzzer) grant(s *side, in *Input, sp spot, w search.Wish) {
	e := &in.Events[len(in.Events)-1]
	var data [8]byte
	binary.LittleEndian.PutUint64(data[:], w.Value)
	bytes := data[:min(max(w.Size, 0), 8)]
	switch sp.part {
	case Packet:
		p := slices.Clone(s.packetOf(in))
		run := f.space.runs[e.Run]
		if sp.length {
			n := min(max(len(p)+sp.add, run.least), min(run.most, maxPacket))
			for len(p) < n {
				p = append(p, 0)
			}
			p = p[:n]
		} else if sp.off+len(bytes) <= len(p) {
			copy(p[sp.off:], bytes)
		}
		e.Packet = p
		repaired := slices.Clone(p)
		packet.Repair(repaired, packet.Ethernet)
		if sp.length || sp.off+len(bytes) <= len(p) && string(repaired[sp.off:sp.off+len(bytes)]) == string(bytes) {
			e.Packet = repaired
		}
	case Ctx, Args:
		if sp.call != nil {
			sp.call(e, bytes)
			return
		}
		if sp.name == "" {
			if e.Ctx == nil {
				e.Ctx = slices.Clone(f.space.runs[e.Run].ctx)
			}
			if sp.off+len(bytes) <= len(e.Ctx) {
				copy(e.Ctx[sp.off:], bytes)
			}
			return
		}
		v := w.Value
		if sp.off != 0 {
			was := uint64(0)
			if a := find(f.space.runs[e.Run].args, sp.name); a != nil {
				was = a.Value
			}
			was = valueIn(e.Args, sp.name, was)
			mask := (uint64(1)<<(8*uint(w.Size)) - 1) << (8 * uint(sp.off))
			v = was&^mask | v<<(8*uint(sp.off))&mask
		}
		if a := find(f.space.runs[e.Run].args, sp.name); a != nil {
			v = a.fit(v)
		}
		e.setArg(sp.name, v)
	case Helpers:
		e.setAnswer(Answer{Helper: sp.name, Returns: []uint64{w.Value}})
	case Time: // it passes before the event, and never goes back
		if d, was := time.Duration(w.Value-w.Was), s.after(e); d > 0 && d <= maxAfter-was {
			e.After = was + d
		}
	case User:
		f.grantUser(e, sp, bytes)
	case Kernel:
		in.Fields = setNumber(in.Fields, sp.name, w.Value)
	case Maps:
		f.grantElement(s, in, sp, bytes)
	case Globals:
		v, err := s.whole.Machine().ReadVariable(sp.name)
		if err != nil {
			return
		}
		for _, g := range in.Globals {
			if g.Name == sp.name {
				v = slices.Clone([]byte(g.Value))
			}
		}
		if sp.off+len(bytes) <= len(v) {
			copy(v[sp.off:], bytes)
			in.setGlobal(sp.name, v)
		}
	}
}

// grantElement changes an element, or makes it.
func (f *Fuzzer) grantElement(s *side, in *Input, sp spot, bytes []byte) {
	v, err := f.valueOf(s, in, sp)
	if err != nil {
		return
	}
	if sp.off >= 0 && sp.off+len(bytes) <= len(v) {
		copy(v[sp.off:], bytes)
	}
	if b, ok := s.whole.Machine().MapByName(sp.name); ok && sp.in == nil {
		f.fill(b.Spec().Type, v)
	}
	in.setElement(sp.name, sp.in, sp.key, v)
}
