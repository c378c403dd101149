package uapi

import "strconv"

// FuncID is the number of a helper function (enum bpf_func_id): the immediate of a helper call.
type FuncID int32

// MaxFuncID is the highest helper number; the kernel froze the list in 6.2
// (Documentation/bpf/bpf_design_QA.rst).
const MaxFuncID = FuncCgrpStorageDelete

// String returns the helper's name in C ("bpf_map_lookup_elem"), or "FuncID(N)" for a number that
// no known kernel defines.
func (f FuncID) String() string {
	if uint32(f) < uint32(len(funcNames)) {
		return funcNames[f]
	}
	return "unknown#" + strconv.Itoa(int(f)) // as libbpf and bpftool write it
}

// Known reports whether f is a number that this package has a name for.
func (f FuncID) Known() bool { return uint32(f) < uint32(len(funcNames)) }

// ParseFuncID finds a helper by its name, with or without the leading "bpf_".
func ParseFuncID(s string) (FuncID, bool) {
	for i, n := range funcNames {
		if n == s || n[len("bpf_"):] == s {
			return FuncID(i), true
		}
	}
	return 0, false
}
