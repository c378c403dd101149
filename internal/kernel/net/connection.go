package net

import (
	"fmt"

	"github.com/bpfrun/bpfrun/internal/kernel/object"
)

// Connection is a struct tcp_sock as the kernel's congestion control sees it: its fields, and those
// of an algorithm's own struct in the area that the connection reserves for it (icsk_ca_priv). The
// first missing field is recorded in Err; reads then return 0, and writes have no effect.
type Connection struct {
	obj  *object.Object
	priv string // the algorithm's struct
	Err  error
}

// ConnectionAt returns the connection at the address of a struct sock or tcp_sock; priv names the
// algorithm's struct.
func (h *Host) ConnectionAt(addr uint64, priv string) (*Connection, error) {
	o := h.ObjectAt(addr)
	if o == nil || o.Addr() != h.Mem().Truncate(addr) {
		return nil, fmt.Errorf("%#x is no socket", addr)
	}
	if l := o.Storage(); l == nil || l.Name != "tcp_sock" && l.Name != "tcp6_sock" {
		return nil, &object.TypeError{Type: o.TypeName(), Role: o.Role(), Why: "is not a TCP socket"}
	}
	return &Connection{obj: o, priv: priv}, nil
}

func (c *Connection) field(typ, path string) (object.Field, bool) {
	f, ok := object.Build(c.obj).As(typ).Field(path)
	if !ok && c.Err == nil {
		c.Err = fmt.Errorf("the target's struct %s has no %s", typ, path)
	}
	return f, ok
}

// Get reads a field of struct tcp_sock; alternatives are separated by |.
func (c *Connection) Get(path string) uint64 { return c.GetOf("tcp_sock", path) }

// GetOf reads a field of a struct that a tcp_sock begins with, such as struct sock.
func (c *Connection) GetOf(typ, path string) uint64 {
	if f, ok := c.field(typ, path); ok {
		return c.obj.LoadField(f)
	}
	return 0
}

// Set writes a field of struct tcp_sock.
func (c *Connection) Set(path string, v uint64) { c.SetOf("tcp_sock", path, v) }

// SetOf writes a field of a struct that a tcp_sock begins with.
func (c *Connection) SetOf(typ, path string, v uint64) {
	if f, ok := c.field(typ, path); ok {
		c.obj.StoreField(f, v, object.Given)
	}
}

// private returns a field of the algorithm's struct in the storage of the socket.
func (c *Connection) private(path string) (object.Field, bool) {
	area, ok := c.field("inet_connection_sock", "icsk_ca_priv")
	if !ok {
		return area, false
	}
	l := c.obj.Space().LayoutNamed(c.priv)
	if l == nil {
		if c.Err == nil {
			c.Err = fmt.Errorf("the target has no struct %s", c.priv)
		}
		return area, false
	}
	f, rest, err := l.Place(path)
	if err != nil || rest != "" || f.Off+f.Size > area.Size {
		if c.Err == nil {
			c.Err = fmt.Errorf("the target's struct %s has no %s", c.priv, path)
		}
		return f, false
	}
	f.Off += area.Off
	f.BitOff += area.Off * 8
	return f, true
}

// HasOwn reports whether the algorithm's struct has the field.
func (c *Connection) HasOwn(path string) bool {
	l := c.obj.Space().LayoutNamed(c.priv)
	if l == nil {
		return false
	}
	_, rest, err := l.Place(path)
	return err == nil && rest == ""
}

// Own reads a field of the algorithm's struct.
func (c *Connection) Own(path string) uint64 {
	if f, ok := c.private(path); ok {
		return c.obj.LoadField(f)
	}
	return 0
}

// SetOwn writes a field of the algorithm's struct.
func (c *Connection) SetOwn(path string, v uint64) {
	if f, ok := c.private(path); ok {
		c.obj.StoreField(f, v, object.Given)
	}
}

// ClearOwn zeroes the algorithm's struct up to a field.
func (c *Connection) ClearOwn(end string) {
	area, ok := c.field("inet_connection_sock", "icsk_ca_priv")
	f, also := c.private(end)
	if ok && also {
		c.obj.Poke(area.Off, make([]byte, f.Off-area.Off), object.Given)
	}
}
