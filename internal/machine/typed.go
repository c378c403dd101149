package machine

import (
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/loader"
)

// EventTypes finds the types of records. Ring buffers and perf arrays have no value type, so the
// stores of the programs are the evidence: a struct of the object matches if it has exactly the
// record's size, and members where the programs that send records of that size to the map store. At
// least two members must be stored to, because a single number may be anything. Of several matches,
// the one with the most stores to whole members wins, then one whose name suggests an event;
// otherwise the type stays unknown, as it does if programs copy records as a whole.
type EventTypes struct {
	types  func() *btf.Spec // the object's types
	roots  []btf.ID         // kernel types whose fields the object reads
	spec   *btf.Spec        // result of types, once a record was seen
	target *btf.Spec
	bySize map[int][]btf.ID
	// declared are the structs that global variables point to.
	declared map[btf.ID]bool
	found    map[recordKey]btf.ID // cached results

	programs []*loader.LinkedProgram
	sites    []recordSite // of the programs, once a record was seen
}

// NewEventTypes returns an index of an object's structs. types returns the object's BTF or nil and
// is called when there is a record. Kernel types, which objects contain to read kernel memory, are
// excluded: those of target, which may be nil, and those reachable from roots, which another kernel
// may have had. The stores of programs are the evidence.
func NewEventTypes(types func() *btf.Spec, target *btf.Spec, roots []btf.ID, programs []*loader.LinkedProgram) *EventTypes {
	return &EventTypes{types: types, target: target, roots: roots, programs: programs, found: map[recordKey]btf.ID{}}
}

// reachable returns the types that roots consist of and point to.
func reachable(spec *btf.Spec, roots []btf.ID) map[btf.ID]bool {
	seen := map[btf.ID]bool{}
	for todo := roots; len(todo) > 0; {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		t, err := spec.Type(id)
		if id == 0 || seen[id] || err != nil {
			continue
		}
		seen[id] = true
		todo = append(todo, t.Ref)
		for i := range t.Members {
			todo = append(todo, t.Members[i].Type)
		}
		for i := range t.Params {
			todo = append(todo, t.Params[i].Type)
		}
	}
	return seen
}

// Spec returns the BTF of the ids that Find returns, or nil if the object has none.
func (e *EventTypes) Spec() *btf.Spec {
	if e.bySize == nil {
		e.spec, e.bySize = e.types(), map[int][]btf.ID{}
		e.index()
	}
	return e.spec
}

// index sorts the structs by size: those of BTF and those appended from DWARF.
func (e *EventTypes) index() {
	if e.spec == nil {
		return
	}
	kernels := reachable(e.spec, slices.Clone(e.roots))
	e.declared = map[btf.ID]bool{}
	for spec := e.spec; spec != nil; spec = spec.Base() {
		maps := mapTypes(spec)
		for id := spec.FirstID(); int(id) < spec.NumTypes(); id++ {
			if spec.Kind(id) == btf.KindVar {
				if p := spec.SkipMods(spec.MustType(id).Ref); p.Kind == btf.KindPtr {
					e.declared[spec.SkipID(p.Ref)] = true
				}
			}
			if spec.Kind(id) != btf.KindStruct || spec.Name(id) == "" || maps[id] || kernels[id] {
				continue
			}
			t, err := spec.Type(id)
			if err != nil || len(t.Members) == 0 || t.Size == 0 || strings.Contains(t.Name, "___") {
				continue
			}
			e.bySize[int(t.Size)] = append(e.bySize[int(t.Size)], id)
		}
	}
}

// mapTypes returns the structs that map definitions consist of.
func mapTypes(spec *btf.Spec) map[btf.ID]bool {
	types := map[btf.ID]bool{}
	for _, section := range []string{"maps", ".maps"} {
		if sec, ok := spec.Find(btf.KindDatasec, section); ok {
			for _, v := range sec.Vars {
				types[spec.SkipID(spec.MustType(v.Type).Ref)] = true
			}
		}
	}
	return types
}

// eventWords are parts of names that programs give to records, the most specific first.
var eventWords = []string{"event", "record", "sample", "data", "info", "msg"}

type recordKey struct {
	mapName string
	size    int
}

// Find returns the type of records of size bytes in a map, 0 if the programs' stores do not
// determine it. An empty name means any map.
func (e *EventTypes) Find(mapName string, size int) btf.ID {
	key := recordKey{mapName, size}
	id, ok := e.found[key]
	if !ok {
		id = e.find(key)
		e.found[key] = id
	}
	return id
}

func (e *EventTypes) find(key recordKey) btf.ID {
	if e.Spec() == nil {
		return 0
	}
	if e.sites == nil {
		e.sites = []recordSite{}
		for _, lp := range e.programs {
			e.sites = append(e.sites, recordSites(lp)...)
		}
	}
	// All sites must agree; the best match wins.
	scores := map[btf.ID]int{}
	for _, id := range e.bySize[key.size] {
		t, err := e.spec.Type(id)
		if err != nil || isKernels(t, e.target) {
			continue
		}
		for i := range e.sites {
			s := &e.sites[i]
			if s.size != key.size || key.mapName != "" && s.mapName != key.mapName {
				continue
			}
			score, ok := s.fits(e.spec, id)
			if e.valueType(s) == id {
				score, ok = 1<<16, true // the map's definition names the type
			}
			if !ok {
				delete(scores, id)
				break
			}
			if score > 0 && e.declared[id] {
				score++ // a variable points to it, which is how programs keep types in BTF
			}
			if score > 0 {
				scores[id] = max(scores[id], score)
			}
		}
	}
	best, ids := 1, []btf.ID(nil) // a store of a single number matches any struct that begins with one
	for id, score := range scores {
		if score > best {
			best, ids = score, nil
		}
		if score == best && score > 1 {
			ids = append(ids, id)
		}
	}
	if len(ids) == 1 {
		return ids[0]
	}
	for _, word := range eventWords {
		var found []btf.ID
		for _, id := range ids {
			if strings.Contains(strings.ToLower(e.spec.Name(id)), word) {
				found = append(found, id)
			}
		}
		if len(found) == 1 {
			return found[0]
		}
		if len(found) > 1 {
			return 0
		}
	}
	return 0
}

// valueType returns the type of map values that a site sends as records, 0 if it sends none.
func (e *EventTypes) valueType(s *recordSite) btf.ID {
	if s.valueOf == "" {
		return 0
	}
	if len(e.programs) == 0 {
		return 0
	}
	if def, ok := e.programs[0].Linked().Map(s.valueOf); ok && int(def.ValueSize) == s.size { // all programs are of one object
		return e.spec.SkipID(def.ValueType)
	}
	return 0
}

// fits counts the members of a struct that the site stores to; ok is false if a store ends within a
// member.
func (s *recordSite) fits(spec *btf.Spec, id btf.ID) (members int, ok bool) {
	seen := map[string]bool{}
	for _, st := range s.stores {
		if st.off == 0 && st.size == s.size {
			continue // as a whole
		}
		path, f, exact := spec.FieldAt(id, uint32(st.off), st.size)
		switch {
		case exact && path != "":
			path, _, _ = strings.Cut(path, "[") // elements of an array count as one member
			seen[path] = true
		case !edges(spec, id, st) && !(st.zero && path == ""):
			if inBitfield := f.BitSize != 0; inBitfield || spec.SkipMods(f.Type).Kind == btf.KindArray {
				continue
			}
			return 0, false
		}
	}
	return len(seen), true
}

// edges reports whether a store that covers several members covers each of them completely.
func edges(spec *btf.Spec, id btf.ID, st recordStore) bool {
	starts := func(off int) bool {
		path, f, _ := spec.FieldAt(id, uint32(off), 1)
		return path == "" || int(f.BitOffset) == 8*off
	}
	ends := func(off int) bool {
		path, f, _ := spec.FieldAt(id, uint32(off-1), 1)
		n, err := spec.Sizeof(f.Type)
		return path == "" || err == nil && int64(f.BitOffset)/8+n == int64(off)
	}
	path, _, _ := spec.FieldAt(id, uint32(st.off), st.size)
	inner, _, _ := spec.FieldAt(id, uint32(st.off), 1)
	return path != inner && starts(st.off) && ends(st.off+st.size)
}

// isKernels reports whether the target has the struct: one with that name and all its members.
func isKernels(t *btf.Type, target *btf.Spec) bool {
	if target == nil {
		return false
	}
	k, ok := target.Find(btf.KindStruct, t.Name)
	if !ok {
		return false
	}
	has := make(map[string]bool, len(k.Members))
	for i := range k.Members {
		has[k.Members[i].Name] = true
	}
	for i := range t.Members {
		if !has[t.Members[i].Name] {
			return false
		}
	}
	return true
}
