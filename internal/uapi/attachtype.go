package uapi

// AttachType is an attach type (enum bpf_attach_type). Zero is AttachCgroupInetIngress, which the
// kernel also uses for "none": program types without attach types ignore it.
type AttachType uint32

// String returns libbpf's name of the type ("trace_fentry", "cgroup_inet4_bind"), or
// "AttachType(N)" for a number that no known kernel defines.
func (t AttachType) String() string {
	if uint32(t) < uint32(len(attachTypeNames)) {
		return attachTypeNames[t]
	}
	return unknown("AttachType", int64(t))
}

// Known reports whether t is a number that this package has a name for.
func (t AttachType) Known() bool { return uint32(t) < uint32(len(attachTypeNames)) }

// ParseAttachType finds an AttachType by its String form.
func ParseAttachType(s string) (AttachType, bool) {
	for i, n := range attachTypeNames {
		if n == s {
			return AttachType(i), true
		}
	}
	return 0, false
}

// AttachTypes returns all attach types.
func AttachTypes() []AttachType { return upTo[AttachType](len(attachTypeNames)) }
