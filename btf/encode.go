package btf

import (
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"sort"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/internal/endian"
)

// ValueError reports a value that cannot be written to a type.
type ValueError struct {
	Path    string // the member, "" for the value itself
	Type    string // the type as C writes it
	Value   string // the value as given
	Detail  string
	Nearest []string // existing names, nearest first
	Err     error    // ErrValue or ErrNotFound
}

// Error describes the member, the value, and what would fit.
func (e *ValueError) Error() string {
	var b strings.Builder
	b.WriteString("btf: ")
	if e.Path != "" {
		b.WriteString(e.Path + " ")
	}
	fmt.Fprintf(&b, "(%s): %s", e.Type, e.Detail)
	if len(e.Nearest) > 0 {
		b.WriteString("; nearest: " + strings.Join(e.Nearest, ", "))
	}
	return b.String()
}

// Unwrap returns Err.
func (e *ValueError) Unwrap() error { return e.Err }

// EncodeValue writes v into dst, memory of type id, in the target's byte order. It reverses
// [Spec.DecodeValue] and accepts its results and plain Go values:
//
//   - integers and bitfields: any Go integer, a bool, or a string: decimal, 0x, 0o, 0b, 'c', true, false, or the name of
//     an enumerator; a value fits if its bits fit, signed or unsigned;
//   - enums: the same; the enum's own enumerators take precedence;
//   - pointers: integers, "null" and nil; floats: any number;
//   - arrays: a list of the first elements, which leaves the others unchanged; char and byte arrays also take a string or
//     []byte, and the rest is zeroed; a byte array reads "0x..." as hex;
//   - structs, unions, sections: a map or [Object] from member names or paths ("cred.uid.val", "comm[3]") to values;
//     other members stay unchanged;
//   - struct in6_addr, and arrays of four 32-bit numbers: also the text of an IPv6 address.
//
// A FLOAT of 4 or 8 bytes can be written as a number, other sizes only as bytes. Any type can be
// written as bytes of exactly its size. dst may be longer than the type. After an error, dst may
// have been written in part. The error is a *[ValueError] or a *[PathError].
func (s *Spec) EncodeValue(id ID, v any, dst []byte) error {
	if _, err := s.Type(id); err != nil {
		return err
	}
	e := valueEncoder{s: s, dst: dst}
	return e.value(Field{Type: id}, v, 0)
}

// EncodeField is [Spec.EncodeValue] for one field of a root type, whose bytes are dst.
func (s *Spec) EncodeField(f Field, v any, dst []byte) error {
	if _, err := s.Type(f.Type); err != nil {
		return err
	}
	e := valueEncoder{s: s, dst: dst}
	return e.value(f, v, 0)
}

// EncodeText is [Spec.EncodeValue] for a value written as text: "42", "TASK_RUNNING", `bash`,
// `"bash"`, "[1, 2, 3]", `{pid = 1, comm = "bash"}`; see [ParseValue]. A string for an array of
// char needs no quotes.
func (s *Spec) EncodeText(id ID, text string, dst []byte) error {
	if t := s.SkipMods(id); t.Kind == KindArray {
		isText, _ := s.charArray(t)
		if first := strings.TrimSpace(text); isText && (first == "" || !strings.ContainsRune("\"[{", rune(first[0]))) {
			return s.EncodeValue(id, text, dst)
		}
	}
	v, err := ParseValue(text)
	if err != nil {
		return err
	}
	return s.EncodeValue(id, v, dst)
}

type valueEncoder struct {
	s   *Spec
	dst []byte
}

func (e *valueEncoder) fail(f Field, v any, format string, args ...any) error {
	text := fmt.Sprint(v)
	if len(text) > 80 {
		text = text[:80] + "..."
	}
	return &ValueError{Path: f.Path, Type: e.s.TypeString(f.Type), Value: text, Detail: fmt.Sprintf(format, args...), Err: ErrValue}
}

func (e *valueEncoder) room(f Field, width uint64) error {
	if uint64(f.BitOffset)+width > uint64(len(e.dst))*8 {
		return e.fail(f, nil, "it ends at byte %d, there are %d", (uint64(f.BitOffset)+width+7)/8, len(e.dst))
	}
	return nil
}

func (e *valueEncoder) value(f Field, v any, depth int) error {
	if depth > maxDepth {
		return e.fail(f, "", "nested more than %d deep", maxDepth)
	}
	t := e.s.SkipMods(f.Type)
	if _, ok := v.(Missing); ok {
		return nil
	}
	if b, ok := rawBytes(v); ok && t.Kind != KindArray {
		return e.raw(f, b)
	}
	switch t.Kind {
	case KindInt:
		width := f.BitSize
		if width == 0 {
			width = t.Size * 8
			if t.Int.Offset != 0 || t.Int.Bits != 0 && uint32(t.Int.Bits) != width {
				f.BitOffset, width = f.BitOffset+uint32(t.Int.Offset), uint32(t.Int.Bits)
			}
		}
		return e.integer(f, t, v, width)
	case KindEnum, KindEnum64:
		width := f.BitSize
		if width == 0 {
			width = t.Size * 8
		}
		return e.integer(f, t, v, width)
	case KindPtr:
		return e.integer(f, t, v, uint32(e.s.ptrSize)*8)
	case KindFloat:
		return e.float(f, t, v)
	case KindArray:
		return e.array(f, t, v, depth)
	case KindStruct, KindUnion, KindDatasec:
		return e.object(f, t, v, depth)
	case KindVar:
		f.Type = t.Ref
		return e.value(f, v, depth+1)
	}
	return e.fail(f, v, "values of this type cannot be written")
}

func rawBytes(v any) ([]byte, bool) {
	switch v := v.(type) {
	case Bytes:
		return v, true
	case []byte:
		return v, true
	case IPv6:
		return v[:], true
	}
	return nil, false
}

func (e *valueEncoder) raw(f Field, b []byte) error {
	n := e.s.size(f.Type)
	if f.BitSize != 0 || f.BitOffset%8 != 0 || int64(len(b)) != n {
		return e.fail(f, b, "got %d bytes, want %d", len(b), n)
	}
	if err := e.room(f, uint64(n)*8); err != nil {
		return err
	}
	copy(e.dst[f.BitOffset/8:], b)
	return nil
}

func (e *valueEncoder) integer(f Field, t *Type, v any, width uint32) error {
	if width == 0 || width > 128 {
		return e.fail(f, v, "%d bits cannot be written", width)
	}
	if err := e.room(f, uint64(width)); err != nil {
		return err
	}
	n, err := e.number(f, t, v)
	if err != nil {
		return err
	}
	if _, decoded := v.(Int); !decoded && t.Kind == KindInt && t.Int.Encoding&IntBool != 0 && n.BitLen() > 1 {
		return e.fail(f, v, "%v is neither true nor false", n)
	}
	lowest := new(big.Int).Neg(new(big.Int).Lsh(big.NewInt(1), uint(width-1)))
	if n.BitLen() > int(width) && n.Sign() > 0 || n.Sign() < 0 && n.Cmp(lowest) < 0 {
		return e.fail(f, v, "%v does not fit into %d bits", n, width)
	}
	if n.Sign() < 0 {
		n = new(big.Int).Add(n, new(big.Int).Lsh(big.NewInt(1), uint(width)))
	}
	lo := new(big.Int).And(n, new(big.Int).SetUint64(math.MaxUint64)).Uint64()
	hi := new(big.Int).Rsh(n, 64).Uint64()
	off, order := uint64(f.BitOffset), e.s.ByteOrder()
	switch {
	case width <= 64:
		endian.PutBits(order, e.dst, off, width, lo)
	case e.s.big:
		endian.PutBits(order, e.dst, off, width-64, hi)
		endian.PutBits(order, e.dst, off+uint64(width)-64, 64, lo)
	default:
		endian.PutBits(order, e.dst, off, 64, lo)
		endian.PutBits(order, e.dst, off+64, width-64, hi)
	}
	return nil
}

// number converts v to an integer of type t.
func (e *valueEncoder) number(f Field, t *Type, v any) (*big.Int, error) {
	switch v := v.(type) {
	case nil:
		if t.Kind == KindPtr {
			return new(big.Int), nil
		}
		return nil, e.fail(f, v, "null is only for pointers")
	case *big.Int:
		return v, nil
	case Int:
		if v.Signed {
			return big.NewInt(int64(v.V)), nil
		}
		return new(big.Int).SetUint64(v.V), nil
	case Enum:
		return e.number(f, t, v.Int)
	case Pointer:
		return new(big.Int).SetUint64(uint64(v)), nil
	case string:
		return e.parseNumber(f, t, v)
	}
	r := reflect.ValueOf(v)
	switch {
	case r.Kind() == reflect.Bool:
		if r.Bool() {
			return big.NewInt(1), nil
		}
		return new(big.Int), nil
	case r.CanInt():
		return big.NewInt(r.Int()), nil
	case r.CanUint():
		return new(big.Int).SetUint64(r.Uint()), nil
	case r.CanFloat() && r.Float() == math.Trunc(r.Float()) && math.Abs(r.Float()) <= 1<<53:
		return big.NewInt(int64(r.Float())), nil
	}
	return nil, e.fail(f, v, "want a number, got %s", inWords(v))
}

func (e *valueEncoder) parseNumber(f Field, t *Type, text string) (*big.Int, error) {
	text = strings.TrimSpace(text)
	for _, v := range t.Values {
		if v.Name == text {
			return enumNumber(v.Value, t.Signed()), nil
		}
	}
	switch strings.ToLower(text) {
	case "true":
		return big.NewInt(1), nil
	case "false":
		return new(big.Int), nil
	case "null", "nil":
		if t.Kind == KindPtr {
			return new(big.Int), nil
		}
	}
	if n, ok := parseInteger(text); ok {
		return n, nil
	}
	if bits := e.s.NetworkBits(f.Type); bits != 0 {
		if n, ok := ParseNetwork(e.s.ByteOrder(), bits, text); ok {
			return new(big.Int).SetUint64(n), nil
		}
	} else if n, bits, ok := ParseAnyNetwork(e.s.ByteOrder(), text); ok && t.Kind == KindInt && bits <= 8*t.Size {
		// Programs also declare ports as __u16, and struct bpf_sock_addr declares user_port as
		// __u32. A call such as htons says what is meant. An address does not: such a number may be
		// in the order of the host.
		if strings.Contains(text, "(") {
			return new(big.Int).SetUint64(n), nil
		}
		return nil, e.fail(f, text, "%q does not say in which byte order a number holds it: write htonl(%#08x), or %#08x for the host's",
			text, swapNetwork(e.s.ByteOrder(), bits, n), swapNetwork(e.s.ByteOrder(), bits, n))
	}
	if id, v, ok := e.s.FindEnumerator(text); ok {
		return enumNumber(v, e.s.MustType(id).Signed()), nil
	}
	err := e.fail(f, text, "%q is neither a number nor an enumerator", text).(*ValueError)
	if len(t.Values) > 0 {
		names := make([]string, len(t.Values))
		for i, v := range t.Values {
			names[i] = v.Name
		}
		err.Nearest = near(text, names)
		err.Err = ErrNotFound
	}
	return nil, err
}

func enumNumber(v uint64, signed bool) *big.Int {
	if signed {
		return big.NewInt(int64(v))
	}
	return new(big.Int).SetUint64(v)
}

// parseInteger parses decimal, 0x, 0o and 0b numbers with sign and underscores, and 'c'.
func parseInteger(text string) (*big.Int, bool) {
	if len(text) > 256 {
		return nil, false
	}
	if len(text) >= 3 && text[0] == '\'' && text[len(text)-1] == '\'' {
		r, _, tail, err := strconv.UnquoteChar(text[1:len(text)-1], '\'')
		return big.NewInt(int64(r)), err == nil && tail == "" && r < 256
	}
	digits := strings.TrimLeft(text, "+-")
	if len(text)-len(digits) > 1 || digits == "" {
		return nil, false
	}
	if digits[0] == '0' && len(digits) > 1 && digits[1] >= '0' && digits[1] <= '9' {
		return new(big.Int).SetString(text, 10) // a leading zero does not mean octal
	}
	return new(big.Int).SetString(text, 0)
}

func (e *valueEncoder) float(f Field, t *Type, v any) error {
	if err := e.room(f, uint64(t.Size)*8); err != nil {
		return err
	}
	var x float64
	r := reflect.ValueOf(v)
	switch {
	case v == nil:
		return e.fail(f, v, "a number is wanted")
	case r.Kind() == reflect.String:
		var err error
		if x, err = strconv.ParseFloat(strings.TrimSpace(r.String()), 64); err != nil {
			return e.fail(f, v, "%q is not a number", r.String())
		}
	case r.CanFloat():
		x = r.Float()
	case r.CanInt():
		x = float64(r.Int())
	case r.CanUint():
		x = float64(r.Uint())
	default:
		return e.fail(f, v, "want a number, got %s", inWords(v))
	}
	switch t.Size {
	case 4:
		endian.PutBits(e.s.ByteOrder(), e.dst, uint64(f.BitOffset), 32, uint64(math.Float32bits(float32(x))))
	case 8:
		endian.PutBits(e.s.ByteOrder(), e.dst, uint64(f.BitOffset), 64, math.Float64bits(x))
	default:
		return e.fail(f, v, "a FLOAT of %d bytes cannot be written as a number", t.Size)
	}
	return nil
}

func (e *valueEncoder) array(f Field, t *Type, v any, depth int) error {
	isText, isRaw := e.s.charArray(t)
	if isText || isRaw {
		b, ok := rawBytes(v)
		if str, isStr := v.(string); isStr && !ok {
			b, ok = []byte(str), true
			if isRaw && strings.HasPrefix(str, "0x") {
				var err error
				if b, err = hex.DecodeString(str[2:]); err != nil {
					return e.fail(f, v, "%q is not hexadecimal bytes", str)
				}
			}
		}
		if ok {
			return e.text(f, t, b)
		}
	}
	if b, ok := rawBytes(v); ok {
		return e.raw(f, b)
	}
	if text, isText := v.(string); isText {
		if a, ok := e.s.ParseIPv6(f.Type, strings.TrimSpace(text)); ok {
			return e.raw(f, a[:])
		}
	}
	r := reflect.ValueOf(v)
	if v == nil || r.Kind() != reflect.Slice && r.Kind() != reflect.Array {
		if m, ok := entries(v); ok {
			return e.members(f, m, depth)
		}
		return e.fail(f, v, "want a list, got %s", inWords(v))
	}
	es := e.s.size(t.Ref)
	for i := range r.Len() {
		elem := r.Index(i).Interface()
		if _, more := elem.(More); more {
			break
		}
		if uint64(i) >= uint64(t.Array.Nelems) && t.Array.Nelems != 0 {
			return e.fail(f, v, "got %d elements, want %d", r.Len(), t.Array.Nelems)
		}
		at := uint64(f.BitOffset) + uint64(i)*uint64(es)*8
		if at/8 > uint64(len(e.dst)) {
			return e.fail(f, v, "element %d is past the end", i)
		}
		g := Field{Path: f.Path + "[" + utoa(i) + "]", Type: t.Ref, BitOffset: uint32(at)}
		if err := e.value(g, elem, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// text copies bytes into a byte array and zeroes the rest.
func (e *valueEncoder) text(f Field, t *Type, b []byte) error {
	n := uint64(t.Array.Nelems)
	if n == 0 {
		n = uint64(len(b))
	}
	if uint64(len(b)) > n {
		return e.fail(f, b, "got %d bytes, want %d", len(b), n)
	}
	if err := e.room(f, n*8); err != nil {
		return err
	}
	dst := e.dst[f.BitOffset/8:][:n]
	clear(dst[copy(dst, b):])
	return nil
}

// entries returns the members of a map, sorted by name, or of an Object.
func entries(v any) ([]Entry, bool) {
	switch v := v.(type) {
	case Object:
		return v, true
	case map[string]any:
		out := make([]Entry, 0, len(v))
		for k, e := range v {
			out = append(out, Entry{k, e})
		}
		sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
		return out, true
	}
	r := reflect.ValueOf(v)
	if v == nil || r.Kind() != reflect.Map {
		return nil, false
	}
	out := make([]Entry, 0, r.Len())
	for it := r.MapRange(); it.Next(); {
		out = append(out, Entry{fmt.Sprint(it.Key().Interface()), it.Value().Interface()})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out, true
}

func (e *valueEncoder) object(f Field, t *Type, v any, depth int) error {
	m, ok := entries(v)
	if text, isText := v.(string); isText && isIPv6(t) {
		a, ok := e.s.ParseIPv6(f.Type, strings.TrimSpace(text))
		if !ok {
			return e.fail(f, v, "%q is not an IPv6 address", text)
		}
		return e.raw(f, a[:])
	}
	if !ok {
		// A struct with a single member takes that member's value: kuid_t, atomic_t.
		if in, one := e.s.onlyMember(t); one && v != nil {
			in.BitOffset += f.BitOffset
			in.Path = joinPath(f.Path, in.Path)
			return e.value(in, v, depth+1)
		}
		return e.fail(f, v, "want members by name, got %s", inWords(v))
	}
	return e.members(f, m, depth)
}

// onlyMember returns the single member of a struct.
func (s *Spec) onlyMember(t *Type) (Field, bool) {
	if t.Kind != KindStruct || len(t.Members) != 1 || t.Members[0].Name == "" {
		return Field{}, false
	}
	off, bits := s.MemberBits(t, &t.Members[0])
	return Field{Path: t.Members[0].Name, Type: t.Members[0].Type, BitOffset: off, BitSize: bits, Parent: t.ID}, true
}

func (e *valueEncoder) members(f Field, m []Entry, depth int) error {
	for _, en := range m {
		path := en.Name
		if e.s.Kind(e.s.SkipID(f.Type)) == KindArray && !strings.HasPrefix(path, "[") {
			path = "[" + path + "]"
		}
		g, err := e.s.ResolvePath(f.Type, path)
		if err != nil {
			return err
		}
		if uint64(g.BitOffset)+uint64(f.BitOffset) > math.MaxUint32 {
			return e.fail(f, en.Value, "member %s is out of range", en.Name)
		}
		g.BitOffset += f.BitOffset
		if strings.HasPrefix(path, "[") {
			g.Path = f.Path + g.Path
		} else {
			g.Path = joinPath(f.Path, g.Path)
		}
		if err := e.value(g, en.Value, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// inWords names the kind of a value in terms of the file formats that contain it, not of Go.
func inWords(v any) string {
	r := reflect.ValueOf(v)
	switch {
	case !r.IsValid():
		return "nothing"
	case r.Kind() == reflect.Bool:
		return "true or false"
	case r.CanInt(), r.CanUint(), r.CanFloat():
		return "a number"
	case r.Kind() == reflect.String:
		return "a string"
	case r.Kind() == reflect.Slice, r.Kind() == reflect.Array:
		return "a list"
	case r.Kind() == reflect.Map, r.Kind() == reflect.Struct:
		return "members"
	}
	return "a " + r.Type().String()
}
