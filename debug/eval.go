package debug

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
)

// Eval evaluates an expression in the selected frame. It changes nothing: assignments are for [Session.Assign].
func (s *Session) Eval(text string) (*Value, error) {
	n, err := parseExpr(text, s.isType)
	if err != nil {
		return nil, err
	}
	if _, ok := n.(*assignNode); ok {
		return nil, errors.New("this is an assignment: it changes the run (use Assign)")
	}
	return s.eval(n)
}

// IsAssignment reports whether an expression assigns.
func (s *Session) IsAssignment(text string) bool {
	n, err := parseExpr(text, s.isType)
	_, ok := n.(*assignNode)
	return err == nil && ok
}

func (s *Session) eval(n node) (*Value, error) {
	switch n := n.(type) {
	case *numberNode:
		return s.number(n.v, !n.big), nil
	case *stringNode:
		return &Value{isText: true, text: n.text}, nil
	case *braceNode:
		return nil, errors.New("a value in braces is allowed only as a map key or after =")
	case *nameNode:
		return s.evalName(n.name)
	case *regNode:
		return s.evalReg(n.name)
	case *unaryNode:
		return s.evalUnary(n)
	case *binaryNode:
		return s.evalBinary(n)
	case *condNode:
		c, err := s.eval(n.c)
		if err != nil {
			return nil, err
		}
		ok, err := s.isTrue(c)
		if err != nil {
			return nil, err
		}
		if ok {
			return s.eval(n.x)
		}
		return s.eval(n.y)
	case *memberNode:
		return s.evalMember(n)
	case *indexNode:
		return s.evalIndex(n)
	case *sliceNode:
		return s.evalSlice(n)
	case *castNode:
		return s.evalCast(n)
	case *sizeofNode:
		return s.evalSizeof(n)
	case *offsetNode:
		return s.evalOffset(n)
	case *callNode:
		return s.evalCall(n)
	case *containerNode:
		return s.evalContainer(n)
	case *walkNode:
		return s.evalWalk(n)
	case *assignNode:
		return nil, errors.New("an assignment cannot be part of an expression")
	}
	return nil, errors.New("expression expected")
}

func (s *Session) evalInt(n node) (uint64, bool, error) {
	v, err := s.eval(n)
	if err != nil {
		return 0, false, err
	}
	return s.asInt(v)
}

func (s *Session) evalUnary(n *unaryNode) (*Value, error) {
	x, err := s.eval(n.x)
	if err != nil {
		return nil, err
	}
	switch n.op {
	case "*":
		return s.deref(x)
	case "&":
		return s.address(x)
	}
	v, signed, err := s.asInt(x)
	if err != nil {
		return nil, err
	}
	switch n.op {
	case "-":
		return s.number(-v, true), nil
	case "~":
		return s.number(^v, signed), nil
	case "!":
		return s.boolean(v == 0), nil
	}
	return s.number(v, signed), nil
}

func (s *Session) deref(v *Value) (*Value, error) {
	if v.kind == aMap || v.kind == aPacket {
		return v, nil
	}
	t, ok := v.Type.elem()
	if !ok || v.isText {
		return nil, fmt.Errorf("a value of type %s is not a pointer: cast it, as in *(struct task_struct *)%s", v.Type, "EXPR")
	}
	addr, _, err := s.asInt(v)
	if err != nil {
		return nil, err
	}
	return s.at(t, addr)
}

func (s *Session) address(v *Value) (*Value, error) {
	switch {
	case v.kind == aMap:
		return s.number(v.m.Addr(), false), nil
	case v.bitSize != 0:
		return nil, errors.New("a bitfield has no address")
	case v.kind == inRegister:
		return nil, errors.New("a register has no address")
	case v.kind != inMemory:
		return nil, errors.New("the value has no address: it lies in no memory")
	}
	return s.pointerTo(v.Type, v.Addr), nil
}

func (s *Session) evalBinary(n *binaryNode) (*Value, error) {
	x, err := s.eval(n.x)
	if err != nil {
		return nil, err
	}
	if n.op == "&&" || n.op == "||" {
		a, err := s.isTrue(x)
		if err != nil || a == (n.op == "||") {
			return s.boolean(a), err
		}
		y, err := s.eval(n.y)
		if err != nil {
			return nil, err
		}
		b, err := s.isTrue(y)
		return s.boolean(b), err
	}
	y, err := s.eval(n.y)
	if err != nil {
		return nil, err
	}
	if n.op == "@" {
		return s.repeated(x, y)
	}
	return s.binary(n.op, x, y)
}

func (s *Session) binary(op string, x, y *Value) (*Value, error) {
	if (x.isText || y.isText) && (op == "==" || op == "!=") {
		a, err := s.textOf(x)
		if err != nil {
			return nil, err
		}
		b, err := s.textOf(y)
		if err != nil {
			return nil, err
		}
		return s.boolean((a == b) == (op == "==")), nil
	}
	if op == "==" || op == "!=" {
		if x.Type.isComposite() && y.Type.isComposite() {
			return s.boolean(bytes.Equal(x.Data, y.Data) == (op == "==")), nil
		}
	}
	if op == "+" || op == "-" {
		if v, ok, err := s.pointerArithmetic(op, x, y); ok || err != nil {
			return v, err
		}
	}
	a, as, err := s.asInt(x)
	if err != nil {
		return nil, err
	}
	b, bs, err := s.asInt(y)
	if err != nil {
		return nil, err
	}
	signed := s.promoted(x, as) && s.promoted(y, bs)
	return s.arith(op, a, b, signed)
}

// promoted reports whether C computes with a value as a signed number: unsigned types smaller than 64 bits fit in one.
func (s *Session) promoted(v *Value, signed bool) bool {
	return signed || v.Type.kind() != btf.KindPtr && len(v.Data) > 0 && len(v.Data) < 8
}

func (s *Session) arith(op string, a, b uint64, signed bool) (*Value, error) {
	less := a < b
	if signed {
		less = int64(a) < int64(b)
	}
	switch op {
	case "+":
		return s.number(a+b, signed), nil
	case "-":
		return s.number(a-b, signed), nil
	case "*":
		return s.number(a*b, signed), nil
	case "/", "%":
		if b == 0 {
			return nil, errors.New("division by zero")
		}
		switch {
		case signed && b == ^uint64(0): // also what would overflow
			if op == "/" {
				return s.number(-a, true), nil
			}
			return s.number(0, true), nil
		case signed && op == "/":
			return s.number(uint64(int64(a)/int64(b)), true), nil
		case signed:
			return s.number(uint64(int64(a)%int64(b)), true), nil
		case op == "/":
			return s.number(a/b, false), nil
		}
		return s.number(a%b, false), nil
	case "&":
		return s.number(a&b, signed), nil
	case "|":
		return s.number(a|b, signed), nil
	case "^":
		return s.number(a^b, signed), nil
	case "<<":
		return s.number(a<<(b&63), signed), nil
	case ">>":
		if signed {
			return s.number(uint64(int64(a)>>(b&63)), true), nil
		}
		return s.number(a>>(b&63), false), nil
	case "==":
		return s.boolean(a == b), nil
	case "!=":
		return s.boolean(a != b), nil
	case "<":
		return s.boolean(less), nil
	case ">":
		return s.boolean(!less && a != b), nil
	case "<=":
		return s.boolean(less || a == b), nil
	case ">=":
		return s.boolean(!less), nil
	}
	return nil, fmt.Errorf("operator %s is not known", op)
}

// pointerArithmetic adds to pointers and subtracts them in units of what they point to; ok is false when neither is one.
func (s *Session) pointerArithmetic(op string, x, y *Value) (v *Value, ok bool, err error) {
	xt, xp := s.pointee(x)
	yt, yp := s.pointee(y)
	if !xp && !yp {
		return nil, false, nil
	}
	a, _, err := s.asInt(x)
	if err != nil {
		return nil, false, err
	}
	b, _, err := s.asInt(y)
	if err != nil {
		return nil, false, err
	}
	if xp && yp {
		if op != "-" {
			return nil, false, errors.New("two pointers cannot be added")
		}
		return s.number((a-b)/s.stride(xt), true), true, nil
	}
	if yp {
		if op == "-" {
			return nil, false, errors.New("a pointer cannot be subtracted from a number")
		}
		a, b, xt = b, a, yt
	}
	if op == "-" {
		b = -b
	}
	return s.pointerTo(xt, a+b*s.stride(xt)), true, nil
}

func (s *Session) pointee(v *Value) (Type, bool) {
	if v.kind == aMap || v.kind == aPacket || v.isText {
		return Type{}, false
	}
	return v.Type.elem()
}

// stride is the distance of elements; of void 1, as GNU C has it.
func (s *Session) stride(t Type) uint64 {
	if n, err := t.size(); err == nil && n > 0 {
		return uint64(n)
	}
	return 1
}

// maxString is how much of a string is read.
const maxString = 4096

// textOf is the text of a string constant, an array of characters, or behind a pointer to them.
func (s *Session) textOf(v *Value) (string, error) {
	switch {
	case v.isText:
		return v.text, nil
	case v.field != nil:
		return v.field.Text(v.Data), nil
	}
	t, ok := v.Type.elem()
	if !ok || !t.isChar() && t.kind() != btf.KindInt {
		return "", fmt.Errorf("a value of type %s is not a string", v.Type)
	}
	data := v.Data
	if v.Type.kind() == btf.KindPtr {
		text, err := s.cString(s.uint(v.Data))
		return text, err
	}
	if i := bytes.IndexByte(data, 0); i >= 0 {
		data = data[:i]
	}
	return string(data), nil
}

// cString reads text up to a zero byte.
func (s *Session) cString(addr uint64) (string, error) {
	var out []byte
	for len(out) < maxString {
		var b [1]byte
		if err := s.peek(addr+uint64(len(out)), b[:]); err != nil {
			if len(out) > 0 {
				break
			}
			return "", err
		}
		if b[0] == 0 {
			break
		}
		out = append(out, b[0])
	}
	return string(out), nil
}

func (s *Session) evalMember(n *memberNode) (*Value, error) {
	x, err := s.eval(n.x)
	if err != nil {
		return nil, err
	}
	return s.member(x, n.name)
}

// member is x.name and x->name: which of the two was written does not matter.
func (s *Session) member(x *Value, name string) (*Value, error) {
	if x.kind == aPacket {
		return s.packetLayer(x, name)
	}
	if x.kind == aMap {
		return nil, fmt.Errorf("%s is a map: name an element, as in %s[KEY].%s", x.name, x.name, name)
	}
	if x.layer != nil {
		if v, ok := s.layerField(x, name); ok {
			return v, nil
		}
		if !x.Type.isComposite() {
			return nil, &UnknownError{What: "field", Name: name, In: x.name, Nearest: near(name, s.layerNames(x))}
		}
	}
	if x.Type.kind() == btf.KindPtr {
		p, err := s.deref(x)
		if err != nil {
			return nil, err
		}
		if x = p; x.Type.kind() == btf.KindPtr {
			return nil, fmt.Errorf("a %s points to a pointer: dereference it first", x.Type.pointer())
		}
	}
	if !x.Type.isComposite() {
		return nil, fmt.Errorf("a value of type %s has no members", x.Type)
	}
	f, ok := x.Type.Spec.FindMember(x.Type.ID, name)
	if !ok {
		// A path of the declaration may also be wanted by its local name: flavors and renamed members are not guessed.
		if x.layer != nil {
			return nil, &UnknownError{What: "field", Name: name, In: x.name, Nearest: near(name, s.layerNames(x))}
		}
		return nil, &UnknownError{What: "member", Name: name, In: s.typeIn(x.Type), Nearest: near(name, x.Type.Spec.MemberNames(x.Type.ID))}
	}
	return s.field(x, f)
}

// typeIn names a type and whose it is.
func (s *Session) typeIn(t Type) string {
	if t.Spec == s.linked.Target.BTF && t.Spec != nil && s.linked.Target.Name != "" {
		return fmt.Sprintf("%s of %s", t, s.linked.Target.Name)
	}
	return t.String()
}

// field is a member of a struct value.
func (s *Session) field(x *Value, f btf.Field) (*Value, error) {
	out := &Value{Type: Type{Spec: x.Type.Spec, ID: f.Type}, kind: x.kind, reg: x.reg, frame: x.frame}
	lo := uint64(f.BitOffset / 8)
	var size uint64
	if f.BitSize > 0 {
		size = (uint64(f.BitOffset)+uint64(f.BitSize)+7)/8 - lo
		out.bitOff, out.bitSize = f.BitOffset%8, f.BitSize
	} else {
		n, err := out.Type.size()
		if err != nil {
			return nil, err
		}
		size = uint64(n)
	}
	if x.kind == inMemory {
		if f.BitSize == 0 {
			return s.at(out.Type, x.Addr+lo)
		}
		out.Addr, out.Data = x.Addr+lo, make([]byte, size)
		return out, s.peek(out.Addr, out.Data)
	}
	if lo+size > uint64(len(x.Data)) {
		return nil, errors.New("the value is cut short")
	}
	out.Data, out.rec = x.Data[lo:lo+size], x.rec.within(lo)
	if x.kind == inRegister {
		out.kind, out.where = computed, where{kind: inRegister, reg: x.reg}
	}
	return out, nil
}

func (s *Session) evalIndex(n *indexNode) (*Value, error) {
	x, err := s.eval(n.x)
	if err != nil {
		return nil, err
	}
	if x.kind == aMap {
		return s.mapElement(x, n.keys)
	}
	if len(n.keys) != 1 {
		return nil, errors.New("only maps take a CPU after the key")
	}
	i, _, err := s.evalInt(n.keys[0])
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
		return s.packetByte(x, i)
	case x.layer != nil:
		return s.otherLayer(x, i)
	}
	return s.index(x, int64(i))
}

func (s *Session) index(x *Value, i int64) (*Value, error) {
	t, ok := s.pointee(x)
	if !ok {
		return nil, fmt.Errorf("a value of type %s has no elements", x.Type)
	}
	size := s.stride(t)
	if x.Type.kind() == btf.KindArray && x.kind != inMemory {
		if i < 0 || uint64(i) >= uint64(len(x.Data))/size {
			return nil, fmt.Errorf("index %d is outside of %s", i, x.Type)
		}
		return &Value{Type: t, Data: x.Data[uint64(i)*size : uint64(i+1)*size], rec: x.rec.within(uint64(i) * size)}, nil
	}
	if n := x.Type.count(); n > 0 && (i < 0 || i >= int64(n)) {
		return nil, fmt.Errorf("index %d is outside of %s (ARRAY[0]@N shows N elements, also past its end)", i, x.Type)
	}
	base, _, err := s.asInt(x)
	if err != nil {
		return nil, err
	}
	return s.at(t, base+uint64(i)*size)
}

func (s *Session) evalSlice(n *sliceNode) (*Value, error) {
	x, err := s.eval(n.x)
	if err != nil {
		return nil, err
	}
	lo, _, err := s.evalInt(n.lo)
	if err != nil {
		return nil, err
	}
	hi, _, err := s.evalInt(n.hi)
	if err != nil {
		return nil, err
	}
	if hi <= lo || hi-lo > maxRead {
		return nil, fmt.Errorf("[%d:%d] has no elements (the end is not included)", int64(lo), int64(hi))
	}
	var t Type
	base := x.Addr
	if x.kind == aPacket {
		t = s.basic.named("unsigned char")
	} else {
		var ok bool
		if t, ok = s.pointee(x); !ok || t.Elems > 0 {
			return nil, fmt.Errorf("a value of type %s has no elements", x.Type)
		}
		if base, _, err = s.asInt(x); err != nil {
			return nil, err
		}
	}
	base += lo * s.stride(t)
	t.Elems = int(hi - lo)
	return s.at(t, base)
}

func (s *Session) evalCast(n *castNode) (*Value, error) {
	t, err := s.resolveType(n.t)
	if err != nil {
		return nil, err
	}
	x, err := s.eval(n.x)
	if err != nil {
		return nil, err
	}
	if x.isText {
		return nil, errors.New("a string cannot be cast")
	}
	return s.convert(x, t)
}

func (s *Session) evalSizeof(n *sizeofNode) (*Value, error) {
	var t Type
	if n.t != nil {
		var err error
		if t, err = s.resolveType(*n.t); err != nil {
			return nil, err
		}
	} else {
		v, err := s.eval(n.x)
		if err != nil {
			return nil, err
		}
		if v.isText {
			return s.number(uint64(len(v.text)+1), false), nil
		}
		t = v.Type
	}
	size, err := t.size()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t, err)
	}
	return s.number(uint64(size), false), nil
}

func (s *Session) evalContainer(n *containerNode) (*Value, error) {
	p, _, err := s.evalInt(n.x)
	if err != nil {
		return nil, err
	}
	t, err := s.resolveType(n.t)
	if err != nil {
		return nil, err
	}
	if t.Ptr > 0 || !t.isComposite() {
		return nil, fmt.Errorf("%s has no members", t)
	}
	t = s.layoutAt(t, p)
	f, err := t.Spec.ResolvePath(t.ID, n.member)
	if err != nil {
		return nil, s.pathError(t, err)
	}
	return s.pointerTo(t, p-uint64(f.Offset())), nil
}

// pathError identifies which member a type does not have.
func (s *Session) pathError(t Type, err error) error {
	var pe *btf.PathError
	if errors.As(err, &pe) {
		return &UnknownError{What: "member", Name: pe.At, In: s.typeIn(t), Nearest: pe.Nearest}
	}
	return err
}

// typeOfText parses text as a type; ok is false when it is none.
func (s *Session) typeOfText(text string) (t Type, ok bool, err error) {
	toks, err := lex(strings.TrimSpace(text))
	if err != nil {
		return t, false, nil
	}
	p := &parser{text: text, toks: toks, isType: s.isType}
	if !p.typeFollows(0) {
		return t, false, nil
	}
	tn, err := p.typeName()
	if err != nil || p.peek().kind != tokEnd {
		return t, false, nil
	}
	t, err = s.resolveType(tn)
	return t, true, err
}
