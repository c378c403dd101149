package object

import (
	"slices"

	"github.com/bpfrun/bpfrun/btf"
)

// NewDefault creates an object of a struct by name, with the default content that its type has in a
// default run, in every [Mode]: a sk_buff with a packet, a linux_binprm with a file. Types without
// a builder are the same as from NewObjectNamed.
func (s *Space) NewDefault(role, typ string) (*Object, error) {
	o, err := s.NewObjectNamed(role, typ)
	if err == nil {
		o.builtin = true
	}
	return o, err
}

// Peek returns a field and a copy of its bytes without logging; offsets in the Field are relative
// to these bytes. The bytes are nil if a pointer on the path is NULL.
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

// PeekStorage is Peek for a path of the storage that the object is a part of, without pointers on
// the way; false if there is no such field.
func (o *Object) PeekStorage(path string) (Field, []byte, bool) {
	if o.layout == nil {
		return Field{}, nil, false
	}
	f, rest, err := o.layout.Place(path)
	if err != nil || rest != "" || f.Off+f.Size > o.size {
		return Field{}, nil, false
	}
	data := slices.Clone(o.Present(f.Off, f.Size))
	f.BitOff -= min(f.Off*8, f.BitOff)
	f.Off = 0
	return f, data, true
}

// SetStorage sets the bytes of a field that PeekStorage finds, which has as many.
func (o *Object) SetStorage(path string, p []byte) bool {
	if o.layout == nil {
		return false
	}
	f, rest, err := o.layout.Place(path)
	if err != nil || rest != "" || f.BitSize != 0 || f.Size != uint64(len(p)) || f.Off+f.Size > o.size {
		return false
	}
	o.Poke(f.Off, p, Given)
	return true
}

// LeadsToText reports whether a field is a pointer to characters.
func (o *Object) LeadsToText(path string) bool {
	f, _, err := o.Peek(path)
	if err != nil || f.Spec == nil {
		return false
	}
	to := Target(f.Spec, f.Type)
	return to.Type != nil && isChar(f.Spec, to.Type.ID)
}

// LeadsToBytes reports whether a field is a pointer to integers of one byte, which may be
// characters.
func (o *Object) LeadsToBytes(path string) bool {
	f, _, err := o.Peek(path)
	if err != nil || f.Spec == nil {
		return false
	}
	to := Target(f.Spec, f.Type)
	return to.Type != nil && to.Type.Kind == btf.KindInt && to.Type.Size == 1
}

// FieldAddr returns the address of a field, creating objects for pointers on the path that are not
// set.
func (o *Object) FieldAddr(path string) (uint64, error) {
	at, f, err := o.find(path, true, Given)
	if err != nil {
		return 0, err
	}
	return at.base + f.Off, nil
}
