package bpfsys

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	kobject "github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// The objects that arguments of events point to.

// eventArgs returns the arguments of an event: its values, tasks, sockets and other objects.
func (s *System) eventArgs(e Event, at []*attachment) (map[string]any, error) {
	if len(e.Tasks)+len(e.Sockets) == 0 {
		return e.Args, nil
	}
	args := maps.Clone(e.Args)
	if args == nil {
		args = map[string]any{}
	}
	for _, name := range slices.Sorted(maps.Keys(e.Tasks)) {
		o, err := s.pointedTo(e.Hook, name, e.Tasks[name], at)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if o != nil {
			args[name] = o
		}
	}
	for _, name := range slices.Sorted(maps.Keys(e.Sockets)) {
		s.pointee(e.Hook, name, at)
		sk, err := s.hostSocket(e.Sockets[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		args[name] = sk
	}
	return args, nil
}

// taskOfEvent returns the fields of the task in which an event happens. Some hooks have it among
// their arguments: the current task of a switch is the one that it leaves.
func (s *System) taskOfEvent(e Event) map[string]any {
	if len(e.Task) == 0 {
		_, event, _ := cutLast(e.Hook, '/')
		if fields := e.Tasks[hook.CurrentTask(event)]; fields["pid"] != nil {
			return fields
		}
	}
	return e.Task
}

// maxEventObjects limits the objects of events other than tasks and sockets.
const maxEventObjects = 4096

// pointedTo returns the object that an argument points to: a task, or an object of the type that
// the hook's prototype says. Equal fields are the same object. Nil is what no program there takes.
func (s *System) pointedTo(hook, name string, fields map[string]any, at []*attachment) (*kobject.Object, error) {
	typ := s.pointee(hook, name, at)
	switch typ {
	case notTaken:
		return nil, nil
	case "", "task_struct":
		return s.task(fields)
	}
	key := typ
	for _, f := range slices.Sorted(maps.Keys(fields)) {
		key += fmt.Sprintf("\x00%s\x00%v", f, fields[f])
	}
	if o := s.eventObjects[key]; o != nil {
		return o, nil
	}
	if len(s.eventObjects) >= maxEventObjects {
		return nil, fmt.Errorf("more than %d objects in events", maxEventObjects)
	}
	o, err := s.machine.Kernel().NewDefault(fmt.Sprintf("event %s %d", name, len(s.eventObjects)), typ)
	if err != nil {
		return nil, err
	}
	for _, f := range slices.Sorted(maps.Keys(fields)) {
		if err := o.Set(f, fields[f]); err != nil {
			return nil, err
		}
	}
	if s.eventObjects == nil {
		s.eventObjects = map[string]*kobject.Object{}
	}
	s.eventObjects[key] = o
	return o, nil
}

// notTaken stands for the type of an argument that a hook does not have.
const notTaken = "-"

// pointee returns the name of the type that an argument of a hook points to, "" if it is not known.
func (s *System) pointee(event, name string, at []*attachment) string {
	key := event + " " + name
	if typ, known := s.pointees[key]; known {
		return typ
	}
	typ := ""
	for _, h := range at {
		spec := hook.ContextSpec{ProgType: h.prog.typ, AttachTo: h.hook.AttachTo, Section: h.hook.Section}
		if h.prog.typ == uapi.ProgTypeTracepoint { // whose record has no pointers
			_, event, _ := cutLast(h.hook.AttachTo, '/')
			spec = hook.ContextSpec{ProgType: uapi.ProgTypeRawTracepoint, AttachTo: event, Section: "raw_tp/" + event}
		}
		c, err := s.machine.Kernel().NewContext(spec)
		if err != nil {
			continue
		}
		a := c.Arg(name)
		switch {
		case a != nil && a.Object != nil:
			typ = strings.TrimPrefix(a.Object.TypeName(), "struct ")
		case a == nil && len(c.Args) > 0:
			typ = notTaken
		}
		c.Leave()
		c.Free()
		if typ != "" && typ != notTaken {
			break
		}
	}
	if s.pointees == nil {
		s.pointees = map[string]string{}
	}
	if len(s.pointees) < maxEventObjects {
		s.pointees[key] = typ
	}
	return typ
}
