package fuzz

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/endian"
	"github.com/bpfrun/bpfrun/internal/find/search"
	"github.com/bpfrun/bpfrun/internal/kernel"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
)

// Buffer is user memory behind an argument: bytes, or an array of pointers to strings, as the
// arguments of a process are.
type Buffer struct {
	Name string   `json:"name"`
	Data Bytes    `json:"data,omitempty"`
	List []string `json:"list,omitempty"`
	// Vector means that it is List, which may be empty.
	Vector bool `json:"vector,omitempty"`
}

func (b *Buffer) clone() Buffer {
	return Buffer{b.Name, slices.Clone(b.Data), slices.Clone(b.List), b.Vector}
}

// Limits of user memory behind an argument.
const (
	maxBuffer = 4096
	maxVector = 64
	usualUser = 128 // bytes that are looked at of memory whose size nothing tells
)

// place puts a buffer into the user memory of a kernel, and returns its address.
func (b *Buffer) place(k *kernel.Kernel) uint64 {
	if !b.Vector {
		return k.UserAlloc(b.Data)
	}
	n := k.Mem().PointerSize()
	out := make([]byte, (len(b.List)+1)*n)
	for i, text := range b.List {
		endian.PutUint(k.Order(), out[i*n:(i+1)*n], k.UserString(text))
	}
	return k.UserAlloc(out)
}

// node is the buffer as a scenario has it.
func (b *Buffer) node() *grammar.Node {
	if b.Vector {
		n := &grammar.Node{Kind: grammar.Sequence, Tag: "!user"}
		for _, text := range b.List {
			n.Items = append(n.Items, grammar.Quote(text))
		}
		return n
	}
	if n := len(b.Data) - 1; n >= 0 && b.Data[n] == 0 && isText(b.Data[:n]) {
		q := grammar.Quote(string(b.Data[:n]))
		q.Tag = "!user"
		return q
	}
	w := grammar.Word(fmt.Sprintf("0x%x", []byte(b.Data)))
	w.Tag = "!user"
	return w
}

// isText reports whether bytes are what people can read.
func isText(b []byte) bool {
	return !slices.ContainsFunc(b, func(c byte) bool { return c < 0x20 || c > 0x7e })
}

// userBuffers are the arguments of a context that lead to user memory, with what is there.
func userBuffers(k *kernel.Kernel, c *hook.Context) (out []Buffer) {
	for _, name := range c.ArgNames() {
		v, ok := argValue(c, name)
		if !ok || !k.IsUserAddress(v) || !k.UserMapped(v) {
			continue
		}
		if _, placed := k.UserName(v); placed {
			out = append(out, userBuffer(k, name, v))
		}
	}
	return out
}

// argValue is the value of an argument in a context.
func argValue(c *hook.Context, name string) (uint64, bool) {
	if v, _, ok := c.ArgValue(name); ok {
		return v, true
	}
	if a := c.Arg(name); a != nil {
		return a.Value, true
	}
	return 0, false
}

// userBuffer reads what is behind an argument.
func userBuffer(k *kernel.Kernel, name string, addr uint64) Buffer {
	b := Buffer{Name: name}
	var list []string
	n := uint64(k.Mem().PointerSize())
	word := make([]byte, n)
	for at := addr; len(list) < maxVector && k.UserRead(at, word) == nil; at += n {
		v := endian.Uint(k.Order(), word)
		_, placed := k.UserName(v)
		text, ok := userText(k, v)
		if !placed || !ok {
			b.Vector = v == 0 && len(list) > 0
			break
		}
		list = append(list, text)
	}
	if b.Vector {
		b.List = list
		return b
	}
	b.Data = make([]byte, usualUser)
	for len(b.Data) > 1 && k.UserRead(addr, b.Data) != nil {
		b.Data = b.Data[:len(b.Data)/2]
	}
	if i := bytes.IndexByte(b.Data, 0); i > 0 && isText(b.Data[:i]) {
		b.Data = b.Data[:i+1]
	}
	return b
}

// userText reads a string that people can read.
func userText(k *kernel.Kernel, addr uint64) (string, bool) {
	var out []byte
	for c := make([]byte, 1); len(out) < maxText; out = append(out, c[0]) {
		if k.UserRead(addr+uint64(len(out)), c) != nil {
			return "", false
		}
		if c[0] == 0 {
			return string(out), len(out) > 0 && isText(out)
		}
	}
	return "", false
}

// bufferOf is what is behind an argument in an event: as the input has it, or as it is by default.
func (f *Fuzzer) bufferOf(e *Event, name string) (Buffer, bool) {
	for i := range e.User {
		if e.User[i].Name == name {
			return e.User[i].clone(), true
		}
	}
	for i, b := range f.space.runs[e.Run].user {
		if b.Name == name {
			return f.space.runs[e.Run].user[i].clone(), true
		}
	}
	return Buffer{}, false
}

// setArg makes an argument a number, which leads nowhere.
func (e *Event) setArg(name string, v uint64) {
	e.User = slices.DeleteFunc(e.User, func(b Buffer) bool { return b.Name == name })
	e.Args = setNumber(e.Args, name, v)
}

// setBuffer sets what is behind an argument.
func (e *Event) setBuffer(b Buffer) {
	e.Args = slices.DeleteFunc(e.Args, func(n Number) bool { return n.Name == b.Name })
	for i := range e.User {
		if e.User[i].Name == b.Name {
			e.User[i] = b
			return
		}
	}
	if len(e.User) < maxNumbers {
		e.User = append(e.User, b)
	}
}

// inUser finds an operand in user memory behind an argument of the last run.
func (s *side) inUser(in *Input, w search.Wish) (spot, bool) {
	c, best := s.watch.ctx, spot{}
	if c == nil || !s.whole.Machine().Kernel().IsUserAddress(w.Addr) {
		return best, false
	}
	e := &in.Events[len(in.Events)-1]
	nearest := uint64(maxBuffer)
	for _, b := range s.f.space.runs[e.Run].user {
		v, ok := argValue(c, b.Name)
		if !ok || w.Addr < v || w.Addr-v >= nearest {
			continue
		}
		nearest = w.Addr - v
		best = spot{part: User, name: b.Name, off: int(nearest), text: fmt.Sprintf("*%s[%d:%d]", b.Name, nearest, nearest+uint64(w.Size))}
		if now, _ := s.f.bufferOf(e, b.Name); now.Vector { // of the strings nothing tells which they are
			best = spot{part: User, vector: true, name: b.Name, off: int(nearest) / s.whole.Machine().Memory().PointerSize(), text: "the strings of " + b.Name}
		}
	}
	return best, best.name != ""
}

// grantUser changes bytes behind an argument, or makes an array of strings so long that it has an
// element.
func (f *Fuzzer) grantUser(e *Event, sp spot, data []byte) {
	b, ok := f.bufferOf(e, sp.name)
	end := sp.off + len(data)
	switch {
	case !ok || end > maxBuffer:
		return
	case sp.vector:
		for len(b.List) <= min(sp.off, maxVector-1) {
			b.List = append(b.List, "x")
		}
	default:
		for len(b.Data) < end {
			b.Data = append(b.Data, 0)
		}
		copy(b.Data[sp.off:], data)
	}
	e.setBuffer(b)
}

// mutateBuffer changes what is behind an argument: the length of a string or of a list matters more
// than what is in it.
func mutateBuffer(r *rand.Rand, b *Buffer, values []uint64) {
	switch n := len(b.Data) - 1; {
	case b.Vector && r.IntN(2) == 0 && len(b.List) > 0:
		i := r.IntN(len(b.List))
		b.List[i] = mutateText(r, b.List[i], maxText)
	case b.Vector && r.IntN(3) == 0 && len(b.List) > 0:
		b.List = b.List[:r.IntN(len(b.List))]
	case b.Vector:
		for range 1 + r.IntN(8)*r.IntN(4) {
			if len(b.List) < maxVector {
				b.List = append(b.List, mutateText(r, "x", maxText))
			}
		}
	case n > 0 && b.Data[n] == 0 && isText(b.Data[:n]) && r.IntN(4) != 0:
		b.Data = append([]byte(strings.ReplaceAll(mutateText(r, string(b.Data[:n]), maxText), "\x00", " ")), 0)
	case r.IntN(6) == 0: // longer
		b.Data = append(b.Data, make([]byte, min(1<<r.IntN(9), maxBuffer-len(b.Data)))...)
	case r.IntN(6) == 0 && len(b.Data) > 1:
		b.Data = b.Data[:1+r.IntN(len(b.Data)-1)]
	default:
		for range 1 + r.IntN(3) {
			mutateBytes(r, b.Data[:min(len(b.Data), 1<<(3+r.IntN(8)))], values)
		}
	}
}

// checkUser checks the names of buffers that come from outside.
func (f *Fuzzer) checkUser(e *Event) error {
	for _, b := range e.User {
		if _, ok := f.bufferOf(&Event{Run: e.Run}, b.Name); !ok {
			return fmt.Errorf("run %q has no argument %q that leads to user memory", e.Run, b.Name)
		}
	}
	return nil
}
