package race

import (
	"maps"
	"slices"
	"sync"

	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

// eventTypes lists the types of which each object is in one place at a time: no two events that run
// at the same time are about the same one. With each type come the fields that lead to further
// objects of that kind (from memory).
var eventTypes = sync.OnceValue(func() map[string][]string {
	return map[string][]string{
		"request": {"bio", "biotail"}, "bio": nil, "sk_buff": nil, "xdp_buff": nil, "xdp_frame": nil, "scsi_cmnd": nil, "urb": nil, "kiocb": nil, "iov_iter": nil,
		"msghdr": nil, "linux_binprm": {"file"}, "filename": nil, "open_flags": nil, "open_how": nil, "kernel_clone_args": nil, "vm_fault": nil, "nameidata": nil,
	}
})

// eventHooks lists the functions at which objects of other types begin or end, so that no other
// event is about the same one (from memory).
var eventHooks = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"file_open": "file", "file_post_open": "file", "file_alloc": "file", "file_alloc_security": "file", "file_free": "file", "file_free_security": "file",
		"do_dentry_open": "file", "vfs_open": "file", "__fput": "file",
	}
})

// twins are the objects of its own that an actor has in the place of those that another one has.
type twins struct {
	m     *machine.Machine
	nth   int             // of the actor
	types map[string]bool // besides eventTypes
	apart bool            // sockets too: see [socketsApart]
	gets  bool            // and packets that these get
	given bool            // also of the objects that the input has
	of    map[uint64]*object.Object
}

// Apart gives every program but the first one objects of its own where its hook hands out an object
// of one event: a request, a packet, a file that is opened. They have the same contents and point
// to the same things, so that keys differ only if they are such an object's address. A socket that
// no two of them can have at the same time is another connection for each, with packets of its own,
// also if a user gave programs of sockmaps the same one. Arguments that the input has stay as they
// are, unless two actors have one input that a user wrote for one run.
func Apart(m *machine.Machine, actors []Actor) []Actor {
	out := slices.Clone(actors)
	types := map[string]bool{}
	var progs []*loader.LinkedProgram
	for i := range out {
		lp, ok := m.Linked().Program(out[i].Program)
		if !ok || out[i].User != nil {
			continue
		}
		types[eventHooks()[hookOf(lp)]] = true
		progs = append(progs, lp)
	}
	apart := socketsApart(progs)
	first, taken := true, map[*object.Object]bool{}
	for i := range out {
		if out[i].User != nil {
			continue
		}
		t := &twins{m, i, types, apart, false, out[i].given, map[uint64]*object.Object{}}
		if lp, ok := m.Linked().Program(out[i].Program); ok && apart {
			t.gets = receives(hookOf(lp))
		}
		if o := t.socket(out[i].Program, out[i].Input); o != nil && apart {
			if taken[o] {
				out[i].Input.Net.Socket = t.twin(o)
			}
			taken[o] = true
		}
		if !first {
			out[i].twins = t
			out[i].Input = t.input(out[i].Program, out[i].Input)
		}
		first = false
	}
	return out
}

// input returns an input of a program with the actor's own objects.
func (t *twins) input(program string, in machine.Input) machine.Input {
	if t == nil || in.Values != nil || in.Context != nil {
		return in
	}
	plain := in
	plain.CPU, plain.Current = 0, nil
	if o := t.socket(program, plain); o != nil {
		if own := t.of[o.Addr()]; own != nil {
			in.Net.Socket = own
		}
		return in
	}
	objects, err := t.m.HookObjects(program, plain)
	if err != nil {
		return in // the run says why
	}
	args := maps.Clone(in.Args)
	for _, name := range slices.Sorted(maps.Keys(objects)) {
		if _, given := in.Args[name]; given && !t.given {
			continue
		}
		twin := t.twin(objects[name])
		if twin == nil {
			continue
		}
		if args == nil {
			args = map[string]any{}
		}
		args[name] = object.Pointer(twin.Addr())
	}
	in.Args = args
	return in
}

// socket returns the TCP socket that a program of a sockmap runs for; nil for none.
func (t *twins) socket(program string, in machine.Input) *object.Object {
	lp, ok := t.m.Linked().Program(program)
	if !ok || !ofSockmap(lp) {
		return nil
	}
	o := in.Net.Socket
	if o == nil {
		o = t.m.HookSocket(program, in)
	}
	if o == nil {
		return nil // the kernel's types have no sockets
	}
	if k, err := t.m.Kernel().SocketOf(o); err != nil || !k.IsTCP() {
		return nil
	}
	return o
}

// twin returns the actor's own object in the place of another one; nil if they share it.
func (t *twins) twin(o *object.Object) *object.Object {
	fields, single := eventTypes()[o.TypeName()]
	socket := t.apart && slices.Contains(socketTypes, o.TypeName())
	if !single && !socket && !t.types[o.TypeName()] {
		return nil
	}
	if own := t.of[o.Addr()]; own != nil {
		return own
	}
	own, err := t.m.Kernel().Twin(o)
	if err != nil {
		return nil // no memory: they share it
	}
	t.of[o.Addr()] = own
	switch {
	case socket:
		another(own, uint64(t.nth))
	case t.gets && o.TypeName() == "sk_buff":
		segment(own, uint64(t.nth))
	}
	for _, field := range fields {
		if p, err := o.Pointee(field); err == nil && p != nil {
			if q := t.twin(p); q != nil {
				_ = own.SetPtr(field, q) // the field exists
			}
		}
	}
	return own
}

// before returns the inputs with which a program runs before its actors meet: that of the first
// actor, and those of others that have objects of their own.
func before(actors []Actor, program string) []machine.Input {
	var out []machine.Input
	for i := range actors {
		a := &actors[i]
		if a.Program == program && a.User == nil && (len(out) == 0 || a.twins.any(a.Input)) {
			out = append(out, a.Input)
		}
	}
	return out
}

// any reports whether an input has objects of the actor's own.
func (t *twins) any(in machine.Input) bool {
	if t == nil {
		return false
	}
	own := slices.Collect(maps.Values(t.of))
	for _, v := range in.Args {
		if p, ok := v.(object.Pointer); ok && slices.ContainsFunc(own, func(o *object.Object) bool { return o.Addr() == uint64(p) }) {
			return true
		}
	}
	return in.Net.Socket != nil && slices.Contains(own, in.Net.Socket)
}
