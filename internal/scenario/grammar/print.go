package grammar

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Scalars reports whether a list has plain values only.
func Scalars(n *Node) bool {
	for _, item := range n.Items {
		if item.Kind == Mapping && item.Tag == "" || item.Kind == Sequence {
			return false
		}
	}
	return true
}

// YAMLString quotes a string. JSON's escapes are valid in YAML.
func YAMLString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < 0x20 || c >= 0x7f:
			fmt.Fprintf(&b, "\\x%02x", c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// Word returns a node for a number, a name or an expression.
func Word(text string) *Node { return &Node{Text: text} }

// Quote returns a node for a string of bytes.
func Quote(text string) *Node { return &Node{Text: text, Quoted: true} }

// HexBytes returns a node for bytes.
func HexBytes(b []byte) *Node { return &Node{Text: HexDigits(b), Quoted: true, Tag: "!hex"} }

// HexDigits formats bytes in pairs of digits.
func HexDigits(b []byte) string {
	const digits = "0123456789abcdef"
	out := make([]byte, 0, 2*len(b))
	for _, c := range b {
		out = append(out, digits[c>>4], digits[c&15])
	}
	return string(out)
}

// ReadNode parses YAML as a node, without asking what it means. file appears in errors.
func ReadNode(file string, data []byte) (*Node, error) { return ParseYAML(file, data) }

// Clone returns a copy that shares nothing.
func (n *Node) Clone() *Node {
	if n == nil {
		return nil
	}
	out := *n
	out.Items, out.Pairs = make([]*Node, len(n.Items)), make([]Pair, len(n.Pairs))
	for i, item := range n.Items {
		out.Items[i] = item.Clone()
	}
	for i, p := range n.Pairs {
		out.Pairs[i] = Pair{p.Key.Clone(), p.Value.Clone()}
	}
	return &out
}

// Put sets a member of a mapping. A node that was no mapping becomes one.
func (n *Node) Put(key string, value *Node) {
	if n.Kind != Mapping {
		*n = Node{Pos: n.Pos, Kind: Mapping}
	}
	for i := range n.Pairs {
		if n.Pairs[i].Key.Text == key {
			n.Pairs[i].Value = value
			return
		}
	}
	n.Pairs = append(n.Pairs, Pair{Word(key), value})
}

// PutKey sets a member by a key that is not a plain word, such as bytes.
func (n *Node) PutKey(key, value *Node) {
	if n.Kind != Mapping {
		*n = Node{Pos: n.Pos, Kind: Mapping}
	}
	for i := range n.Pairs {
		if k := n.Pairs[i].Key; k.Text == key.Text && k.Tag == key.Tag {
			n.Pairs[i].Value = value
			return
		}
	}
	n.Pairs = append(n.Pairs, Pair{key, value})
}

// HasKey reports whether a mapping has a member with a key.
func (n *Node) HasKey(key *Node) bool {
	return slices.ContainsFunc(n.Pairs, func(p Pair) bool { return p.Key.Text == key.Text && p.Key.Tag == key.Tag })
}

// Drop removes a member of a mapping.
func (n *Node) Drop(key string) {
	n.Pairs = slices.DeleteFunc(n.Pairs, func(p Pair) bool { return p.Key.Text == key })
}

// Child returns the mapping that is a member, and makes it if there is none.
func (n *Node) Child(key string) *Node {
	if c := n.Get(key); c != nil && c.Kind == Mapping {
		return c
	}
	c := &Node{Kind: Mapping}
	n.Put(key, c)
	return c
}

// flowWidth is the longest text of a mapping or list that stays on one line.
const flowWidth = 110

// Print writes a node as YAML that this package reads as the same node. Short mappings and lists
// inside of others are on one line.
func (n *Node) Print() []byte {
	var b bytes.Buffer
	n.block(&b, 0, 0)
	return b.Bytes()
}

func (n *Node) block(b *bytes.Buffer, indent, depth int) {
	pad := strings.Repeat(" ", indent)
	switch n.Kind {
	case Mapping:
		for _, p := range n.Pairs {
			b.WriteString(pad + p.Key.scalarText() + ":")
			p.Value.after(b, indent, depth+1)
		}
	case Sequence:
		for _, item := range n.Items {
			b.WriteString(pad + "-")
			if item.Kind == Mapping && item.Tag == "" && len(item.Pairs) > 0 && !item.inline(depth+1) {
				var in bytes.Buffer
				item.block(&in, indent+2, depth+1)
				b.WriteByte(' ')
				b.Write(in.Bytes()[indent+2:])
				continue
			}
			item.after(b, indent, depth+1)
		}
	default:
		b.WriteString(pad + n.flow() + "\n")
	}
}

// after writes a value after its key or dash.
func (n *Node) after(b *bytes.Buffer, indent, depth int) {
	if n.Kind == Scalar || n.Kind == Null || n.inline(depth) {
		b.WriteString(" " + n.flow() + "\n")
		return
	}
	if n.Tag != "" {
		b.WriteString(" " + n.Tag)
	}
	b.WriteByte('\n')
	if n.Kind == Mapping {
		indent += 2
	}
	n.block(b, indent, depth)
}

// inline reports whether a mapping or list is written on one line.
func (n *Node) inline(depth int) bool {
	return len(n.Pairs)+len(n.Items) == 0 || (depth > 2 || n.Kind == Sequence && Scalars(n)) && len(n.flow()) <= flowWidth
}

// flow returns a node on one line.
func (n *Node) flow() string {
	var parts []string
	text := ""
	switch n.Kind {
	case Mapping:
		for _, p := range n.Pairs {
			parts = append(parts, p.Key.scalarText()+": "+p.Value.flow())
		}
		text = "{" + strings.Join(parts, ", ") + "}"
	case Sequence:
		for _, item := range n.Items {
			parts = append(parts, item.flow())
		}
		text = "[" + strings.Join(parts, ", ") + "]"
	case Null:
		text = "null"
	default:
		return n.scalarText()
	}
	if n.Tag != "" {
		text = n.Tag + " " + text
	}
	return text
}

func (n *Node) scalarText() string {
	text := n.Text
	if n.Quoted || !plainScalar(text) {
		text = quoted(text)
	}
	if n.Tag != "" {
		text = n.Tag + " " + text
	}
	return text
}

// quoted quotes text of a file, or bytes that a program made.
func quoted(text string) string {
	for i := range len(text) {
		if text[i] >= 0x80 && utf8.ValidString(text) {
			if b, err := json.Marshal(text); err == nil {
				return string(b)
			}
		}
	}
	return YAMLString(text)
}

// plainScalar reports whether text needs no quotes, also inside of { } and [ ].
func plainScalar(text string) bool {
	if text == "" || strings.TrimSpace(text) != text {
		return false
	}
	for i := range len(text) {
		c := text[i]
		word := c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.IndexByte("_./$", c) >= 0
		if !word && (i == 0 && (c != '-' || len(text) == 1 || text[1] == ' ') || strings.IndexByte("|?*+@-()=<>!'; ", c) < 0) {
			return false
		}
	}
	return true
}
