package corerelo

import "github.com/bpfrun/bpfrun/btf"

// TypesCompatible reports whether a type of the object can stand for one of the
// target: the same shape, whatever the names and sizes below the root. It is the
// rule of TypeExists, and the one by which libbpf accepts externs (kernel
// variables and functions). Types too deep to compare are not compatible.
func TypesCompatible(local *btf.Spec, localID btf.ID, target *btf.Spec, targetID btf.ID) bool {
	m := matcher{local: local, target: target}
	ok, f := m.typesCompatible(localID, targetID, maxLevel)
	return ok && f == nil
}
