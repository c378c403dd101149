package expr

import (
	"strings"
)

// Node is a parsed expression.
type Node interface{}

type (
	numberNode struct {
		v   uint64
		big bool
	}
	stringNode struct{ text string }
	braceNode  struct{ text string }
	nameNode   struct{ name string }
	regNode    struct{ name string } // begins with $
	unaryNode  struct {
		op string
		x  Node
	}
	binaryNode struct {
		op   string
		x, y Node
	}
	condNode   struct{ c, x, y Node }
	memberNode struct {
		x     Node
		name  string
		arrow bool
	}
	indexNode struct {
		x    Node
		keys []Node
	}
	sliceNode struct{ x, lo, hi Node }
	castNode  struct {
		t typeName
		x Node
	}
	sizeofNode struct {
		t *typeName
		x Node
	}
	containerNode struct {
		x      Node
		t      typeName
		member string
	}
	walkNode struct { // list_for_each(HEAD, TYPE, MEMBER[, EXPR])
		head   Node
		t      typeName
		member string
		path   []string // members of each entry, nil for the entries themselves
	}
	assignNode struct {
		op   string // "" or the operator before =
		x, y Node
	}
)

// typeName is a type as written.
type typeName struct {
	tag  string // struct, union, enum or ""
	name string
	ptr  int
	dims []int
}

// Limits of an expression.
const (
	maxExpr  = 4096
	maxDepth = 100
)

type parser struct {
	text   string
	toks   []token
	at     int
	depth  int
	isType func(name string) bool
	added  map[string]Function
}

// parseExpr parses an expression; isType tells type names from other names, added are functions
// that it may call besides the usual ones. The error is a *[SyntaxError].
func parseExpr(text string, isType func(string) bool, added map[string]Function) (Node, error) {
	if len(text) > maxExpr {
		return nil, &SyntaxError{text, 0, "expression too long"}
	}
	toks, err := lex(text)
	if err != nil {
		return nil, err
	}
	p := &parser{text: text, toks: toks, isType: isType, added: added}
	if p.peek().kind == tokEnd {
		return nil, &SyntaxError{text, 0, "expression expected"}
	}
	n, err := p.assignment()
	if err != nil {
		return nil, err
	}
	if p.peek().kind != tokEnd {
		return nil, p.errorf("unexpected text")
	}
	return n, nil
}

func (p *parser) peek() token { return p.toks[p.at] }
func (p *parser) next() token {
	t := p.toks[p.at]
	if t.kind != tokEnd {
		p.at++
	}
	return t
}

func (p *parser) errorf(why string) error { return &SyntaxError{p.text, p.peek().pos, why} }

func (p *parser) op(text string) bool {
	if t := p.peek(); t.kind == tokOp && t.text == text {
		p.at++
		return true
	}
	return false
}

func (p *parser) want(text string) error {
	if !p.op(text) {
		return p.errorf("want " + text)
	}
	return nil
}

// enter limits the nesting depth.
func (p *parser) enter() error {
	if p.depth++; p.depth > maxDepth {
		return p.errorf("expression nested too deeply")
	}
	return nil
}

func (p *parser) assignment() (Node, error) {
	x, err := p.conditional()
	if err != nil {
		return nil, err
	}
	t := p.peek()
	if t.kind != tokOp {
		return x, nil
	}
	switch t.text {
	case "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=":
		p.next()
		y, err := p.assignment()
		if err != nil {
			return nil, err
		}
		return &assignNode{t.text[:len(t.text)-1], x, y}, nil
	}
	return x, nil
}

func (p *parser) conditional() (Node, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	c, err := p.binary(1)
	if err != nil || !p.op("?") {
		return c, err
	}
	x, err := p.conditional()
	if err != nil {
		return nil, err
	}
	if err := p.want(":"); err != nil {
		return nil, err
	}
	y, err := p.conditional()
	if err != nil {
		return nil, err
	}
	return &condNode{c, x, y}, nil
}

var precedence = map[string]int{
	"||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7,
	"<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10, "@": 11,
}

func (p *parser) binary(least int) (Node, error) {
	x, err := p.unary()
	if err != nil {
		return nil, err
	}
	for {
		t := p.peek()
		prec := precedence[t.text]
		if t.kind != tokOp || prec == 0 || prec < least {
			return x, nil
		}
		p.next()
		y, err := p.binary(prec + 1)
		if err != nil {
			return nil, err
		}
		x = &binaryNode{t.text, x, y}
	}
}

func (p *parser) unary() (Node, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	t := p.peek()
	if t.kind == tokName && t.text == "sizeof" {
		p.next()
		if p.peek().text == "(" && p.typeFollows(1) {
			p.next()
			tn, err := p.typeName()
			if err != nil {
				return nil, err
			}
			return &sizeofNode{t: &tn}, p.want(")")
		}
		x, err := p.unary()
		return &sizeofNode{x: x}, err
	}
	if t.kind == tokOp {
		switch t.text {
		case "-", "+", "!", "~", "*", "&":
			p.next()
			x, err := p.unary()
			return &unaryNode{t.text, x}, err
		case "(":
			if p.typeFollows(1) {
				p.next()
				tn, err := p.typeName()
				if err != nil {
					return nil, err
				}
				if err := p.want(")"); err != nil {
					return nil, err
				}
				x, err := p.unary()
				return &castNode{tn, x}, err
			}
		}
	}
	return p.postfix()
}

func (p *parser) postfix() (Node, error) {
	x, err := p.primary()
	for err == nil {
		switch {
		case p.op("."), p.op("->"):
			arrow := p.toks[p.at-1].text == "->"
			t := p.next()
			if t.kind != tokName {
				p.at--
				return nil, p.errorf("want a member name")
			}
			x = &memberNode{x, t.text, arrow}
		case p.op("["):
			x, err = p.subscript(x)
		default:
			return x, nil
		}
	}
	return nil, err
}

func (p *parser) subscript(x Node) (Node, error) {
	k, err := p.conditional()
	if err != nil {
		return nil, err
	}
	if p.op(":") {
		hi, err := p.conditional()
		if err != nil {
			return nil, err
		}
		return &sliceNode{x, k, hi}, p.want("]")
	}
	keys := []Node{k}
	for p.op(",") {
		if k, err = p.conditional(); err != nil {
			return nil, err
		}
		keys = append(keys, k)
	}
	return &indexNode{x, keys}, p.want("]")
}

func (p *parser) primary() (Node, error) {
	t := p.next()
	switch t.kind {
	case tokNumber, tokChar:
		return &numberNode{t.num, t.big}, nil
	case tokString:
		return &stringNode{t.text}, nil
	case tokBrace:
		return &braceNode{t.text}, nil
	case tokReg:
		return &regNode{t.text}, nil
	case tokName:
		if p.peek().text == "(" {
			switch t.text {
			case "container_of":
				return p.containerOf()
			case "list_for_each", "list_for_each_entry", "hlist_for_each", "hlist_for_each_entry":
				return p.forEach()
			case "offsetof":
				return p.offsetOf()
			}
			return p.call(t.text)
		}
		return &nameNode{t.text}, nil
	case tokOp:
		if t.text == "(" {
			x, err := p.assignment()
			if err != nil {
				return nil, err
			}
			return x, p.want(")")
		}
	}
	if t.kind != tokEnd {
		p.at--
	}
	return nil, p.errorf("expression expected")
}

func (p *parser) containerOf() (Node, error) {
	x, tn, member, err := p.entryOf()
	if err != nil {
		return nil, err
	}
	return &containerNode{x, tn, member}, p.want(")")
}

// forEach parses what follows list_for_each.
func (p *parser) forEach() (Node, error) {
	x, tn, member, err := p.entryOf()
	if err != nil {
		return nil, err
	}
	n := &walkNode{head: x, t: tn, member: member}
	if p.op(",") {
		path, err := p.memberPath()
		if err != nil {
			return nil, err
		}
		n.path = path
	}
	return n, p.want(")")
}

// entryOf parses "(EXPR, TYPE, MEMBER": the member's position in the enclosing type.
func (p *parser) entryOf() (x Node, tn typeName, member string, err error) {
	p.next()
	if x, err = p.conditional(); err != nil {
		return nil, tn, "", err
	}
	if err = p.want(","); err != nil {
		return nil, tn, "", err
	}
	if tn, err = p.typeName(); err != nil {
		return nil, tn, "", err
	}
	if err = p.want(","); err != nil {
		return nil, tn, "", err
	}
	path, err := p.memberPath()
	return x, tn, strings.Join(path, "."), err
}

// memberPath parses "a.b->c".
func (p *parser) memberPath() ([]string, error) {
	var out []string
	for {
		t := p.next()
		if t.kind != tokName {
			p.at--
			return nil, p.errorf("want a member name")
		}
		out = append(out, t.text)
		if !p.op(".") && !p.op("->") {
			return out, nil
		}
	}
}

// qualifiers do not affect the layout.
var qualifiers = map[string]bool{"const": true, "volatile": true, "restrict": true}

// typeFollows reports whether a type begins after the next n tokens.
func (p *parser) typeFollows(n int) bool {
	t := p.toks[min(p.at+n, len(p.toks)-1)]
	if t.kind != tokName {
		return false
	}
	switch t.text {
	case "struct", "union", "enum":
		return true
	}
	return qualifiers[t.text] || basicWords[t.text] || p.isType != nil && p.isType(t.text)
}

// typeName parses a type: "struct task_struct *", "unsigned long", "u32 *[4]".
func (p *parser) typeName() (typeName, error) {
	var tn typeName
	for {
		t := p.peek()
		if t.kind != tokName {
			break
		}
		switch {
		case qualifiers[t.text]:
			p.next()
			continue
		case tn.tag == "" && tn.name == "" && (t.text == "struct" || t.text == "union" || t.text == "enum"):
			p.next()
			n := p.next()
			if n.kind != tokName {
				p.at--
				return tn, p.errorf("want the name of a " + t.text)
			}
			tn.tag, tn.name = t.text, n.text
			continue
		case tn.tag == "" && (tn.name == "" || basicWords[t.text]):
			p.next()
			if tn.name != "" {
				tn.name += " "
			}
			tn.name += t.text
			continue
		}
		break
	}
	if tn.name == "" {
		return tn, p.errorf("want a type")
	}
	for p.op("*") {
		tn.ptr++
		for qualifiers[p.peek().text] {
			p.next()
		}
	}
	for p.op("[") {
		t := p.next()
		if t.kind != tokNumber || t.num > 1<<20 {
			return tn, p.errorf("want the length of an array")
		}
		tn.dims = append(tn.dims, int(t.num))
		if err := p.want("]"); err != nil {
			return tn, err
		}
	}
	return tn, nil
}

// EachName calls f for the names in an expression.
func EachName(n Node, f func(name string)) {
	walkNodes(n, func(n Node) {
		if x, ok := n.(*nameNode); ok {
			f(x.name)
		}
	})
}

// walkNodes calls f for a node and all its descendants.
func walkNodes(n Node, f func(Node)) {
	if n == nil {
		return
	}
	f(n)
	switch n := n.(type) {
	case *unaryNode:
		walkNodes(n.x, f)
	case *binaryNode:
		walkNodes(n.x, f)
		walkNodes(n.y, f)
	case *condNode:
		walkNodes(n.c, f)
		walkNodes(n.x, f)
		walkNodes(n.y, f)
	case *memberNode:
		walkNodes(n.x, f)
	case *indexNode:
		walkNodes(n.x, f)
		for _, k := range n.keys {
			walkNodes(k, f)
		}
	case *sliceNode:
		walkNodes(n.x, f)
		walkNodes(n.lo, f)
		walkNodes(n.hi, f)
	case *castNode:
		walkNodes(n.x, f)
	case *sizeofNode:
		walkNodes(n.x, f)
	case *callNode:
		for _, x := range n.args {
			walkNodes(x, f)
		}
	case *containerNode:
		walkNodes(n.x, f)
	case *walkNode:
		walkNodes(n.head, f)
	case *assignNode:
		walkNodes(n.x, f)
		walkNodes(n.y, f)
	}
}
