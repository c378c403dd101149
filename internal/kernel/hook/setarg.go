package hook

import (
	"strconv"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/endian"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
)

// bytesAt is where a value is in the bytes of a context.
type bytesAt struct{ off, size uint64 }

// Bytes returns the bytes of a context that is plain memory, such as registers, arguments, or a
// trace record, to look at and to change; nil for the contexts of the networking stack, whose
// fields are computed.
func (c *Context) Bytes() []byte {
	if c.view != nil || c.Region.View != nil {
		return nil
	}
	return c.k.Mem().Bytes(c.Region)
}

// SetArg changes an argument of the hook by name, "ret" for the return value, or a field of its
// trace record by path, in a context that exists; a number of an iterator, for all elements. It
// returns false where the value is not in the context itself: in the registers of the task, for a
// system call's wrapper, in views, and in other contexts for several calls.
func (c *Context) SetArg(name string, v uint64) bool {
	if c.Iterates() {
		return c.setEach(name, v)
	}
	b := c.Bytes()
	p, ok := c.placeOf(name)
	if b == nil || !ok || len(c.steps) != 0 || p.off+p.size > uint64(len(b)) {
		return false
	}
	endian.PutUint(c.k.Order(), b[p.off:p.off+p.size], v)
	if a := c.Arg(name); a != nil {
		a.Value, a.Object = v, c.k.ObjectAt(v)
	}
	return true
}

// ArgValue returns what [Context.SetArg] changes, and its size in bytes.
func (c *Context) ArgValue(name string) (v uint64, size int, ok bool) {
	if a := c.Arg(name); c.Iterates() && a != nil && a.Spec.SkipMods(a.Type).Kind != btf.KindPtr {
		return a.Value, a.width(), true
	}
	b := c.Bytes()
	p, ok := c.placeOf(name)
	if b == nil || !ok || len(c.steps) != 0 || p.off+p.size > uint64(len(b)) {
		return 0, 0, false
	}
	return endian.Uint(c.k.Order(), b[p.off:p.off+p.size]), int(p.size), true
}

// placeOf finds the place of an argument or field.
func (c *Context) placeOf(name string) (bytesAt, bool) {
	slot, found := 0, false
	i := 0
	for ; i < len(c.Args); i++ {
		if found = c.Args[i].Name == name; found {
			break
		}
		slot += max(c.Args[i].slots, 1)
	}
	switch {
	case c.Record != nil:
		return c.fieldPlace(name, i, found)
	case found && c.Args[i].slots == 2:
		return bytesAt{}, false
	case c.Type == argsType && found:
		return bytesAt{uint64(8 * slot), 8}, true
	case c.Type == argsType && name == "ret" && c.Returns:
		return bytesAt{uint64(8 * c.Slots), 8}, true
	case c.passed == nil || len(c.inner) != 0:
	case found && !c.Returns && slot < len(c.passed.abi.args):
		return c.registerPlace(c.passed.abi.args[slot])
	case name == "ret" && c.Returns:
		return c.registerPlace(c.passed.abi.ret)
	}
	return bytesAt{}, false
}

func (c *Context) registerPlace(path string) (bytesAt, bool) {
	off, size, ok := c.passed.place(path)
	return bytesAt{uint64(off), uint64(size)}, ok
}

// fieldPlace finds a field of the trace record; argument i of a system call is an element of its
// array.
func (c *Context) fieldPlace(name string, i int, argument bool) (bytesAt, bool) {
	if argument {
		name = "args[" + strconv.Itoa(i) + "]"
	}
	l := c.Record.Layout()
	if l == nil {
		return bytesAt{}, false
	}
	f, rest, err := l.Place(name)
	if err != nil || rest != "" || f.BitSize != 0 || f.Size == 0 || f.Size > 8 {
		return bytesAt{}, false
	}
	return bytesAt{f.Off, f.Size}, true
}

// LengthAt reports whether the bytes at an offset of the context are the packet's length.
func (c *Context) LengthAt(off uint64) bool {
	if c.view == nil {
		return false
	}
	for i := range c.view.Fields {
		if f := &c.view.Fields[i]; uint64(f.Off) == off {
			return f.Kind == net.LenField
		}
	}
	return false
}
