package race

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/find/race/order"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// outcome is what an order led to: what actors returned, what is in maps and globals, what was
// sent.
type outcome struct {
	// key is equal for equal outcomes.
	key string
	// parts are what it consists of; those without a name are for the key alone.
	parts []part
}

// part is one thing that an outcome consists of.
type part struct {
	name  string
	value []byte
	// spec and typ are the type of the value, if it is known.
	spec *btf.Spec
	typ  btf.ID
	// text means that the value is text.
	text bool
}

// cells are the bytes with fixed addresses that actors write.
type cells struct {
	words  map[uint64]bool // by address / 8
	sorted []uint64
	grown  bool
	// accesses are how the bytes of each word were written, for reports.
	accesses map[uint64][]order.Touch
}

// hasBuffers reports whether an object has buffers for records.
func hasBuffers(m *machine.Machine) bool {
	for _, def := range m.Linked().Maps {
		if b, ok := m.Map(def); ok {
			switch b.(type) {
			case maps.RingBuffer, maps.PerfArray:
				return true
			}
		}
	}
	return false
}

// hashesOf lists the maps whose elements come and go and that programs refer to. Arrays of maps
// belong to user space.
func hashesOf(m *machine.Machine) []*loader.Map {
	var out []*loader.Map
	for _, def := range m.Linked().Maps {
		if b, ok := m.Map(def); ok && (isHash(b.Spec().Type) || isQueue(b.Spec().Type)) && b.Spec().Inner == nil {
			out = append(out, def)
		}
	}
	return out
}

// isQueue reports whether elements of maps of a type have no keys.
func isQueue(t uapi.MapType) bool {
	return t == uapi.MapTypeQueue || t == uapi.MapTypeStack || t == uapi.MapTypeSkStorage || t == uapi.MapTypeTaskStorage || t == uapi.MapTypeInodeStorage || t == uapi.MapTypeCgrpStorage
}

// note notes what a step writes.
func (s *system) note(c *cells, a *access) {
	for _, t := range a.touches {
		if !t.Write || structural(t.Addr) {
			continue
		}
		r := s.region(t.Addr)
		if r == nil {
			continue
		}
		if m, ok := r.Owner.(maps.Map); ok && isHash(m.Spec().Type) {
			continue // its elements are compared as a whole
		}
		for w := t.Addr >> 3; w <= (t.Addr+t.Size-1)>>3; w++ {
			if !c.words[w] {
				c.words[w] = true
				c.sorted = append(c.sorted, w)
				c.grown = true
			}
		}
		if w := t.Addr >> 3; t.Size <= 8 && !slices.Contains(c.accesses[w], t) && len(c.accesses[w]) < 8 {
			c.accesses[w] = append(c.accesses[w], t)
		}
	}
}

// sort brings the cells into an order that does not depend on when they were found.
func (c *cells) sort() { slices.Sort(c.sorted) }

// collector takes the parts of an outcome.
type collector struct {
	key   []byte
	parts []part
	named bool // parts are wanted
}

// add adds a part; what says how it is shown.
func (c *collector) add(value []byte, what func() part) {
	c.key = binary.AppendUvarint(c.key, uint64(len(value)))
	c.key = append(c.key, value...)
	if c.named {
		p := what()
		if p.value == nil {
			p.value = slices.Clone(value)
		}
		c.parts = append(c.parts, p)
	}
}

// outcomeKey identifies the outcome of the order that has just ended: equal outcomes have equal
// keys. It is valid until the next call.
func (s *system) outcomeKey(c *cells) []byte {
	s.collected.key, s.collected.named = s.collected.key[:0], false
	s.collect(c, &s.collected)
	return s.collected.key
}

// outcome describes the outcome of the order that has just ended.
func (s *system) outcome(c *cells) *outcome {
	col := collector{named: true}
	s.collect(c, &col)
	return &outcome{key: string(col.key), parts: col.parts}
}

// written lists the parts of a word that were written by accesses of their own.
func (c *cells) written(w, lo, size uint64) []order.Touch {
	var out []order.Touch
	for _, t := range c.accesses[w] {
		if !slices.ContainsFunc(out, t.Overlaps) {
			out = append(out, order.Touch{Addr: t.Addr, Size: t.Size})
		}
	}
	if len(out) == 0 {
		out = append(out, order.Touch{Addr: lo, Size: size})
	}
	return out
}

// collect collects what the order that has just ended led to.
func (s *system) collect(c *cells, to *collector) {
	var buf [8]byte
	for i := range s.now {
		p := &s.now[i]
		named := func(what string) func() part {
			return func() part { return part{name: what + s.actors[i].label()} }
		}
		switch {
		case s.unfired(i):
			to.add([]byte("did not run"), named("end of "))
			continue
		case p.state != order.Done:
			to.add([]byte("never"), named("end of "))
			continue
		case p.end.fault != nil:
			to.add([]byte(p.end.fault.Error()), named("end of "))
			continue
		}
		if s.actors[i].User != nil {
			to.add(p.end.user, named("results of "))
			continue
		}
		binary.LittleEndian.PutUint64(buf[:], p.end.ret)
		to.add(buf[:], named("r0 of "))
		to.add(p.end.packet, named("packet of "))
		to.add([]byte(strings.Join(p.end.trace, "\n")), named("trace of "))
	}
	for _, w := range c.sorted {
		r := s.region(w << 3)
		if r == nil {
			continue
		}
		lo, hi := max(w<<3, r.Base), min(w<<3+8, r.Base+r.Size)
		b := buf[:hi-lo]
		if s.memory.Read(lo, b) != nil {
			clear(b)
		}
		to.key = append(to.key, b...)
		if !to.named {
			continue
		}
		for _, t := range c.written(w, lo, uint64(len(b))) {
			v := make([]byte, t.Size)
			if s.memory.Read(t.Addr, v) == nil {
				to.parts = append(to.parts, part{name: s.field(t), value: v})
			}
		}
	}
	for _, def := range s.hashes {
		m, _ := s.m.Map(def) // it is there: see hashesOf
		for _, e := range m.Entries() {
			to.add(e.Key, func() part { return part{} })
			for cpu, v := range e.PerCPU {
				to.add(v, func() part { return s.element(def, e.Key, cpu) })
			}
			if e.PerCPU == nil {
				to.add(e.Value, func() part { return s.element(def, e.Key, -1) })
			}
		}
	}
	if s.deferring {
		s.items(to)
	}
	if s.buffers {
		for _, e := range s.records() {
			to.add([]byte(e.Map), func() part { return part{} })
			to.add(e.Data, func() part {
				return part{name: "record of " + e.Map, spec: s.m.EventTypes().Spec(), typ: e.Type}
			})
		}
	}
}

// element describes a part that is an element of a map.
func (s *system) element(def *loader.Map, key []byte, cpu int) part {
	spec := s.m.Linked().Object.BTF
	text := fmt.Sprintf("%x", key)
	if spec != nil && def.KeyType != 0 {
		text = spec.FormatString(def.KeyType, key)
	}
	p := part{name: fmt.Sprintf("%s[%s]", def.Name, text), spec: spec, typ: def.ValueType}
	if cpu >= 0 {
		p.name += fmt.Sprintf(" of CPU %d", cpu)
	}
	return p
}

// records returns the records that were sent, in an order that does not depend on when.
func (s *system) records() []machine.Event {
	if s.sent {
		return s.events
	}
	s.events, s.sent = s.x.Events(), true
	slices.SortFunc(s.events, func(a, b machine.Event) int {
		if a.Map != b.Map {
			return strings.Compare(a.Map, b.Map)
		}
		return bytes.Compare(a.Data, b.Data)
	})
	return s.events
}

// describe names the bytes at an address: "map value counters[0]+8".
func (s *system) describe(addr uint64) string {
	r := s.memory.Find(addr)
	if r == nil {
		return fmt.Sprintf("%#x", addr)
	}
	name := strings.TrimPrefix(r.Describe(addr), mem.MapValue.String()+" ")
	off := addr - r.Base
	if _, in, ok := r.Elem(addr); ok {
		off = in
	}
	if off != 0 {
		name += fmt.Sprintf("+%d", off)
	}
	return name
}
