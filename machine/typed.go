package machine

import (
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
)

// EventTypes finds the type of records by their size. Ring buffers and perf arrays have no
// value type, so the object's own structs are the evidence: a struct of exactly the record's
// size fits, one whose name speaks of events is preferred, and an ambiguity is left open.
type EventTypes struct {
	types  func() *btf.Spec // those of the object
	roots  []btf.ID         // types of the kernel whose fields the object reads
	spec   *btf.Spec        // their result, when a record was seen
	target *btf.Spec
	bySize map[int][]btf.ID
	found  map[int]btf.ID // answers so far
}

// NewEventTypes makes the index of an object's structs, types, which may return nil; they are asked for when there is a record. Types
// of the kernel, which objects hold to read its memory, are no records: those of the target, which may be nil, and those that roots
// lead to, which another kernel may have had.
func NewEventTypes(types func() *btf.Spec, target *btf.Spec, roots []btf.ID) *EventTypes {
	return &EventTypes{types: types, target: target, roots: roots, found: map[int]btf.ID{}}
}

// reachable are the types that roots are made of and point to.
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

// Spec returns the types whose ids Find returns; nil when the object has none.
func (e *EventTypes) Spec() *btf.Spec {
	if e.bySize == nil {
		e.spec, e.bySize = e.types(), map[int][]btf.ID{}
		e.index()
	}
	return e.spec
}

// index sorts the structs by size, those of BTF and those behind it.
func (e *EventTypes) index() {
	if e.spec == nil {
		return
	}
	kernels := reachable(e.spec, slices.Clone(e.roots))
	for spec := e.spec; spec != nil; spec = spec.Base() {
		maps := mapTypes(spec)
		for id := spec.FirstID(); int(id) < spec.NumTypes(); id++ {
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

// mapTypes returns the structs that definitions of maps are written with.
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

// eventWords are parts of names that programs give to the records they send, the most telling first.
var eventWords = []string{"event", "record", "sample", "data", "info", "msg"}

// Find returns the type that fits a record of size bytes, 0 when none does or several do.
// A record may carry up to seven bytes of padding behind the struct.
func (e *EventTypes) Find(size int) btf.ID {
	id, ok := e.found[size]
	if !ok {
		id = e.find(size)
		e.found[size] = id
	}
	return id
}

func (e *EventTypes) find(size int) btf.ID {
	if e.Spec() == nil {
		return 0
	}
	var ids []btf.ID
	for _, id := range e.bySize[size] {
		if t, err := e.spec.Type(id); err == nil && !isKernels(t, e.target) {
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

// isKernels reports whether the target has the struct: one of its name, with all its members.
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
