package object

import "slices"

// NewDefault makes an object of a struct by name with the default content its type gets in a default run, in every
// [Mode]: a sk_buff with a packet, a linux_binprm with a file. Types without a builder stay as NewObjectNamed makes them.
func (s *Space) NewDefault(role, typ string) (*Object, error) {
	o, err := s.NewObjectNamed(role, typ)
	if err == nil {
		o.builtin = true
	}
	return o, err
}

// Peek returns a field and a copy of its bytes without logging; the offsets of the Field count from the start of those bytes. They are
// nil when a pointer on the way points to nothing.
func (o *Object) Peek(path string) (Field, []byte, error) {
	at, f, err := o.find(path, false, Given)
	if err != nil || at == nil {
		return Field{}, nil, err
	}
	data := slices.Clone(at.Present(f.Off, f.Size))
	f.BitOff -= min(f.Off*8, f.BitOff)
	f.Off = 0
	return f, data, nil
}

// FieldAddr returns the address of a field, making objects for pointers on the way that are not set.
func (o *Object) FieldAddr(path string) (uint64, error) {
	at, f, err := o.find(path, true, Given)
	if err != nil {
		return 0, err
	}
	return at.base + f.Off, nil
}
