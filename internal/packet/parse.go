package packet

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// Limits of expressions.
const (
	maxExpression = 256 << 10
	// MaxSize is the maximum size in bytes of a packet, in expressions and in files.
	MaxSize = 1 << 20
)

// SyntaxError reports an error in a packet expression.
type SyntaxError struct {
	Expr string
	// Col is the column of the error in bytes, from 1.
	Col     int
	Why     string
	Nearest []string
}

// Error returns "column 12: what is wrong (nearest: ...)".
func (e *SyntaxError) Error() string {
	s := fmt.Sprintf("packet expression, column %d: %s", e.Col, e.Why)
	if len(e.Nearest) > 0 {
		s += " (nearest: " + strings.Join(e.Nearest, ", ") + ")"
	}
	return s
}

// Read builds a packet from hex digits or an expression. White space and colons between hex digits
// are ignored. [:N] after hex digits truncates the packet, as after an expression.
func Read(text string) ([]byte, error) {
	digits, cut, isCut := cutSuffix(text)
	if b, ok := readHex(digits); ok {
		if !isCut {
			return b, nil
		}
		b, err := cut.apply(b)
		if err != nil {
			return nil, &SyntaxError{Expr: text, Col: len(digits) + 1, Why: err.Error()}
		}
		return b, nil
	}
	return Parse(text)
}

func readHex(text string) ([]byte, bool) {
	if len(text) > 4*MaxSize {
		return nil, false
	}
	digits := strings.NewReplacer(" ", "", "\n", "", "\t", "", "\r", "", ":", "").Replace(strings.TrimPrefix(strings.TrimSpace(text), "0x"))
	b, err := hex.DecodeString(digits)
	return b, err == nil && len(b) > 0 && len(b) <= MaxSize
}

// Parse builds a packet from an expression: layers and payload separated by slashes, such as
//
//	eth/ip(src=10.0.0.1,ttl=63)/tcp(dport=80,flags=S)/'GET /'
//
// Omitted fields have useful defaults; lengths, checksums and protocol fields are computed unless
// they are given. csum=bad sets a wrong checksum. Payload is a quoted string or 0xHEX, optionally
// followed by *N, or zero(N); pad(N) at the end fills the packet up to N bytes. A final [:N] keeps
// the first N bytes, [:-N] drops the last N; lengths and checksums remain those of the whole
// packet. If the first layer is not Ethernet, an Ethernet header is added. The error is a
// [*SyntaxError].
func Parse(expr string) ([]byte, error) {
	s := &scanner{expr: expr}
	if len(expr) > maxExpression {
		return nil, s.errorAt(0, "%d bytes, at most %d", len(expr), maxExpression)
	}
	var b builder
	for {
		s.space()
		if err := s.part(&b); err != nil {
			return nil, err
		}
		s.space()
		if s.at == len(expr) {
			return b.build(s)
		}
		if expr[s.at] == '[' {
			return s.truncated(&b)
		}
		if expr[s.at] != '/' {
			return nil, s.errorAt(s.at, "want / and the next layer, [:N] to cut the packet, or the end, got %q", brief(expr[s.at:]))
		}
		s.at++
	}
}

// truncated parses the [:N] at the end of an expression and truncates the packet.
func (s *scanner) truncated(b *builder) ([]byte, error) {
	at := s.at
	before, cut, ok := cutSuffix(s.expr)
	if !ok || len(before) != at {
		return nil, s.errorAt(at, "want [:N], the first N bytes, or [:-N], all but the last N, at the end, got %q", brief(s.expr[at:]))
	}
	p, err := b.build(s)
	if err != nil {
		return nil, err
	}
	if p, err = cut.apply(p); err != nil {
		return nil, s.errorAt(at, "%v", err)
	}
	return p, nil
}

// scanner scans an expression.
type scanner struct {
	expr string
	at   int
}

func (s *scanner) errorAt(at int, format string, args ...any) *SyntaxError {
	return &SyntaxError{Expr: s.expr, Col: at + 1, Why: fmt.Sprintf(format, args...)}
}

func (s *scanner) space() {
	for s.at < len(s.expr) && strings.IndexByte(" \t\r\n", s.expr[s.at]) >= 0 {
		s.at++
	}
}

// word scans a name, which may be empty.
func (s *scanner) word() string {
	from := s.at
	for s.at < len(s.expr) {
		c := s.expr[s.at]
		if c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			break
		}
		s.at++
	}
	return s.expr[from:s.at]
}

// quoted scans a quoted string at the current position.
func (s *scanner) quoted() (string, error) {
	from, quote := s.at, s.expr[s.at]
	for s.at++; s.at < len(s.expr); s.at++ {
		switch s.expr[s.at] {
		case '\\':
			s.at++
		case quote:
			s.at++
			return s.expr[from:s.at], nil
		}
	}
	s.at = len(s.expr)
	return "", s.errorAt(from, "the string has no closing %c", quote)
}

// part parses a layer or a piece of payload.
func (s *scanner) part(b *builder) error {
	from := s.at
	if s.at == len(s.expr) {
		if from == 0 {
			return s.errorAt(from, "empty: want layers such as eth/ip/tcp, or hex digits")
		}
		return s.errorAt(from, "want a layer after the slash")
	}
	if c := s.expr[s.at]; c == '\'' || c == '"' || strings.HasPrefix(s.expr[s.at:], "0x") {
		return s.payload(b)
	}
	name := s.word()
	switch name {
	case "":
		return s.errorAt(from, "want a layer such as ip, or a quoted string, got %q", brief(s.expr[from:]))
	case "zero", "pad":
		n, err := s.count(name)
		if err != nil {
			return err
		}
		if name == "pad" {
			b.pad, b.padAt = n, from
			return nil
		}
		return b.addPayload(s, from, make([]byte, n))
	}
	p := protocolNamed(name)
	if p == nil {
		all := append(LayerNames(), "zero", "pad")
		e := s.errorAt(from, "%s", noLayer(name, all))
		e.Nearest = near(name, all)
		return e
	}
	if err := b.addHeader(s, from, p); err != nil {
		return err
	}
	s.space()
	if s.at < len(s.expr) && s.expr[s.at] == '(' {
		return s.arguments(b.parts[len(b.parts)-1])
	}
	return nil
}

// payload parses a quoted string or hex digits, and a repeat count.
func (s *scanner) payload(b *builder) error {
	from := s.at
	var text string
	var err error
	if s.expr[s.at] == '0' {
		text = s.word()
	} else if text, err = s.quoted(); err != nil {
		return err
	}
	data, err := parseBytes(text)
	if err != nil {
		return s.errorAt(from, "%v", err)
	}
	s.space()
	if s.at < len(s.expr) && s.expr[s.at] == '*' {
		s.at++
		s.space()
		at := s.at
		n, err := strconv.ParseUint(s.word(), 0, 32)
		if err != nil || n*uint64(len(data)) > MaxSize {
			return s.errorAt(at, "want a repeat count, for at most %d bytes in all", MaxSize)
		}
		repeated := make([]byte, 0, int(n)*len(data))
		for range n {
			repeated = append(repeated, data...)
			if len(data) == 0 {
				break
			}
		}
		data = repeated
	}
	return b.addPayload(s, from, data)
}

// count parses "(N)".
func (s *scanner) count(name string) (int, error) {
	at := s.at
	s.space()
	if s.at < len(s.expr) && s.expr[s.at] == '(' {
		s.at++
		s.space()
		n, err := strconv.ParseUint(s.word(), 0, 32)
		s.space()
		if err == nil && n <= MaxSize && s.at < len(s.expr) && s.expr[s.at] == ')' {
			s.at++
			return int(n), nil
		}
	}
	return 0, s.errorAt(at, "%s wants a number of bytes, at most %d: %s(60)", name, MaxSize, name)
}

// arguments parses "(field=value,...)".
func (s *scanner) arguments(part *part) error {
	open := s.at
	s.at++
	for {
		s.space()
		from := s.at
		if s.at < len(s.expr) && s.expr[s.at] == ')' {
			s.at++
			return nil
		}
		if s.at == len(s.expr) {
			return s.errorAt(open, "this parenthesis is not closed")
		}
		name := s.word()
		s.space()
		if name == "" || s.at == len(s.expr) || s.expr[s.at] != '=' {
			return s.errorAt(from, "want FIELD=VALUE, got %q", brief(s.expr[from:]))
		}
		s.at++
		s.space()
		at := s.at
		value, err := s.value()
		if err != nil {
			return err
		}
		if err := part.set(s, name, from, value, at); err != nil {
			return err
		}
		s.space()
		switch {
		case s.at == len(s.expr):
			return s.errorAt(open, "this parenthesis is not closed")
		case s.expr[s.at] == ',':
			s.at++
		case s.expr[s.at] != ')':
			return s.errorAt(s.at, "want , or ), got %q", brief(s.expr[s.at:]))
		}
	}
}

// value scans the text of a value: up to a comma or parenthesis outside quotes.
func (s *scanner) value() (string, error) {
	from := s.at
	if s.at < len(s.expr) && (s.expr[s.at] == '\'' || s.expr[s.at] == '"') {
		return s.quoted()
	}
	for s.at < len(s.expr) && strings.IndexByte(",()/", s.expr[s.at]) < 0 {
		s.at++
	}
	text := strings.TrimSpace(s.expr[from:s.at])
	if text == "" {
		return "", s.errorAt(from, "want a value")
	}
	return text, nil
}
