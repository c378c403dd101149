package report

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/visible"
	"github.com/bpfrun/bpfrun/loader"
)

// Histogram is an array of counters in the value of a map's element, or in a global variable, that
// counts values by their logarithm: slot n counts those from 2^n to 2^(n+1)-1, and slot 0 also
// counts 0. Such an array is known by its type: a member "slots" of integers, or the only array of
// a struct whose name is hist or ends in _hist. This is the convention of bcc and libbpf-tools.
type Histogram struct {
	// Map is the map's name, "" for a global variable.
	Map string `json:"map,omitempty"`
	// Key is the element's key as text; the counters of a per-CPU map are added up.
	Key string `json:"key,omitempty"`
	// Path leads from the value, or the name of the variable, to the array.
	Path  string   `json:"path"`
	Slots []uint64 `json:"slots"`
	// Program is the last one that changed it.
	Program string `json:"program,omitempty"`
}

// Limits on the search for histograms.
const (
	mostHistograms = 64   // in a document
	histElements   = 1024 // looked at in an array of structs
	histDepth      = 4    // of nested structs
	histSlots      = 64   // logarithms of 64 bits
)

// title names a histogram: "waits[0].slots", or a variable.
func (h *Histogram) title() string {
	if h.Map == "" {
		return h.Path
	}
	return h.Map + "[" + h.Key + "]" + h.Path
}

// histFinder looks for histograms in values by their types.
type histFinder struct {
	spec  *btf.Spec
	order binary.ByteOrder
	found func(path string, slots []uint64)
	types map[btf.ID]bool // whether a type has any
}

// has reports whether values of a type can have histograms.
func (f *histFinder) has(id btf.ID, depth int) bool {
	t := f.spec.SkipMods(id)
	if t == nil || depth > histDepth {
		return false
	}
	if known, ok := f.types[t.ID]; ok {
		return known
	}
	f.types[t.ID] = false // for types that contain themselves
	switch t.Kind {
	case btf.KindArray:
		f.types[t.ID] = f.has(t.Ref, depth)
	case btf.KindStruct:
		f.types[t.ID] = slices.ContainsFunc(t.Members, func(m btf.Member) bool {
			_, _, ok := f.slots(t, &m)
			return ok || f.has(m.Type, depth+1)
		})
	}
	return f.types[t.ID]
}

// slots returns the number and size of the counters if a member of a struct is a histogram.
func (f *histFinder) slots(t *btf.Type, m *btf.Member) (n, size int, ok bool) {
	a := f.spec.SkipMods(m.Type)
	if a == nil || a.Kind != btf.KindArray || m.BitOffset%8 != 0 || a.Array.Nelems < 2 || a.Array.Nelems > histSlots {
		return 0, 0, false
	}
	e := f.spec.SkipMods(a.Ref)
	if e == nil || e.Kind != btf.KindInt || e.Size != 4 && e.Size != 8 {
		return 0, 0, false
	}
	if m.Name != "slots" {
		if t.Name != "hist" && !strings.HasSuffix(t.Name, "_hist") {
			return 0, 0, false
		}
		arrays := 0
		for i := range t.Members {
			if x := f.spec.SkipMods(t.Members[i].Type); x != nil && x.Kind == btf.KindArray {
				arrays++
			}
		}
		if arrays != 1 {
			return 0, 0, false
		}
	}
	return int(a.Array.Nelems), int(e.Size), true
}

// find calls found for the histograms in a value that counted something.
func (f *histFinder) find(id btf.ID, data []byte, path string, depth int) {
	t := f.spec.SkipMods(id)
	if !f.has(id, depth) {
		return
	}
	if t.Kind == btf.KindArray {
		size, err := f.spec.Sizeof(t.Ref)
		for i := int64(0); err == nil && size > 0 && i < min(int64(t.Array.Nelems), histElements) && (i+1)*size <= int64(len(data)); i++ {
			f.find(t.Ref, data[i*size:(i+1)*size], fmt.Sprintf("%s[%d]", path, i), depth)
		}
		return
	}
	for i := range t.Members {
		m := &t.Members[i]
		off := int(m.BitOffset / 8)
		if off > len(data) {
			continue
		}
		at := path + "." + m.Name
		if n, size, ok := f.slots(t, m); ok {
			if slots := f.read(data[off:], n, size); slots != nil {
				f.found(at, slots)
			}
			continue
		}
		if m.BitfieldSize == 0 {
			f.find(m.Type, data[off:], at, depth+1)
		}
	}
}

// read returns the counters, or nil if all are 0.
func (f *histFinder) read(data []byte, n, size int) []uint64 {
	if n*size > len(data) {
		return nil
	}
	slots, some := make([]uint64, n), false
	for i := range slots {
		if size == 4 {
			slots[i] = uint64(f.order.Uint32(data[4*i:]))
		} else {
			slots[i] = f.order.Uint64(data[8*i:])
		}
		some = some || slots[i] != 0
	}
	if !some {
		return nil
	}
	return slots
}

// histSet is the latest state of the histograms that runs changed. Its zero value is empty.
type histSet struct {
	list  []Histogram
	cpus  []map[int][]uint64 // by histogram: the counters of each CPU, -1 for maps that are not per CPU
	more  map[string]bool    // titles that are not listed
	types map[btf.ID]bool
}

// add notes what a run changed.
func (s *histSet) add(l *loader.Linked, program string, changes []machine.Change) {
	spec := l.Object.BTF
	if spec == nil {
		return
	}
	if s.types == nil {
		s.types, s.more = map[btf.ID]bool{}, map[string]bool{}
	}
	f := histFinder{spec: spec, order: spec.ByteOrder(), types: s.types}
	for _, c := range changes {
		def, ok := l.Map(c.Map)
		if !ok || !f.inMap(def) {
			continue
		}
		h := Histogram{Map: def.Name, Program: program}
		f.found = func(path string, slots []uint64) {
			h.Path, h.Slots = path, slots
			s.put(h, c.CPU)
		}
		if def.DataKind != loader.DataNone {
			h.Map = ""
			f.variables(def, c.New)
			continue
		}
		h.Key = keyText(spec, def.KeyType, c.Key, f.order)
		f.find(def.ValueType, c.New, "", 0)
	}
}

// put replaces the counters of one CPU and adds up those of all.
func (s *histSet) put(h Histogram, cpu int) {
	at := slices.IndexFunc(s.list, func(x Histogram) bool { return x.Map == h.Map && x.Key == h.Key && x.Path == h.Path })
	if at < 0 {
		if len(s.list) == mostHistograms {
			s.more[h.title()] = true
			return
		}
		at = len(s.list)
		s.list, s.cpus = append(s.list, h), append(s.cpus, map[int][]uint64{})
	}
	s.cpus[at][cpu] = h.Slots
	sums := make([]uint64, len(h.Slots))
	for _, slots := range s.cpus[at] {
		for i, n := range slots {
			sums[i] += n
		}
	}
	s.list[at].Slots, s.list[at].Program = sums, h.Program
}

// inMap reports whether a map can have histograms.
func (f *histFinder) inMap(def *loader.Map) bool {
	if def.DataKind == loader.DataNone {
		return def.ValueType != 0 && f.has(def.ValueType, 0)
	}
	return slices.ContainsFunc(def.Vars, func(v loader.Var) bool { return v.Type != 0 && f.has(v.Type, 0) })
}

// variables looks into the variables of a data section.
func (f *histFinder) variables(def *loader.Map, value []byte) {
	for _, v := range def.Vars {
		if end := uint64(v.Off) + uint64(v.Size); v.Type != 0 && end <= uint64(len(value)) {
			f.find(v.Type, value[v.Off:end], v.Name, 0)
		}
	}
}

// ChangedHistograms returns the histograms that a run changed, as it left them.
func ChangedHistograms(l *loader.Linked, program string, changes []machine.Change) []Histogram {
	var s histSet
	s.add(l, program, changes)
	return s.list
}

// shown is the range of slots from the first to the last that counted something, and the largest
// count.
func (h *Histogram) shown() (from, to int, most uint64) {
	from = -1
	for i, n := range h.Slots {
		if n == 0 {
			continue
		}
		if from < 0 {
			from = i
		}
		to, most = i+1, max(most, n)
	}
	return max(from, 0), to, most
}

// slotText is the interval of a slot as bpftrace prints it: "[4, 8)", "[1K, 2K)".
func slotText(slot int) string {
	if slot == 0 {
		return "[0, 2)"
	}
	return "[" + powerText(slot) + ", " + powerText(slot+1) + ")"
}

// powerText is a power of two with the suffix of its thousands of 1024.
func powerText(exponent int) string {
	return fmt.Sprintf("%d%s", uint64(1)<<(exponent%10), [...]string{"", "K", "M", "G", "T", "P", "E"}[exponent/10])
}

// histBar is the width of the longest bar.
const histBar = 52

// write writes a histogram as bpftrace does.
func (h *Histogram) write(b *strings.Builder, st style) {
	visible.Fprintf(b, "%s\n", st.bold(h.title()))
	from, to, most := h.shown()
	for i := from; i < to; i++ {
		visible.Fprintf(b, "%-16s%8d |%-*s|\n", slotText(i), h.Slots[i], histBar, strings.Repeat("@", share(h.Slots[i], most)))
	}
}

// share is the length of a count's bar.
func share(n, most uint64) int {
	hi, lo := bits.Mul64(n, histBar)
	q, _ := bits.Div64(hi, lo, max(most, 1)) // n is at most most
	return int(q)
}

// writeHistograms writes histograms, indented.
func writeHistograms(b *strings.Builder, list []Histogram, st style, indent string) {
	for i := range list {
		var one strings.Builder
		list[i].write(&one, st)
		if indent == "" {
			b.WriteByte('\n')
		}
		for line := range strings.Lines(one.String()) {
			b.WriteString(indent + line)
		}
	}
}
