// Package printf renders the format strings of bpf_trace_printk, bpf_snprintf and related helpers:
// those that bpf_bprintf_prepare accepts (kernel/bpf/helpers.c), with its conversions from
// lib/vsprintf.c.
//
// It does not know where strings and addresses come from (see [Source]), or what happens to the
// text.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package printf

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// MaxArgs is the maximum number of arguments of a format (MAX_BPRINTF_VARARGS,
// include/linux/bpf.h).
const MaxArgs = 12

// MaxString is the space the kernel has for one string argument
// (MAX_BPRINTF_BIN_ARGS, the whole per-CPU buffer), in bytes.
const MaxString = 512

// Source provides the memory behind a format's pointer arguments.
type Source interface {
	KernelString(addr uint64, max int) (string, bool)
	UserString(addr uint64, max int) (string, bool)
	KernelBytes(addr uint64, p []byte) bool
	// Symbol names an address, with the offset from the symbol's start if offset is set.
	Symbol(addr uint64, offset bool) string
	HashPointer(addr uint64) uint64
	PointerSize() int
	// TakesUTF8 reports whether formats may contain bytes from 0x80 on as plain text.
	TakesUTF8() bool
}

// directive is one conversion of a format string.
type directive struct {
	left, zero, plus, space bool
	width                   int
	size                    int    // bytes of an integer argument
	verb                    string // d, u, x, X, c, s, p, px, pK, ps, pS, pB, pks, pus, pi4, pI4, pi6, pI6
}

// format is a parsed format string: alternating text and conversions.
type format struct {
	parts []part
	args  int  // conversions
	bad   bool // the kernel refuses it
}

// part is plain text and the conversion after it; if verb is empty there is none.
type part struct {
	text string
	conv directive
}

// maxFormats limits the cached parsed formats. Formats are constants, so few programs have more.
const maxFormats = 64

// Printer renders formats. Its only state is a cache of parsed formats, so that a program that
// traces in a loop parses its format once.
type Printer struct {
	Source Source
	parsed map[string]*format
}

// Print renders a format with args by the rules of bpf_bprintf_prepare (kernel/bpf/helpers.c): only
// printable characters (from 6.18 on also bytes from 0x80 on), flags "0+- ", a width, and the
// conversions d i u x X c s p. It returns EINVAL for a format that the kernel refuses, and for more
// conversions than arguments; unused arguments are accepted.
func (p *Printer) Print(text string, args []uint64) (string, uapi.Errno) {
	return p.parse(text).render(p.Source, args)
}

// Valid reports whether the kernel takes a format with n arguments; utf8 as of [Source.TakesUTF8].
func Valid(text string, n int, utf8 bool) bool {
	f := parseFormat(text, utf8)
	return !f.bad && f.args <= n
}

func (p *Printer) parse(text string) *format {
	if known := p.parsed[text]; known != nil {
		return known
	}
	if p.parsed == nil || len(p.parsed) >= maxFormats {
		p.parsed = map[string]*format{}
	}
	parsed := parseFormat(text, p.Source.TakesUTF8())
	p.parsed[text] = parsed
	return parsed
}

func parseFormat(text string, utf8 bool) *format {
	var f format
	var plain strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case !isPrint(c) && !IsSpace(c) && (c < 0x80 || !utf8):
			return &format{bad: true}
		case c != '%':
			plain.WriteByte(c)
		case i+1 < len(text) && text[i+1] == '%':
			plain.WriteByte('%')
			i++
		default:
			d, n := parseDirective(text[i+1:])
			if n == 0 {
				return &format{bad: true}
			}
			f.parts = append(f.parts, part{plain.String(), d})
			plain.Reset()
			f.args++
			i += n
		}
	}
	if plain.Len() > 0 {
		f.parts = append(f.parts, part{text: plain.String()})
	}
	return &f
}

func (f *format) render(src Source, args []uint64) (string, uapi.Errno) {
	if f.bad || f.args > len(args) {
		return "", uapi.EINVAL
	}
	var out strings.Builder
	for i, p := range f.parts {
		out.WriteString(p.text)
		if p.conv.verb != "" {
			out.WriteString(p.conv.render(src, args[i]))
		}
	}
	return out.String(), 0
}

// parseDirective parses the text after a percent sign and returns the number of bytes used, 0 if
// the kernel would refuse it.
func parseDirective(s string) (directive, int) {
	var d directive
	at := func(i int) byte {
		if i < len(s) {
			return s[i]
		}
		return 0
	}
	i := 0
	for ; ; i++ {
		switch at(i) {
		case '0':
			d.zero = true
			continue
		case '+':
			d.plus = true
			continue
		case '-':
			d.left = true
			continue
		case ' ':
			d.space = true
			continue
		}
		break
	}
	if c := at(i); c >= '1' && c <= '9' {
		for ; at(i) >= '0' && at(i) <= '9'; i++ {
			// The kernel stores the width in 24 bits; anything near that is truncated to the
			// buffer.
			if d.width < 1<<16 {
				d.width = d.width*10 + int(at(i)-'0')
			}
		}
	}
	ends := func(c byte) bool { return c == 0 || IsSpace(c) || isPunct(c) }
	switch at(i) {
	case 'p':
		next := at(i + 1)
		switch {
		case (next == 'k' || next == 'u') && at(i+2) == 's':
			if !ends(at(i + 3)) {
				return d, 0
			}
			d.verb = s[i : i+3]
			return d, i + 3
		case next == 'K' || next == 'x' || next == 's' || next == 'S' || next == 'B':
			d.verb = s[i : i+2]
			return d, i + 2
		case ends(next):
			d.verb = "p"
			return d, i + 1
		case (next == 'i' || next == 'I') && (at(i+2) == '4' || at(i+2) == '6'):
			d.verb = s[i : i+3]
			return d, i + 3
		}
		return d, 0
	case 's':
		if !ends(at(i + 1)) {
			return d, 0
		}
		d.verb = "s"
		return d, i + 1
	case 'c':
		d.verb = "c"
		return d, i + 1
	}
	d.size = 4
	for n := 0; n < 2 && at(i) == 'l'; n++ {
		d.size = 8
		i++
	}
	switch at(i) {
	case 'd', 'i':
		d.verb = "d"
	case 'u', 'x', 'X':
		d.verb = string(at(i))
	default:
		return d, 0
	}
	return d, i + 1
}

func (d directive) render(src Source, arg uint64) string {
	switch d.verb {
	case "s":
		// The kernel itself distinguishes user from kernel addresses and prints nothing for a bad
		// one.
		s, ok := src.KernelString(arg, MaxString)
		if !ok {
			s, _ = src.UserString(arg, MaxString)
		}
		return d.pad(s)
	case "pks":
		s, _ := src.KernelString(arg, MaxString)
		return d.pad(s)
	case "pus":
		s, _ := src.UserString(arg, MaxString)
		return d.pad(s)
	case "c":
		return d.pad(string([]byte{byte(arg)}))
	case "p", "pK":
		return d.pad(fmt.Sprintf("%0*x", 2*src.PointerSize(), src.HashPointer(arg)))
	case "px":
		return d.pad(fmt.Sprintf("%0*x", 2*src.PointerSize(), arg))
	case "ps":
		return d.pad(src.Symbol(arg, false))
	case "pS", "pB":
		return d.pad(src.Symbol(arg, true))
	case "pi4", "pI4", "pi6", "pI6":
		return d.pad(formatAddress(src, d.verb, arg))
	}
	return d.integer(arg)
}

// formatAddress renders the IP address at addr. %pi4 and %pi6 are the raw forms with
// leading zeros (printk-formats: "%pi4" 001.002.003.004, "%pi6" without colons).
func formatAddress(src Source, verb string, addr uint64) string {
	b := make([]byte, 4)
	if verb[2] == '6' {
		b = make([]byte, 16)
	}
	if !src.KernelBytes(addr, b) {
		clear(b)
	}
	switch verb {
	case "pI4":
		return fmt.Sprintf("%d.%d.%d.%d", b[0], b[1], b[2], b[3])
	case "pi4":
		return fmt.Sprintf("%03d.%03d.%03d.%03d", b[0], b[1], b[2], b[3])
	case "pi6":
		return fmt.Sprintf("%x", b)
	}
	return netip.AddrFrom16([16]byte(b)).StringExpanded()
}

func (d directive) integer(arg uint64) string {
	neg := false
	if d.size == 4 {
		arg = uint64(uint32(arg))
		if d.verb == "d" && int32(arg) < 0 {
			neg, arg = true, uint64(-int64(int32(arg)))
		}
	} else if d.verb == "d" && int64(arg) < 0 {
		neg, arg = true, -arg
	}
	digits := ""
	switch d.verb {
	case "x":
		digits = strconv.FormatUint(arg, 16)
	case "X":
		digits = strings.ToUpper(strconv.FormatUint(arg, 16))
	default:
		digits = strconv.FormatUint(arg, 10)
	}
	sign := ""
	if d.verb == "d" {
		switch {
		case neg:
			sign = "-"
		case d.plus:
			sign = "+"
		case d.space:
			sign = " "
		}
	}
	if d.zero && !d.left {
		if n := d.width - len(sign) - len(digits); n > 0 {
			digits = strings.Repeat("0", n) + digits
		}
	}
	return d.pad(sign + digits)
}

func (d directive) pad(s string) string {
	n := d.width - len(s)
	if n <= 0 {
		return s
	}
	if d.left {
		return s + strings.Repeat(" ", n)
	}
	return strings.Repeat(" ", n) + s
}

// IsSpace reports whether c is white space (isspace of the C locale).
func IsSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

func isPrint(c byte) bool { return c >= 0x20 && c < 0x7f }

func isPunct(c byte) bool {
	return isPrint(c) && c != ' ' && !(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z')
}

// Args decodes the u64 argument array of bpf_snprintf, bpf_trace_vprintk and
// bpf_seq_printf, whose size must be a multiple of eight and hold at most 12 values.
func Args(order binary.ByteOrder, data []byte) ([]uint64, uapi.Errno) {
	if len(data)%8 != 0 || len(data) > 8*MaxArgs {
		return nil, uapi.EINVAL
	}
	args := make([]uint64, len(data)/8)
	for i := range args {
		args[i] = order.Uint64(data[8*i:])
	}
	return args, 0
}
