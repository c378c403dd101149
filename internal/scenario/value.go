package scenario

import (
	"fmt"
	"math/big"
	"reflect"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/endian"
	"github.com/bpfrun/bpfrun/internal/kernel"
)

// isRef reports whether a node is a reference, $name.
func isRef(n *Node) bool {
	return n.Kind == Scalar && n.Tag == "" && strings.HasPrefix(n.Text, "$") && len(n.Text) > 1 && !strings.ContainsAny(n.Text[1:], "$ \t\n")
}

// values converts nodes to values of types, with the objects of one machine.
type values struct {
	k       *kernel.Kernel
	objects map[string]*kernel.Object
	names   []string        // object names, for messages
	failed  map[string]bool // objects that could not be created
	build   func(role string, n *Node) (*kernel.Object, error)
}

// ref returns the object that a $name node refers to.
func (v *values) ref(n *Node) (*kernel.Object, error) {
	name := strings.TrimPrefix(n.Text, "$")
	o, ok := v.objects[name]
	if !ok && v.failed[name] {
		return nil, &Error{Pos: n.Pos, Text: "object " + name + " could not be made", follows: true}
	}
	if !ok {
		return nil, n.unknown("object", name, v.names)
	}
	return o, nil
}

// plain returns the value of a scalar or null that is not a reference: nil, bool, string, *big.Int
// or []byte.
func (n *Node) plain() (any, error) {
	switch {
	case n.Tag == "!hex":
		return n.hex("!hex")
	case n.Tag != "":
		return nil, n.errorf("%s does not fit here", n.Tag)
	case n.Kind == Null:
		return nil, nil
	case n.Kind != Scalar:
		return nil, n.errorf("want one value, got %s", n.describe())
	case n.Quoted:
		return strings.Replace(n.Text, "$$", "$", min(1, strings.Index(n.Text, "$")+1)), nil
	}
	if i, ok := number(n.Text); ok {
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

// forKernel converts a node to a value for [kernel.Object.Set].
func (v *values) forKernel(role string, n *Node) (any, error) {
	switch {
	case isRef(n):
		return v.ref(n)
	case n.Tag == "!user":
		return v.user(n)
	case n.Tag == "!percpu" || n.Tag == "!list":
		return nil, n.errorf("%s does not fit here", n.Tag)
	case n.Tag != "" && n.Tag != "!hex":
		return v.build(role, n)
	case n.Kind == Sequence:
		out := make([]any, len(n.Items))
		for i, item := range n.Items {
			e, err := v.forKernel(fmt.Sprintf("%s[%d]", role, i), item)
			if err != nil {
				return nil, err
			}
			out[i] = e
		}
		return out, nil
	case n.Kind == Mapping:
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
	x, err := n.plain()
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
		return nil, n.errorf("%v does not fit into 64 bits", i)
	}
	return x, nil
}

// network returns what is stored of a number in network byte order: an IPv4 address, htons(N) and
// the like.
func (v *values) network(n *Node) (uint64, bool) {
	if n.Kind != Scalar || n.Quoted || n.Tag != "" {
		return 0, false
	}
	x, _, ok := btf.ParseAnyNetwork(v.k.Mem().ByteOrder(), n.Text)
	return x, ok
}

// user places a string, bytes, or an array of pointers to these in user memory.
func (v *values) user(n *Node) (any, error) {
	var addr uint64
	if n.Kind == Sequence {
		return v.userList(n)
	}
	if n.Kind != Scalar {
		return nil, n.errorf("!user: want a string, 0x and hex digits, or a list of these, got %s", n.describe())
	}
	if !n.Quoted && strings.HasPrefix(n.Text, "0x") {
		b, err := n.hex("!user")
		if err != nil {
			return nil, err
		}
		addr = v.k.UserAlloc(b)
	} else {
		addr = v.k.UserString(n.Text)
	}
	if addr == 0 {
		return nil, n.errorf("user memory is exhausted")
	}
	return kernel.Pointer(addr), nil
}

// userList places an array of pointers, which ends with null, as the arguments of a process do.
func (v *values) userList(n *Node) (any, error) {
	size := v.k.Mem().PointerSize()
	b := make([]byte, (len(n.Items)+1)*size)
	for i, item := range n.Items {
		if item.Kind == Null {
			continue
		}
		p, err := v.user(item)
		if err != nil {
			return nil, err
		}
		endian.PutUint(v.k.Mem().ByteOrder(), b[i*size:(i+1)*size], uint64(p.(kernel.Pointer)))
	}
	addr := v.k.UserAlloc(b)
	if addr == 0 {
		return nil, n.errorf("user memory is exhausted")
	}
	return kernel.Pointer(addr), nil
}

// forBTF converts a leaf to a value for [btf.Spec.EncodeField]: references become addresses.
func (v *values) forBTF(n *Node) (any, error) {
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
		return uint64(p.(kernel.Pointer)), nil
	}
	return n.plain()
}

// option splits a key into alternative names, and reports whether it is optional: "__state|state",
// "exit_code?".
func option(key string) (names []string, optional bool) {
	key, optional = strings.CutSuffix(key, "?")
	return strings.Split(key, "|"), optional
}

// fieldOf finds the field that a key names in a type. ok is false for an optional field that does
// not exist.
func fieldOf(spec *btf.Spec, id btf.ID, key *Node) (f btf.Field, ok bool, err error) {
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
	return f, false, key.wrap("", first)
}

// inside moves a field of a field's type: its offset then counts from the start of the outer
// field's bytes.
func inside(outer, f btf.Field) btf.Field {
	f.BitOffset += outer.BitOffset
	return f
}

// encode writes a node to dst as a value of a field's type. Members that the node does not name
// keep their values.
func (v *values) encode(spec *btf.Spec, f btf.Field, n *Node, dst []byte) error {
	switch {
	case n.Kind == Mapping && n.Tag == "":
		var wrong mistakes
		for _, p := range n.Pairs {
			g, ok, err := fieldOf(spec, f.Type, p.Key)
			if wrong.add(err) && ok {
				wrong.add(v.encode(spec, inside(f, g), p.Value, dst))
			}
		}
		return wrong.err()
	case n.Kind == Sequence && n.Tag == "":
		return v.elements(spec, f, n, func(g btf.Field, item *Node, _ int) error { return v.encode(spec, g, item, dst) })
	}
	x, err := v.forBTF(n)
	if err != nil {
		return err
	}
	return encodeField(spec, f, x, n, dst)
}

// encodeField writes the value of a scalar. A name that the type does not know may be a macro.
func encodeField(spec *btf.Spec, f btf.Field, x any, n *Node, dst []byte) error {
	err := spec.EncodeField(f, x, dst)
	if err == nil {
		return nil
	}
	if i, ok := n.macro(); ok && spec.EncodeField(f, i, dst) == nil {
		return nil
	}
	return n.wrap("", err)
}

// elements calls do for each item of a list, with the corresponding array element.
func (v *values) elements(spec *btf.Spec, f btf.Field, n *Node, do func(btf.Field, *Node, int) error) error {
	t := spec.SkipMods(f.Type)
	if t.Kind != btf.KindArray {
		return n.errorf("%s is not an array, a list does not fit", spec.TypeString(f.Type))
	}
	if len(n.Items) > int(t.Array.Nelems) {
		return n.Items[t.Array.Nelems].errorf("%d elements for %s, which has %d", len(n.Items), spec.TypeString(f.Type), t.Array.Nelems)
	}
	var wrong mistakes
	for i, item := range n.Items {
		g, err := spec.ResolvePath(f.Type, fmt.Sprintf("[%d]", i))
		if err != nil {
			return item.wrap("", err)
		}
		wrong.add(do(inside(f, g), item, i))
	}
	return wrong.err()
}

// bytesOf encodes a map's key or value. Without a type, a number fills size bytes and a string is
// copied.
func (v *values) bytesOf(spec *btf.Spec, id btf.ID, size int, n *Node) ([]byte, error) {
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
		if i.Sign() < 0 {
			i = new(big.Int).Add(i, new(big.Int).Lsh(big.NewInt(1), uint(8*size)))
		}
		if i.Sign() < 0 || i.BitLen() > 8*size {
			return nil, n.errorf("%s does not fit into %d bytes", n.Text, size)
		}
		i.FillBytes(dst)
		if !endian.IsBig(v.k.Mem().ByteOrder()) {
			for a, b := 0, size-1; a < b; a, b = a+1, b-1 {
				dst[a], dst[b] = dst[b], dst[a]
			}
		}
		return dst, nil
	}
	return nil, n.errorf("the map has no BTF types: want a number, a string or !hex, got %s", n.describe())
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

func (v *values) raw(n *Node, dst, src []byte) error {
	if len(src) > len(dst) {
		return n.errorf("got %d bytes, want %d", len(src), len(dst))
	}
	copy(dst, src)
	return nil
}
