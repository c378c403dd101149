package kernel

import "slices"

// NewDefault makes an object of a struct by name with the default content its type gets in a default run, in every
// [Mode]: a sk_buff with a packet, a linux_binprm with a file. Types without a builder stay as NewObjectNamed makes them.
func (k *Kernel) NewDefault(role, typ string) (*Object, error) {
	o, err := k.NewObjectNamed(role, typ)
	if err == nil {
		o.builtin = true
	}
	return o, err
}

// Peek returns a field and a copy of its bytes without logging; the offsets of the Field count from the start of those bytes. They are
// nil when a pointer on the way points to nothing.
func (o *Object) Peek(path string) (Field, []byte, error) {
	at, f, err := o.find(path, false, set)
	if err != nil || at == nil {
		return Field{}, nil, err
	}
	data := slices.Clone(at.present(f.Off, f.Size))
	f.BitOff -= min(f.Off*8, f.BitOff)
	f.Off = 0
	return f, data, nil
}

// FieldAddr returns the address of a field, making objects for pointers on the way that are not set.
func (o *Object) FieldAddr(path string) (uint64, error) {
	at, f, err := o.find(path, true, set)
	if err != nil {
		return 0, err
	}
	return at.base + f.Off, nil
}

// PointeeOf makes an object of the type a pointer argument points to, for values the user describes.
func (k *Kernel) PointeeOf(role string, a *Arg) (*Object, error) {
	why := "is not the type of a pointer to a struct"
	if a.Spec == nil {
		return nil, &TypeError{Type: "argument " + a.Name, Role: role, Why: why}
	}
	to := target(a.Spec, a.Type)
	if to.typ == nil {
		return nil, &TypeError{Type: a.Spec.TypeString(a.Type), Role: role, Why: why}
	}
	return k.NewObjectOf(a.Spec, role, to.typ.ID)
}
