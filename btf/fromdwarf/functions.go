package fromdwarf

import (
	"debug/dwarf"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/dedup"
)

// codeSymbol is a function of the symbol table.
type codeSymbol struct {
	name string
	addr uint64
}

// copies are the symbols that a function has: its own and those with suffixes that the compiler
// gave to its copies.
type copies struct {
	symbols []codeSymbol
}

// addCopy adds a function symbol. Parts of functions are no functions: .cold is moved away from the
// rest, .part remains of one that was inlined.
func (t *symbolTable) addCopy(name string, addr uint64, features Features) {
	short, suffix, dotted := strings.Cut(name, ".")
	if dotted && (features&(OptimizedFunc|TrueSignature) == 0 || hasSuffix(suffix, "cold", "part")) {
		return
	}
	c := t.copies[short]
	if c == nil {
		c = &copies{}
		t.copies[short] = c
	}
	c.symbols = append(c.symbols, codeSymbol{name, addr})
}

// hasSuffix reports whether one of the suffixes of a symbol begins with one of the names.
func hasSuffix(suffix string, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return strings.Contains("."+suffix, "."+name) })
}

// ambiguous reports whether the symbols have several addresses, so that no address is that of the
// name.
func (c *copies) ambiguous() bool {
	return slices.ContainsFunc(c.symbols, func(s codeSymbol) bool { return s.addr != c.symbols[0].addr })
}

func (c *copies) has(addr uint64) bool {
	return slices.ContainsFunc(c.symbols, func(s codeSymbol) bool { return s.addr == addr })
}

// candidate is a function of a unit: several units, and copies within a unit, have functions of one
// name.
type candidate struct {
	name   string
	text   uint32 // the name in the BTF's strings
	addr   uint64 // 0 if the DWARF has none
	copies *copies
	// full is the symbol with a suffix at the function's address, if there is one.
	full   string
	result uint32
	params []parameter
	tags   []tag
	// scattered: the code is in several ranges, so that the DWARF has no address.
	scattered bool
	// copied: the symbol at the address is a copy specialized by the compiler (.constprop, .isra).
	copied bool
	function
}

type parameter struct{ name, typ uint32 }

// tag is a decl tag of a candidate.
type tag struct{ text, component uint32 }

const wholeFunction = 1<<32 - 1

// Reason is why a function was left out.
type Reason int

// The reasons. If several hold, the first one counts.
const (
	Misplaced    Reason = iota // a parameter is not in its register
	Inconsistent               // the prototypes of several units differ
	PackedOnStack
	Reordered // parameters have other positions than in the source
	Optimized // parameters were optimized out
	Ambiguous // the name has several addresses
	Reasons
)

func (r Reason) String() string {
	return [...]string{"a parameter is in an unexpected register", "prototypes differ between units", "a packed struct is passed on the stack",
		"parameters were reordered", "parameters were optimized out", "the name has several addresses"}[r]
}

// keepFunc keeps a function for functions, if the symbol table has it.
func (w *writer) keepFunc(n *node) {
	at, ref := w.completed(n)
	name := w.bytes(at)
	if len(name) == 0 || n.record == 0 {
		return
	}
	c := w.syms.copies[string(name)]
	if len(w.syms.copies) == 0 && n.external {
		c = &copies{symbols: []codeSymbol{{string(name), n.address}}}
	}
	if c == nil || w.unnamedParams(n) {
		return
	}
	k := candidate{name: string(name), text: w.str(at), addr: n.address, copies: c, result: w.ref(ref), function: w.places.funcs[n.record],
		scattered: n.address == 0 && !n.inline}
	k.match(w.feat)
	w.keepTags(&k, n, wholeFunction)
	i := k.first
	w.parts(n, func(p *node) {
		if p.tag == dwarf.TagUnspecifiedParameters {
			k.params = append(k.params, parameter{})
		}
		if p.tag != dwarf.TagFormalParameter {
			return
		}
		w.keepParam(&k, p, &w.places.params[i])
		i++
	})
	w.kept = append(w.kept, k)
}

// match finds the symbols at a function's address.
func (k *candidate) match(features Features) {
	if k.addr == 0 {
		return
	}
	for _, s := range k.copies.symbols {
		_, suffix, dotted := strings.Cut(s.name, ".")
		if s.addr != k.addr || !dotted {
			continue
		}
		if features&TrueSignature != 0 && k.full == "" {
			k.full = s.name
		}
		k.copied = k.copied || hasSuffix(suffix, "constprop", "isra")
	}
}

// keepParam adds a parameter to a candidate unless it is known not to be passed.
func (w *writer) keepParam(k *candidate, n *node, p *param) {
	own := w.feat&TrueSignature != 0 && k.changed
	if k.reordered && (!p.located || p.dropped) || own && p.dropped {
		return
	}
	name, ref := w.completed(n)
	out := parameter{w.str(name), w.ref(ref)}
	if own && p.member != 0 {
		m := &w.nodes[p.member]
		out.name = w.types.Str(string(w.bytes(name)) + "__" + string(w.bytes(m.name)))
		if p.typed {
			out.typ = w.ref(m.ref)
		}
	}
	w.keepTags(k, n, uint32(len(k.params)))
	k.params = append(k.params, out)
}

// keepTags adds the decl tags of a function or a parameter to a candidate.
func (w *writer) keepTags(k *candidate, n *node, component uint32) {
	if n.first == 0 {
		return
	}
	for _, text := range w.tags(n, declTag) {
		k.tags = append(k.tags, tag{w.str(text), component})
	}
}

// functions writes the functions that were kept, one for each name, by the rules of pahole 1.32
// (btf_encoder.c).
func (m *maker) functions() {
	slices.SortStableFunc(m.kept, func(a, b candidate) int {
		if c := strings.Compare(a.name, b.name); c != 0 {
			return c
		}
		return noAddress(&a) - noAddress(&b)
	})
	for rest := m.kept; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].name == rest[0].name {
			n++
		}
		m.choose(rest[:n])
		rest = rest[n:]
	}
}

// noAddress is 1 for functions without an address, which come last.
func noAddress(k *candidate) int {
	if k.addr == 0 {
		return 1
	}
	return 0
}

// choose writes one of the functions of a name, or none.
func (m *maker) choose(same []candidate) {
	differ := m.combine(same)
	if m.feat&TrueSignature != 0 {
		for i := range same {
			if k := &same[i]; k.full != "" && !k.misplaced && !k.packed {
				m.write(k, m.types.Str(k.full))
				return
			}
		}
	}
	first, best := &same[0], m.representative(same)
	reasons := [Reasons]bool{
		Misplaced: first.misplaced, Inconsistent: m.feat&ConsistentFunc != 0 && differ, PackedOnStack: first.packed, Reordered: first.reordered,
		Optimized: m.unusable(best), Ambiguous: first.copies.ambiguous(),
	}
	for r, holds := range reasons {
		if holds {
			m.res.LeftOut[r]++
			return
		}
	}
	m.write(best, best.text)
}

// combine passes what makes one function of a name unusable to the others, and reports whether
// their prototypes differ.
func (m *maker) combine(same []candidate) (differ bool) {
	a := &same[0]
	for i := range same[1:] {
		b := &same[i+1]
		a.misplaced = a.misplaced || b.misplaced
		a.packed = a.packed || b.packed
		a.reordered = a.reordered || b.reordered
		b.misplaced, b.packed, b.reordered = a.misplaced, a.packed, a.reordered
		// What was inlined everywhere has no address; true signatures are those of code.
		comparable := m.feat&TrueSignature == 0 || (a.addr == 0) == (b.addr == 0)
		if !differ && comparable && !a.misplaced && !a.reordered {
			differ = !m.equalPrototypes(a, b)
		}
	}
	return differ
}

// representative returns the function of a name whose address is that of a symbol, preferably one
// that BTF can describe.
func (m *maker) representative(same []candidate) *candidate {
	var found, scattered *candidate
	for i := range same {
		k := &same[i]
		switch {
		case k.copies.has(k.addr) && !m.unusable(k):
			return k
		case k.copies.has(k.addr) && found == nil:
			found = k
		case k.scattered && scattered == nil:
			scattered = k
		}
	}
	switch {
	case found != nil:
		return found
	case scattered != nil: // others have addresses without a symbol, such as a weak definition that was replaced
		return scattered
	}
	return &same[0]
}

// unusable reports whether a function has another signature than its prototype, which only
// true_signature can describe.
func (m *maker) unusable(k *candidate) bool {
	return m.feat&TrueSignature == 0 && k.optimized && (k.changed || k.copied)
}

// write writes a function with a name in the BTF's strings.
func (m *maker) write(k *candidate, text uint32) {
	t := m.types
	n := m.vlen(btf.KindFuncProto, len(k.params))
	proto := t.Add(0, dedup.Info(btf.KindFuncProto, n, false), k.result)
	for _, p := range k.params[:n] {
		t.Extend(p.name, p.typ)
	}
	id := m.addFunc(k.name, text, proto)
	for _, tag := range k.tags {
		t.Add(tag.text, dedup.Info(btf.KindDeclTag, 0, false), id, tag.component)
	}
	m.tagKfunc(k.name, id)
}
