package invariant

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/bpfrun/bpfrun/internal/debug/expr"
	"github.com/bpfrun/bpfrun/internal/maps"
)

// before is the value that a call's argument had before the run.
type before struct {
	value *expr.Value
	err   error
	whole bool
	// elements are the contents of a map, by key; nil for other values.
	elements map[string][]byte
}

// functions are those of invariants.
func (c *Checker) functions() map[string]expr.Function {
	return map[string]expr.Function{
		"old":       {Args: 1, Do: c.old},
		"unchanged": {Args: 1, Do: c.unchanged},
		"has":       {Args: 1, Do: c.has},
		"sum":       {Args: 2, Optional: 1, Do: c.sum},
		"count":     {Args: 1, Do: c.count},
		"sent":      {Args: 1, Do: c.sent},
	}
}

// take evaluates the argument of a call before the run.
func (c *Checker) take(e early) *before {
	b := &before{whole: e.whole}
	if b.value, b.err = c.ev.EvalNode(e.arg); b.err != nil {
		return b
	}
	if e.whole && b.value.IsMap() {
		b.elements = contents(b.value.Map)
		return b
	}
	if e.whole {
		v := *b.value
		v.Data = bytes.Clone(v.Data)
		b.value = &v
		return b
	}
	n, signed, err := c.ev.AsInt(b.value)
	if err != nil {
		b.err = fmt.Errorf("old(%s): %w", expr.Text(e.arg), err)
		return b
	}
	b.value = c.ev.Number(n, signed)
	return b
}

func (c *Checker) old(call expr.Node, args []expr.Node) (*expr.Value, error) {
	if c.checking {
		return c.ev.EvalNode(args[0])
	}
	b := c.memo[call]
	if b == nil {
		return nil, errors.New("the state before the run is not known")
	}
	return b.value, b.err
}

func (c *Checker) unchanged(call expr.Node, args []expr.Node) (*expr.Value, error) {
	v, err := c.ev.EvalNode(args[0])
	if c.checking || err != nil && !missing(err) {
		return v, err
	}
	b := c.memo[call]
	if b == nil {
		return nil, errors.New("the state before the run is not known")
	}
	return c.truthValue(c.same(b, v, err)), nil
}

// same reports whether a value is what it was: a map by its elements, everything else by its bytes.
func (c *Checker) same(b *before, now *expr.Value, err error) bool {
	switch {
	case b.err != nil || err != nil:
		return b.err != nil && err != nil
	case b.elements != nil:
		return difference(b.elements, contents(now.Map)) == nil
	}
	return bytes.Equal(b.value.Data, now.Data)
}

// difference says how what a call of unchanged is about differs, "" if it does not.
func (c *Checker) difference(b *before, call expr.Node) string {
	text := expr.Text(call)
	if b.elements == nil {
		return text + " is false"
	}
	var key []byte
	expr.EachCall(call, func(_ expr.Node, _ string, args []expr.Node) {
		if v, err := c.ev.EvalNode(args[0]); err == nil && v.IsMap() {
			key = difference(b.elements, contents(v.Map))
		}
	})
	if key == nil {
		return ""
	}
	return fmt.Sprintf("%s is false: the element with key %x differs", text, key)
}

// difference returns the least key whose element differs, nil if there is none.
func difference(was, is map[string][]byte) []byte {
	var least []byte
	note := func(k string) {
		if least == nil || k < string(least) {
			least = append([]byte{}, k...)
		}
	}
	for k, v := range was {
		if now, ok := is[k]; !ok || !bytes.Equal(v, now) {
			note(k)
		}
	}
	for k := range is {
		if _, ok := was[k]; !ok {
			note(k)
		}
	}
	return least
}

// contents returns the elements of a map by key, the values of all CPUs one after the other.
// Records of buffers have their numbers as keys.
func contents(m maps.Map) map[string][]byte {
	out := map[string][]byte{}
	if expr.IsSender(m) {
		for i, r := range expr.RecordsIn(m) {
			out[fmt.Sprintf("%08d", i)] = bytes.Clone(r.Data)
		}
		return out
	}
	for i, e := range m.Entries() {
		key, value := string(e.Key), bytes.Clone(e.Value)
		if len(e.Key) == 0 { // a queue
			key = fmt.Sprintf("%08d", i)
		}
		for _, v := range e.PerCPU {
			value = append(value, v...)
		}
		if e.Ref != nil {
			value = fmt.Appendf(value, "%p", e.Ref)
		}
		out[key] = value
	}
	return out
}

// has reports whether an expression has a value: whether an element, a record or a header exists.
func (c *Checker) has(_ expr.Node, args []expr.Node) (*expr.Value, error) {
	v, err := c.ev.EvalNode(args[0])
	if c.checking {
		return v, err
	}
	if err != nil && !missing(err) {
		return nil, err
	}
	return c.truthValue(err == nil), nil
}

func (c *Checker) truthValue(ok bool) *expr.Value {
	if ok {
		return c.ev.Number(1, true)
	}
	return c.ev.Number(0, true)
}

// mapOf evaluates an argument that is a map.
func (c *Checker) mapOf(function string, n expr.Node) (maps.Map, error) {
	v, err := c.ev.EvalNode(n)
	if err != nil {
		return nil, err
	}
	if !v.IsMap() {
		return nil, fmt.Errorf("%s(%s): want a map", function, expr.Text(n))
	}
	return v.Map, nil
}

// sum adds the values of a map, or one member of each, over all CPUs.
func (c *Checker) sum(_ expr.Node, args []expr.Node) (*expr.Value, error) {
	m, err := c.mapOf("sum", args[0])
	if err != nil {
		return nil, err
	}
	member := ""
	if len(args) > 1 {
		member = expr.Text(args[1])
	}
	var total uint64
	signed := false
	add := func(data []byte) error {
		v := &expr.Value{Type: c.ev.ValueType(m), Data: data}
		if member != "" {
			var err error
			if v, err = c.ev.Member(v, member); err != nil {
				return err
			}
		}
		n, s, err := c.ev.AsInt(v)
		if err != nil {
			hint := ""
			if member == "" && v.Type.IsComposite() {
				hint = "; sum one of its members with sum(" + expr.Text(args[0]) + ", MEMBER)"
			}
			return fmt.Errorf("sum(%s): %w%s", expr.Text(args[0]), err, hint)
		}
		total, signed = total+n, s
		return nil
	}
	if c.checking {
		return c.ev.Number(0, false), add(make([]byte, m.Spec().ValueSize))
	}
	for _, e := range m.Entries() {
		list := e.PerCPU
		if list == nil {
			list = [][]byte{e.Value}
		}
		for _, data := range list {
			if err := add(data); err != nil {
				return nil, err
			}
		}
	}
	return c.ev.Number(total, signed), nil
}

// count is the number of elements of a map, for an array of those that are not zero.
func (c *Checker) count(_ expr.Node, args []expr.Node) (*expr.Value, error) {
	m, err := c.mapOf("count", args[0])
	if err != nil {
		return nil, err
	}
	return c.ev.Number(uint64(len(m.Entries())), true), nil
}

// sent is the number of records that the run sent.
func (c *Checker) sent(_ expr.Node, args []expr.Node) (*expr.Value, error) {
	m, err := c.mapOf("sent", args[0])
	if err != nil {
		return nil, err
	}
	if !expr.IsSender(m) {
		return nil, fmt.Errorf("sent(%s): want a ring or perf buffer", expr.Text(args[0]))
	}
	n := len(expr.RecordsIn(m))
	return c.ev.Number(uint64(n), true), nil
}
