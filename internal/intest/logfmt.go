package intest

import (
	"fmt"
	"strconv"
	"strings"
)

// maxWidth limits the field width of a conversion, in characters.
const maxWidth = 256

// text formats a log by the rules of C's printf on a machine with 64-bit longs: d i u x X o c s p
// with flags, a width and the lengths hh h l ll z j t. Strings are read from memory through str. An
// invalid conversion, or one without an argument, is shown as an error in the text.
func (l Log) text(str func(addr uint64) (string, bool)) string {
	var out strings.Builder
	args := l.Args
	for s := l.Format; s != ""; {
		i := strings.IndexByte(s, '%')
		if i < 0 {
			out.WriteString(s)
			break
		}
		out.WriteString(s[:i])
		verb := s[i:]
		c, n := parseConversion(verb)
		s = verb[n:]
		switch {
		case c.verb == '%':
			out.WriteByte('%')
		case c.verb == 0:
			out.WriteString("%!(" + strings.TrimPrefix(verb[:n], "%") + ")")
		case len(args) == 0:
			out.WriteString("%!" + string(c.verb) + "(no argument)")
		default:
			out.WriteString(c.render(args[0], str))
			args = args[1:]
		}
	}
	for i, a := range args {
		if i == 0 {
			out.WriteString(" %!(more arguments:")
		}
		fmt.Fprintf(&out, " %#x", a)
		if i == len(args)-1 {
			out.WriteByte(')')
		}
	}
	return strings.TrimRight(out.String(), "\n")
}

// conversion is one "%..." conversion of a format.
type conversion struct {
	left, zero, plus, space, alt bool
	width                        int
	bits                         int
	verb                         byte // 0 if invalid
}

// parseConversion parses the conversion at the start of s, which is a '%', and returns it with its
// length.
func parseConversion(s string) (conversion, int) {
	c := conversion{bits: 32}
	i := 1
flags:
	for ; i < len(s); i++ {
		switch s[i] {
		case '-':
			c.left = true
		case '0':
			c.zero = true
		case '+':
			c.plus = true
		case ' ':
			c.space = true
		case '#':
			c.alt = true
		default:
			break flags
		}
	}
	for ; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
		c.width = min(10*c.width+int(s[i]-'0'), maxWidth)
	}
length:
	for ; i < len(s); i++ {
		switch s[i] {
		case 'h':
			c.bits /= 2
		case 'l', 'z', 'j', 't':
			c.bits = 64
		default:
			break length
		}
	}
	if i == len(s) {
		return conversion{}, i
	}
	switch s[i] {
	case 'd', 'i', 'u', 'x', 'X', 'o', 'c', 's', 'p', '%':
		c.verb = s[i]
	}
	if c.bits < 8 {
		c.verb = 0
	}
	return c, i + 1
}

func (c conversion) render(arg uint64, str func(uint64) (string, bool)) string {
	v := arg & (1<<c.bits - 1)
	if c.bits == 64 {
		v = arg
	}
	sign, text := "", ""
	switch c.verb {
	case 'd', 'i':
		n := int64(v<<(64-c.bits)) >> (64 - c.bits)
		switch {
		case n < 0:
			sign = "-"
		case c.plus:
			sign = "+"
		case c.space:
			sign = " "
		}
		text = strings.TrimPrefix(strconv.FormatInt(n, 10), "-")
	case 'u':
		text = strconv.FormatUint(v, 10)
	case 'x', 'X', 'o':
		base := 16
		if c.verb == 'o' {
			base = 8
		}
		text = strconv.FormatUint(v, base)
		if c.verb == 'X' {
			text = strings.ToUpper(text)
		}
		if c.alt && v != 0 {
			sign = map[byte]string{'x': "0x", 'X': "0X", 'o': "0"}[c.verb]
		}
	case 'p':
		sign, text = "0x", strconv.FormatUint(arg, 16)
	case 'c':
		return c.pad("", string(rune(byte(arg))))
	case 's':
		t, ok := str(arg)
		if !ok {
			t = fmt.Sprintf("%#x", arg)
		}
		return c.pad("", t)
	}
	return c.pad(sign, text)
}

func (c conversion) pad(sign, text string) string {
	n := c.width - len(sign) - len(text)
	number := c.verb != 'c' && c.verb != 's'
	switch {
	case n <= 0:
		return sign + text
	case c.left:
		return sign + text + strings.Repeat(" ", n)
	case c.zero && number:
		return sign + strings.Repeat("0", n) + text
	}
	return strings.Repeat(" ", n) + sign + text
}
