package expr

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
)

// Evaluator evaluates expressions and assignments. Its scope resolves names. Its state is what the
// last assignment changed.
type Evaluator struct {
	*ground
	*Printer
	Scope  Scope
	Stored Stored
	// Added are functions beyond those of every expression, by name.
	Added map[string]Function

	checking bool // only names matter: elements that do not exist are zero
}

// Eval evaluates an expression in the selected frame without side effects: it refuses assignments.
// The errors include *[SyntaxError], *[UnknownError], *[UnavailableError] and *[MemoryError].
func (ev *Evaluator) Eval(text string) (*Value, error) {
	n, err := parseExpr(text, ev.isType, ev.Added)
	if err != nil {
		return nil, err
	}
	if _, ok := n.(*assignNode); ok {
		return nil, errors.New("this is an assignment: it changes the run (use Assign)")
	}
	return ev.EvalNode(n)
}

// IsAssignment reports whether an expression assigns.
func (ev *Evaluator) IsAssignment(text string) bool {
	n, err := parseExpr(text, ev.isType, ev.Added)
	_, ok := n.(*assignNode)
	return err == nil && ok
}

// EvalNode evaluates a parsed expression, with the errors of [Evaluator.Eval].
func (ev *Evaluator) EvalNode(n Node) (*Value, error) {
	switch n := n.(type) {
	case *numberNode:
		return ev.Number(n.v, !n.big), nil
	case *stringNode:
		return &Value{IsText: true, Text: n.text}, nil
	case *braceNode:
		return nil, errors.New("a value in braces is allowed only as a map key or after =")
	case *nameNode:
		return ev.Scope.EvalName(n.name)
	case *regNode:
		return ev.Scope.EvalReg(n.name)
	case *unaryNode:
		return ev.evalUnary(n)
	case *binaryNode:
		return ev.evalBinary(n)
	case *condNode:
		c, err := ev.EvalNode(n.c)
		if err != nil {
			return nil, err
		}
		ok, err := ev.IsTrue(c)
		if err != nil {
			return nil, err
		}
		if ok {
			return ev.EvalNode(n.x)
		}
		return ev.EvalNode(n.y)
	case *memberNode:
		return ev.evalMember(n)
	case *indexNode:
		return ev.evalIndex(n)
	case *sliceNode:
		return ev.evalSlice(n)
	case *castNode:
		return ev.evalCast(n)
	case *sizeofNode:
		return ev.evalSizeof(n)
	case *offsetNode:
		return ev.evalOffset(n)
	case *callNode:
		return ev.evalCall(n)
	case *containerNode:
		return ev.evalContainer(n)
	case *walkNode:
		return ev.evalWalk(n)
	case *assignNode:
		return nil, errors.New("an assignment cannot be used inside an expression")
	}
	return nil, errors.New("expression expected")
}

func (ev *Evaluator) evalInt(n Node) (uint64, bool, error) {
	v, err := ev.EvalNode(n)
	if err != nil {
		return 0, false, err
	}
	return ev.AsInt(v)
}

func (ev *Evaluator) evalUnary(n *unaryNode) (*Value, error) {
	x, err := ev.EvalNode(n.x)
	if err != nil {
		return nil, err
	}
	switch n.op {
	case "*":
		return ev.Deref(x)
	case "&":
		return ev.address(x)
	}
	v, signed, err := ev.AsInt(x)
	if err != nil {
		return nil, err
	}
	switch n.op {
	case "-":
		return ev.Number(-v, true), nil
	case "~":
		return ev.Number(^v, signed), nil
	case "!":
		return ev.boolean(v == 0), nil
	}
	return ev.Number(v, signed), nil
}

func (ev *Evaluator) evalBinary(n *binaryNode) (*Value, error) {
	x, err := ev.EvalNode(n.x)
	if err != nil {
		return nil, err
	}
	if n.op == "&&" || n.op == "||" {
		a, err := ev.IsTrue(x)
		if err != nil || a == (n.op == "||") {
			return ev.boolean(a), err
		}
		y, err := ev.EvalNode(n.y)
		if err != nil {
			return nil, err
		}
		b, err := ev.IsTrue(y)
		return ev.boolean(b), err
	}
	y, err := ev.EvalNode(n.y)
	if err != nil {
		return nil, err
	}
	if n.op == "@" {
		return ev.repeated(x, y)
	}
	return ev.binary(n.op, x, y)
}

func (ev *Evaluator) evalMember(n *memberNode) (*Value, error) {
	x, err := ev.EvalNode(n.x)
	if star, ok := n.x.(*unaryNode); ok && star.op == "*" && err != nil { // (*p).name is p->name
		p, perr := ev.EvalNode(star.x)
		if perr != nil || p.Type.Kind() != btf.KindPtr {
			return nil, err
		}
		return ev.memberOfUnreadable(p, n.name, err)
	}
	if err != nil {
		return nil, err
	}
	return ev.Member(x, n.name)
}

func (ev *Evaluator) evalIndex(n *indexNode) (*Value, error) {
	x, err := ev.EvalNode(n.x)
	if err != nil {
		return nil, err
	}
	if x.Kind == WholeMap {
		return ev.mapElement(x, n.keys)
	}
	if len(n.keys) != 1 {
		return nil, errors.New("only maps take a CPU after the key")
	}
	i, _, err := ev.evalInt(n.keys[0])
	if err != nil {
		return nil, err
	}
	switch {
	case x.Walk != nil:
		if i >= uint64(len(x.Walk.Entries)) {
			return nil, fmt.Errorf("the list has %d entries", len(x.Walk.Entries))
		}
		return x.Walk.Entries[i], nil
	case x.Kind == WholePacket:
		return ev.packetByte(x, i)
	case x.Layer != nil:
		return ev.otherLayer(x, i)
	}
	return ev.Index(x, int64(i))
}

func (ev *Evaluator) evalSlice(n *sliceNode) (*Value, error) {
	x, err := ev.EvalNode(n.x)
	if err != nil {
		return nil, err
	}
	lo, _, err := ev.evalInt(n.lo)
	if err != nil {
		return nil, err
	}
	hi, _, err := ev.evalInt(n.hi)
	if err != nil {
		return nil, err
	}
	if hi <= lo || hi-lo > maxRead {
		return nil, fmt.Errorf("[%d:%d] has no elements (the end is not included)", int64(lo), int64(hi))
	}
	var t Type
	base := x.Addr
	if x.Kind == WholePacket {
		t = ev.Basic.Named("unsigned char")
	} else {
		var ok bool
		if t, ok = ev.pointee(x); !ok || t.Elems > 0 {
			return nil, fmt.Errorf("a value of type %s has no elements", x.Type)
		}
		if base, _, err = ev.AsInt(x); err != nil {
			return nil, err
		}
	}
	base += lo * ev.stride(t)
	t.Elems = int(hi - lo)
	return ev.At(t, base)
}

func (ev *Evaluator) evalCast(n *castNode) (*Value, error) {
	t, err := ev.resolveType(n.t)
	if err != nil {
		return nil, err
	}
	x, err := ev.EvalNode(n.x)
	if err != nil {
		return nil, err
	}
	if x.IsText {
		return nil, errors.New("a string cannot be cast")
	}
	return ev.Convert(x, t)
}

func (ev *Evaluator) evalSizeof(n *sizeofNode) (*Value, error) {
	var t Type
	if n.t != nil {
		var err error
		if t, err = ev.resolveType(*n.t); err != nil {
			return nil, err
		}
	} else {
		v, err := ev.EvalNode(n.x)
		if err != nil {
			return nil, err
		}
		if v.IsText {
			return ev.Number(uint64(len(v.Text)+1), false), nil
		}
		t = v.Type
	}
	size, err := t.Size()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t, err)
	}
	return ev.Number(uint64(size), false), nil
}

func (ev *Evaluator) evalContainer(n *containerNode) (*Value, error) {
	p, _, err := ev.evalInt(n.x)
	if err != nil {
		return nil, err
	}
	t, err := ev.resolveType(n.t)
	if err != nil {
		return nil, err
	}
	if t.Ptr > 0 || !t.IsComposite() {
		return nil, fmt.Errorf("%s has no members", t)
	}
	t = ev.LayoutAt(t, p)
	f, err := t.Spec.ResolvePath(t.ID, n.member)
	if err != nil {
		return nil, ev.pathError(t, err)
	}
	return ev.PointerTo(t, p-uint64(f.Offset())), nil
}

// TypeOfText parses text as a type; ok is false if it is not one.
func (ev *Evaluator) TypeOfText(text string) (t Type, ok bool, err error) {
	toks, err := lex(strings.TrimSpace(text))
	if err != nil {
		return t, false, nil
	}
	p := &parser{text: text, toks: toks, isType: ev.isType}
	if !p.typeFollows(0) {
		return t, false, nil
	}
	tn, err := p.typeName()
	if err != nil || p.peek().kind != tokEnd {
		return t, false, nil
	}
	t, err = ev.resolveType(tn)
	return t, true, err
}

func (ev *Evaluator) evalCall(n *callNode) (*Value, error) {
	if f, ok := ev.Added[n.name]; ok {
		return f.Do(n, n.args)
	}
	f, ok := findFunction(n.name)
	if !ok {
		return nil, &UnknownError{What: "function", Name: n.name, Nearest: Near(n.name, FunctionNames())}
	}
	v, _, err := ev.evalInt(n.args[0])
	if err != nil {
		return nil, err
	}
	t := ev.Basic.Named(f.typ)
	size, err := t.Size()
	if err != nil {
		return nil, err
	}
	v &= 1<<(8*size) - 1
	return ev.Convert(ev.Number(f.do(ev.m.Memory().ByteOrder(), v), false), t)
}

func (ev *Evaluator) evalOffset(n *offsetNode) (*Value, error) {
	t, err := ev.resolveType(n.t)
	if err != nil {
		return nil, err
	}
	if t.Ptr > 0 || !t.IsComposite() {
		return nil, fmt.Errorf("%s has no members", t)
	}
	f, err := t.Spec.ResolvePath(t.ID, n.member)
	if err != nil {
		return nil, ev.pathError(t, err)
	}
	if f.BitSize != 0 && f.BitOffset%8 != 0 {
		return nil, fmt.Errorf("%s is a bitfield: it begins at bit %d", n.member, f.BitOffset)
	}
	return ev.Number(uint64(f.BitOffset/8), false), nil
}

func (ev *Evaluator) resolveType(tn typeName) (Type, error) {
	t, err := ev.FindType(tn.tag, tn.name)
	if err != nil {
		return t, err
	}
	t.Ptr = tn.ptr
	switch len(tn.dims) {
	case 0:
	case 1:
		t.Elems = tn.dims[0]
	default:
		return t, fmt.Errorf("arrays of arrays cannot be written here")
	}
	return t, nil
}

// Inputs evaluates the operands from which an expression's value is computed.
func (ev *Evaluator) Inputs(n Node) ([]*Value, error) {
	switch n := n.(type) {
	case *unaryNode:
		if n.op != "*" {
			return ev.Inputs(n.x)
		}
	case *binaryNode:
		x, err := ev.Inputs(n.x)
		if err != nil {
			return nil, err
		}
		y, err := ev.Inputs(n.y)
		return append(x, y...), err
	case *castNode:
		return ev.Inputs(n.x)
	case *callNode:
		return ev.Inputs(n.args[0])
	case *condNode:
		return nil, errors.New("why traces one value: choose one side of the ?:")
	}
	v, err := ev.EvalNode(n)
	if err != nil {
		return nil, err
	}
	return []*Value{v}, nil
}

// Parse parses an expression with the known type names. The error is a *[SyntaxError].
func (ev *Evaluator) Parse(text string) (Node, error) { return parseExpr(text, ev.isType, ev.Added) }
