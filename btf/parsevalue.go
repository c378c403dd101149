package btf

import (
	"fmt"
	"strconv"
	"strings"
)

// ParseValue parses a value written as text, as [Spec.Format] prints it or as people type it,
// without knowing its type:
//
//	42  -1  0x2a  'c'  TASK_RUNNING  null     a word, returned as string
//	"text"                                    a string
//	[1, 2, 0 <x 16>]                          a List
//	{pid = 1, comm: "bash", cred.uid: 0}      an Object
//
// The type that a word is written to decides its meaning. The error is a *[ValueError].
func ParseValue(text string) (any, error) {
	p := valueParser{text: text}
	v, err := p.value(0)
	if err != nil {
		return nil, err
	}
	if p.space(); p.pos < len(p.text) {
		return nil, p.fail("%q follows the value", p.text[p.pos:])
	}
	return v, nil
}

// maxRepeat limits the elements that "<x N>" expands to.
const maxRepeat = 1 << 20

type valueParser struct {
	text string
	pos  int
	made int
}

func (p *valueParser) fail(format string, args ...any) error {
	return &ValueError{Type: "text", Value: p.text, Err: ErrValue,
		Detail: fmt.Sprintf("at column %d: %s", p.pos+1, fmt.Sprintf(format, args...))}
}

func (p *valueParser) space() {
	for p.pos < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.pos]) >= 0 {
		p.pos++
	}
}

// next skips white space and returns the next byte, or 0 at the end.
func (p *valueParser) next() byte {
	if p.space(); p.pos < len(p.text) {
		return p.text[p.pos]
	}
	return 0
}

func (p *valueParser) accept(c byte) bool {
	if p.next() == c {
		p.pos++
		return true
	}
	return false
}

func (p *valueParser) value(depth int) (any, error) {
	if depth > maxDepth {
		return nil, p.fail("nested more than %d deep", maxDepth)
	}
	switch p.next() {
	case 0:
		return nil, p.fail("missing value")
	case '{':
		p.pos++
		return p.object(depth)
	case '[':
		p.pos++
		return p.list(depth)
	case '"':
		return p.quoted()
	}
	w, err := p.word("")
	if err != nil {
		return nil, err
	}
	if w == "<missing>" {
		return Missing{}, nil
	}
	return w, nil
}

func (p *valueParser) quoted() (any, error) {
	q, err := strconv.QuotedPrefix(p.text[p.pos:])
	if err != nil {
		return nil, p.fail("unterminated string")
	}
	p.pos += len(q)
	s, err := strconv.Unquote(q)
	if err != nil {
		return nil, p.fail("string %s: unknown escape sequence", q)
	}
	return s, nil
}

// word reads up to a delimiter; more lists extra delimiters.
func (p *valueParser) word(more string) (string, error) {
	p.space()
	start := p.pos
	if p.pos < len(p.text) && p.text[p.pos] == '\'' {
		if end := strings.IndexByte(p.text[min(p.pos+2, len(p.text)):], '\''); end >= 0 {
			p.pos += 2 + end + 1
			return p.text[start:p.pos], nil
		}
	}
	for p.pos < len(p.text) && !strings.ContainsRune(",{}]\" \t\r\n"+more, rune(p.text[p.pos])) {
		if p.text[p.pos] == '[' { // an array index in a path
			if end := strings.IndexByte(p.text[p.pos:], ']'); end > 0 {
				p.pos += end
			}
		}
		p.pos++
	}
	if p.pos == start {
		return "", p.fail("unexpected %q", p.text[p.pos:min(p.pos+1, len(p.text))])
	}
	return p.text[start:p.pos], nil
}

func (p *valueParser) list(depth int) (any, error) {
	list := List{}
	for !p.accept(']') {
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		n := 1
		if strings.HasPrefix(p.text[p.pos:], " <x ") {
			end := strings.IndexByte(p.text[p.pos:], '>')
			if end < 0 {
				return nil, p.fail("<x without >")
			}
			if n, err = strconv.Atoi(p.text[p.pos+4 : p.pos+end]); err != nil || n < 1 {
				return nil, p.fail("%q is not a count", p.text[p.pos+4:p.pos+end])
			}
			p.pos += end + 1
		}
		if p.made += n; p.made > maxRepeat || n > maxRepeat {
			return nil, p.fail("more than %d elements", maxRepeat)
		}
		for range n {
			list = append(list, v)
		}
		if !p.accept(',') && p.next() != ']' {
			return nil, p.fail("want , or ]")
		}
	}
	return list, nil
}

func (p *valueParser) object(depth int) (any, error) {
	o := Object{}
	for !p.accept('}') {
		var name string
		if p.next() == '"' {
			q, err := p.quoted()
			if err != nil {
				return nil, err
			}
			name = q.(string)
		} else {
			w, err := p.word("=:")
			if err != nil {
				return nil, err
			}
			name = strings.TrimPrefix(w, ".")
		}
		if !p.accept('=') && !p.accept(':') {
			return nil, p.fail("want = after %s", name)
		}
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		o = append(o, Entry{name, v})
		if !p.accept(',') && p.next() != '}' {
			return nil, p.fail("want , or }")
		}
	}
	return o, nil
}
