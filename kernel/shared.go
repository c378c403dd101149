package kernel

import "strings"

// sharedArg returns the object of a type that arguments of a name share.
func (s *Space) sharedArg(name string, l *layout) *Object {
	name = oneName(l.name, name)
	key := "arg:" + name + ":" + l.spec.TypeString(l.typ.ID)
	if o := s.kept(key); o != nil {
		return o
	}
	o, err := s.newObject(name, l, 1, nil)
	if err != nil {
		s.fail(err)
		return nil
	}
	s.keep(key, o)
	return o
}

// usualNames lists what kernel functions call their one argument of a type, besides the type's own name. All of them mean the
// same object; other names ("newsk", "old_dentry") mean others.
var usualNames = map[string]string{
	"sock": "sk skaddr", "sk_buff": "skb skbaddr", "request": "rq req", "request_queue": "q", "net_device": "dev", "block_device": "bdev",
	"super_block": "sb", "mm_struct": "mm", "vm_area_struct": "vma", "linux_binprm": "bprm", "kmem_cache": "s", "cgroup": "cgrp",
	"bpf_prog": "prog", "bpf_map": "map", "socket": "sock", "pipe_inode_info": "pipe", "msghdr": "msg m", "vfsmount": "mnt",
	"file": "file filp f", "inode": "", "dentry": "", "page": "", "folio": "", "bio": "", "mutex": "lock", "rw_semaphore": "sem",
}

// usualName is the first of the usual names of a type.
func usualName(typ string) string {
	if first, _, _ := strings.Cut(usualNames[typ], " "); first != "" {
		return first
	}
	return typ
}

// oneName is the name that stands for all usual names of a type.
func oneName(typ, name string) string {
	names, ok := usualNames[typ]
	if !ok {
		return name
	}
	if name == typ {
		return usualName(typ)
	}
	for n := range strings.FieldsSeq(names) {
		if n == name {
			return usualName(typ)
		}
	}
	return name
}

// singleton returns the one object of a type of which a kernel has one that matters, such as the initial network
// namespace; nil for all other types.
func (s *Space) singleton(typ string) *Object {
	switch typ {
	case "net":
		return s.namedObject("init_net", typ)
	case "user_namespace":
		return s.namedObject("init_user_ns", typ)
	case "pid_namespace":
		return s.namedObject("init_pid_ns", typ)
	}
	return nil
}

// kept returns the object that was kept under a key: a singleton by its role, an argument by its name and type. Nil when there is none.
func (s *Space) kept(key string) *Object { return s.byRole[key] }

// keep makes [Kernel.kept] return o for key.
func (s *Space) keep(key string, o *Object) { s.byRole[key] = o }

// all returns the objects in the order in which they were made.
func (s *Space) all() []*Object { return s.objects }

// builtinObject is namedObject with the default content of its type in every mode.
func (s *Space) builtinObject(name, typ string) *Object {
	o := s.namedObject(name, typ)
	if o != nil {
		o.builtin = true
	}
	return o
}

// namedObject returns the object of a global variable, made on first use; nil when the BTF lacks the type.
func (s *Space) namedObject(name, typ string) *Object {
	if o := s.byRole[name]; o != nil {
		return o
	}
	l := s.layoutNamed(typ)
	if l == nil || l.size == 0 {
		return nil
	}
	o, err := s.newObject(name, l, 1, nil)
	if err != nil {
		s.fail(err)
		return nil
	}
	s.byRole[name] = o
	return o
}
