package grammar

import (
	"strings"
)

// plainDepth limits nesting in what parsePlain reads, well below maxDepth.
const plainDepth = 32

// parsePlain reads the YAML that most files consist of, at a small part of the cost of the YAML
// parser: mappings and lists, in block and flow style, of scalars on one line, with tags before
// values. It returns nil for everything else, also for whatever it is not sure of: other bytes than
// printable ASCII and line feeds, anchors, block scalars, scalars of several lines, escapes, merge
// keys, tags at the end of a line, unusual indentation, keys twice, and all mistakes. FuzzPlain
// compares its nodes with those of the YAML parser.
func parsePlain(file string, data []byte) *Node {
	for _, b := range data {
		if b != '\n' && (b < ' ' || b > '~') {
			return nil
		}
	}
	p := plain{file: file, text: string(data), line: 1}
	if indent, ok := p.nextLine(); !ok || indent != 0 {
		return nil
	}
	root := p.block(0, 0)
	if root == nil || p.pos < len(p.text) || root.weight > maxNodes {
		return nil
	}
	return root
}

// plain is the state of parsePlain. Its methods return nil or false where they give up.
type plain struct {
	file  string
	text  string
	pos   int
	line  int // from 1
	start int // where the line starts in text
	tags  int // number of tags on the line

	nodes []Node // to hand out
	items []*Node
	pairs []Pair // of the lists and mappings that are open
}

// at is the position of a byte of the line. The YAML parser counts one column too few after each
// tag; positions are the same for each way of reading a file.
func (p *plain) at(pos int) Pos { return Pos{p.file, p.line, pos - p.start - p.tags + 1} }

func (p *plain) node(pos int, kind NodeKind, text string) *Node {
	if len(p.nodes) == 0 {
		p.nodes = make([]Node, 128)
	}
	n := &p.nodes[0]
	p.nodes = p.nodes[1:]
	n.Pos, n.Kind, n.Text, n.weight = p.at(pos), kind, text, 1
	return n
}

func (p *plain) peek() byte {
	if p.pos < len(p.text) {
		return p.text[p.pos]
	}
	return '\n'
}

func (p *plain) spaces() {
	for p.pos < len(p.text) && p.text[p.pos] == ' ' {
		p.pos++
	}
}

// nextLine goes to the first byte of the next line that has more than a comment, which may be this
// line, and returns its indentation. It is called at the start of a line; ok is false at the end of
// the text.
func (p *plain) nextLine() (indent int, ok bool) {
	for {
		p.spaces()
		if p.pos == len(p.text) {
			return 0, false
		}
		if c := p.text[p.pos]; c != '\n' && c != '#' {
			return p.pos - p.start, true
		}
		p.endLine()
	}
}

// endLine goes to the start of the next line.
func (p *plain) endLine() {
	if i := strings.IndexByte(p.text[p.pos:], '\n'); i >= 0 {
		p.pos += i + 1
	} else {
		p.pos = len(p.text)
	}
	p.line++
	p.start, p.tags = p.pos, 0
}

// rest goes to the start of the next line if this one has nothing more than spaces and a comment.
func (p *plain) rest() bool {
	from := p.pos
	p.spaces()
	if c := p.peek(); c != '\n' && (c != '#' || p.pos == from) {
		return false
	}
	p.endLine()
	return true
}

// dash reports whether a list's item starts here.
func (p *plain) dash() bool {
	return p.peek() == '-' && (p.pos+1 == len(p.text) || p.text[p.pos+1] == ' ' || p.text[p.pos+1] == '\n')
}

// block reads a list or mapping in block style whose first line starts here, at an indentation. It
// ends at the first byte of a line that is indented less, or at the end of the text.
func (p *plain) block(indent, depth int) *Node {
	if depth > plainDepth {
		return nil
	}
	if p.dash() {
		return p.list(indent, depth, false)
	}
	return p.mapping(indent, depth)
}

// list reads a list. One that is the value of a key at the same indentation ends at the next key.
func (p *plain) list(indent, depth int, ofKey bool) *Node {
	n := p.node(p.pos, Sequence, "")
	open := len(p.items)
	for {
		p.pos++ // the dash
		var item *Node
		if p.peek() == '\n' {
			item = p.below(indent, depth, false)
		} else {
			p.spaces()
			if p.dash() || p.key(p.pos) {
				item = p.block(p.pos-p.start, depth+1)
			} else {
				item = p.value(indent, depth)
			}
		}
		if item == nil {
			return nil
		}
		p.items = append(p.items, item)
		n.weight += item.weight
		if p.pos == len(p.text) || p.pos-p.start < indent {
			break
		}
		if p.pos-p.start > indent {
			return nil
		}
		if !p.dash() {
			if ofKey {
				break
			}
			return nil
		}
	}
	n.Items = append([]*Node(nil), p.items[open:]...)
	p.items = p.items[:open]
	return n
}

// below reads what the lines below a key or dash that ends its line have in it: a block that is
// indented more, or null.
func (p *plain) below(indent, depth int, ofKey bool) *Node {
	if p.pos == len(p.text) {
		return nil
	}
	null := p.node(p.pos, Null, "")
	p.endLine()
	in, ok := p.nextLine()
	switch {
	case !ok: // the YAML parser has the null elsewhere
		return nil
	case in > indent:
		n := p.block(in, depth+1)
		if n == nil || p.pos < len(p.text) && p.pos-p.start > indent {
			return nil
		}
		return n
	case ofKey && in == indent && p.dash():
		return p.list(in, depth+1, true)
	case !ofKey && (in != indent || !p.dash()): // the YAML parser takes a key at the indentation of the dash for its item
		return nil
	}
	return null
}

// key reports whether a key in block style starts at a position.
func (p *plain) key(from int) bool {
	save := p.pos
	defer func() { p.pos = save }()
	p.pos = from
	switch p.peek() {
	case '[', '{', '!':
		return false
	}
	return p.scalar(false) != nil && p.peek() == ':'
}

// mapping reads a mapping.
func (p *plain) mapping(indent, depth int) *Node {
	n := p.node(p.pos, Mapping, "")
	open := len(p.pairs)
	var seen map[string]bool // of mappings with many keys
	for {
		if c := p.peek(); c == '[' || c == '{' || c == '!' || p.dash() {
			return nil
		}
		k := p.scalar(false)
		if k == nil || p.peek() != ':' || k.Kind != Scalar || k.Text == "<<" || !unique(p.pairs[open:], k.Text, &seen) {
			return nil
		}
		p.pos++
		var v *Node
		if p.peek() == '\n' {
			v = p.below(indent, depth, true)
		} else if p.peek() == ' ' {
			p.spaces()
			v = p.value(indent, depth)
		}
		if v == nil {
			return nil
		}
		p.pairs = append(p.pairs, Pair{k, v})
		n.weight += 1 + v.weight
		if p.pos == len(p.text) || p.pos-p.start < indent {
			break
		}
		if p.pos-p.start > indent {
			return nil
		}
	}
	n.Pairs = append([]Pair(nil), p.pairs[open:]...)
	p.pairs = p.pairs[:open]
	return n
}

// unique reports whether a key is new. Mappings with many keys have a set of them.
func unique(pairs []Pair, key string, seen *map[string]bool) bool {
	const many = 16
	if len(pairs) < many {
		for _, p := range pairs {
			if p.Key.Text == key {
				return false
			}
		}
		return true
	}
	if *seen == nil {
		*seen = make(map[string]bool, 4*many)
		for _, p := range pairs {
			(*seen)[p.Key.Text] = true
		}
	}
	if (*seen)[key] {
		return false
	}
	(*seen)[key] = true
	return true
}

// value reads the value that starts here and ends its line, and goes to the next line. It returns
// nil if that line is indented more than the value's block.
func (p *plain) value(indent, depth int) *Node {
	n := p.tagged(depth, indent, false)
	if n == nil || !p.rest() {
		return nil
	}
	if in, ok := p.nextLine(); ok && in > indent {
		return nil
	}
	return n
}

// tagged reads a scalar or a collection in flow style, with or without a tag.
func (p *plain) tagged(depth, indent int, flow bool) *Node {
	if depth > plainDepth {
		return nil
	}
	from := p.pos
	if p.peek() == '!' {
		for p.pos++; isTag(p.peek()); p.pos++ {
		}
		tag := p.text[from:p.pos]
		if len(tag) == 1 || p.peek() != ' ' {
			return nil
		}
		p.spaces()
		at := p.at(from)
		p.tags++
		if c := p.peek(); c == '!' || c == '#' {
			return nil
		}
		n := p.tagged(depth+1, indent, flow)
		if n == nil || n.Kind == Null { // with a tag null is a word to the YAML parser
			return nil
		}
		n.Tag, n.Pos = tag, at
		return n
	}
	switch p.peek() {
	case '[':
		return p.flowList(depth, indent)
	case '{':
		return p.flowMapping(depth, indent)
	}
	return p.scalar(flow)
}

func isTag(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// gap skips spaces and line ends between the elements of a collection in flow style. Its lines are
// indented more than the block it is in.
func (p *plain) gap(indent int) bool {
	p.spaces()
	for p.peek() == '\n' {
		if p.pos >= len(p.text) {
			return false
		}
		p.endLine()
		p.spaces()
		if p.peek() != '\n' && p.pos-p.start <= indent {
			return false
		}
	}
	return true
}

// separator reads the comma or the closing bracket after an element.
func (p *plain) separator(closing byte, indent int) (more, ok bool) {
	if !p.gap(indent) {
		return false, false
	}
	switch p.peek() {
	case ',':
		p.pos++
		return true, p.gap(indent)
	case closing:
		p.pos++
		return false, true
	}
	return false, false
}

func (p *plain) flowList(depth, indent int) *Node {
	n := p.node(p.pos, Sequence, "")
	p.pos++
	if !p.gap(indent) {
		return nil
	}
	if p.peek() == ']' {
		p.pos++
		return n
	}
	open := len(p.items)
	for {
		item := p.tagged(depth+1, indent, true)
		if item == nil {
			return nil
		}
		p.items = append(p.items, item)
		n.weight += item.weight
		more, ok := p.separator(']', indent)
		if !ok {
			return nil
		}
		if !more {
			break
		}
	}
	n.Items = append([]*Node(nil), p.items[open:]...)
	p.items = p.items[:open]
	return n
}

func (p *plain) flowMapping(depth, indent int) *Node {
	n := p.node(p.pos, Mapping, "")
	p.pos++
	if !p.gap(indent) {
		return nil
	}
	if p.peek() == '}' {
		p.pos++
		return n
	}
	open := len(p.pairs)
	var seen map[string]bool
	for {
		if c := p.peek(); c == '[' || c == '{' || c == '!' {
			return nil
		}
		k := p.scalar(true)
		if k == nil || p.peek() != ':' || k.Kind != Scalar || k.Text == "<<" || !unique(p.pairs[open:], k.Text, &seen) {
			return nil
		}
		p.pos++
		if p.peek() != ' ' {
			return nil
		}
		p.spaces()
		v := p.tagged(depth+1, indent, true)
		if v == nil {
			return nil
		}
		p.pairs = append(p.pairs, Pair{k, v})
		n.weight += 1 + v.weight
		more, ok := p.separator('}', indent)
		if !ok {
			return nil
		}
		if !more {
			break
		}
	}
	n.Pairs = append([]Pair(nil), p.pairs[open:]...)
	p.pairs = p.pairs[:open]
	return n
}

// scalar reads a scalar that is all on this line: up to the colon of a key, a comment, the line's
// end or, in flow style, the end of the element.
func (p *plain) scalar(flow bool) *Node {
	switch c := p.peek(); c {
	case '\'', '"':
		return p.quoted(c, flow)
	}
	from, end := p.pos, p.pos // end follows the last byte that is no space
	if !p.startsWord() {
		return nil
	}
	for ; p.pos < len(p.text); p.pos++ {
		switch c := p.text[p.pos]; c {
		case ' ':
			continue
		case '\n':
			return p.lastWord(from, end)
		case '#':
			if p.text[p.pos-1] == ' ' {
				p.pos = end
				return p.word(from, end)
			}
		case ':':
			if next := p.pos + 1; next == len(p.text) || p.text[next] == ' ' || p.text[next] == '\n' {
				if p.pos != end { // a space before the colon
					return nil
				}
				return p.word(from, end)
			} else if flow {
				return nil
			}
		case ',', ']', '}':
			if flow {
				return p.word(from, end)
			}
		case '[', '{', '"', '\'':
			if flow || p.text[p.pos-1] == ' ' {
				return nil
			}
		}
		end = p.pos + 1
	}
	return p.lastWord(from, end)
}

// lastWord is an unquoted scalar at the end of its line, without spaces after it.
func (p *plain) lastWord(from, end int) *Node {
	if end != p.pos {
		return nil
	}
	return p.word(from, end)
}

// startsWord reports whether an unquoted scalar starts here, and nothing that has a meaning of its
// own.
func (p *plain) startsWord() bool {
	c := p.peek()
	if c == '-' || c == '.' {
		if p.pos+1 == len(p.text) {
			return false
		}
		c = p.text[p.pos+1]
		return isTag(c)
	}
	return isTag(c) || strings.IndexByte("$/+(=~", c) >= 0
}

// word is an unquoted scalar.
func (p *plain) word(from, end int) *Node {
	text := p.text[from:end]
	switch text {
	case "null", "Null", "NULL", "~":
		return p.node(from, Null, "")
	}
	if strings.Contains(text, "<<") { // the YAML parser finds a merge key in the middle of a word
		return nil
	}
	return p.node(from, Scalar, text)
}

// quoted reads a quoted scalar without escapes but for two single quotes.
func (p *plain) quoted(quote byte, flow bool) *Node {
	from := p.pos
	double := false
	for p.pos++; ; p.pos++ {
		c := p.peek()
		if c == '\n' || c == '\\' && quote == '"' {
			return nil
		}
		if c != quote {
			continue
		}
		if quote == '"' || p.pos+1 == len(p.text) || p.text[p.pos+1] != '\'' {
			break
		}
		double = true
		p.pos++
	}
	text := p.text[from+1 : p.pos]
	p.pos++
	switch c := p.peek(); {
	case c == '\n' || c == ' ', c == ':' && p.pos+1 < len(p.text) && (p.text[p.pos+1] == ' ' || p.text[p.pos+1] == '\n'), flow && (c == ',' || c == ']' || c == '}'):
	default:
		return nil
	}
	if double {
		text = strings.ReplaceAll(text, "''", "'")
	}
	n := p.node(from, Scalar, text)
	n.Quoted = true
	return n
}
