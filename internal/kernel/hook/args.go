package hook

import (
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// proto finds the FUNC_PROTO of the hook: given by id, else that of the FUNC called name in vmlinux
// and modules. typed is false if there is none.
func (h *Hooks) proto(c *Context, name string) (spec *btf.Spec, p *btf.Type, ok bool) {
	spec = c.spec.ProtoSpec
	if spec == nil {
		spec = h.BTF()
	}
	if spec == nil {
		return nil, nil, false
	}
	if id := c.spec.Proto; id != 0 {
		return spec, object.FollowProto(spec, id), object.FollowProto(spec, id) != nil
	}
	if name == "" {
		return nil, nil, false
	}
	for _, spec := range append([]*btf.Spec{spec}, h.Modules()...) {
		if p, _, ok := spec.FuncProto(name); ok {
			return spec, p, true
		}
	}
	return nil, nil, false
}

// taskInterruptible is TASK_INTERRUPTIBLE, the state of a sleeping task.
const taskInterruptible = 1

// maxArgs limits the arguments of a hook (MAX_BPF_FUNC_ARGS is 12).
const maxArgs = 12

// arguments generates the values of a prototype's parameters. skip omits leading ones (the void
// *__data of btf_trace_ prototypes). hook names the function, for arguments whose meaning depends
// on it.
func (h *Hooks) arguments(c *Context, hook string, spec *btf.Spec, p *btf.Type, skip int) error {
	for i, param := range p.Params {
		if i < skip || len(c.Args) == maxArgs {
			continue
		}
		if param.Type == 0 {
			continue // variable arguments
		}
		name := param.Name
		if name == "" {
			name = fmt.Sprintf("arg%d", i-skip+1)
		}
		a := h.argument(hook, name, spec, param.Type)
		if err := h.override(c, &a); err != nil {
			return err
		}
		c.Args = append(c.Args, a)
		c.Slots += a.slots
	}
	return nil
}

// returnValue generates the hook's return value.
func (h *Hooks) returnValue(c *Context, hook string, spec *btf.Spec, p *btf.Type) error {
	c.Returns = true
	if p != nil {
		c.Ret = h.defaultReturn(hook, spec, p.Ref)
	} else {
		c.Ret = Arg{slots: 1}
	}
	c.Ret.Name = "ret"
	return h.override(c, &c.Ret)
}

// override sets an argument to the value that the user chose.
func (h *Hooks) override(c *Context, a *Arg) error {
	v, ok := c.spec.Args[a.Name]
	if n := len(c.Args); n < len(c.spec.Values) {
		v, ok = c.spec.Values[n], true
	}
	if !ok {
		return nil
	}
	a.Object = nil
	switch v := v.(type) {
	case nil:
		a.Value = 0
	case *object.Object:
		a.Value, a.Object = v.Addr(), v
	case object.Pointer:
		a.Value = uint64(v)
	case string:
		if a.Spec != nil {
			if t := object.Strip(a.Spec, a.Type); t != nil && t.Kind != btf.KindPtr {
				u, ok := object.Enumerator(a.Spec, t, v)
				if !ok {
					return &object.ValueError{Role: a.Name, Type: a.Spec.TypeString(a.Type), Value: v, Why: "no such enumerator"}
				}
				a.Value = u
				return nil
			}
			if object.Target(a.Spec, a.Type).User {
				a.Value = h.UserString(v)
				return nil
			}
		}
		if a.Spec == nil && c.spec.section().Has(progtype.User) {
			a.Value = h.UserString(v)
			return nil
		}
		s, err := h.NewString(a.Name, v)
		if err != nil {
			return err
		}
		a.Value, a.Object = s.Addr(), s
	default:
		u, ok := object.ToUint(v)
		if !ok {
			return &object.ValueError{Role: a.Name, Type: "argument", Value: v, Why: "want a number, an object or null"}
		}
		a.Value = u
	}
	return nil
}

// argument generates the value of one parameter. Arguments with the same name and type are the same
// object in every hook of a kernel, so that a tool that stores a pointer at one hook finds it again
// at another.
func (h *Hooks) argument(hook, name string, spec *btf.Spec, id btf.ID) Arg {
	a := Arg{Name: name, Spec: spec, Type: id, slots: 1}
	t := object.Strip(spec, id)
	if t == nil {
		return a
	}
	switch t.Kind {
	case btf.KindPtr:
		a.Value, a.Object = h.pointerArgument(hook, name, spec, id)
	case btf.KindStruct, btf.KindUnion, btf.KindArray:
		// Up to 16 bytes are passed in registers; larger values are on the stack, which no context
		// shows.
		n, err := spec.Sizeof(t.ID)
		if err != nil || n > 16 {
			return a
		}
		a.Value = h.structValue(name, spec, id, 0)
		if n > 8 {
			a.slots, a.High = 2, h.structValue(name, spec, id, 8)
		}
	default:
		if v, ok := h.knownArgument(hook, name); ok {
			a.Value = v
			break
		}
		a.Value = h.DefaultScalar(name, name, spec, id, 0)
		a.Value = SignExtend(a.Value, t)
	}
	return a
}

// SignExtend converts a value to a register: signed types are sign-extended.
func SignExtend(v uint64, t *btf.Type) uint64 {
	if t.Signed() && t.Size < 8 && t.Size > 0 {
		shift := 64 - 8*t.Size
		return uint64(int64(v<<shift) >> shift)
	}
	return v
}

// structValue returns 8 bytes of a struct passed by value: the scalar field that starts there.
func (h *Hooks) structValue(name string, spec *btf.Spec, id btf.ID, off uint64) uint64 {
	l := h.Types().Of(spec, id)
	if l == nil || off >= l.Size {
		return 0
	}
	f := l.FieldAt(off, 1)
	if f.BitSize != 0 || !object.IsScalar(f) {
		return 0
	}
	if t := object.Strip(f.Spec, f.Type); t.Kind == btf.KindPtr {
		v, _ := h.pointerArgument("", name+object.Dotted(f.Path), f.Spec, f.Type)
		return v
	}
	return h.DefaultScalar(name+object.Dotted(f.Path), object.LastName(f.Path), f.Spec, f.Type, 0)
}

// pointerArgument creates an argument's pointee, or finds it if it already exists.
func (h *Hooks) pointerArgument(hook, name string, spec *btf.Spec, id btf.ID) (uint64, *object.Object) {
	to := object.Target(spec, id)
	if to.Type != nil && to.Type.Kind == btf.KindFuncProto {
		return h.FuncPointer(name, spec, to.Type.ID), nil
	}
	if to.User || isUserArgument(hook, name) {
		return h.UserOnce(name, spec, to), nil
	}
	if to.Type == nil { // void *
		switch name {
		case "location", "call_site", "caller", "ip":
			return h.SampleIP(), nil
		}
		if o := h.BehindVoid(name); o != nil {
			return o.Addr(), o
		}
	}
	if to.Type != nil && to.Type.Name == "task_struct" {
		if o := h.taskArgument(hook, name); o != nil {
			return o.Addr(), o
		}
	}
	key := "arg:" + name + ":"
	if to.Type != nil {
		name = object.OneName(to.Type.Name, name)
		key = "arg:" + name + ":" + spec.TypeString(to.Type.ID)
	}
	outer, inside := enclosing(hook, to)
	if inside {
		key += " in " + outer.typ
	}
	datagram, isDatagram := datagramSocket(hook, to)
	if isDatagram {
		key += fmt.Sprintf(" of UDP, family %d", datagram.Family)
	}
	if o := h.Kept(key); o != nil {
		return o.Addr(), o
	}
	var o *object.Object
	var err error
	switch {
	case inside:
		o, err = h.NewIn(name, to.Type.Name, outer.typ, outer.path)
	case isDatagram:
		o, err = h.NewSock(name, datagram)
	default:
		o = h.NewArgument(name, spec, to)
	}
	if err != nil {
		h.Fail(err)
	}
	if o == nil {
		return 0, nil
	}
	h.Keep(key, o)
	return o.Addr(), o
}

// userArguments lists arguments of kernel functions that are user pointers, although only BTF of
// newer compilers marks them.
var userArguments = map[string]string{
	"vfs_read": "buf", "vfs_write": "buf", "ksys_read": "buf", "ksys_write": "buf", "__vfs_read": "buf", "__vfs_write": "buf", "ksys_pread64": "buf", "ksys_pwrite64": "buf",
	"do_sys_open": "filename", "do_sys_openat2": "filename", "getname": "filename", "getname_flags": "filename",
	"user_path_at": "name", "user_path_at_empty": "name", "strncpy_from_user": "src", "do_mount": "dir_name", "ksys_mount": "dir_name", "ksys_umount": "name",
	"__sys_connect": "uservaddr", "__sys_bind": "umyaddr", "__sys_accept4": "upeer_sockaddr", "__sys_getsockname": "usockaddr", "__sys_getpeername": "usockaddr",
	"__sys_sendto": "buff addr", "__sys_recvfrom": "ubuf addr addr_len", "__sys_sendmsg": "msg", "__sys_recvmsg": "msg",
	"__sys_setsockopt": "optval user_optval", "__sys_getsockopt": "optval optlen", "do_sys_poll": "ufds", "core_sys_select": "inp outp exp",
	"copy_from_user": "from", "_copy_from_user": "from", "copy_to_user": "to", "_copy_to_user": "to", "kernel_wait4": "stat_addr",
	"import_iovec": "uvec", "memdup_user": "src", "strndup_user": "s", "vfs_readv": "vec", "vfs_writev": "vec", "do_execve": "__argv __envp", "do_futex": "uaddr uaddr2",
}

func isUserArgument(hook, name string) bool {
	for n := range strings.FieldsSeq(userArguments[hook]) {
		if n == name {
			return true
		}
	}
	return false
}

// currentTasks lists the arguments that are the current task.
var currentTasks = map[string]string{
	"sched_switch": "prev", "sched_process_exit": "p", "sched_process_exec": "p", "sched_process_fork": "parent", "do_exit": "tsk",
}

// CurrentTask returns the name of the argument of a hook that is the current task, "" if none is.
func CurrentTask(hook string) string { return currentTasks[hook] }

// taskArgument returns the task for an argument of type struct task_struct *.
func (h *Hooks) taskArgument(hook, name string) *object.Object {
	if cur, ok := currentTasks[hook]; ok && cur == name {
		return h.Current()
	}
	// The task that runs next is the one that other events wake up.
	if hook == "sched_switch" && name == "next" {
		return h.nextTask()
	}
	return nil
}

// knownArgument sets numbers whose values follow from the machine or the task.
func (h *Hooks) knownArgument(hook, name string) (uint64, bool) {
	switch name {
	case "cpu", "this_cpu", "cpu_id", "smp_processor_id":
		return uint64(h.CPU()), true
	case "preempt":
		if hook == "sched_switch" && h.prevState() == 0 {
			return 1, true
		}
		return 0, true
	case "group_dead", "force":
		return 0, true
	case "family":
		return uapi.AFInet, true
	case "prev_state":
		return h.prevState(), true
	case "old_pid":
		pid, _ := h.PidTgid()
		return uint64(pid), true
	case "call_site", "ip", "caller_ip", "parent_ip":
		return h.SampleIP(), true
	}
	switch from, to := h.transition(); hook + " " + name {
	case "inet_sock_set_state oldstate":
		return from, true
	case "inet_sock_set_state newstate", "tcp_set_state state":
		return to, true
	case "cpu_frequency state", "cpu_frequency frequency": // kHz
		return 100_000 * (8 + h.Hash("cpu frequency")%32), true
	}
	return 0, false
}

// defaultReturn returns the value of a successful hook: 0 for an int, a length for ssize_t, an
// object for a pointer.
func (h *Hooks) defaultReturn(hook string, spec *btf.Spec, id btf.ID) Arg {
	a := Arg{Spec: spec, Type: id, slots: 1}
	t := object.Strip(spec, id)
	if t == nil {
		return a
	}
	role := hook + "()"
	switch t.Kind {
	case btf.KindPtr:
		to := object.Target(spec, id)
		_, isDatagram := datagramSocket(hook, to)
		if to.Type != nil && to.Type.Kind == btf.KindStruct && !isDatagram {
			// The object that a function returns is the one that other functions are called with.
			if l := h.Types().Of(spec, to.Type.ID); l.Size > 0 && l.Name != "task_struct" && h.Singleton(l.Name) == nil {
				if o := h.Shared(object.UsualName(l.Name), l); o != nil {
					a.Value, a.Object = o.Addr(), o
					return a
				}
			}
		}
		a.Value, a.Object = h.pointerArgument(hook, role, spec, id)
	case btf.KindInt:
		switch {
		case t.Int.Encoding&btf.IntBool != 0:
			a.Value = 1
		case t.Signed() && (namedLike(spec, id, "ssize_t") || t.Size == 8 && returnsCount(hook) || strings.HasSuffix(hook, "sendmsg") || strings.HasSuffix(hook, "recvmsg")):
			a.Value = 16 + h.Hash(role)%1000
		case t.Signed() && strings.Contains(hook, "trylock"):
			a.Value = 1 // taken
		case t.Signed():
			a.Value = 0
		default:
			a.Value = SignExtend(h.DefaultScalar(role, "", spec, id, 0), t)
		}
	case btf.KindEnum, btf.KindEnum64:
		a.Value = h.DefaultScalar(role, "", spec, id, 0)
	}
	return a
}

// namedLike reports whether a type was declared through a typedef of that name, with or without
// __kernel_.
func namedLike(spec *btf.Spec, id btf.ID, name string) bool {
	for range object.MaxNesting {
		t, err := spec.Type(id)
		if err != nil || t == nil {
			return false
		}
		if t.Name == name || t.Name == "__kernel_"+name {
			return true
		}
		switch t.Kind {
		case btf.KindTypedef, btf.KindConst, btf.KindVolatile, btf.KindTypeTag:
			id = t.Ref
		default:
			return false
		}
	}
	return false
}

// returnsCount reports whether a function of type long counts bytes.
func returnsCount(hook string) bool {
	for _, w := range [...]string{"read", "write", "send", "recv"} {
		if strings.Contains(hook, w) {
			return true
		}
	}
	return false
}

// PointeeOf creates an object of the type that a pointer argument points to, for values the user
// describes.
func (h *Hooks) PointeeOf(role string, a *Arg) (*object.Object, error) {
	why := "is not the type of a pointer to a struct"
	if a.Spec == nil {
		return nil, &object.TypeError{Type: "argument " + a.Name, Role: role, Why: why}
	}
	to := object.Target(a.Spec, a.Type)
	if to.Type == nil {
		return nil, &object.TypeError{Type: a.Spec.TypeString(a.Type), Role: role, Why: why}
	}
	return h.NewObjectOf(a.Spec, role, to.Type.ID)
}
