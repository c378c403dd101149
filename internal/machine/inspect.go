package machine

import (
	"fmt"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
)

// Inspect creates the context that Run would create for a program, to look at the arguments of its
// hook. Do not run with it; afterwards free it or restore a snapshot. The errors are those of
// [kernel.Kernel.NewContext].
func (cs *contexts) Inspect(name string, in Input) (*hook.Context, error) {
	p := cs.reg.byName[name]
	if p == nil {
		return nil, fmt.Errorf("%w: %s", ErrNoProgram, name)
	}
	if err := cs.kernel.SetCPU(in.CPU); err != nil {
		return nil, err
	}
	return cs.newContext(p, in)
}

// HookObjects returns the kernel objects that the hook of a program hands out with an input:
// arguments, and fields of a tracepoint's record, by the names that [Input.Args] has. It is no
// event of the hook: the next run sees the same one. The errors are those of [Machine.Inspect].
func (m *Machine) HookObjects(name string, in Input) (map[string]*object.Object, error) {
	p := m.byName[name]
	nth := 0
	if p != nil {
		nth = p.runs
	}
	c, err := m.Inspect(name, in)
	if err != nil {
		return nil, err
	}
	p.runs = nth
	defer c.Free()
	defer c.Leave()
	out := map[string]*object.Object{}
	if c.Iterates() {
		return out, nil
	}
	for i := range c.Args {
		if a := &c.Args[i]; a.Object != nil && a.Object.Addr() == a.Value {
			out[a.Name] = a.Object
		}
	}
	if c.Record == nil || c.Record.Layout() == nil {
		return out, nil
	}
	for i := range c.Record.Layout().Type.Members {
		field := c.Record.Layout().Type.Members[i].Name
		v, size, ok := c.ArgValue(field)
		if !ok || size != m.Memory().PointerSize() {
			continue
		}
		if o := m.kernel.ObjectAt(v); o != nil && o.Addr() == v {
			out[field] = o
		}
	}
	return out, nil
}

// HookSocket returns the socket that a networking program runs for with an input; nil for none.
func (m *Machine) HookSocket(name string, in Input) *object.Object {
	c, err := m.Inspect(name, in)
	if err != nil {
		return nil // the run says why
	}
	defer c.Free()
	defer c.Leave()
	s := c.Socket()
	if s == nil {
		return nil
	}
	o, err := s.Object()
	if err != nil {
		return nil // the kernel's types have no sockets
	}
	return o
}
