package btf

import "strings"

// StringsSize returns the size of the string table in bytes, including those of all bases. It is
// the offset at which the strings of split BTF on top of s start.
func (s *Spec) StringsSize() uint32 { return s.strBase + uint32(len(s.strs)) }

// EachString calls f with every string and its offset, those of the base first.
func (s *Spec) EachString(f func(off uint32, str string)) {
	if s.base != nil {
		s.base.EachString(f)
	}
	off := s.strBase
	for rest := s.strs; rest != ""; {
		str, next, _ := strings.Cut(rest, "\x00")
		f(off, str)
		off += uint32(len(str)) + 1
		rest = next
	}
}
