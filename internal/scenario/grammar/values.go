package grammar

import (
	"encoding/hex"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// Conditions maps each comparison tag to the results of comparing the actual value with the given
// one that satisfy it.
var Conditions = map[string]func(c int) bool{
	"!ne": func(c int) bool { return c != 0 }, "!lt": func(c int) bool { return c < 0 }, "!le": func(c int) bool { return c <= 0 },
	"!gt": func(c int) bool { return c > 0 }, "!ge": func(c int) bool { return c >= 0 },
}

// Members returns the members of a mapping, or nothing for a nil node.
func (n *Node) Members(what string) ([]Pair, error) {
	if n == nil || n.Kind == Null {
		return nil, nil
	}
	if n.Kind != Mapping {
		return nil, n.Errorf("%s: want a mapping, got %s", what, n.Describe())
	}
	return n.Pairs, nil
}

// NonEmpty decodes a string that is not empty.
func (n *Node) NonEmpty(what string) (string, error) {
	if n.Kind != Scalar || n.Text == "" {
		return "", n.Errorf("%s: want a string, got %s", what, n.Describe())
	}
	return n.Text, nil
}

// Big decodes a number, or macros.
func (n *Node) Big(what string) (*big.Int, error) {
	if n.Kind == Scalar {
		if v, ok := Number(n.Text); ok {
			return v, nil
		}
		if v, ok := n.Macro(); ok {
			return v, nil
		}
	}
	return nil, n.Errorf("%s: want a number, got %s", what, n.Describe())
}

// Int decodes a number between limits.
func (n *Node) Int(what string, lowest, highest int64) (int, error) {
	v, err := n.Big(what)
	if err != nil {
		return 0, err
	}
	if !v.IsInt64() || v.Int64() < lowest || v.Int64() > highest {
		return 0, n.Errorf("%s: %v is outside the range %d to %d", what, v, lowest, highest)
	}
	return int(v.Int64()), nil
}

// Uint64 decodes a signed or unsigned 64-bit number.
func (n *Node) Uint64(what string) (uint64, error) {
	v, err := n.Big(what)
	if err != nil {
		return 0, err
	}
	switch {
	case v.IsUint64():
		return v.Uint64(), nil
	case v.IsInt64():
		return uint64(v.Int64()), nil
	}
	return 0, n.Errorf("%s: %v does not fit into 64 bits", what, v)
}

// Duration decodes "1h" or "5us"; a bare number is in nanoseconds.
func (n *Node) Duration(what string) (time.Duration, error) {
	if n.Kind == Scalar {
		if v, ok := Number(n.Text); ok && v.Sign() >= 0 && v.IsInt64() {
			return time.Duration(v.Int64()), nil
		}
		if d, err := time.ParseDuration(n.Text); err == nil && d >= 0 && d < math.MaxInt64 {
			return d, nil
		}
	}
	return 0, n.Errorf("%s: want a duration such as 1h, 90s, 5us, got %s", what, n.Describe())
}

// Release decodes a kernel release. It returns 0 for a nil node.
func (n *Node) Release() (uint32, error) {
	if n == nil {
		return 0, nil
	}
	if n.Kind == Scalar {
		if _, v, ok := loader.ParseRelease(n.Text); ok {
			return v, nil
		}
	}
	return 0, n.Errorf("since: want a kernel version such as 5.17, got %s", n.Describe())
}

// Arch decodes the name of an architecture. It returns "" for a nil node.
func (n *Node) Arch() (string, error) {
	if n == nil {
		return "", nil
	}
	names := []string{"x86", "arm64", "arm", "riscv", "s390"}
	if n.Kind != Scalar || !slices.Contains(names, n.Text) {
		return "", n.Unknown("architecture", n.Text, names)
	}
	return n.Text, nil
}

// Errno decodes an error number: 14, EFAULT, -EFAULT.
func (n *Node) Errno(what string) (uapi.Errno, error) {
	if n.Kind == Scalar {
		text := strings.TrimPrefix(n.Text, "-")
		if e, ok := uapi.ParseErrno(text); ok {
			return e, nil
		}
		if v, ok := Number(text); ok && v.IsInt64() && v.Int64() > 0 && v.Int64() < 4096 {
			return uapi.Errno(v.Int64()), nil
		}
	}
	return 0, n.Errorf("%s: want an error such as EFAULT, got %s", what, n.Describe())
}

// Hex decodes hex digits; white space and colons between them are ignored.
func (n *Node) Hex(what string) ([]byte, error) {
	if n.Kind != Scalar {
		return nil, n.Errorf("%s: want hex digits, got %s", what, n.Describe())
	}
	text := strings.NewReplacer(" ", "", "\n", "", "\t", "", ":", "").Replace(strings.TrimPrefix(n.Text, "0x"))
	b, err := hex.DecodeString(text)
	if err != nil {
		return nil, n.Errorf("%s: %s is not a string of hex digits", what, Brief(n.Text))
	}
	if b == nil {
		b = []byte{}
	}
	return b, nil
}

// Result decodes what a helper returns: a number or an error.
func (n *Node) Result(what string) (uint64, error) {
	if n.Kind == Scalar && strings.HasPrefix(n.Text, "-E") {
		e, err := n.Errno(what)
		return uint64(e.Neg()), err
	}
	return n.Uint64(what)
}

// Macro parses a macro name, several names or numbers joined by | (S_IFREG|0o644), or an error
// (-ENOENT).
func Macro(text string) (*big.Int, bool) {
	if name, ok := strings.CutPrefix(text, "-"); ok {
		e, ok := uapi.ParseErrno(name)
		return big.NewInt(-int64(e)), ok
	}
	out := new(big.Int)
	named := false
	for part := range strings.SplitSeq(text, "|") {
		part = strings.TrimSpace(part)
		v, ok := uapi.Macro(part)
		named = named || ok
		if !ok {
			n, isNumber := Number(part)
			if !isNumber || !n.IsInt64() || n.Sign() < 0 {
				return nil, false
			}
			v = n.Int64()
		}
		if v < 0 && part != text {
			return nil, false // AT_FDCWD is not a flag
		}
		out.Or(out, big.NewInt(v))
	}
	return out, named
}

// Macro returns the value of a scalar that names macros. A quoted scalar is a string.
func (n *Node) Macro() (*big.Int, bool) {
	if n.Kind != Scalar || n.Quoted || n.Tag != "" && Conditions[n.Tag] == nil {
		return nil, false
	}
	return Macro(n.Text)
}

// Bool decodes true or false.
func (n *Node) Bool(what string) (bool, error) {
	if n.Kind == Scalar && (n.Text == "true" || n.Text == "false") {
		return n.Text == "true", nil
	}
	return false, n.Errorf("%s: want true or false, got %s", what, n.Describe())
}

// IntMember is a member with a number and its limits. Create it with [IntOf].
type IntMember struct {
	name       string
	to         *int
	least, max int64
}

// IntOf returns the description of a member whose number goes to a variable.
func IntOf(name string, to *int, least, most int64) IntMember {
	return IntMember{name, to, least, most}
}

// Ints decodes those members that a mapping has.
func (n *Node) Ints(members ...IntMember) error {
	var wrong Mistakes
	for _, m := range members {
		if v := n.Get(m.name); v != nil {
			var err error
			*m.to, err = v.Int(m.name, m.least, m.max)
			wrong.Add(err)
		}
	}
	return wrong.Err()
}

// rateUnit returns a unit of tc(8) in bits per second, 0 for others.
func rateUnit(word string) float64 {
	switch word {
	case "", "bit":
		return 1
	case "kbit":
		return 1e3
	case "mbit":
		return 1e6
	case "gbit":
		return 1e9
	}
	return 0
}

// Rate decodes bits per second: 125000, 10mbit.
func (n *Node) Rate(what string, most uint64) (uint64, error) {
	digits := strings.TrimRight(n.Text, "abcdefghijklmnopqrstuvwxyz")
	v, err := strconv.ParseFloat(digits, 64)
	if v *= rateUnit(n.Text[len(digits):]); n.Kind != Scalar || err != nil || !(v >= 1) || v > float64(most) {
		return 0, n.Errorf("%s: want bits per second such as 125000, 100kbit, 10mbit or 1gbit, got %s", what, n.Describe())
	}
	return uint64(v), nil
}
