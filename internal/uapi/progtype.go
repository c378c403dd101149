package uapi

// ProgType is a program type (enum bpf_prog_type).
type ProgType uint32

// String returns libbpf's name of the type ("kprobe", "sched_cls"), or "ProgType(N)" for a number
// that no known kernel defines.
func (t ProgType) String() string {
	if uint32(t) < uint32(len(progTypeNames)) {
		return progTypeNames[t]
	}
	return unknown("ProgType", int64(t))
}

// Known reports whether t is a number that this package has a name for.
func (t ProgType) Known() bool { return uint32(t) < uint32(len(progTypeNames)) }

// ParseProgType finds a ProgType by its String form.
func ParseProgType(s string) (ProgType, bool) {
	for i, n := range progTypeNames {
		if n == s {
			return ProgType(i), true
		}
	}
	return 0, false
}
