package btf

// MaxVlen is the most entries a type has: members, enumerators, parameters, variables of a section.
// Kernels before Linux 7.2 take 65,535 and refuse types with more.
const MaxVlen = 0xffffff

// Info is the second word of a type: from the lowest bit 24 bits of vlen, 7 of kind and the
// kind_flag (struct btf_type of Linux 7.2). Before Linux 7.2 vlen had 16 bits and kind 5, with the
// bits between required to be zero, so that BTF for older kernels reads the same.
type Info uint32

// MakeInfo returns the word with these parts; vlen is at most [MaxVlen].
func MakeInfo(kind Kind, vlen int, flag bool) Info {
	v := uint32(kind)<<24 | uint32(vlen)
	if flag {
		v |= 1 << 31
	}
	return Info(v)
}

// Kind returns the kind of the type.
func (i Info) Kind() Kind { return Kind(i >> 24 & 0x7f) }

// Vlen returns the number of entries, the linkage of a FUNC.
func (i Info) Vlen() uint32 { return uint32(i) & MaxVlen }

// Flag reports whether the kind_flag is set.
func (i Info) Flag() bool { return i>>31 != 0 }
