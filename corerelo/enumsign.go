package corerelo

import "github.com/bpfrun/bpfrun/btf"

// sign is the signedness of an enum as far as BTF records it.
type sign uint8

const (
	signUnknown sign = iota
	signed
	unsigned
)

// extendEnums decides how 32-bit enumerators with the top bit set are extended to 64 bits. libbpf
// sign-extends all of them, so it refuses objects that use an unsigned enumerator of 2^31 or more,
// and loads a wrong value for the target. Here the enum's signedness decides. BTF of older
// compilers and kernels (LLVM before 15, Linux before 6.1) never records it: then the other side's
// signedness is used, else what the instruction contains.
func extendEnums(res *Result, local, target *Spec) {
	if int64(res.Orig) >= 0 && int64(res.New) >= 0 {
		return
	}
	l, t := enumSign(local), enumSign(target)
	if t == signUnknown {
		t = l
	}
	if l == signUnknown {
		l = t
	}
	if l == signUnknown {
		res.SignUnknown = true
		return
	}
	res.Orig = extend(local, res.Orig, l)
	res.New = extend(target, res.New, t)
}

func extend(s *Spec, v uint64, how sign) uint64 {
	if how == unsigned && s.BTF.Kind(s.Last().Type) == btf.KindEnum {
		return uint64(uint32(v))
	}
	return v
}

// enumSign returns the signedness of the enum in s. A clear flag means unsigned only where it makes
// a difference (a value of 2^31 or more) and where the producer of the BTF is known to write the
// flag.
func enumSign(s *Spec) sign {
	t, err := s.BTF.Type(s.Last().Type)
	switch {
	case err != nil:
		return signUnknown
	case t.Flag:
		return signed
	case t.Kind == btf.KindEnum64:
		return unsigned
	}
	for i := range t.Values {
		if int32(t.Values[i].Value) < 0 && recordsEnumSign(s.BTF) {
			return unsigned
		}
	}
	return signUnknown
}

// recordsEnumSign reports whether any enum of the BTF has the sign flag or is an ENUM64, which
// shows that its producer writes the flag.
func recordsEnumSign(spec *btf.Spec) bool {
	for ; spec != nil; spec = spec.Base() {
		for id := max(spec.FirstID(), 1); int(id) < spec.NumTypes(); id++ {
			switch spec.Kind(id) {
			case btf.KindEnum64:
				return true
			case btf.KindEnum:
				if t, err := spec.Type(id); err == nil && t.Flag {
					return true
				}
			}
		}
	}
	return false
}
