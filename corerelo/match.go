package corerelo

import (
	"fmt"

	"github.com/bpfrun/bpfrun/btf"
)

// maxSteps limits the work of one match. The largest real types need some thousands of steps; a
// hostile graph of shared anonymous members or function prototypes would otherwise take 2^32 and
// more.
const maxSteps = 1 << 20

// Reason classifies why a candidate does not match.
type Reason uint8

// Reasons for rejecting a candidate.
const (
	NotRejected      Reason = iota
	NoMember                // a named member is missing
	IncompatibleType        // the member exists with a type of another kind
	NotComposite            // the local path names a member, but the target type is not a struct or union
	NotArray                // the local path has an index, but the target type is not an array
	OutOfBounds             // the array is too short
	NotEnum                 // the target type is not an enum
	NoEnumerator            // the enum lacks the enumerator
	IncompatibleRoot        // the types have different shapes (type relocations)
)

var reasonNames = [...]string{
	"", "no-member", "incompatible-type", "not-composite", "not-array", "out-of-bounds",
	"not-enum", "no-enumerator", "incompatible-root",
}

// String returns the reason as a word: "no-member".
func (r Reason) String() string {
	if int(r) < len(reasonNames) {
		return reasonNames[r]
	}
	return "unknown"
}

// Rejection is a candidate that does not match, with the reason.
type Rejection struct {
	Candidate
	Num    int    // position in the candidate list of this relocation
	Spec   Spec   // as far as the match got
	Step   int    // accessor of the local path that failed (field relocations)
	Reason Reason // class of the reason
	Why    string // the reason as a sentence that names the types of both sides

	at   btf.ID // target type in which the failing step was looked up
	have btf.ID // target type found there, for IncompatibleType
}

// matcher compares the types of a local and a target BTF.
type matcher struct {
	local, target *btf.Spec
	level         int // nesting of prototypes
	steps         int
}

func (m *matcher) step() *fault {
	if m.steps++; m.steps > maxSteps {
		return faultf(ErrTooComplex, eINVAL, "more than %d steps", maxSteps)
	}
	return nil
}

// match expresses local in terms of the candidate. It returns the target spec, or a rejection if
// the candidate does not match (libbpf bpf_core_spec_match).
func (m *matcher) match(local *Spec, cand Candidate) (Spec, *Rejection, *fault) {
	switch {
	case local.Kind.IsType():
		return m.matchType(local, cand)
	case local.Kind.IsEnumval():
		spec, rej := m.matchEnumerator(local, cand)
		return spec, rej, nil
	}
	return m.matchField(local, cand)
}

func (m *matcher) matchType(local *Spec, cand Candidate) (Spec, *Rejection, *fault) {
	spec := Spec{BTF: cand.BTF, Root: cand.ID, Kind: local.Kind}
	var ok bool
	var f *fault
	if local.Kind == TypeMatches {
		ok, f = m.typesMatch(local.Root, cand.ID, false, m.level)
	} else {
		ok, f = m.typesCompatible(local.Root, cand.ID, m.level)
	}
	if f != nil || ok {
		return spec, nil, f
	}
	why := "differs in structure from the program's " + typeText(m.local, local.Root)
	if local.Kind == TypeMatches {
		why = "lacks or changes something of the program's " + typeText(m.local, local.Root)
	}
	return spec, &Rejection{Spec: spec, Reason: IncompatibleRoot, Why: typeText(m.target, cand.ID) + " " + why}, nil
}

func (m *matcher) matchEnumerator(local *Spec, cand Candidate) (Spec, *Rejection) {
	spec := Spec{BTF: cand.BTF, Root: cand.ID, Kind: local.Kind}
	t := skip(m.target, cand.ID)
	if t == nil || !t.Kind.IsEnum() {
		return spec, &Rejection{Spec: spec, Reason: NotEnum, Why: typeText(m.target, cand.ID) + " is not an enum"}
	}
	want := btf.EssentialName(local.Path[0].Name)
	for i := range t.Values {
		if btf.EssentialName(t.Values[i].Name) == want {
			spec.Raw = []int{i}
			spec.Path = []Accessor{{Type: t.ID, Index: i, Name: t.Values[i].Name}}
			return spec, nil
		}
	}
	return spec, &Rejection{
		Spec: spec, Reason: NoEnumerator, at: t.ID,
		Why: fmt.Sprintf("%s has no enumerator %s", typeText(m.target, cand.ID), want),
	}
}

// matchField follows the accessors of the local path through the candidate.
func (m *matcher) matchField(local *Spec, cand Candidate) (Spec, *Rejection, *fault) {
	w := walk{matcher: m, Spec: Spec{
		BTF: cand.BTF, Root: cand.ID, Kind: local.Kind,
		Raw: make([]int, 0, len(local.Raw)+2), Path: make([]Accessor, 0, len(local.Path)),
	}}
	id := cand.ID
	for i, acc := range local.Path {
		t := skip(m.target, id)
		if t == nil {
			return w.Spec, nil, faultf(ErrInvalidRecord, eINVAL, "target type %d does not lead to a type", id)
		}
		var rej *Rejection
		var f *fault
		if acc.Name != "" {
			id, rej, f = w.member(acc, t)
		} else {
			id, rej, f = w.index(acc.Index, i, t)
		}
		if f != nil {
			return w.Spec, nil, f
		}
		if rej != nil {
			rej.Spec, rej.Step = w.Spec, i
			return w.Spec, rej, nil
		}
	}
	return w.Spec, nil, nil
}

// walk is a target spec under construction.
type walk struct {
	*matcher
	Spec
	around []uint32 // offsets of the anonymous members that contain the last member found
}

// index selects element idx of an array t. The first index of a path (step 0) treats the root
// itself as the element type and is not bounded.
func (w *walk) index(idx, step int, t *btf.Type) (btf.ID, *Rejection, *fault) {
	if step > 0 {
		if t.Kind != btf.KindArray {
			return 0, &Rejection{
				Reason: NotArray, at: t.ID,
				Why: fmt.Sprintf("%s is %s, not an array", w.Field(), typeText(w.target, t.ID)),
			}, nil
		}
		if !isFlexible(w.target, w.Last(), t) && uint64(idx) >= uint64(t.Array.Nelems) {
			return 0, &Rejection{
				Reason: OutOfBounds, at: t.ID,
				Why: fmt.Sprintf("%s has %d elements, the program takes element %d", w.Field(), t.Array.Nelems, idx),
			}, nil
		}
		elem := skip(w.target, t.Ref)
		if elem == nil {
			return 0, nil, faultf(ErrInvalidRecord, eINVAL, "array %d in the target has no element type", t.ID)
		}
		t = elem
	}
	if len(w.Raw) == maxSpecLen {
		return 0, nil, faultf(ErrTooDeep, e2BIG, "%s takes more than %d steps", w.Field(), maxSpecLen)
	}
	w.Raw = append(w.Raw, idx)
	if f := w.pushIndex(t.ID, idx); f != nil {
		return 0, nil, f
	}
	return t.ID, nil, nil
}

// member finds the local member acc by name in t and its anonymous members.
func (w *walk) member(acc Accessor, t *btf.Type) (btf.ID, *Rejection, *fault) {
	if !t.Kind.IsComposite() {
		return 0, &Rejection{
			Reason: NotComposite, at: t.ID,
			Why: fmt.Sprintf("%s is %s, which has no members", w.Field(), typeText(w.target, t.ID)),
		}, nil
	}
	owner, err := w.local.Type(acc.Type)
	if err != nil || acc.Index >= len(owner.Members) {
		return 0, nil, faultf(ErrInvalidRecord, eINVAL, "no member %d in local type %d", acc.Index, acc.Type)
	}
	field := typeText(w.target, t.ID)
	if len(w.Path) > 1 {
		field = w.Field() + " (" + field + ")"
	}
	w.around = w.around[:0]
	hit, f := w.find(acc.Name, t)
	if f != nil {
		return 0, nil, f
	}
	if hit == nil {
		return 0, &Rejection{
			Reason: NoMember, at: t.ID,
			Why: fmt.Sprintf("%s has no member %s", field, acc.Name),
		}, nil
	}
	want := owner.Members[acc.Index].Type
	ok, f := w.fieldsCompatible(want, hit.Type)
	if f != nil {
		return 0, nil, f
	}
	if !ok {
		full := w.Field()
		w.Path = w.Path[:len(w.Path)-1]
		for _, off := range w.around { // libbpf's log prints the path in this form
			w.BitOffset -= off
			w.Raw = w.Raw[:len(w.Raw)-1]
		}
		return 0, &Rejection{
			Reason: IncompatibleType, at: t.ID, have: hit.Type,
			Why: fmt.Sprintf("%s is %s, the program expects %s", full, typeText(w.target, hit.Type), typeText(w.local, want)),
		}, nil
	}
	return hit.Type, nil, nil
}

// find searches depth first, in declaration order, through anonymous members. The first member with
// that name decides.
func (w *walk) find(name string, t *btf.Type) (*btf.Member, *fault) {
	for i := range t.Members {
		m := &t.Members[i]
		if f := w.step(); f != nil {
			return nil, f
		}
		if len(w.Raw) == maxSpecLen {
			return nil, faultf(ErrTooDeep, e2BIG, "%s takes more than %d steps", w.Field(), maxSpecLen)
		}
		if m.Name != "" && m.Name != name {
			continue
		}
		w.BitOffset += m.BitOffset
		w.Raw = append(w.Raw, i)
		if m.Name != "" {
			w.Path = append(w.Path, Accessor{Type: t.ID, Index: i, Name: m.Name})
			return m, nil
		}
		inner := skip(w.target, m.Type)
		if inner == nil {
			return nil, faultf(ErrInvalidRecord, eINVAL, "target type %d does not lead to a type", m.Type)
		}
		if inner.Kind.IsComposite() {
			w.around = append(w.around, m.BitOffset)
			if hit, f := w.find(name, inner); hit != nil || f != nil {
				return hit, f
			}
			w.around = w.around[:len(w.around)-1]
		}
		w.BitOffset -= m.BitOffset
		w.Raw = w.Raw[:len(w.Raw)-1]
	}
	return nil, nil
}
