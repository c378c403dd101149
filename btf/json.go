package btf

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// FormatJSON returns the value of data in a form that encoding/json writes as follows: structs as
// objects with members in order; integers of up to 53 bits as numbers; wider integers and pointers
// as hexadecimal strings, whatever their value; enumerators, IPv6 addresses and arrays of char as
// strings; byte arrays as lower-case hex; missing data as null. It returns nil for an invalid id.
func (s *Spec) FormatJSON(id ID, data []byte) any {
	v, err := s.DecodeValue(id, data, DecodeOptions{})
	if err != nil {
		return nil
	}
	return JSONValue(v)
}

// JSONValue converts a value returned by [Spec.DecodeValue] to the form that [Spec.FormatJSON]
// returns.
func JSONValue(v any) any {
	switch v := v.(type) {
	case Int:
		switch {
		case v.Bits > 53:
			return "0x" + strconv.FormatUint(v.V, 16)
		case v.Signed:
			return int64(v.V)
		}
		return v.V
	case Enum:
		if v.Name != "" {
			return v.Name
		}
		return JSONValue(v.Int)
	case Pointer:
		return v.String()
	case IPv6:
		return v.String()
	case Bytes:
		return hex.EncodeToString(v)
	case string:
		return strings.ToValidUTF8(v, "\uFFFD")
	case *big.Int:
		u := v
		if v.Sign() < 0 {
			u = new(big.Int).Add(v, new(big.Int).Lsh(big.NewInt(1), 128))
		}
		return "0x" + u.Text(16)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return strconv.FormatFloat(v, 'g', -1, 64)
		}
		return v
	case List:
		out := make([]any, 0, len(v))
		for _, e := range v {
			if _, ok := e.(More); ok {
				break
			}
			out = append(out, JSONValue(e))
		}
		return out
	case Object:
		out := make(Object, len(v))
		for i, e := range v {
			out[i] = Entry{e.Name, JSONValue(e.Value)}
		}
		return out
	case Missing, More:
		return nil
	}
	return v
}

// MarshalJSON writes the members in order.
func (o Object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, e := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(e.Name)
		if err != nil {
			return nil, err
		}
		val, err := json.Marshal(JSONValue(e.Value))
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(val)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
