package btf

import (
	"encoding/hex"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"
)

// FormatOptions controls how [Spec.Format] prints values. The zero value is what tables and events
// use.
type FormatOptions struct {
	// Hex prints all integers in hexadecimal.
	Hex bool
	// MaxElems is the number of array elements printed; 0 means 64, negative means all.
	MaxElems int
	// MaxBytes is the number of bytes printed of byte arrays; 0 means 64, negative means all.
	MaxBytes int
}

// Format prints data as a value of type id on one line, similar to C:
//
//	{pid = 4242, comm = "bash", flags = 0x40, state = TASK_RUNNING}
//
// Integers are decimal, except members whose names end in "flags" or "mask" (hexadecimal), __be32
// (IPv4 address) and __be16 ("htons(53)"); a struct in6_addr is an IPv6 address. Pointers and byte
// arrays are hexadecimal, arrays of char are quoted strings up to the first zero, enums are
// enumerator names. Runs of equal elements are counted: "0 <x 16>". Missing data prints as
// "<missing>". [Spec.EncodeText] reads the text back.
func (s *Spec) Format(w io.Writer, id ID, data []byte, opt FormatOptions) error {
	str, err := s.formatString(id, data, opt)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, str)
	return err
}

// FormatString is [Spec.Format] with default options. For an invalid id it returns the error's text
// in angle brackets.
func (s *Spec) FormatString(id ID, data []byte) string {
	str, err := s.formatString(id, data, FormatOptions{})
	if err != nil {
		return "<" + err.Error() + ">"
	}
	return str
}

func (s *Spec) formatString(id ID, data []byte, opt FormatOptions) (string, error) {
	if opt.MaxElems == 0 {
		opt.MaxElems = 64
	}
	if opt.MaxBytes == 0 {
		opt.MaxBytes = 64
	}
	// Decode more elements than are printed, so that long runs can be counted.
	v, err := s.DecodeValue(id, data, DecodeOptions{MaxElems: max(0, opt.MaxElems*16)})
	if err != nil {
		return "", err
	}
	return FormatValue(v, opt), nil
}

// FormatValue prints a value returned by [Spec.DecodeValue] as [Spec.Format] does.
func FormatValue(v any, opt FormatOptions) string {
	var b strings.Builder
	f := formatter{b: &b, opt: opt}
	f.value(v, opt.Hex)
	return b.String()
}

type formatter struct {
	b   *strings.Builder
	opt FormatOptions
}

func (f *formatter) value(v any, hexInts bool) {
	switch v := v.(type) {
	case Int:
		f.int(v, hexInts)
	case Enum:
		if v.Name != "" {
			f.b.WriteString(v.Name)
		} else {
			f.int(v.Int, hexInts)
		}
	case bool:
		f.b.WriteString(strconv.FormatBool(v))
	case string:
		f.b.WriteString(quote(v))
	case Pointer:
		f.b.WriteString(v.String())
	case float64:
		f.b.WriteString(strconv.FormatFloat(v, 'g', -1, 64))
	case *big.Int:
		fmt.Fprintf(f.b, "%#x", v)
	case Bytes:
		f.bytes(v)
	case List:
		f.list(v, hexInts)
	case Object:
		f.b.WriteByte('{')
		for i, e := range v {
			if i > 0 {
				f.b.WriteString(", ")
			}
			f.b.WriteString(e.Name)
			f.b.WriteString(" = ")
			f.value(e.Value, hexInts || hexName(e.Name))
		}
		f.b.WriteByte('}')
	case More:
		fmt.Fprintf(f.b, "... %d more", int64(v))
	case Missing:
		f.b.WriteString("<missing>")
	default:
		fmt.Fprint(f.b, v)
	}
}

// hexName reports whether a member's name suggests a set of bits.
func hexName(name string) bool {
	return strings.HasSuffix(name, "flags") || strings.HasSuffix(name, "mask")
}

func (f *formatter) int(v Int, hexInts bool) {
	switch {
	case !hexInts && v.Network != "":
		f.b.WriteString(v.Network)
		return
	case !hexInts:
		f.b.WriteString(v.String())
		return
	}
	u := v.V
	if v.Bits < 64 {
		u &= 1<<v.Bits - 1
	}
	f.b.WriteString("0x" + strconv.FormatUint(u, 16))
}

func (f *formatter) bytes(v Bytes) {
	n := len(v)
	if f.opt.MaxBytes > 0 {
		n = min(n, f.opt.MaxBytes)
	}
	if len(v) > n && allZero(v) {
		fmt.Fprintf(f.b, "0x00 <x %d>", len(v))
		return
	}
	f.b.WriteString("0x" + hex.EncodeToString(v[:n]))
	if n < len(v) {
		fmt.Fprintf(f.b, " ... %d more", len(v)-n)
	}
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// minRun is the length from which runs of equal elements are counted.
const minRun = 4

func (f *formatter) list(list List, hexInts bool) {
	more := int64(0)
	if n := len(list); n > 0 {
		if m, ok := list[n-1].(More); ok {
			more, list = int64(m), list[:n-1]
		}
	}
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = f.sub(v, hexInts)
	}
	f.b.WriteByte('[')
	i, shown := 0, 0
	for ; i < len(texts) && (f.opt.MaxElems <= 0 || shown < f.opt.MaxElems); shown++ {
		if i > 0 {
			f.b.WriteString(", ")
		}
		f.b.WriteString(texts[i])
		run := 1
		for i+run < len(texts) && texts[i+run] == texts[i] {
			run++
		}
		if run < minRun {
			i++
			continue
		}
		fmt.Fprintf(f.b, " <x %d>", run)
		i += run
	}
	if more += int64(len(texts) - i); more > 0 {
		fmt.Fprintf(f.b, ", ... %d more", more)
	}
	f.b.WriteByte(']')
}

func (f *formatter) sub(v any, hexInts bool) string {
	if n, ok := v.(Int); ok && !hexInts && n.Network == "" {
		return n.String()
	}
	var b strings.Builder
	g := formatter{b: &b, opt: f.opt}
	g.value(v, hexInts)
	return b.String()
}

// quote returns s as a quoted string literal, with bytes that are not printable UTF-8 as \xNN.
func quote(s string) string { return strconv.Quote(s) }
