package search

import (
	"fmt"

	"github.com/bpfrun/bpfrun/machine"
)

// Kind says what an override changes.
type Kind uint8

// The kinds of inputs.
const (
	// Memory is memory that the program reads: packet bytes, map values, variables, arguments, fields of kernel objects.
	Memory Kind = iota
	// Element is an element of a map, with a value of zeros.
	Element
	// Result is what a helper returns.
	Result
)

// Override is one changed input of a run.
type Override struct {
	Kind Kind
	// Name is what is changed, for people.
	Name string
	// Addr and Data are the bytes at an address, written before the program first reads them.
	Addr uint64
	Data []byte
	// Map and Key are an element that is inserted before the program looks it up.
	Map  string
	Key  []byte
	addr uint64 // of the map
	nth  int    // lookup in the map
	// Helper is a helper whose calls return Value.
	Helper string
	Value  uint64
}

// String describes the override: "packet[23] = 11", "flows[0a000001] inserted", "bpf_get_prandom_u32 = 0".
func (o Override) String() string {
	switch o.Kind {
	case Element:
		return fmt.Sprintf("%s[%x] inserted", o.Map, o.Key)
	case Result:
		return fmt.Sprintf("%s = %#x", o.Helper, o.Value)
	}
	return fmt.Sprintf("%s = %x", o.Name, o.Data)
}

// same reports whether two overrides change the same input, so that the later one counts.
func (o Override) same(p Override) bool {
	return o.Kind == p.Kind && o.Addr == p.Addr && o.addr == p.addr && o.nth == p.nth && o.Helper == p.Helper
}

// with adds an override to a list, in place of one of the same input.
func with(list []Override, o Override) []Override {
	out := make([]Override, 0, len(list)+1)
	for _, p := range list {
		if !p.same(o) {
			out = append(out, p)
		}
	}
	return append(out, o)
}

// override makes the change that gives a source a value.
func (s *source) override(m *machine.Machine, x uint64) Override {
	switch s.kind {
	case Element:
		for _, def := range m.Linked().Maps {
			if mp, ok := m.Map(def); ok && mp.Addr() == s.mapAddr {
				return Override{Kind: Element, Map: def.Name, Key: []byte(s.key), addr: s.mapAddr, nth: s.nth}
			}
		}
		return Override{Kind: Element, Key: []byte(s.key), addr: s.mapAddr, nth: s.nth}
	case Result:
		return Override{Kind: Result, Helper: s.helper, Value: x}
	}
	data := make([]byte, s.size)
	for i := range data {
		data[i] = byte(x >> (8 * i))
	}
	name := fmt.Sprintf("%#x", s.addr)
	if n, ok := m.NameAddr(s.addr); ok {
		name = n.Text
	}
	if def, off := variablesAt(m, s.addr); def != nil {
		for _, v := range def.Vars {
			if off >= uint64(v.Off) && off < uint64(v.Off)+uint64(v.Size) {
				if name = v.Name; off > uint64(v.Off) {
					name += fmt.Sprintf("+%d", off-uint64(v.Off))
				}
			}
		}
	}
	return Override{Kind: Memory, Name: name, Addr: s.addr, Data: data}
}
