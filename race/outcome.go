package race

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/bpfrun/bpfrun/machine"
	"github.com/bpfrun/bpfrun/maps"
	"github.com/bpfrun/bpfrun/mem"
	"github.com/bpfrun/bpfrun/race/order"
)

// outcome is what an order led to: what actors returned, what is in maps and globals, what was sent.
type outcome struct {
	// key is equal for equal outcomes.
	key  string
	rets []uint64
	// parts are what it consists of, by name, in an order of their own.
	parts []part
}

// part is one thing that an outcome consists of.
type part struct {
	name  string
	value []byte
}

// cells are the bytes with fixed addresses that actors write, and the maps whose elements come and go.
type cells struct {
	words   map[uint64]bool // by address / 8
	sorted  []uint64
	dynamic map[maps.Map]bool
	grown   bool
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
			c.dynamic[m] = true
			continue
		}
		for w := t.Addr >> 3; w <= (t.Addr+t.Size-1)>>3; w++ {
			if !c.words[w] {
				c.words[w] = true
				c.sorted = append(c.sorted, w)
				c.grown = true
			}
		}
	}
}

// sort brings the cells into an order that does not depend on when they were found.
func (c *cells) sort() { slices.Sort(c.sorted) }

// outcome collects the outcome of the order that has just ended.
func (s *system) outcome(c *cells) *outcome {
	o := &outcome{}
	var key []byte
	add := func(name string, value []byte) {
		o.parts = append(o.parts, part{name, value})
		key = binary.AppendUvarint(key, uint64(len(value)))
		key = append(key, value...)
	}
	for i := range s.now {
		p := &s.now[i]
		if p.state != order.Done {
			add("end of "+s.actors[i].label(), []byte("never"))
			continue
		}
		if f := p.end.fault; f != nil {
			add("end of "+s.actors[i].label(), []byte(f.Error()))
			continue
		}
		o.rets = append(o.rets, p.end.ret)
		add("r0 of "+s.actors[i].label(), binary.LittleEndian.AppendUint64(nil, p.end.ret))
		if len(p.end.packet) > 0 {
			add("packet of "+s.actors[i].label(), p.end.packet)
		}
		if len(p.end.trace) > 0 {
			add("trace of "+s.actors[i].label(), []byte(strings.Join(p.end.trace, "\n")))
		}
	}
	var buf [8]byte
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
		add("", slices.Clone(b))
		o.parts[len(o.parts)-1].name = fmt.Sprintf("%#x", lo)
	}
	for _, def := range s.m.Linked().Maps {
		if m, ok := s.m.Map(def); ok && (c.dynamic[m] || isHash(m.Spec().Type)) {
			for _, e := range m.Entries() {
				for cpu, v := range e.PerCPU {
					add(fmt.Sprintf("%s[%x] of CPU %d", def.Name, e.Key, cpu), append(slices.Clone(e.Key), v...))
				}
				if e.PerCPU == nil {
					add(fmt.Sprintf("%s[%x]", def.Name, e.Key), append(slices.Clone(e.Key), e.Value...))
				}
			}
		}
	}
	if s.buffers {
		s.addRecords(add)
	}
	o.key = string(key)
	return o
}

// addRecords adds the records that were sent, in an order that does not depend on when.
func (s *system) addRecords(add func(string, []byte)) {
	events := s.x.Events()
	sort.Slice(events, func(i, j int) bool {
		if events[i].Map != events[j].Map {
			return events[i].Map < events[j].Map
		}
		return string(events[i].Data) < string(events[j].Data)
	})
	for _, e := range events {
		add("record of "+e.Map, e.Data)
	}
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
