package scenario

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// NodeKind is the form of a [Node].
type NodeKind uint8

// The forms of nodes.
const (
	Scalar NodeKind = iota
	Mapping
	Sequence
	Null
)

// Node is a value of a scenario file with its place.
type Node struct {
	Pos
	Kind NodeKind
	// Text is the text of a scalar as written; Quoted says that it was written as a string.
	Text   string
	Quoted bool
	// Tag is a tag such as "!file", "" without.
	Tag   string
	Items []*Node // of a sequence
	Pairs []Pair  // of a mapping, in the order of the file
}

// Pair is a member of a mapping.
type Pair struct {
	Key   *Node // a scalar
	Value *Node
}

// Get returns the member with that key, nil when there is none.
func (n *Node) Get(key string) *Node {
	for _, p := range n.Pairs {
		if p.Key.Text == key {
			return p.Value
		}
	}
	return nil
}

// describe says what a node is, for messages.
func (n *Node) describe() string {
	switch n.Kind {
	case Mapping:
		return "a mapping"
	case Sequence:
		return "a list"
	case Null:
		return "null"
	}
	return brief(n.Text)
}

// Limits of scenario files.
const (
	maxFile  = 512 << 10 // bytes; the YAML parser takes time that grows with the square of the keys
	maxDepth = 64        // nesting
)

// parseYAML reads one YAML or JSON document.
func parseYAML(file string, data []byte) (*Node, error) {
	at := func(line, col int, format string, args ...any) error {
		return &Error{Pos: Pos{file, max(line, 1), max(col, 1)}, Text: fmt.Sprintf(format, args...)}
	}
	if len(data) > maxFile {
		return nil, at(1, 1, "the file has %d bytes, at most %d are read", len(data), maxFile)
	}
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return nil, at(1, 1, "this is no text file: byte %d is 0", i)
	}
	if err := shallow(data); err != nil {
		return nil, at(1, 1, "%v", err)
	}
	doc, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		var ye yaml.Error
		if errors.As(err, &ye) && ye.GetToken() != nil {
			p := ye.GetToken().Position
			return nil, at(p.Line, p.Column, "%s", cut(ye.GetMessage()))
		}
		return nil, at(1, 1, "%v", cut(firstLine(err.Error())))
	}
	var bodies []ast.Node
	for _, d := range doc.Docs {
		if d.Body != nil && d.Body.Type() != ast.CommentType {
			bodies = append(bodies, d.Body)
		}
	}
	switch len(bodies) {
	case 0:
		return nil, at(1, 1, "the file is empty")
	case 1:
	default:
		p := bodies[1].GetToken().Position
		return nil, at(p.Line, p.Column, "a second document: one scenario file has one")
	}
	c := converter{file: file}
	return c.node(bodies[0], 0)
}

// shallow refuses nesting so deep that the YAML parser's recursion would not end well.
func shallow(data []byte) error {
	depth, dashes := 0, 0
	for i, b := range data {
		switch b {
		case '[', '{':
			depth++
		case ']', '}':
			depth = max(depth-1, 0)
		case '\n':
			dashes = 0
		case '-', '?', ':', '!', '&':
			if i+1 < len(data) && (data[i+1] == ' ' || b == '!' || b == '&') {
				dashes++
			}
		}
		if depth > 4*maxDepth || dashes > 1<<14 {
			return fmt.Errorf("nested more than %d deep", maxDepth)
		}
	}
	return nil
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

// cut shortens a message that quotes the file.
func cut(s string) string {
	const most = 200
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}

type converter struct{ file string }

func (c *converter) pos(t *token.Token) Pos {
	p := Pos{c.file, 1, 1}
	if t != nil && t.Position != nil {
		p.Line, p.Col = max(t.Position.Line, 1), max(t.Position.Column, 1)
	}
	return p
}

func (c *converter) fail(n ast.Node, format string, args ...any) error {
	return &Error{Pos: c.pos(n.GetToken()), Text: fmt.Sprintf(format, args...)}
}

func (c *converter) node(n ast.Node, depth int) (*Node, error) {
	if depth > maxDepth {
		return nil, c.fail(n, "nested more than %d deep", maxDepth)
	}
	out := &Node{Pos: c.pos(n.GetToken())}
	switch n := n.(type) {
	case *ast.NullNode:
		out.Kind = Null
	case *ast.TagNode:
		if n.Value == nil {
			return nil, c.fail(n, "tag %s has no value", n.Start.Value)
		}
		in, err := c.node(n.Value, depth+1)
		if err != nil {
			return nil, err
		}
		if in.Tag != "" {
			return nil, c.fail(n, "a second tag: %s after %s", in.Tag, n.Start.Value)
		}
		in.Tag, in.Pos = n.Start.Value, out.Pos
		return in, nil
	case *ast.MappingNode:
		return c.mapping(out, n, n.Values, depth)
	case *ast.MappingValueNode:
		// The token of a single pair is its colon: the key has the place.
		out.Pos = c.pos(n.Key.GetToken())
		return c.mapping(out, n, []*ast.MappingValueNode{n}, depth)
	case *ast.SequenceNode:
		out.Kind = Sequence
		for _, v := range n.Values {
			item, err := c.node(v, depth+1)
			if err != nil {
				return nil, err
			}
			out.Items = append(out.Items, item)
		}
	case *ast.StringNode:
		out.Text = n.Value
		out.Quoted = n.Token.Type == token.SingleQuoteType || n.Token.Type == token.DoubleQuoteType
	case *ast.LiteralNode:
		out.Text, out.Quoted = n.Value.Value, true
	case *ast.AnchorNode, *ast.AliasNode:
		return nil, c.fail(n, "anchors and aliases are not supported (name an object and refer to it as $name)")
	case ast.ScalarNode:
		out.Text = strings.TrimSpace(n.GetToken().Value)
	default:
		return nil, c.fail(n, "%v is not supported here", n.Type())
	}
	return out, nil
}

func (c *converter) mapping(out *Node, at ast.Node, values []*ast.MappingValueNode, depth int) (*Node, error) {
	out.Kind = Mapping
	seen := map[string]Pos{}
	if len(values) > 0 {
		if k := c.pos(values[0].Key.GetToken()); k.Line < out.Line || k.Line == out.Line && k.Col < out.Col {
			out.Pos = k
		}
	}
	for _, v := range values {
		if v.Key.Type() == ast.MergeKeyType {
			return nil, c.fail(v.Key, "merge keys are not supported (use like: $name)")
		}
		var key *Node
		var err error
		if k, explicit := v.Key.(*ast.MappingKeyNode); explicit && k.Value != nil {
			key, err = c.node(k.Value, depth+1)
		} else {
			key, err = c.node(v.Key, depth+1)
		}
		if err != nil {
			return nil, err
		}
		if key.Kind == Null {
			key.Kind, key.Text = Scalar, "null"
		}
		if key.Kind != Scalar {
			return nil, key.errorf("a key is a plain value, not %s", key.describe())
		}
		if first, dup := seen[key.Text]; dup {
			return nil, key.errorf("%s was already given at line %d", brief(key.Text), first.Line)
		}
		seen[key.Text] = key.Pos
		val := &Node{Pos: key.Pos, Kind: Null}
		if v.Value != nil {
			if val, err = c.node(v.Value, depth+1); err != nil {
				return nil, err
			}
		}
		out.Pairs = append(out.Pairs, Pair{key, val})
	}
	return out, nil
}

// number reads an integer as scenario files write them: decimal, 0x, 0o, 0b, with underscores and a sign.
func number(text string) (*big.Int, bool) {
	if text == "" || len(text) > 80 {
		return nil, false
	}
	digits := strings.TrimLeft(text, "+-")
	if digits == "" || len(text)-len(digits) > 1 || digits[0] < '0' || digits[0] > '9' {
		return nil, false
	}
	if digits[0] == '0' && len(digits) > 1 && digits[1] >= '0' && digits[1] <= '9' {
		return new(big.Int).SetString(text, 10) // a leading zero makes no octal number
	}
	return new(big.Int).SetString(text, 0)
}
