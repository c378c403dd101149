package corerelo

import (
	"strconv"

	"github.com/bpfrun/bpfrun/btf"
)

// Relocation is a record with its result.
type Relocation struct {
	Record
	*Answer
	// Found lists the candidates if this record was the first of its root type, which triggers the
	// search; with Target.InKernel, always.
	Found []Candidate
	// Err is the *Error that Resolve returned, or nil.
	Err error
}

// Answer is the result for a record. Records with the same type, access string and kind share it:
// it must not be modified.
type Answer struct {
	// Local is the record's access in terms of the object's BTF.
	Local Spec
	// Target is the same access in terms of the target, or nil if no candidate matches. If several
	// match, it is the first.
	Target *Spec
	// Targets are all matching candidates, in order. They have the same result.
	Targets []Spec
	// Candidates is the number of target types that were tried.
	Candidates int
	// Rejected lists the candidates that do not match.
	Rejected []Rejection
	// Result is the value to write into the instruction.
	Result Result

	nums []int // candidate number of each of Targets
}

// Resolver resolves the records of one object for one target.
//
// It is stateful: as in libbpf, the candidates for a local type are searched once per object, and
// once at least one of them has matched a record, only the matching ones stay. Pass all records in
// the order of .BTF.ext, except those that libbpf skips (programs that are not loaded, code outside
// every function). A Resolver is not safe for concurrent use; several may share their BTF.
type Resolver struct {
	local  *btf.Spec
	target Target
	lists  map[btf.ID]*candidates
	cache  map[cacheKey]cached
	made   []Relocation // allocated in blocks: objects have tens of thousands
	// search results by kind and essential name, before any pruning
	searched map[searchKey][]Candidate
}

type candidates struct {
	list  []Candidate
	prune int // how often the list has shrunk
}

type cacheKey struct {
	typ    btf.ID
	kind   Kind
	access string
}

type cached struct {
	prune int
	rel   *Relocation
}

type searchKey struct {
	kind btf.Kind
	name string
}

// NewResolver returns a Resolver for the object whose BTF is local.
func NewResolver(local *btf.Spec, target Target) *Resolver {
	return &Resolver{
		local: local, target: target,
		lists: map[btf.ID]*candidates{}, cache: map[cacheKey]cached{}, searched: map[searchKey][]Candidate{},
	}
}

// Resolve resolves one record. The error is an *[Error], with which libbpf would refuse the object.
// The relocation is never nil: after an error it holds what is known so far.
func (r *Resolver) Resolve(rec Record) (*Relocation, error) {
	key := cacheKey{rec.TypeID, rec.Kind, rec.Access}
	// A record that prunes candidates is resolved again the next time: it then sees fewer of them.
	prune := r.prunes(rec.TypeID)
	if c, ok := r.cache[key]; ok && c.prune == prune {
		rel := r.relocation(rec, c.rel.Answer)
		rel.Err = c.rel.Err
		if e, ok := rel.Err.(*Error); ok {
			again := *e
			again.Record = rec
			rel.Err = &again
		}
		return rel, rel.Err
	}
	rel := r.relocation(rec, new(Answer))
	if err := r.resolve(rel); err != nil {
		rel.Err = err
	}
	r.cache[key] = cached{prune, rel}
	return rel, rel.Err
}

// relocation allocates a Relocation.
func (r *Resolver) relocation(rec Record, a *Answer) *Relocation {
	const block = 128
	if len(r.made) == 0 {
		r.made = make([]Relocation, block)
	}
	rel := &r.made[0]
	r.made = r.made[1:]
	rel.Record, rel.Answer = rec, a
	if c := r.lists[rec.TypeID]; c != nil && r.target.InKernel && rec.Kind != TypeIDLocal {
		rel.Found = c.list
	}
	return rel
}

func (r *Resolver) prunes(id btf.ID) int {
	if c := r.lists[id]; c != nil {
		return c.prune
	}
	return 0
}

// resolve runs the stages. It returns an untyped nil or an *Error.
func (r *Resolver) resolve(rel *Relocation) error {
	rec := rel.Record
	rel.Local = Spec{BTF: r.local, Root: rec.TypeID, Kind: rec.Kind}
	if int(rec.TypeID) >= r.local.NumTypes() {
		rel.Local.BTF = nil
		return faultf(ErrInvalidRecord, eINVAL, "the object's BTF ends at type %d", r.local.NumTypes()-1).at(rec, StageParse)
	}
	// libbpf searches for candidates before it parses the access string.
	list := &candidates{}
	if rec.Kind != TypeIDLocal {
		var f *fault
		if list, f = r.candidates(rel); f != nil {
			return f.at(rec, StageSearch)
		}
	}
	var f *fault
	if rel.Local, f = parseSpec(r.local, rec); f != nil {
		f.log += "\nparsing [" + utoa(uint32(rec.TypeID)) + "] " + kindWord(r.local.Kind(rec.TypeID)) + " " +
			orAnon(r.local.Name(rec.TypeID)) + " + " + rec.Access + " failed: " + strconv.Itoa(f.errno)
		return f.at(rec, StageParse)
	}
	if rec.Kind == TypeIDLocal {
		rel.Result = Result{Orig: uint64(rec.TypeID), New: uint64(rec.TypeID)}
		return nil
	}
	return r.decide(rel, list)
}

// candidates returns the candidates for the record's root type, searching for them on first use.
func (r *Resolver) candidates(rel *Relocation) (*candidates, *fault) {
	id := rel.TypeID
	if c := r.lists[id]; c != nil {
		return c, nil
	}
	name := btf.EssentialName(r.local.Name(id))
	if name == "" {
		f := faultf(ErrAnonymous, eINVAL, "[%d] %s", id, kindWord(r.local.Kind(id)))
		f.log = "target candidate search failed for [" + utoa(uint32(id)) + "] " + kindWord(r.local.Kind(id)) + " : " + strconv.Itoa(eINVAL)
		return nil, f
	}
	key := searchKey{r.local.Kind(id), name}
	found, ok := r.searched[key]
	if !ok {
		found = r.target.search(key)
		r.searched[key] = found
	}
	c := &candidates{list: found}
	r.lists[id] = c
	rel.Found = found
	return c, nil
}

// search lists the types with a kind and essential name in id order: those of the kernel, or if it
// has none, those of the modules.
func (t *Target) search(key searchKey) []Candidate {
	var list []Candidate
	add := func(spec *btf.Spec, first btf.ID, source string) {
		if spec == nil {
			return
		}
		for _, id := range spec.Candidates(key.kind, key.name) {
			kind := spec.Kind(id)
			if id >= first && (kind == key.kind || !t.InKernel && sameKind(kind, key.kind)) {
				list = append(list, Candidate{BTF: spec, ID: id, Source: source})
			}
		}
	}
	if add(t.BTF, 1, t.name(-1)); len(list) > 0 {
		return list
	}
	for i, m := range t.Modules {
		if m != nil {
			add(m, m.FirstID(), t.name(i))
		}
	}
	return list
}

// level returns how deep prototypes may nest.
func (t *Target) level() int {
	if t.InKernel {
		return kernelLevel
	}
	return maxLevel
}

// decide tries every candidate, requires that all matches agree, and prunes the list to them.
func (r *Resolver) decide(rel *Relocation, list *candidates) error {
	rec := rel.Record
	rel.Candidates = len(list.list)
	var kept []Candidate
	for num, cand := range list.list {
		m := matcher{local: r.local, target: cand.BTF, level: r.target.level()}
		spec, rejection, f := m.match(&rel.Local, cand)
		if f != nil {
			f.log = "error matching candidate #" + strconv.Itoa(num) + " " + spec.String() + ": " + strconv.Itoa(f.errno)
			return f.at(rec, StageMatch)
		}
		if rejection != nil {
			rejection.Candidate, rejection.Num = cand, num
			rel.Rejected = append(rel.Rejected, *rejection)
			continue
		}
		kept = append(kept, cand)
		rel.Targets = append(rel.Targets, spec)
		rel.nums = append(rel.nums, num)
		res, f := compute(rec, r.local.ByteOrder(), &rel.Local, &spec)
		if f != nil {
			return f.at(rec, StageValue)
		}
		if len(kept) == 1 {
			rel.Result = res
			continue
		}
		if f := disagree(&spec, res, &rel.Targets[0], rel.Result); f != nil {
			return f.at(rec, StageDecide)
		}
	}
	if len(kept) == 0 {
		res, f := compute(rec, r.local.ByteOrder(), &rel.Local, nil)
		if f != nil {
			return f.at(rec, StageValue)
		}
		rel.Result = res
		return nil
	}
	rel.Target = &rel.Targets[0]
	if len(kept) < len(list.list) && !r.target.InKernel {
		list.list = kept
		list.prune++
	}
	return nil
}

// disagree compares another match with the first: offsets for every kind, then poison and value.
// Offsets must be equal even for FieldExists.
func disagree(spec *Spec, res Result, first *Spec, firstRes Result) *fault {
	word := func(r Result) string {
		if r.Poison {
			return "failure"
		}
		return "success"
	}
	switch {
	case spec.BitOffset != first.BitOffset:
		f := faultf(ErrAmbiguous, eINVAL, "%s is at bit %d in [%d], at bit %d in [%d]",
			spec.Field(), first.BitOffset, first.Root, spec.BitOffset, spec.Root)
		f.log = "field offset ambiguity: " + utoa(spec.BitOffset) + " != " + utoa(first.BitOffset)
		return f
	case res.Poison != firstRes.Poison || res.New != firstRes.New:
		f := faultf(ErrAmbiguous, eINVAL, "%d for [%d], %d for [%d]", firstRes.New, first.Root, res.New, spec.Root)
		f.log = "relocation decision ambiguity: " + word(res) + " " + strconv.FormatUint(res.New, 10) +
			" != " + word(firstRes) + " " + strconv.FormatUint(firstRes.New, 10)
		return f
	}
	return nil
}

func utoa(v uint32) string { return strconv.FormatUint(uint64(v), 10) }
