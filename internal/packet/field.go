package packet

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/internal/endian"
)

// Format is the notation of a field's value.
type Format uint8

// The formats of fields.
const (
	Decimal   Format = iota
	Hex              // a number in hexadecimal
	Checksum         // like Hex; a change is reported as correct or not, without the value
	EtherType        // like Hex, or a name if it has one: ip, arp
	Protocol         // an IP protocol, by name if it has one: tcp, udp
	TCPFlags         // letters: S, SA, FPU
	MAC              // 02:00:00:00:00:01
	IPv4             // 192.0.2.1
	IPv6             // 2001:db8::1
	Bytes            // hex digits, or a string in quotes
)

// Field is a field at its position in a packet. Bits count from the most significant bit of byte
// Off.
type Field struct {
	Layer string // "ip"
	Name  string // "ttl"
	Off   int    // first byte with bits of the field
	Bit   int    // bits before the field in that byte
	Bits  int    // width in bits; a multiple of 8 if more than 32
	Format
}

// Path returns "ip.ttl".
func (f Field) Path() string { return f.Layer + "." + f.Name }

// Size returns the number of bytes that contain bits of the field.
func (f Field) Size() int { return (f.Bit + f.Bits + 7) / 8 }

// Whole reports whether the field consists of whole bytes, so that Off and Size describe its
// position.
func (f Field) Whole() bool { return f.Bit == 0 && f.Bits%8 == 0 }

// in returns the bytes that contain the field, or nil if the packet ends before its end.
func (f Field) in(p []byte) []byte {
	if f.Off < 0 || f.Off > len(p) || f.Size() > len(p)-f.Off {
		return nil
	}
	return p[f.Off : f.Off+f.Size()]
}

// Get returns the value of a field of at most 64 bits in network byte order. It returns 0 for wider
// fields and for a packet that is too short.
func (f Field) Get(p []byte) uint64 {
	b := f.in(p)
	if f.Bits > 64 || len(b) > 8 {
		return 0
	}
	v := endian.Uint(binary.BigEndian, b)
	v >>= uint(len(b)*8 - f.Bit - f.Bits)
	if f.Bits < 64 {
		v &= 1<<f.Bits - 1
	}
	return v
}

// Put sets a field of at most 64 bits. Excess bits of v are dropped; a packet that is too short
// stays unchanged. Checksums and lengths are not updated.
func (f Field) Put(p []byte, v uint64) {
	b := f.in(p)
	if f.Bits > 64 || len(b) > 8 {
		return
	}
	shift := uint(len(b)*8 - f.Bit - f.Bits)
	mask := ^uint64(0)
	if f.Bits < 64 {
		mask = 1<<f.Bits - 1
	}
	for i := range b {
		at := uint(8 * (len(b) - 1 - i))
		b[i] = b[i]&^byte(mask<<shift>>at) | byte(v&mask<<shift>>at)
	}
}

// Raw returns a copy of the field's value as bytes: those of the field if it is whole, else the
// big-endian number in as few bytes as its width needs. It returns nil if the packet is too short.
func (f Field) Raw(p []byte) []byte {
	b := f.in(p)
	if b == nil {
		return nil
	}
	if f.Whole() {
		return bytes.Clone(b)
	}
	return number(f.Get(p), f.Bits)
}

// PutRaw sets the value to bytes in the form that Raw and [Field.Parse] return.
func (f Field) PutRaw(p, v []byte) {
	if f.Whole() {
		copy(f.in(p), v)
		return
	}
	f.Put(p, endian.Uint(binary.BigEndian, v))
}

// number returns v as big-endian bytes, as many as the bits need.
func number(v uint64, bits int) []byte {
	b := make([]byte, (bits+7)/8)
	endian.PutUint(binary.BigEndian, b, v)
	return b
}

// Text returns the field's value in the syntax of expressions.
func (f Field) Text(p []byte) string { return f.text(f.Raw(p)) }

func (f Field) text(raw []byte) string {
	if raw == nil {
		return "cut off"
	}
	v := endian.Uint(binary.BigEndian, raw)
	switch f.Format {
	case Decimal:
		return strconv.FormatUint(v, 10)
	case Hex, Checksum:
		return fmt.Sprintf("0x%0*x", (f.Bits+3)/4, v)
	case EtherType:
		if name := etherTypes.name(v); name != "" {
			return name
		}
		return fmt.Sprintf("0x%04x", v)
	case Protocol:
		if name := protocols.name(v); name != "" {
			return name
		}
		return strconv.FormatUint(v, 10)
	case TCPFlags:
		return flagLetters(byte(v))
	case MAC:
		parts := make([]string, len(raw))
		for i, c := range raw {
			parts[i] = fmt.Sprintf("%02x", c)
		}
		return strings.Join(parts, ":")
	case IPv4, IPv6:
		if a, ok := netip.AddrFromSlice(raw); ok {
			return a.String()
		}
	}
	return bytesText(raw)
}

// bytesText returns a quoted string if all bytes are printable, else hex digits.
func bytesText(b []byte) string {
	if len(b) == 0 {
		return "''"
	}
	for _, c := range b {
		if (c < ' ' || c > '~') && c != '\n' && c != '\r' && c != '\t' {
			return "0x" + hex.EncodeToString(b)
		}
	}
	return "'" + strings.NewReplacer("\\", "\\\\", "'", "\\'", "\n", "\\n", "\r", "\\r", "\t", "\\t").Replace(string(b)) + "'"
}

// tcpFlags are the letters of the TCP flags, lowest bit first: FIN, SYN, RST, PSH, ACK, URG, ECE,
// CWR.
const tcpFlags = "FSRPAUEC"

// flagLetters writes flags in the usual order, SYN before ACK.
func flagLetters(v byte) string {
	if v == 0 {
		return "0"
	}
	var out strings.Builder
	for i := range len(tcpFlags) {
		if v>>i&1 != 0 {
			out.WriteByte(tcpFlags[i])
		}
	}
	return out.String()
}

// Parse parses a value in the syntax of expressions and returns it in the form of Raw. The error
// describes what was expected.
func (f Field) Parse(text string) ([]byte, error) {
	if f.Format == Bytes {
		b, err := parseBytes(text)
		if err == nil && f.Bits > 0 && len(b) != f.Bits/8 {
			err = fmt.Errorf("%s has %d bytes, not %d", f.Path(), f.Bits/8, len(b))
		}
		return b, err
	}
	switch f.Format {
	case MAC:
		return parseMAC(text)
	case IPv4, IPv6:
		a, err := netip.ParseAddr(text)
		if err == nil && a.Zone() == "" && a.Is4() == (f.Format == IPv4) {
			return a.AsSlice(), nil
		}
		if f.Format == IPv4 {
			return nil, fmt.Errorf("want an IPv4 address such as 10.0.0.1, got %q", brief(text))
		}
		return nil, fmt.Errorf("want an IPv6 address such as 2001:db8::1, got %q", brief(text))
	}
	v, err := f.parseNumber(text)
	if err != nil {
		return nil, err
	}
	if f.Bits < 64 && v>>f.Bits != 0 {
		return nil, fmt.Errorf("%d does not fit into the %d bits of %s", v, f.Bits, f.Path())
	}
	return number(v, f.Bits), nil
}

func (f Field) parseNumber(text string) (uint64, error) {
	v, err := strconv.ParseUint(text, 0, 64)
	if err == nil {
		return v, nil
	}
	want := "a number"
	switch f.Format {
	case EtherType:
		if v, ok := etherTypes.value(text); ok {
			return v, nil
		}
		want = "a number or a name such as ip, ip6, arp"
	case Protocol:
		if v, ok := protocols.value(text); ok {
			return v, nil
		}
		want = "a number or a name such as tcp, udp, icmp"
	case TCPFlags:
		var v uint64
		for _, c := range strings.ToUpper(text) {
			i := strings.IndexRune(tcpFlags, c)
			if i < 0 {
				return 0, fmt.Errorf("want TCP flags by their letters (%s), got %q", tcpFlags, brief(text))
			}
			v |= 1 << i
		}
		if text != "" {
			return v, nil
		}
		want = "TCP flags by their letters (" + tcpFlags + ")"
	}
	return 0, fmt.Errorf("want %s, got %q", want, brief(text))
}

func parseMAC(text string) ([]byte, error) {
	parts := strings.Split(text, ":")
	if len(parts) == 6 {
		out := make([]byte, 0, 6)
		for _, part := range parts {
			v, err := strconv.ParseUint(part, 16, 8)
			if err != nil || len(part) > 2 {
				break
			}
			out = append(out, byte(v))
		}
		if len(out) == 6 {
			return out, nil
		}
	}
	return nil, fmt.Errorf("want a MAC address such as 02:00:00:00:00:01, got %q", brief(text))
}

// parseBytes parses 0xHEX or a quoted string.
func parseBytes(text string) ([]byte, error) {
	if digits, ok := strings.CutPrefix(text, "0x"); ok {
		if b, err := hex.DecodeString(digits); err == nil {
			return b, nil
		}
		return nil, fmt.Errorf("%q is not a string of hex digits, two per byte", brief(text))
	}
	if len(text) >= 2 && (text[0] == '\'' || text[0] == '"') && text[len(text)-1] == text[0] {
		return unquote(text[1 : len(text)-1])
	}
	return nil, fmt.Errorf("want text in quotes or hex digits such as 0x0102, got %q", brief(text))
}

// unquote resolves the escapes in a quoted string.
func unquote(s string) ([]byte, error) {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			out = append(out, s[i])
			continue
		}
		i++
		if i == len(s) {
			return nil, fmt.Errorf("a backslash at the end of a string")
		}
		switch c := s[i]; c {
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case '0':
			out = append(out, 0)
		case '\\', '\'', '"':
			out = append(out, c)
		case 'x':
			v, err := strconv.ParseUint(s[min(i+1, len(s)):min(i+3, len(s))], 16, 8)
			if err != nil || i+2 >= len(s) {
				return nil, fmt.Errorf("\\x wants two hex digits")
			}
			out = append(out, byte(v))
			i += 2
		default:
			return nil, fmt.Errorf("unknown escape: \\%c (there are \\n \\r \\t \\0 \\xHH \\\\ \\' \\\")", c)
		}
	}
	return out, nil
}

// brief shortens a string for messages.
func brief(s string) string {
	if len(s) > 40 {
		return s[:40] + "..."
	}
	return s
}
