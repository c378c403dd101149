package grammar

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// NodeKind is the kind of a [Node].
type NodeKind uint8

// Kinds of nodes.
const (
	Scalar NodeKind = iota
	Mapping
	Sequence
	Null
)

// Node is a value in a scenario file, with its position.
type Node struct {
	Pos
	Kind NodeKind
	// Text is the text of a scalar as written; Quoted means that it was written as a quoted string.
	Text   string
	Quoted bool
	// Tag is a tag such as "!file", or "".
	Tag   string
	Items []*Node // of a sequence
	Pairs []Pair  // of a mapping, in the order of the file

	weight int  // number of nodes in it, with aliases expanded
	Lost   bool // part of it could not be read and is left out
}

// Pair is a member of a mapping.
type Pair struct {
	Key   *Node // a scalar
	Value *Node
}

// Get returns the value of the member with a key, or nil.
func (n *Node) Get(key string) *Node {
	for _, p := range n.Pairs {
		if p.Key.Text == key {
			return p.Value
		}
	}
	return nil
}

// Describe describes the kind of a node for messages.
func (n *Node) Describe() string {
	switch n.Kind {
	case Mapping:
		return "a mapping"
	case Sequence:
		return "a list"
	case Null:
		return "null"
	}
	return Brief(n.Text)
}

// Limits of scenario files.
const (
	MaxFile  = 16 << 20 // bytes
	maxDepth = 64       // nesting
	maxNodes = 8 << 20  // values
	// maxBlockKeys and maxBlockItems limit the entries of one mapping or list in block style,
	// because the YAML parser's time grows with their square.
	maxBlockKeys  = 20_000
	maxBlockItems = 100_000
)

// ParseYAML parses one YAML or JSON document. If a mistake affects only part of it, the rest is
// returned with the error.
func ParseYAML(file string, data []byte) (*Node, error) {
	if err := Bounded(file, data); err != nil {
		return nil, err
	}
	if root := parsePlain(file, data); root != nil {
		return root, nil
	}
	if len(data) >= largeFile {
		if root := parsePieces(file, data, pieceLines); root != nil {
			return root, nil
		}
	}
	return parseWhole(file, data)
}

// parseWhole parses a document at once with the YAML parser. Its size has been checked.
func parseWhole(file string, data []byte) (*Node, error) {
	at := func(line, col int, format string, args ...any) error {
		return &Error{Pos: Pos{file, max(line, 1), max(col, 1)}, Text: fmt.Sprintf(format, args...)}
	}
	doc, wrong := Syntax(file, data)
	if wrong != nil {
		return nil, wrong
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
		return nil, at(p.Line, p.Column, "a second document: a scenario file has only one")
	}
	c := converter{file: file, anchors: map[string]*Node{}}
	root, err := c.node(bodies[0], 0)
	if err != nil {
		c.wrong.Add(err)
		return nil, c.wrong.Err()
	}
	return root, c.wrong.Err()
}

// Bounded rejects binary data, and input that would take the YAML parser too long.
func Bounded(file string, data []byte) error {
	at := func(line, col int, format string, args ...any) error {
		return &Error{Pos: Pos{file, max(line, 1), max(col, 1)}, Text: fmt.Sprintf(format, args...)}
	}
	if len(data) > MaxFile {
		return at(1, 1, "the file has %d bytes; the limit is %d", len(data), MaxFile)
	}
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return at(1, 1, "not a text file: byte %d is 0", i)
	}
	if err := shallow(file, data); err != nil {
		return err
	}
	if line, err := blocks(data); err != nil {
		return at(line, 1, "%v", err)
	}
	return nil
}

// Syntax parses a file as YAML.
func Syntax(file string, data []byte) (*ast.File, *Error) {
	doc, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	if err == nil {
		return doc, nil
	}
	e := &Error{Pos: Pos{file, 1, 1}, Text: cut(FirstLine(err.Error()))}
	var ye yaml.Error
	if errors.As(err, &ye) && ye.GetToken() != nil {
		p := ye.GetToken().Position
		e.Line, e.Col, e.Text = max(p.Line, 1), max(p.Column, 1), cut(ye.GetMessage())
	}
	return nil, e
}

// blocks rejects block-style mappings and lists that are too long for the YAML parser.
func blocks(data []byte) (line int, err error) {
	type block struct{ indent, keys, items int }
	stack := []block{{indent: -1}}
	for text := range bytes.Lines(data) {
		line++
		body := bytes.TrimLeft(text, " ")
		indent := len(text) - len(body)
		if body = bytes.TrimRight(body, "\r\n"); len(body) == 0 || body[0] == '#' {
			continue
		}
		for stack[len(stack)-1].indent > indent {
			stack = stack[:len(stack)-1]
		}
		if stack[len(stack)-1].indent < indent {
			stack = append(stack, block{indent: indent})
		}
		top := &stack[len(stack)-1]
		if body[0] == '-' && (len(body) == 1 || body[1] == ' ') {
			top.items++
		} else {
			top.keys++
		}
		if top.keys > maxBlockKeys || top.items > maxBlockItems {
			return line, fmt.Errorf("more than %d keys or %d items in block style (write the mapping or list with { } or [ ], or split the file)", maxBlockKeys, maxBlockItems)
		}
	}
	return 0, nil
}

// FirstLine returns the first line of a text.
func FirstLine(s string) string {
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

// converter converts the parser's tree to nodes. An alias becomes the node of its anchor.
type converter struct {
	file    string
	anchors map[string]*Node
	nodes   int      // created or reached through aliases
	full    bool     // a limit on values or depth was reached
	wrong   Mistakes // mistakes that do not affect the rest of the file
}

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
		c.full = true
		return nil, c.fail(n, "nested more than %d deep", maxDepth)
	}
	if c.nodes++; c.nodes > maxNodes {
		c.full = true
		return nil, c.fail(n, "more than %d values, counting those repeated by aliases", maxNodes)
	}
	out := &Node{Pos: c.pos(n.GetToken()), weight: 1}
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
		tagged := *in // the node is shared with aliases
		tagged.Tag, tagged.Pos = n.Start.Value, out.Pos
		return &tagged, nil
	case *ast.MappingNode:
		return c.mapping(out, n, n.Values, depth)
	case *ast.MappingValueNode:
		// The token of a single pair is its colon; the position is that of the key.
		out.Pos = c.pos(n.Key.GetToken())
		return c.mapping(out, n, []*ast.MappingValueNode{n}, depth)
	case *ast.SequenceNode:
		out.Kind = Sequence
		for _, v := range n.Values {
			item, err := c.node(v, depth+1)
			if err != nil {
				if c.full {
					return nil, err
				}
				c.wrong.Add(err)
				out.Lost = true
				continue
			}
			out.Items = append(out.Items, item)
			out.weight += item.weight
		}
	case *ast.StringNode:
		out.Text = n.Value
		out.Quoted = n.Token.Type == token.SingleQuoteType || n.Token.Type == token.DoubleQuoteType
	case *ast.LiteralNode:
		out.Text, out.Quoted = n.Value.Value, true
	case *ast.AnchorNode:
		if n.Name == nil || n.Value == nil {
			return nil, c.fail(n, "an anchor needs a name and a value: &name value")
		}
		in, err := c.node(n.Value, depth+1)
		if err == nil {
			c.anchors[n.Name.GetToken().Value] = in
		}
		return in, err
	case *ast.AliasNode:
		return c.alias(n)
	case ast.ScalarNode:
		out.Text = strings.TrimSpace(n.GetToken().Value)
	default:
		return nil, c.fail(n, "%v is not supported here", n.Type())
	}
	return out, nil
}

// alias returns the node of an anchor, which precedes it, so that no alias contains itself.
func (c *converter) alias(n *ast.AliasNode) (*Node, error) {
	name := ""
	if n.Value != nil {
		name = n.Value.GetToken().Value
	}
	in := c.anchors[name]
	if in == nil {
		return nil, (&Node{Pos: c.pos(n.GetToken())}).Unknown("anchor", name, slices.Sorted(maps.Keys(c.anchors)))
	}
	if c.nodes += in.weight; c.nodes > maxNodes {
		c.full = true
		return nil, c.fail(n, "more than %d values, counting those repeated by aliases", maxNodes)
	}
	return in, nil
}

// merge applies the value of a merge key, which is a mapping or a list of mappings. Members of out
// take precedence.
func (c *converter) merge(out *Node, v ast.Node, depth int) error {
	from, err := c.node(v, depth+1)
	if err != nil {
		return err
	}
	list := []*Node{from}
	if from.Kind == Sequence {
		list = from.Items
	}
	for _, m := range list {
		if m.Kind != Mapping {
			return from.Errorf("<<: want a mapping or a list of mappings, such as *name, got %s", m.Describe())
		}
		out.Pairs = merged(out.Pairs, m.Pairs)
	}
	return nil
}

// merged returns own, followed by the pairs of more whose keys own lacks.
func merged(own, more []Pair) []Pair {
	has := make(map[string]bool, len(own))
	for _, p := range own {
		has[p.Key.Text] = true
	}
	for _, p := range more {
		if !has[p.Key.Text] {
			own = append(own, p)
		}
	}
	return own
}

func (c *converter) mapping(out *Node, at ast.Node, values []*ast.MappingValueNode, depth int) (*Node, error) {
	out.Kind = Mapping
	seen := map[string]Pos{}
	if len(values) > 0 {
		if k := c.pos(values[0].Key.GetToken()); k.Line < out.Line || k.Line == out.Line && k.Col < out.Col {
			out.Pos = k
		}
	}
	var merges []ast.Node
	for _, v := range values {
		if v.Key.Type() == ast.MergeKeyType {
			merges = append(merges, v.Value)
			continue
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
			return nil, key.Errorf("a key must be a plain value, not %s", key.Describe())
		}
		if first, dup := seen[key.Text]; dup {
			c.wrong.Add(key.Errorf("%s was already set at line %d", Brief(key.Text), first.Line))
			continue
		}
		seen[key.Text] = key.Pos
		val := &Node{Pos: key.Pos, Kind: Null}
		if v.Value != nil {
			if val, err = c.node(v.Value, depth+1); err != nil {
				if c.full {
					return nil, err
				}
				c.wrong.Add(err)
				out.Lost = true
				continue
			}
		}
		out.Pairs = append(out.Pairs, Pair{key, val})
		out.weight += 1 + val.weight
	}
	for _, m := range merges {
		if m == nil {
			continue
		}
		if err := c.merge(out, m, depth); err != nil {
			if c.full {
				return nil, err
			}
			c.wrong.Add(err)
			out.Lost = true
		}
	}
	if merges != nil {
		out.weight = 1
		for _, p := range out.Pairs {
			out.weight += 1 + p.Value.weight
		}
	}
	return out, nil
}

// Number parses an integer as scenario files write them: decimal, 0x, 0o or 0b, with underscores
// and a sign.
func Number(text string) (*big.Int, bool) {
	if text == "" || len(text) > 80 {
		return nil, false
	}
	digits := strings.TrimLeft(text, "+-")
	if digits == "" || len(text)-len(digits) > 1 || digits[0] < '0' || digits[0] > '9' {
		return nil, false
	}
	if digits[0] == '0' && len(digits) > 1 && digits[1] >= '0' && digits[1] <= '9' {
		return new(big.Int).SetString(text, 10) // a leading zero does not mean octal
	}
	return new(big.Int).SetString(text, 0)
}
