package scenario

import (
	"fmt"
	"math/big"
	"reflect"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
)

// mismatch is one value that differs from the expectation.
type mismatch struct {
	grammar.Pos
	path, want, got string
}

// compare lists the differences between the value of a field and a node; only members that the node
// names count. data holds the bytes that the field's offsets refer to. The error is a mistake in
// the node, whatever the data.
func (v *values) compare(spec *btf.Spec, f btf.Field, n *grammar.Node, data []byte, path string) ([]mismatch, error) {
	switch {
	case n.Tag == "!any":
		return nil, nil
	case n.Kind == grammar.Mapping && n.Tag == "":
		var out []mismatch
		var wrong grammar.Mistakes
		for _, p := range n.Pairs {
			g, ok, err := fieldOf(spec, f.Type, p.Key)
			if !wrong.Add(err) || !ok {
				continue
			}
			m, err := v.compare(spec, inside(f, g), p.Value, data, joinPath(path, g.Path))
			wrong.Add(err)
			out = append(out, m...)
		}
		return out, wrong.Err()
	case n.Kind == grammar.Sequence && n.Tag == "":
		var out []mismatch
		err := v.elements(spec, f, n, func(g btf.Field, item *grammar.Node, i int) error {
			m, err := v.compare(spec, g, item, data, fmt.Sprintf("%s[%d]", path, i))
			out = append(out, m...)
			return err
		})
		return out, err
	}
	got, err := spec.DecodeField(f, data)
	if err != nil {
		return nil, n.Wrap("", err)
	}
	if n.Tag == "!match" {
		return matches(n, got, path)
	}
	cond := grammar.Conditions[n.Tag]
	bare := *n
	if cond != nil {
		bare.Tag = ""
	}
	x, err := v.forBTF(&bare)
	if err != nil {
		return nil, err
	}
	size := max(len(data), sizeOf(spec, f))
	tmp := make([]byte, max(size, int(uint64(f.BitOffset)/8)+16))
	if err := encodeField(spec, f, x, n, tmp[:size]); err != nil {
		return nil, err
	}
	want, err := spec.DecodeField(f, tmp)
	if err != nil {
		return nil, n.Wrap("", err)
	}
	if cond == nil {
		if reflect.DeepEqual(want, got) {
			return nil, nil
		}
		return []mismatch{{n.Pos, path, valueText(want), valueText(got)}}, nil
	}
	c, ok := order(got, want)
	if !ok {
		return nil, n.Errorf("%s compares numbers and strings, but this is %s", n.Tag, spec.TypeString(f.Type))
	}
	if cond(c) {
		return nil, nil
	}
	return []mismatch{{n.Pos, path, strings.TrimPrefix(n.Tag, "!") + " " + valueText(want), valueText(got)}}, nil
}

// sizeOf returns the offset of the end of a field, in bytes.
func sizeOf(spec *btf.Spec, f btf.Field) int {
	n, err := spec.Sizeof(f.Type)
	if err != nil || n < 0 {
		return int(f.BitOffset / 8)
	}
	return min(int(f.BitOffset/8)+int(n), 64<<20)
}

func joinPath(path, name string) string {
	if path == "" || strings.HasPrefix(name, "[") {
		return path + name
	}
	return path + "." + name
}

func matches(n *grammar.Node, got any, path string) ([]mismatch, error) {
	re, err := n.Pattern()
	if err != nil {
		return nil, err
	}
	text, ok := got.(string)
	if !ok {
		text = valueText(got)
	}
	if re.MatchString(text) {
		return nil, nil
	}
	return []mismatch{{n.Pos, path, "match " + n.Text, valueText(got)}}, nil
}

// order compares two decoded values of the same type. The bool result is false if they cannot be
// compared.
func order(a, b any) (int, bool) {
	if x, ok := a.(string); ok {
		y, ok := b.(string)
		return strings.Compare(x, y), ok
	}
	x, ok1 := integerOf(a)
	y, ok2 := integerOf(b)
	if !ok1 || !ok2 {
		if reflect.DeepEqual(a, b) {
			return 0, true
		}
		_, isList := a.(btf.List)
		_, isObject := a.(btf.Object)
		return 1, !isList && !isObject
	}
	return x.Cmp(y), true
}

func integerOf(v any) (*big.Int, bool) {
	switch v := v.(type) {
	case btf.Int:
		if v.Signed {
			return big.NewInt(int64(v.V)), true
		}
		return new(big.Int).SetUint64(v.V), true
	case btf.Enum:
		return integerOf(v.Int)
	case btf.Pointer:
		return new(big.Int).SetUint64(uint64(v)), true
	case *big.Int:
		return v, true
	case bool:
		if v {
			return big.NewInt(1), true
		}
		return new(big.Int), true
	}
	return nil, false
}

// valueText formats a decoded value for messages.
func valueText(v any) string {
	switch v := v.(type) {
	case btf.Int:
		if v.Network != "" {
			return v.Network
		}
		return v.String()
	case btf.Enum:
		if v.Name != "" {
			return v.Name
		}
		return v.Int.String()
	case string:
		return fmt.Sprintf("%q", v)
	case btf.Bytes:
		return fmt.Sprintf("%x", []byte(v))
	case btf.Pointer:
		if v == 0 {
			return "null"
		}
		return fmt.Sprintf("%#x", uint64(v))
	case btf.List:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = valueText(e)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case btf.Object:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = e.Name + " = " + valueText(e.Value)
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case btf.Missing:
		return "nothing"
	case nil:
		return "null"
	}
	return fmt.Sprint(v)
}
