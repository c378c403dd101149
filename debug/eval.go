package debug

import (
	"errors"
	"fmt"
	"strings"
)

// evaluator evaluates expressions and assignments. What names mean it asks its scope. Its state is what the last assignment changed.
type evaluator struct {
	*ground
	*printer
	names  nameScope
	stored stored
}

// Eval evaluates an expression in the selected frame. It changes nothing: assignments are for [Session.Assign].
func (ev *evaluator) Eval(text string) (*Value, error) {
	n, err := parseExpr(text, ev.isType)
	if err != nil {
		return nil, err
	}
	if _, ok := n.(*assignNode); ok {
		return nil, errors.New("this is an assignment: it changes the run (use Assign)")
	}
	return ev.eval(n)
}

// IsAssignment reports whether an expression assigns.
func (ev *evaluator) IsAssignment(text string) bool {
	n, err := parseExpr(text, ev.isType)
	_, ok := n.(*assignNode)
	return err == nil && ok
}

func (ev *evaluator) eval(n node) (*Value, error) {
	switch n := n.(type) {
	case *numberNode:
		return ev.number(n.v, !n.big), nil
	case *stringNode:
		return &Value{isText: true, text: n.text}, nil
	case *braceNode:
		return nil, errors.New("a value in braces is allowed only as a map key or after =")
	case *nameNode:
		return ev.names.evalName(n.name)
	case *regNode:
		return ev.names.evalReg(n.name)
	case *unaryNode:
		return ev.evalUnary(n)
	case *binaryNode:
		return ev.evalBinary(n)
	case *condNode:
		c, err := ev.eval(n.c)
		if err != nil {
			return nil, err
		}
		ok, err := ev.isTrue(c)
		if err != nil {
			return nil, err
		}
		if ok {
			return ev.eval(n.x)
		}
		return ev.eval(n.y)
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
		return nil, errors.New("an assignment cannot be part of an expression")
	}
	return nil, errors.New("expression expected")
}

func (ev *evaluator) evalInt(n node) (uint64, bool, error) {
	v, err := ev.eval(n)
	if err != nil {
		return 0, false, err
	}
	return ev.asInt(v)
}

func (ev *evaluator) evalUnary(n *unaryNode) (*Value, error) {
	x, err := ev.eval(n.x)
	if err != nil {
		return nil, err
	}
	switch n.op {
	case "*":
		return ev.deref(x)
	case "&":
		return ev.address(x)
	}
	v, signed, err := ev.asInt(x)
	if err != nil {
		return nil, err
	}
	switch n.op {
	case "-":
		return ev.number(-v, true), nil
	case "~":
		return ev.number(^v, signed), nil
	case "!":
		return ev.boolean(v == 0), nil
	}
	return ev.number(v, signed), nil
}

func (ev *evaluator) evalBinary(n *binaryNode) (*Value, error) {
	x, err := ev.eval(n.x)
	if err != nil {
		return nil, err
	}
	if n.op == "&&" || n.op == "||" {
		a, err := ev.isTrue(x)
		if err != nil || a == (n.op == "||") {
			return ev.boolean(a), err
		}
		y, err := ev.eval(n.y)
		if err != nil {
			return nil, err
		}
		b, err := ev.isTrue(y)
		return ev.boolean(b), err
	}
	y, err := ev.eval(n.y)
	if err != nil {
		return nil, err
	}
	if n.op == "@" {
		return ev.repeated(x, y)
	}
	return ev.binary(n.op, x, y)
}

func (ev *evaluator) evalMember(n *memberNode) (*Value, error) {
	x, err := ev.eval(n.x)
	if err != nil {
		return nil, err
	}
	return ev.member(x, n.name)
}

func (ev *evaluator) evalIndex(n *indexNode) (*Value, error) {
	x, err := ev.eval(n.x)
	if err != nil {
		return nil, err
	}
	if x.kind == aMap {
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
	case x.walk != nil:
		if i >= uint64(len(x.walk.entries)) {
			return nil, fmt.Errorf("the list has %d entries", len(x.walk.entries))
		}
		return x.walk.entries[i], nil
	case x.kind == aPacket:
		return ev.packetByte(x, i)
	case x.layer != nil:
		return ev.otherLayer(x, i)
	}
	return ev.index(x, int64(i))
}

func (ev *evaluator) evalSlice(n *sliceNode) (*Value, error) {
	x, err := ev.eval(n.x)
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
	if x.kind == aPacket {
		t = ev.basic.named("unsigned char")
	} else {
		var ok bool
		if t, ok = ev.pointee(x); !ok || t.Elems > 0 {
			return nil, fmt.Errorf("a value of type %s has no elements", x.Type)
		}
		if base, _, err = ev.asInt(x); err != nil {
			return nil, err
		}
	}
	base += lo * ev.stride(t)
	t.Elems = int(hi - lo)
	return ev.at(t, base)
}

func (ev *evaluator) evalCast(n *castNode) (*Value, error) {
	t, err := ev.resolveType(n.t)
	if err != nil {
		return nil, err
	}
	x, err := ev.eval(n.x)
	if err != nil {
		return nil, err
	}
	if x.isText {
		return nil, errors.New("a string cannot be cast")
	}
	return ev.convert(x, t)
}

func (ev *evaluator) evalSizeof(n *sizeofNode) (*Value, error) {
	var t Type
	if n.t != nil {
		var err error
		if t, err = ev.resolveType(*n.t); err != nil {
			return nil, err
		}
	} else {
		v, err := ev.eval(n.x)
		if err != nil {
			return nil, err
		}
		if v.isText {
			return ev.number(uint64(len(v.text)+1), false), nil
		}
		t = v.Type
	}
	size, err := t.size()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t, err)
	}
	return ev.number(uint64(size), false), nil
}

func (ev *evaluator) evalContainer(n *containerNode) (*Value, error) {
	p, _, err := ev.evalInt(n.x)
	if err != nil {
		return nil, err
	}
	t, err := ev.resolveType(n.t)
	if err != nil {
		return nil, err
	}
	if t.Ptr > 0 || !t.isComposite() {
		return nil, fmt.Errorf("%s has no members", t)
	}
	t = ev.layoutAt(t, p)
	f, err := t.Spec.ResolvePath(t.ID, n.member)
	if err != nil {
		return nil, ev.pathError(t, err)
	}
	return ev.pointerTo(t, p-uint64(f.Offset())), nil
}

// typeOfText parses text as a type; ok is false when it is none.
func (ev *evaluator) typeOfText(text string) (t Type, ok bool, err error) {
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

func (ev *evaluator) evalCall(n *callNode) (*Value, error) {
	f, ok := findFunction(n.name)
	if !ok {
		return nil, &UnknownError{What: "function", Name: n.name, Nearest: near(n.name, FunctionNames())}
	}
	v, _, err := ev.evalInt(n.args[0])
	if err != nil {
		return nil, err
	}
	t := ev.basic.named(f.typ)
	size, err := t.size()
	if err != nil {
		return nil, err
	}
	if size < 8 {
		v &= 1<<(8*size) - 1
	}
	return ev.convert(ev.number(f.do(ev.m.Memory().ByteOrder(), v), false), t)
}

func (ev *evaluator) evalOffset(n *offsetNode) (*Value, error) {
	t, err := ev.resolveType(n.t)
	if err != nil {
		return nil, err
	}
	if t.Ptr > 0 || !t.isComposite() {
		return nil, fmt.Errorf("%s has no members", t)
	}
	f, err := t.Spec.ResolvePath(t.ID, n.member)
	if err != nil {
		return nil, ev.pathError(t, err)
	}
	if f.BitSize != 0 && f.BitOffset%8 != 0 {
		return nil, fmt.Errorf("%s is a bitfield: it begins at bit %d", n.member, f.BitOffset)
	}
	return ev.number(uint64(f.BitOffset/8), false), nil
}

func (ev *evaluator) resolveType(tn typeName) (Type, error) {
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

// inputs evaluates the parts of an expression that its value is computed from.
func (ev *evaluator) inputs(n node) ([]*Value, error) {
	switch n := n.(type) {
	case *unaryNode:
		if n.op != "*" {
			return ev.inputs(n.x)
		}
	case *binaryNode:
		x, err := ev.inputs(n.x)
		if err != nil {
			return nil, err
		}
		y, err := ev.inputs(n.y)
		return append(x, y...), err
	case *castNode:
		return ev.inputs(n.x)
	case *callNode:
		return ev.inputs(n.args[0])
	case *condNode:
		return nil, errors.New("why follows the value of one thing: choose a side of the ?:")
	}
	v, err := ev.eval(n)
	if err != nil {
		return nil, err
	}
	return []*Value{v}, nil
}

// parse reads an expression, with the names of types that are known.
func (ev *evaluator) parse(text string) (node, error) { return parseExpr(text, ev.isType) }
