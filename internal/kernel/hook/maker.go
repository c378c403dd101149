package hook

import (
	"maps"
	"slices"

	"github.com/bpfrun/bpfrun/internal/kernel/model"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/kernel/window"
	"github.com/bpfrun/bpfrun/internal/subsys/hid"
)

// Hooks creates the contexts of programs: the object that r1 points to, and the event it is about.
// Create it with [New].
type Hooks struct {
	*object.Space   `snapshot:"fixed"`
	*window.User    `snapshot:"fixed"`
	*window.Symbols `snapshot:"fixed"`
	*model.Model    `snapshot:"fixed"`
	*net.Host       `snapshot:"fixed"`
	hid             *hid.Bus `snapshot:"fixed"`

	event  event
	traced uint64     // address of the traced function
	live   []*Context // contexts created and not freed
}

// New returns Hooks without any events.
func New(s *object.Space, u *window.User, y *window.Symbols, m *model.Model, h *net.Host, d *hid.Bus) *Hooks {
	return &Hooks{Space: s, User: u, Symbols: y, Model: m, Host: h, hid: d}
}

// Snapshot is the state of [Hooks] at one point in time.
type Snapshot struct {
	event    event
	traced   uint64
	live     []*Context
	contexts []Context
}

// Snapshot records the event and the contexts that are in use.
func (h *Hooks) Snapshot() *Snapshot {
	s := &Snapshot{event: h.event, traced: h.traced, live: slices.Clone(h.live)}
	for _, c := range h.live {
		s.contexts = append(s.contexts, c.save())
	}
	return s
}

// Restore restores a snapshot. Contexts created since are forgotten.
func (h *Hooks) Restore(s *Snapshot) {
	h.event, h.traced = s.event, s.traced
	h.live = append(h.live[:0], s.live...)
	for i, c := range h.live {
		c.load(&s.contexts[i])
	}
}

// Contexts returns the contexts that were created and not freed.
func (h *Hooks) Contexts() []*Context { return slices.Clone(h.live) }

// Space returns the objects of the kernel that the context belongs to.
func (c *Context) Space() *object.Space { return c.k.Space }

// save returns a copy that shares nothing mutable, with its view.
func (c *Context) save() Context {
	was := *c
	was.more, was.Args, was.inner = slices.Clone(c.more), slices.Clone(c.Args), slices.Clone(c.inner)
	was.spec.Args, was.spec.Fields = maps.Clone(c.spec.Args), maps.Clone(c.spec.Fields)
	if c.view != nil {
		v := c.view.Save()
		was.view = &v
	}
	if c.sysctl != nil {
		was.sysctl = c.sysctl.clone()
	}
	return was
}

// load makes a context what it was when it was saved.
func (c *Context) load(was *Context) {
	more, args, inner, view := c.more, c.Args, c.inner, c.view
	*c = *was
	c.more, c.Args, c.inner = append(more[:0], was.more...), append(args[:0], was.Args...), append(inner[:0], was.inner...)
	if was.spec.Args != nil || was.spec.Fields != nil {
		c.spec.Args, c.spec.Fields = maps.Clone(was.spec.Args), maps.Clone(was.spec.Fields)
	}
	if view != nil {
		c.view = view
		view.Reset(was.view)
	}
	if was.sysctl != nil {
		c.sysctl = was.sysctl.clone()
	}
}

// Traced returns the address of the function that the current event is about, or 0.
func (h *Hooks) Traced() uint64 { return h.traced }
