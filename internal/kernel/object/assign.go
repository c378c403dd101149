package object

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"sort"

	"github.com/bpfrun/bpfrun/btf"
)

func (o *Object) valueError(f Field, v any, why string) error {
	return &ValueError{Role: o.role, Path: f.Path, Type: f.Spec.TypeString(f.Type), Value: v, Why: why}
}

// put is Set with an explicit state for the bytes.
func (o *Object) put(path string, v any, how byteState) error {
	at, f, err := o.find(path, true, how)
	if err != nil {
		return err
	}
	if err := at.putField(f, v, how); err != nil {
		return err
	}
	at.remember(f, v)
	return nil
}

func (o *Object) putField(f Field, v any, how byteState) error {
	t := Strip(f.Spec, f.Type)
	if t == nil {
		return o.valueError(f, v, "the type is void")
	}
	switch t.Kind {
	case btf.KindPtr:
		return o.putPointer(f, v, how)
	case btf.KindArray:
		return o.putArray(f, t, v, how)
	case btf.KindStruct, btf.KindUnion:
		switch v := v.(type) {
		case []byte:
			if uint64(len(v)) > f.Size {
				return o.valueError(f, v, fmt.Sprintf("%d bytes, the field has %d", len(v), f.Size))
			}
			o.Poke(f.Off, v, how)
			return nil
		case string:
			if a, ok := f.Spec.ParseIPv6(f.Type, v); ok {
				o.Poke(f.Off, a[:], how)
				return nil
			}
			if f.Spec.IsIPv6(f.Type) {
				return o.valueError(f, v, "no IPv6 address")
			}
		case map[string]any:
			return o.putMembers(f, t, v, how)
		}
		return o.valueError(f, v, "a struct needs members by name, or bytes")
	}
	u, ok := ToUint(v)
	if s, isText := v.(string); isText {
		if u, ok = btf.ParseNetwork(o.k.mem.ByteOrder(), f.Spec.NetworkBits(f.Type), s); !ok {
			u, ok = Enumerator(f.Spec, t, s)
		}
		if !ok {
			return o.valueError(f, v, "no such enumerator")
		}
	} else if !ok {
		return o.valueError(f, v, "want a number")
	}
	width := uint32(f.Size * 8)
	if f.BitSize != 0 {
		width = f.BitSize
	}
	// Both interpretations of a width are accepted: -1 in an unsigned field and 0xffffffff in a
	// signed one.
	if s := int64(u); width < 64 && u>>width != 0 && (s >= 0 || s < -(1<<(width-1))) {
		return o.valueError(f, v, fmt.Sprintf("out of range of %d bits", width))
	}
	o.StoreField(f, u, how)
	return nil
}

func (o *Object) putPointer(f Field, v any, how byteState) error {
	var addr uint64
	switch v := v.(type) {
	case nil:
	case *Object:
		if v != nil {
			addr = v.Addr()
		}
	case Pointer:
		addr = uint64(v)
	case string:
		to := Target(f.Spec, f.Type)
		if to.Type != nil && (to.Type.Kind != btf.KindInt || to.Type.Size != 1) {
			return o.valueError(f, v, "a string needs a pointer to characters")
		}
		if to.User {
			addr = o.k.around.UserString(v)
			break
		}
		s, err := o.k.newString(o.role+dotted2(o.role, f.Path), v, o)
		if err != nil {
			return err
		}
		s.fillString(v, how)
		addr = s.Addr()
	case map[string]any:
		to := Target(f.Spec, f.Type)
		if to.Type == nil {
			return o.valueError(f, v, "the pointer's target has no type")
		}
		l := o.k.types.Of(f.Spec, to.Type.ID)
		if l == nil || l.Size == 0 {
			return o.valueError(f, v, "the pointer's target has no size")
		}
		p, err := o.k.Make(o.role+dotted2(o.role, f.Path), l, 1, o)
		if err != nil {
			return err
		}
		if err := p.putMembers(Field{Spec: l.Spec, Type: l.Type.ID, Off: p.faceOff, Size: l.Size}, l.Type, v, how); err != nil {
			return err
		}
		addr = p.Addr()
	default:
		u, ok := ToUint(v)
		if !ok {
			return o.valueError(f, v, "want an object, an address or null")
		}
		addr = u
	}
	o.StoreField(f, addr, how)
	return nil
}

func (o *Object) putArray(f Field, t *btf.Type, v any, how byteState) error {
	n, err := f.Spec.Sizeof(t.Ref)
	if err != nil || n <= 0 {
		return o.valueError(f, v, "the elements have no size")
	}
	room := f.Size
	if t.Array.Nelems == 0 {
		room = o.size - f.Off
	}
	var raw []byte
	switch v := v.(type) {
	case string:
		if a, ok := f.Spec.ParseIPv6(f.Type, v); ok {
			raw = a[:]
			break
		}
		if n != 1 {
			return o.valueError(f, v, "a string needs an array of characters")
		}
		raw = []byte(v)
		if uint64(len(raw)) < room {
			raw = append(raw, make([]byte, min(room-uint64(len(raw)), max(f.Size, 1)))...)
		}
	case []byte:
		raw = v
		if uint64(len(raw)) < f.Size {
			raw = append(slices.Clone(raw), make([]byte, f.Size-uint64(len(raw)))...)
		}
	default:
		rv := reflect.ValueOf(v)
		if !rv.IsValid() || rv.Kind() != reflect.Slice {
			return o.valueError(f, v, "want a string, bytes or a list")
		}
		if uint64(rv.Len())*uint64(n) > room {
			return o.valueError(f, v, fmt.Sprintf("%d elements, the array has %d", rv.Len(), room/uint64(n)))
		}
		for i := range rv.Len() {
			g := Field{Path: fmt.Sprintf("%s[%d]", f.Path, i), Spec: f.Spec, Type: t.Ref, Off: f.Off + uint64(i)*uint64(n), Size: uint64(n)}
			if err := o.putField(g, rv.Index(i).Interface(), how); err != nil {
				return err
			}
		}
		return nil
	}
	if uint64(len(raw)) > room {
		return o.valueError(f, v, fmt.Sprintf("%d bytes, the array has %d", len(raw), room))
	}
	o.Poke(f.Off, raw, how)
	return nil
}

// putMembers sets members by name or path, sorted by name.
func (o *Object) putMembers(f Field, t *btf.Type, members map[string]any, how byteState) error {
	names := make([]string, 0, len(members))
	for n := range members {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		if f.Path != "" {
			if err := o.put(f.Path+"."+n, members[n], how); err != nil {
				return err
			}
		} else if err := o.put(n, members[n], how); err != nil {
			return err
		}
	}
	return nil
}

// Enumerator finds an enumerator by name: for an enum among its own, for an integer among all in
// the BTF.
func Enumerator(spec *btf.Spec, t *btf.Type, name string) (uint64, bool) {
	for _, v := range t.Values {
		if v.Name == name {
			return v.Value, true
		}
	}
	if t.Kind == btf.KindInt {
		return spec.EnumValue("", name)
	}
	return 0, false
}

// ToUint converts any integer or bool.
func ToUint(v any) (uint64, bool) {
	rv := reflect.ValueOf(v)
	switch rv.Kind() {
	case reflect.Bool:
		if rv.Bool() {
			return 1, true
		}
		return 0, true
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return uint64(rv.Int()), true
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return rv.Uint(), true
	case reflect.Float64:
		if f := rv.Float(); f == math.Trunc(f) && math.Abs(f) < 1<<53 {
			return uint64(int64(f)), true
		}
	}
	return 0, false
}
