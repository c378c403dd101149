package expr

import (
	"fmt"
	"strconv"
	"strings"
)

// Text writes a parsed expression as text; braces and types as they were written.
func Text(n Node) string {
	switch n := n.(type) {
	case *numberNode:
		return strconv.FormatUint(n.v, 10)
	case *stringNode:
		return strconv.Quote(n.text)
	case *braceNode:
		return n.text
	case *nameNode:
		return n.name
	case *regNode:
		return n.name
	case *unaryNode:
		return n.op + operand(n.x)
	case *binaryNode:
		return operand(n.x) + " " + n.op + " " + operand(n.y)
	case *condNode:
		return operand(n.c) + " ? " + operand(n.x) + " : " + operand(n.y)
	case *memberNode:
		dot := "."
		if n.arrow {
			dot = "->"
		}
		return operand(n.x) + dot + n.name
	case *indexNode:
		return operand(n.x) + "[" + texts(n.keys) + "]"
	case *sliceNode:
		return operand(n.x) + "[" + Text(n.lo) + ":" + Text(n.hi) + "]"
	case *castNode:
		return "(" + n.t.String() + ")" + operand(n.x)
	case *sizeofNode:
		if n.t != nil {
			return "sizeof(" + n.t.String() + ")"
		}
		return "sizeof " + operand(n.x)
	case *offsetNode:
		return "offsetof(" + n.t.String() + ", " + n.member + ")"
	case *callNode:
		return n.name + "(" + texts(n.args) + ")"
	case *containerNode:
		return "container_of(" + Text(n.x) + ", " + n.t.String() + ", " + n.member + ")"
	case *walkNode:
		s := "list_for_each(" + Text(n.head) + ", " + n.t.String() + ", " + n.member
		if n.path != nil {
			s += ", " + strings.Join(n.path, ".")
		}
		return s + ")"
	case *assignNode:
		return Text(n.x) + " " + n.op + "= " + Text(n.y)
	}
	return "?"
}

// operand writes a part of an expression, in parentheses if it is not a primary one.
func operand(n Node) string {
	switch n.(type) {
	case *binaryNode, *condNode, *assignNode, *castNode, *unaryNode:
		return "(" + Text(n) + ")"
	}
	return Text(n)
}

func texts(list []Node) string {
	out := make([]string, len(list))
	for i, n := range list {
		out[i] = Text(n)
	}
	return strings.Join(out, ", ")
}

// String returns the type as C writes it.
func (t typeName) String() string {
	s := t.name
	if t.tag != "" {
		s = t.tag + " " + s
	}
	if t.ptr > 0 {
		s += " " + strings.Repeat("*", t.ptr)
	}
	for _, d := range t.dims {
		s += fmt.Sprintf("[%d]", d)
	}
	return s
}

// EachOperand calls f for the parts of an expression that have values of their own: names,
// registers, members, elements and calls, outermost first. What is inside one of them is not
// visited.
func EachOperand(n Node, f func(Node)) {
	switch n := n.(type) {
	case *unaryNode:
		EachOperand(n.x, f)
	case *binaryNode:
		EachOperand(n.x, f)
		EachOperand(n.y, f)
	case *condNode:
		EachOperand(n.c, f)
		EachOperand(n.x, f)
		EachOperand(n.y, f)
	case *castNode:
		EachOperand(n.x, f)
	case *nameNode, *regNode, *memberNode, *indexNode, *callNode:
		f(n)
	}
}

// EachCall calls f for the calls in an expression, with the function's name and arguments.
func EachCall(n Node, f func(call Node, name string, args []Node)) {
	walkNodes(n, func(n Node) {
		if c, ok := n.(*callNode); ok {
			f(c, c.name, c.args)
		}
	})
}

// EachRegister calls f for the names in an expression that begin with $.
func EachRegister(n Node, f func(name string)) {
	walkNodes(n, func(n Node) {
		if x, ok := n.(*regNode); ok {
			f(x.name)
		}
	})
}
