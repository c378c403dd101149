package scenario

import (
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// owners describes how the keys of a local storage map are written, by map type; it returns "" for
// other maps.
func owners(t uapi.MapType) string {
	switch t {
	case uapi.MapTypeTaskStorage:
		return "a task: the $name of an object, a pid, or a name (comm)"
	case uapi.MapTypeSkStorage:
		return "a socket: the $name of a !sock object"
	case uapi.MapTypeInodeStorage:
		return "an inode: the $name of an object of type inode, file or dentry"
	case uapi.MapTypeCgrpStorage:
		return "a cgroup: the $name of an object, an id, or a path"
	}
	return ""
}

// owner returns the key of an element of local storage: the address of the object that the storage
// helpers take as owner.
func (t *table) owner(n *grammar.Node) ([]byte, error) {
	o, err := t.ownerObject(n)
	if err != nil {
		return nil, err
	}
	typ, k := t.b.Spec().Type, t.m.Kernel()
	addr := o.Addr()
	switch {
	case typ == uapi.MapTypeSkStorage:
		s, err := k.SocketOf(o)
		if err != nil {
			return nil, n.Wrap("key of "+t.def.Name, err)
		}
		addr = s.Key()
	case typ == uapi.MapTypeInodeStorage && o.TypeName() != "inode":
		path := map[string]string{"file": "f_inode", "dentry": "d_inode"}[o.TypeName()]
		if path == "" {
			return nil, t.wrongOwner(n)
		}
		in, err := o.Pointee(path)
		if err != nil || in == nil {
			return nil, n.Errorf("key of %s: %s has no inode", t.def.Name, n.Text)
		}
		addr = in.Addr()
	case typ == uapi.MapTypeTaskStorage && o.TypeName() != "task_struct", typ == uapi.MapTypeCgrpStorage && o.TypeName() != "cgroup":
		return nil, t.wrongOwner(n)
	}
	b := make([]byte, 8)
	t.m.Memory().ByteOrder().PutUint64(b, addr)
	return b, nil
}

func (t *table) wrongOwner(n *grammar.Node) error {
	return n.Errorf("key of %s: want %s; got %s", t.def.Name, owners(t.b.Spec().Type), n.Describe())
}

func (t *table) ownerObject(n *grammar.Node) (*object.Object, error) {
	if isRef(n) {
		return t.v.ref(n)
	}
	if n.Kind != grammar.Scalar || n.Tag != "" {
		return nil, t.wrongOwner(n)
	}
	k, typ := t.m.Kernel(), t.b.Spec().Type
	id, isNumber := grammar.Number(n.Text)
	switch {
	case typ == uapi.MapTypeTaskStorage && isNumber && !n.Quoted:
		if id.IsUint64() && id.Uint64() <= 1<<31 {
			if o := k.TaskByPID(uint32(id.Uint64())); o != nil {
				return o, nil
			}
		}
		return nil, n.Errorf("key of %s: no task has pid %s (tasks: %s)", t.def.Name, n.Text, t.tasks())
	case typ == uapi.MapTypeTaskStorage:
		var found *object.Object
		for _, o := range k.Tasks(false) {
			if comm, err := o.String("comm"); err != nil || comm != n.Text {
				continue
			}
			if found != nil {
				return nil, n.Errorf("key of %s: several tasks are called %s: use a pid (tasks: %s)", t.def.Name, n.Text, t.tasks())
			}
			found = o
		}
		if found == nil {
			return nil, n.Errorf("key of %s: no task is called %s (tasks: %s)", t.def.Name, n.Text, t.tasks())
		}
		return found, nil
	case typ == uapi.MapTypeCgrpStorage && isNumber && !n.Quoted:
		if id.IsUint64() {
			if o := k.CgroupByID(id.Uint64()); o != nil {
				return o, nil
			}
		}
		return nil, n.Errorf("key of %s: no cgroup has id %s", t.def.Name, n.Text)
	case typ == uapi.MapTypeCgrpStorage && strings.HasPrefix(n.Text, "/"):
		o, err := k.NewCgroup("cgroup "+n.Text, n.Text, 0)
		if err != nil {
			return nil, n.Wrap("key of "+t.def.Name, err)
		}
		return o, nil
	}
	return nil, t.wrongOwner(n)
}

// tasks lists the existing tasks for messages.
func (t *table) tasks() string {
	var out []string
	for _, o := range t.m.Kernel().Tasks(false) {
		out = append(out, taskText(o))
	}
	return strings.Join(out, ", ")
}

func taskText(o *object.Object) string {
	comm, _ := o.String("comm")
	return fmt.Sprintf("%d (%s)", o.Num("pid"), comm)
}

// ownerText names the owner of an element in messages.
func (t *table) ownerText(key []byte) string {
	if len(key) != 8 {
		return fmt.Sprintf("%x", key)
	}
	addr := t.m.Memory().ByteOrder().Uint64(key)
	if t.b.Spec().Type == uapi.MapTypeTaskStorage {
		for _, o := range t.m.Kernel().Tasks(false) {
			if o.Addr() == addr {
				return taskText(o)
			}
		}
	}
	if name, ok := t.m.NameAddr(addr); ok {
		return name.Text
	}
	return fmt.Sprintf("%#x", addr)
}

// local reports whether the map's keys are owners of local storage.
func (t *table) local() bool {
	_, ok := t.b.(maps.LocalStorage)
	return ok && owners(t.b.Spec().Type) != ""
}
