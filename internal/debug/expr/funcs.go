package expr

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"
	"sync"

	"github.com/bpfrun/bpfrun/internal/endian"
)

// callNode is a call of a function of expressions.
type callNode struct {
	name string
	args []Node
}

// offsetNode is offsetof(TYPE, MEMBER).
type offsetNode struct {
	t      typeName
	member string
}

// Function is a function that a user of an [Evaluator] adds to expressions.
type Function struct {
	// Args is the number of its arguments, of which Optional at the end may be missing; these are
	// names of members.
	Args, Optional int
	// Do evaluates a call. The call is the same Node each time the expression is evaluated.
	Do func(call Node, args []Node) (*Value, error)
}

// function is a function of expressions; it computes what the macro of the same name in BPF
// programs does.
type function struct {
	typ string // type of the result
	do  func(order binary.ByteOrder, v uint64) uint64
}

// network returns a conversion between the program's and network byte order, which is its own
// inverse.
func network(size int) func(binary.ByteOrder, uint64) uint64 {
	return func(order binary.ByteOrder, v uint64) uint64 {
		if endian.IsBig(order) {
			return v
		}
		return swap(size)(order, v)
	}
}

func swap(size int) func(binary.ByteOrder, uint64) uint64 {
	return func(_ binary.ByteOrder, v uint64) uint64 { return bits.ReverseBytes64(v) >> (64 - 8*size) }
}

// functions are the functions of expressions, by name without a leading __.
var functions = sync.OnceValue(func() map[string]function {
	out := map[string]function{}
	for size, typ := range map[int]string{2: "unsigned short", 4: "unsigned int", 8: "unsigned long long"} {
		letter := map[int]string{2: "s", 4: "l", 8: "ll"}[size]
		n := 8 * size
		for _, name := range []string{
			"ntoh" + letter, "hton" + letter, fmt.Sprintf("be%d_to_cpu", n), fmt.Sprintf("cpu_to_be%d", n),
			fmt.Sprintf("be%dtoh", n), fmt.Sprintf("htobe%d", n),
		} {
			out[name] = function{typ, network(size)}
			out["bpf_"+name] = out[name]
		}
		out[fmt.Sprintf("builtin_bswap%d", n)] = function{typ, swap(size)}
		out[fmt.Sprintf("bswap%d", n)] = function{typ, swap(size)}
	}
	return out
})

// FunctionNames lists the functions that expressions can call.
func FunctionNames() []string {
	return append(slices.Sorted(maps.Keys(functions())), "container_of", "list_for_each", "offsetof", "sizeof")
}

func findFunction(name string) (function, bool) {
	f, ok := functions()[strings.TrimPrefix(name, "__")]
	return f, ok
}

// call parses the arguments of a function.
func (p *parser) call(name string) (Node, error) {
	takes, optional := 1, 0
	if f, ok := p.added[name]; ok {
		takes, optional = f.Args, f.Optional
	} else if _, ok := findFunction(name); !ok {
		p.at--
		text := "an expression cannot call " + name + ": functions in expressions are "
		if list := Near(name, append(slices.Sorted(maps.Keys(p.added)), FunctionNames()...)); len(list) > 0 {
			text = "no function " + name + " in expressions (nearest: " + strings.Join(list, ", ") + "); there are "
		}
		for _, f := range slices.Sorted(maps.Keys(p.added)) {
			text += f + ", "
		}
		return nil, p.errorf(text + "ntohs, ntohl and similar, sizeof, offsetof, container_of and list_for_each")
	}
	p.next()
	n := &callNode{name: name}
	for i := range takes {
		if i > 0 && !p.op(",") {
			if i >= takes-optional {
				break
			}
			return nil, p.errorf("want ,")
		}
		x, err := p.conditional()
		if err != nil {
			return nil, err
		}
		n.args = append(n.args, x)
	}
	return n, p.want(")")
}

// offsetOf parses what follows offsetof.
func (p *parser) offsetOf() (Node, error) {
	p.next()
	tn, err := p.typeName()
	if err != nil {
		return nil, err
	}
	if err := p.want(","); err != nil {
		return nil, err
	}
	path, err := p.memberPath()
	if err != nil {
		return nil, err
	}
	return &offsetNode{tn, strings.Join(path, ".")}, p.want(")")
}
