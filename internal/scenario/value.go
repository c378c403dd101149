package scenario

import (
	"fmt"
	"math/big"
	"reflect"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/endian"
	"github.com/bpfrun/bpfrun/internal/kernel"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
)

// isRef reports whether a node is a reference, $name.
func isRef(n *grammar.Node) bool {
	return n.Kind == grammar.Scalar && n.Tag == "" && strings.HasPrefix(n.Text, "$") && len(n.Text) > 1 && !strings.ContainsAny(n.Text[1:], "$ \t\n")
}

// values converts nodes to values of types, with the objects of one machine.
type values struct {
	k       *kernel.Kernel
	objects map[string]*object.Object
	names   []string        // object names, for messages
	failed  map[string]bool // objects that could not be created
	build   func(role string, n *grammar.Node) (*object.Object, error)
}

// ref returns the object that a $name node refers to.
func (v *values) ref(n *grammar.Node) (*object.Object, error) {
	name := strings.TrimPrefix(n.Text, "$")
	o, ok := v.objects[name]
	if !ok && v.failed[name] {
		return nil, &grammar.Error{Pos: n.Pos, Text: "object " + name + " could not be made", Follows: true}
	}
	if !ok {
		return nil, n.Unknown("object", name, v.names)
	}
	return o, nil
}

// plain returns the value of a scalar or null that is not a reference: nil, bool, string, *big.Int
// or []byte.
func plainValue(n *grammar.Node) (any, error) {
	switch {
	case n.Tag == "!hex":
		return n.Hex("!hex")
	case n.Tag != "":
		return nil, n.Errorf("%s does not fit here", n.Tag)
	case n.Kind == grammar.Null:
		return nil, nil
	case n.Kind != grammar.Scalar:
		return nil, n.Errorf("want one value, got %s", n.Describe())
	case n.Quoted:
		return strings.Replace(n.Text, "$$", "$", min(1, strings.Index(n.Text, "$")+1)), nil
	}
	if i, ok := grammar.Number(n.Text); ok {
		return i, nil
	}
	switch n.Text {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	if rest, ok := strings.CutPrefix(n.Text, "$$"); ok {
		return "$" + rest, nil
	}
	return n.Text, nil
}

// forKernel converts a node to a value for [object.Object.Set].
func (v *values) forKernel(role string, n *grammar.Node) (any, error) {
	switch {
	case isRef(n):
		return v.ref(n)
	case n.Tag == "!user":
		return v.user(n)
	case n.Tag == "!percpu" || n.Tag == "!list":
		return nil, n.Errorf("%s does not fit here", n.Tag)
	case n.Tag != "" && n.Tag != "!hex":
		return v.build(role, n)
	case n.Kind == grammar.Sequence:
		out := make([]any, len(n.Items))
		for i, item := range n.Items {
			e, err := v.forKernel(fmt.Sprintf("%s[%d]", role, i), item)
			if err != nil {
				return nil, err
			}
			out[i] = e
		}
		return out, nil
	case n.Kind == grammar.Mapping:
		out := map[string]any{}
		for _, p := range n.Pairs {
			e, err := v.forKernel(role+"."+p.Key.Text, p.Value)
			if err != nil {
				return nil, err
			}
			out[p.Key.Text] = e
		}
		return out, nil
	}
	x, err := plainValue(n)
	if err != nil {
		return nil, err
	}
	if i, ok := x.(*big.Int); ok {
		switch {
		case i.IsInt64():
			return i.Int64(), nil
		case i.IsUint64():
			return i.Uint64(), nil
		}
		return nil, n.Errorf("%v does not fit into 64 bits", i)
	}
	return x, nil
}

// network returns what is stored of a number in network byte order: an IPv4 address, htons(N) and
// the like.
func (v *values) network(n *grammar.Node) (uint64, bool) {
	if n.Kind != grammar.Scalar || n.Quoted || n.Tag != "" {
		return 0, false
	}
	x, _, ok := btf.ParseAnyNetwork(v.k.Mem().ByteOrder(), n.Text)
	return x, ok
}

// user places a string, bytes, or an array of pointers to these in user memory.
func (v *values) user(n *grammar.Node) (any, error) {
	var addr uint64
	if n.Kind == grammar.Sequence {
		return v.userList(n)
	}
	if n.Kind != grammar.Scalar {
		return nil, n.Errorf("!user: want a string, 0x and hex digits, or a list of these, got %s", n.Describe())
	}
	if !n.Quoted && strings.HasPrefix(n.Text, "0x") {
		b, err := n.Hex("!user")
		if err != nil {
			return nil, err
		}
		addr = v.k.UserAlloc(b)
	} else {
		addr = v.k.UserString(n.Text)
	}
	if addr == 0 {
		return nil, n.Errorf("user memory is exhausted")
	}
	return object.Pointer(addr), nil
}

// userList places an array of pointers, which ends with null, as the arguments of a process do.
func (v *values) userList(n *grammar.Node) (any, error) {
	size := v.k.Mem().PointerSize()
	b := make([]byte, (len(n.Items)+1)*size)
	for i, item := range n.Items {
		if item.Kind == grammar.Null {
			continue
		}
		p, err := v.user(item)
		if err != nil {
			return nil, err
		}
		endian.PutUint(v.k.Mem().ByteOrder(), b[i*size:(i+1)*size], uint64(p.(object.Pointer)))
	}
	addr := v.k.UserAlloc(b)
	if addr == 0 {
		return nil, n.Errorf("user memory is exhausted")
	}
	return object.Pointer(addr), nil
}

// forBTF converts a leaf to a value for [btf.Spec.EncodeField]: references become addresses.
func (v *values) forBTF(n *grammar.Node) (any, error) {
	switch {
	case isRef(n) && v != nil:
		o, err := v.ref(n)
		if err != nil {
			return nil, err
		}
		return o.Addr(), nil
	case n.Tag == "!user" && v != nil:
		p, err := v.user(n)
		if err != nil {
			return nil, err
		}
		return uint64(p.(object.Pointer)), nil
	}
	return plainValue(n)
}

// option splits a key into alternative names, and reports whether it is optional: "__state|state",
// "exit_code?".
func option(key string) (names []string, optional bool) {
	key, optional = strings.CutSuffix(key, "?")
	return strings.Split(key, "|"), optional
}

// fieldOf finds the field that a key names in a type. ok is false for an optional field that does
// not exist.
func fieldOf(spec *btf.Spec, id btf.ID, key *grammar.Node) (f btf.Field, ok bool, err error) {
	names, optional := option(key.Text)
	if t := spec.SkipMods(id); t.Kind == btf.KindArray {
		for i, n := range names {
			if !strings.HasPrefix(n, "[") {
				names[i] = "[" + n + "]"
			}
		}
	}
	var first error
	for _, n := range names {
		if f, err = spec.ResolvePath(id, n); err == nil {
			return f, true, nil
		}
		if first == nil {
			first = err
		}
	}
	if optional {
		return f, false, nil
	}
	return f, false, key.Wrap("", first)
}

// inside moves a field of a field's type: its offset then counts from the start of the outer
// field's bytes.
func inside(outer, f btf.Field) btf.Field {
	f.BitOffset += outer.BitOffset
	return f
}

// encode writes a node to dst as a value of a field's type. Members that the node does not name
// keep their values.
func (v *values) encode(spec *btf.Spec, f btf.Field, n *grammar.Node, dst []byte) error {
	switch {
	case n.Kind == grammar.Mapping && n.Tag == "":
		var wrong grammar.Mistakes
		for _, p := range n.Pairs {
			g, ok, err := fieldOf(spec, f.Type, p.Key)
			if wrong.Add(err) && ok {
				wrong.Add(v.encode(spec, inside(f, g), p.Value, dst))
			}
		}
		return wrong.Err()
	case n.Kind == grammar.Sequence && n.Tag == "":
		return v.elements(spec, f, n, func(g btf.Field, item *grammar.Node, _ int) error { return v.encode(spec, g, item, dst) })
	}
	x, err := v.forBTF(n)
	if err != nil {
		return err
	}
	return encodeField(spec, f, x, n, dst)
}

// encodeField writes the value of a scalar. A name that the type does not know may be a macro.
func encodeField(spec *btf.Spec, f btf.Field, x any, n *grammar.Node, dst []byte) error {
	err := spec.EncodeField(f, x, dst)
	if err == nil {
		return nil
	}
	if i, ok := n.Macro(); ok && spec.EncodeField(f, i, dst) == nil {
		return nil
	}
	return n.Wrap("", err)
}

// elements calls do for each item of a list, with the corresponding array element.
func (v *values) elements(spec *btf.Spec, f btf.Field, n *grammar.Node, do func(btf.Field, *grammar.Node, int) error) error {
	t := spec.SkipMods(f.Type)
	if t.Kind != btf.KindArray {
		return n.Errorf("%s is not an array, a list does not fit", spec.TypeString(f.Type))
	}
	if len(n.Items) > int(t.Array.Nelems) {
		return n.Items[t.Array.Nelems].Errorf("%d elements for %s, which has %d", len(n.Items), spec.TypeString(f.Type), t.Array.Nelems)
	}
	var wrong grammar.Mistakes
	for i, item := range n.Items {
		g, err := spec.ResolvePath(f.Type, fmt.Sprintf("[%d]", i))
		if err != nil {
			return item.Wrap("", err)
		}
		wrong.Add(do(inside(f, g), item, i))
	}
	return wrong.Err()
}

// bytesOf encodes a map's key or value. Without a type, a number fills size bytes and a string is
// copied.
func (v *values) bytesOf(spec *btf.Spec, id btf.ID, size int, n *grammar.Node) ([]byte, error) {
	dst := make([]byte, size)
	if spec != nil && id != 0 {
		return dst, v.encode(spec, btf.Field{Type: id}, n, dst)
	}
	x, err := v.forBTF(n)
	if err != nil {
		return nil, err
	}
	switch x := x.(type) {
	case string:
		return dst, v.raw(n, dst, []byte(x))
	case []byte:
		return dst, v.raw(n, dst, x)
	case bool, uint64, *big.Int:
		i, ok := x.(*big.Int)
		if !ok {
			i = new(big.Int).SetUint64(unsigned(x))
		}
		values := new(big.Int).Lsh(big.NewInt(1), uint(8*size))
		if i.BitLen() > 8*size || i.Sign() < 0 && new(big.Int).Lsh(i, 1).CmpAbs(values) > 0 {
			return nil, n.Errorf("%s does not fit into %d bytes", n.Text, size)
		}
		if i.Sign() < 0 {
			i = new(big.Int).Add(i, values)
		}
		i.FillBytes(dst)
		if !endian.IsBig(v.k.Mem().ByteOrder()) {
			for a, b := 0, size-1; a < b; a, b = a+1, b-1 {
				dst[a], dst[b] = dst[b], dst[a]
			}
		}
		return dst, nil
	}
	return nil, n.Errorf("the map has no BTF types: want a number, a string or !hex, got %s", n.Describe())
}

func unsigned(x any) uint64 {
	r := reflect.ValueOf(x)
	switch {
	case r.CanUint():
		return r.Uint()
	case r.Kind() == reflect.Bool && r.Bool():
		return 1
	}
	return 0
}

func (v *values) raw(n *grammar.Node, dst, src []byte) error {
	if len(src) > len(dst) {
		return n.Errorf("got %d bytes, want %d", len(src), len(dst))
	}
	copy(dst, src)
	return nil
}
