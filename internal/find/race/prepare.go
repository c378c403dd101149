package race

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/endian"
	"github.com/bpfrun/bpfrun/internal/find/search"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/machine"
	bmaps "github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/packet"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// Prepared is what gets programs of an object further than the default inputs in an empty state do:
// inputs, and the programs that leave elements in maps which others look up.
type Prepared struct {
	// inputs are those of each program: the one that gets furthest, nil if that is the default one,
	// then others that reach what it does not.
	inputs map[string][]*furtherInput
	// reached is what each program does to maps with any of them.
	reached map[string]*deeds
	// producers are the programs that add elements, in the order in which they run.
	producers []string
	// Left is how many programs were not searched because the time was over: what is found then
	// depends on the machine's speed.
	Left int
}

// furtherInput is an input with which a program gets further than with the default one.
type furtherInput struct {
	input machine.Input
	// writes are bytes outside of the input: fields of kernel objects, variables, elements of maps
	// that user space fills.
	writes []search.Override
	text   []string
}

// What the search of inputs may cost, in instructions with what runs cost besides: in all programs
// of an object together, and in one of them at least, as long as there is any left.
const (
	prepareWork = 4_000_000
	leastWork   = 20_000
	mostWork    = 600_000 // in one search
	mostRuns    = 1_500
)

// Warm makes the kernel objects that the programs get by default, in a fixed order, so that they
// have the same addresses on machines of the same object.
func Warm(m *machine.Machine) {
	for _, lp := range runnable(m) {
		_, _ = m.Inspect(lp.Name, machine.Input{}) // what cannot run has no objects
	}
}

// runnable lists the programs that can run by themselves.
func runnable(m *machine.Machine) []*loader.LinkedProgram {
	return slices.DeleteFunc(slices.Clone(m.Linked().Programs), func(lp *loader.LinkedProgram) bool {
		_, ok := m.ImageOf(lp.Name)
		_, whole := machine.WholeOf(lp)
		return !ok || whole
	})
}

// Prepare looks for inputs with which programs get further. What it finds depends on nothing but
// the object, the kernel and the machine's seed: it ends after a certain amount of work. A time, if
// that is not zero, is a last resort: see [Prepared.Left]. The machine must record coverage; it is
// left as it was. [Warm] comes first, on this machine and on that on which orders are explored.
// Programs of the list are searched before those that only leave elements for them.
func Prepare(ctx context.Context, m *machine.Machine, only []string, until time.Time) (*Prepared, error) {
	out := &Prepared{inputs: map[string][]*furtherInput{}, reached: map[string]*deeds{}}
	start := m.Snapshot()
	defer m.Restore(start)
	progs := runnable(m)
	if len(progs) == 0 {
		return out, nil
	}
	slices.SortStableFunc(progs, func(a, b *loader.LinkedProgram) int {
		rank := func(lp *loader.LinkedProgram) int {
			return slices.Index([]bool{true, false}, slices.Contains(only, lp.Name))
		}
		return rank(a) - rank(b)
	})
	filled := filledByPrograms(progs)
	const rounds = 2 // what the last program adds may be what the first one looks up
	opt := search.Options{
		Keep: func(o search.Override) bool { return byEvents(o, filled) }, Constants: true, Others: mostOthers, Runs: mostRuns,
		Like: func(def *loader.Map) []byte { return added(m, def, filled) },
	}
	most, left, searches := map[string]int{}, uint64(prepareWork), uint64(len(progs)*rounds)
	for round := range rounds {
		for i, lp := range progs {
			if !until.IsZero() && time.Now().After(until) {
				out.Left = len(progs) - i
				return out, nil
			}
			opt.Insns = min(max(left/searches, leastWork), left, mostWork)
			if searches--; opt.Insns < leastWork/4 {
				continue
			}
			before, had := m.Snapshot(), elements(m)
			f, others, work, err := furthest(ctx, m, lp.Name, opt)
			if err != nil {
				return nil, err
			}
			left -= min(left, work)
			if !f.Ran || f.Fault != nil {
				m.Restore(before)
				continue
			}
			if n := f.Reached; n > most[lp.Name] {
				most[lp.Name] = n
				list := []*furtherInput{inputOf(m, f.Changed, f.Packet)}
				for _, o := range variants(lp, others) {
					list = append(list, inputOf(m, o.Changed, o.Packet))
				}
				out.inputs[lp.Name] = list
			}
			out.note(lp, others)
			if !adds(lp) || !more(had, elements(m)) { // or the search added them
				m.Restore(before)
			} else if !slices.Contains(out.producers, lp.Name) {
				out.producers = append(out.producers, lp.Name)
			}
		}
		if round == 0 { // what no program was seen to add, the search may
			for i, def := range hashesOf(m) {
				if n := elements(m); n[i] == 0 {
					delete(filled, def.Name)
				}
			}
		}
	}
	return out, nil
}

// mostOthers limits the runs of one search that are compared, mostVariants the inputs of a program
// besides the one that gets furthest.
const (
	mostOthers   = 64
	mostVariants = 3
)

// variants picks inputs that reach accesses of maps which the input that gets furthest and the given
// one do not: the way that is longest is one of several.
func variants(lp *loader.LinkedProgram, all []search.Other) (out []search.Other) {
	if len(all) == 0 {
		return nil
	}
	far := 0
	for i := range all {
		if all[i].Reached.Len(lp) > all[far].Reached.Len(lp) {
			far = i
		}
	}
	marks, known := make([]map[search.Site]bool, len(all)), map[search.Site]bool{}
	for i := range all {
		marks[i] = map[search.Site]bool{}
		for at := range all[i].Reached.All() {
			if isDeed(at.Program.Insns[at.Insn]) {
				marks[i][at] = true
			}
		}
	}
	maps.Copy(known, marks[0])
	maps.Copy(known, marks[far])
	for len(out) < mostVariants {
		best, most := -1, 0
		for i := range all {
			n := 0
			for at := range marks[i] {
				if !known[at] {
					n++
				}
			}
			if n > most {
				best, most = i, n
			}
		}
		if best < 0 {
			break
		}
		maps.Copy(known, marks[best])
		out = append(out, all[best])
	}
	return out
}

// added returns the value of an element that a program added to a map; nil for maps that none fills
// and while they are empty.
func added(m *machine.Machine, def *loader.Map, filled map[string]bool) []byte {
	b, ok := m.Map(def)
	if !ok || !filled[def.Name] {
		return nil
	}
	for _, e := range b.Entries() {
		if len(e.Value) == bmaps.UserValueSize(b) {
			return slices.Clone(e.Value)
		}
	}
	return nil
}

// packets are what programs that take packets get, besides the default one.
var packets = []string{"eth/ip/udp(dport=53)/'1234567890ab'", "eth/ip6/udp/'12345678'", "eth/ip/icmp/'12345678'", "eth/arp"}

// furthest searches with the default input, and for a program that takes packets with those of
// other protocols. It returns the runs that reached something new and how much work that was. The
// machine is left as the run that got furthest leaves it.
func furthest(ctx context.Context, m *machine.Machine, name string, opt search.Options) (best *search.Found, others []search.Other, work uint64, err error) {
	start := m.Snapshot()
	best, err = search.Furthest(ctx, m, name, machine.Input{}, opt)
	if err != nil {
		return nil, nil, 0, err
	}
	work, others = best.Work, best.Others
	if best.Ran && best.Fault == nil && best.Reached < best.Reachable {
		state := m.Snapshot()
		m.Restore(start)
		late := opt
		late.Late = true
		f, err := search.Furthest(ctx, m, name, machine.Input{}, late)
		if err != nil {
			return nil, nil, 0, err
		}
		work, others = work+f.Work, append(others, f.Others...)
		if f.Ran && f.Fault == nil && f.Reached > best.Reached {
			best = f
		} else {
			m.Restore(state)
		}
	}
	if !best.Ran || best.Fault != nil || 2*best.Reached >= best.Reachable {
		return best, others, work, nil
	}
	if c, err := m.Inspect(name, machine.Input{}); err != nil || c.Packet == nil {
		return best, others, work, nil // it takes none
	}
	state := m.Snapshot()
	for _, text := range packets {
		frame, err := packet.Parse(text)
		if err != nil {
			return nil, nil, 0, err
		}
		for _, late := range []bool{false, true} {
			opt.Late = late
			m.Restore(start)
			f, err := search.Furthest(ctx, m, name, machine.Input{Packet: frame}, opt)
			if err != nil {
				return nil, nil, 0, err
			}
			work += f.Work
			for _, o := range f.Others {
				if o.Packet == nil {
					o.Packet = frame
				}
				others = append(others, o)
			}
			if f.Ran && f.Fault == nil && f.Reached > best.Reached {
				if best, state = f, m.Snapshot(); f.Packet == nil {
					f.Packet = frame
				}
			}
		}
	}
	m.Restore(state)
	return best, others, work, nil
}

// byEvents reports whether a change is about what only events make: elements of maps that programs
// fill. That there is one with another key is none if it is like one that a program added.
func byEvents(o search.Override, filled map[string]bool) bool {
	if o.Kind == search.Element && o.Like != nil {
		return false
	}
	return (o.Kind == search.Element || o.Place.Input == search.MapValue) && filled[o.Place.Name] || o.Kind == search.Result
}

// filledByPrograms lists the maps whose elements programs add: those that are the first argument of
// such a call.
func filledByPrograms(progs []*loader.LinkedProgram) map[string]bool {
	out := map[string]bool{}
	for _, lp := range progs {
		first := arguments(lp)
		for pc, in := range lp.Insns {
			if in.Op() == decode.OpCallHelper && first[pc] != nil && uapi.FuncID(in.Imm) == uapi.FuncMapUpdateElem {
				out[first[pc].Name] = true
			}
		}
	}
	return out
}

// adds reports whether a program adds elements.
func adds(lp *loader.LinkedProgram) bool {
	return slices.ContainsFunc(lp.Insns, func(in decode.Insn) bool {
		return in.Op() == decode.OpCallHelper && uapi.FuncID(in.Imm) == uapi.FuncMapUpdateElem
	})
}

// inputOf makes an input of the changes of a search; nil if there are none.
func inputOf(m *machine.Machine, changed []search.Override, frame []byte) *furtherInput {
	if len(changed) == 0 && len(frame) == 0 {
		return nil
	}
	in := &furtherInput{input: machine.Input{Packet: frame}}
	for _, o := range changed {
		in.text = append(in.text, o.String())
		switch {
		case o.Kind == search.Element:
			in.writes = append(in.writes, o)
		case o.Kind != search.Memory || o.Place.Input == search.Packet:
		case o.Place.Input == search.Argument:
			if in.input.Args == nil {
				in.input.Args = map[string]any{}
			}
			in.input.Args[o.Place.Name] = endian.Uint(m.Memory().ByteOrder(), o.Data)
		default:
			in.writes = append(in.writes, o)
		}
	}
	if len(frame) > 0 && !slices.ContainsFunc(changed, func(o search.Override) bool {
		return o.Kind == search.Length || o.Place.Input == search.Packet
	}) {
		in.text = append(in.text, "packet "+packet.Describe(frame, packet.Ethernet))
	}
	return in
}

// elements counts the elements of each map whose elements come and go.
func elements(m *machine.Machine) []int {
	var out []int
	for _, def := range hashesOf(m) {
		if b, ok := m.Map(def); ok {
			out = append(out, len(b.Entries()))
		}
	}
	return out
}

// more reports whether a map has more elements than before and none has fewer.
func more(had, has []int) bool {
	grown := false
	for i := range has {
		if i >= len(had) || has[i] < had[i] {
			return false
		}
		grown = grown || has[i] > had[i]
	}
	return grown
}

// write makes the changes of an input that are not part of it, as far as what they change exists. c
// is the context of the run, nil before it begins.
func (in *furtherInput) write(m *machine.Machine, c *hook.Context) {
	for _, o := range in.writes {
		switch {
		case o.Kind == search.Element:
			if b, def := named(m, o.Map); b != nil && len(o.Key) == int(b.Spec().KeySize) && c == nil {
				if _, errno := b.Lookup(0, o.Key); errno != 0 {
					search.Insert(m, b, def, o.Key, o.Like)
				}
			}
		case o.Place.Input == search.MapValue && len(o.Place.Key) > 0 && c == nil:
			pokeElement(m, o)
		case o.Place.Input != search.ContextField:
			poke(m, o)
		case c != nil:
			c.SetField(o.Place.Name, endian.Uint(m.Memory().ByteOrder(), o.Data))
		}
	}
}

// named returns a map by its name, with its definition.
func named(m *machine.Machine, name string) (bmaps.Map, *loader.Map) {
	b, ok := m.MapByName(name)
	if !ok {
		return nil, nil
	}
	return m.MapDefAt(b.Addr())
}

// pokeElement writes to an element by its key: its address may differ.
func pokeElement(m *machine.Machine, o search.Override) {
	b, ok := m.MapByName(o.Place.Name)
	if !ok || len(o.Place.Key) != int(b.Spec().KeySize) || o.Place.Off+len(o.Data) > int(b.Spec().ValueSize) {
		return
	}
	if addr, errno := b.Lookup(0, o.Place.Key); errno == 0 {
		_ = m.Memory().Write(addr+uint64(o.Place.Off), o.Data)
	}
}

// poke writes bytes where a search found them.
func poke(m *machine.Machine, o search.Override) {
	if m.Kernel().Poke(o.Addr, o.Data) {
		return
	}
	memory := m.Memory()
	if memory.IsUser(o.Addr) {
		_ = memory.WriteUser(o.Addr, o.Data)
		return
	}
	r := memory.Find(o.Addr)
	if r == nil || r.View != nil || o.Addr+uint64(len(o.Data)) > r.Base+r.Size {
		return
	}
	if _, ok := r.Owner.(bmaps.Map); !ok {
		return // of a run
	}
	copy(memory.Bytes(r)[o.Addr-r.Base:], o.Data) // programs cannot write to constants
	memory.NoteWrite(o.Addr, uint64(len(o.Data)))
}
