package corerelo

import "github.com/bpfrun/bpfrun/btf"

// TypesCompatible reports whether a type of the target is compatible with one of the object: it has
// the same shape, whatever the names and sizes below the root. This is the rule for TypeExists and
// the one by which libbpf accepts externs (kernel variables and functions). Types that are nested
// too deeply to compare are incompatible.
func TypesCompatible(local *btf.Spec, localID btf.ID, target *btf.Spec, targetID btf.ID) bool {
	m := matcher{local: local, target: target}
	ok, f := m.typesCompatible(localID, targetID, maxLevel)
	return ok && f == nil
}
