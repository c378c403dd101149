package loader

import (
	"hash"
	"reflect"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/valuehash"
)

// Hash adds everything that objects loaded for the target depend on, except for its name, which
// only messages contain: targets of equal hashes are one kernel. The error says which field has no
// content to compare.
func (t *Target) Hash(h hash.Hash) error {
	d := valuehash.New(h)
	specs := map[*btf.Spec]int{nil: 0}
	var types func(s *btf.Spec)
	types = func(s *btf.Spec) {
		n, seen := specs[s]
		if !seen {
			n = len(specs)
			specs[s] = n
		}
		if d.Number(uint64(n)); !seen {
			d.Bytes(s.Raw())
			types(s.Base())
			types(s.DistilledBase())
		}
	}
	d.Special = func(v reflect.Value) bool {
		if v.Type() != reflect.TypeFor[*btf.Spec]() {
			return false
		}
		types(v.Interface().(*btf.Spec))
		return true
	}
	t.eachFact(func(_ string, v reflect.Value) { d.Add(v.Interface()) })
	return d.Err()
}

// Called returns the same kernel under another name.
func (t *Target) Called(name string) *Target {
	out := &Target{Name: name}
	to := reflect.ValueOf(out).Elem()
	t.eachFact(func(field string, v reflect.Value) { to.FieldByName(field).Set(v) })
	return out
}

// eachFact calls f with the exported fields other than the name: the others are found out from
// these.
func (t *Target) eachFact(f func(name string, v reflect.Value)) {
	v := reflect.ValueOf(t).Elem()
	for i := range v.NumField() {
		if field := v.Type().Field(i); field.IsExported() && field.Name != "Name" {
			f(field.Name, v.Field(i))
		}
	}
}

// Hash adds everything that a load depends on: the file, its name without directories, which
// messages contain, and how it was opened.
func (o *Object) Hash(h hash.Hash) {
	d := valuehash.New(h)
	d.Bytes([]byte(o.Name))
	d.Bytes(o.elf)
	d.Add(o.opened)
}
