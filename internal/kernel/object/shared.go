package object

import "strings"

// Shared returns the object of a type that arguments with a name share.
func (s *Space) Shared(name string, l *Layout) *Object {
	name = OneName(l.Name, name)
	key := "arg:" + name + ":" + l.Spec.TypeString(l.Type.ID)
	if o := s.Kept(key); o != nil {
		return o
	}
	o, err := s.Make(name, l, 1, nil)
	if err != nil {
		s.Fail(err)
		return nil
	}
	s.Keep(key, o)
	return o
}

// usualNames lists the usual names of a kernel function's only argument of a type, besides the
// type's own name. All of them denote the same object; other names ("newsk", "old_dentry") denote
// others.
var usualNames = map[string]string{
	"sock": "sk skaddr", "sk_buff": "skb skbaddr", "request": "rq req", "request_queue": "q", "net_device": "dev", "block_device": "bdev",
	"super_block": "sb", "mm_struct": "mm", "vm_area_struct": "vma", "linux_binprm": "bprm", "kmem_cache": "s", "cgroup": "cgrp",
	"bpf_prog": "prog", "bpf_map": "map", "socket": "sock", "pipe_inode_info": "pipe", "msghdr": "msg m", "vfsmount": "mnt",
	"file": "file filp f", "inode": "", "dentry": "", "page": "", "folio": "", "bio": "", "mutex": "lock", "rw_semaphore": "sem",
}

// UsualName returns the first of the usual names of a type.
func UsualName(typ string) string {
	if first, _, _ := strings.Cut(usualNames[typ], " "); first != "" {
		return first
	}
	return typ
}

// OneName returns one name for all usual names of a type.
func OneName(typ, name string) string {
	names, ok := usualNames[typ]
	if !ok {
		return name
	}
	if name == typ {
		return UsualName(typ)
	}
	for n := range strings.FieldsSeq(names) {
		if n == name {
			return UsualName(typ)
		}
	}
	return name
}

// Singleton returns the object of a type of which only one matters in a kernel, such as the initial
// network namespace; nil for all other types.
func (s *Space) Singleton(typ string) *Object {
	switch typ {
	case "net":
		return s.Named("init_net", typ)
	case "user_namespace":
		return s.Named("init_user_ns", typ)
	case "pid_namespace":
		return s.Named("init_pid_ns", typ)
	}
	return nil
}

// Kept returns the object stored under a key, or nil: a singleton by its role, an argument by its
// name and type.
func (s *Space) Kept(key string) *Object { return s.byRole.Get(key) }

// Keep stores o under key for [Space.Kept].
func (s *Space) Keep(key string, o *Object) { s.byRole.Set(key, o) }

// Objects returns the objects in order of creation.
func (s *Space) Objects() []*Object { return s.objects }

// Builtin is like Named, with the default content of the type in every mode.
func (s *Space) Builtin(name, typ string) *Object {
	o := s.Named(name, typ)
	if o != nil {
		o.builtin = true
	}
	return o
}

// Named returns the object of a global variable, created on first use; nil if the BTF lacks the
// type.
func (s *Space) Named(name, typ string) *Object {
	if o := s.byRole.Get(name); o != nil {
		return o
	}
	l := s.LayoutNamed(typ)
	if l == nil || l.Size == 0 {
		return nil
	}
	o, err := s.Make(name, l, 1, nil)
	if err != nil {
		s.Fail(err)
		return nil
	}
	s.byRole.Set(name, o)
	return o
}
