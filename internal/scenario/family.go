package scenario

import (
	"strings"

	khook "github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/model"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
)

// makeTask creates a task. Its relations to other objects are set once all of them exist.
func makeTask(b *builder, role string, _ *grammar.Node) (*object.Object, error) {
	return b.k.NewTask(role)
}

// fillTask links a task to its children, the threads of its process, its files and its cgroup.
func fillTask(b *builder, o *object.Object, n *grammar.Node) error {
	for _, list := range []struct {
		key, head, via string
		set            []string // pointers from the members to the task
		at             *object.Object
	}{
		{key: "children", head: "children", via: "sibling", set: []string{"real_parent", "parent"}},
		{key: "threads", head: "signal.thread_head", via: "thread_node", set: []string{"group_leader"}},
	} {
		v := n.Get(list.key)
		if v == nil {
			continue
		}
		members, err := b.refs(list.key, v, "task_struct")
		if err != nil {
			return err
		}
		if list.key == "threads" { // the leader is the first thread
			if err := b.joinProcess(o, o, v); err != nil {
				return err
			}
		}
		for i, m := range members {
			if m == o {
				continue // a task that is its own parent is on no list of children
			}
			if list.key == "threads" {
				if err := b.joinProcess(o, m, v.Items[i]); err != nil {
					return err
				}
			} else if err := b.k.Link(o, list.head, m, list.via); err != nil {
				return v.Items[i].Wrap(list.key, err)
			}
			for _, p := range list.set {
				if !m.IsSet(p) || list.key == "threads" {
					if err := m.SetPtr(p, o); err != nil {
						return v.Items[i].Wrap(list.key, err)
					}
				}
			}
		}
	}
	if v := n.Get("files"); v != nil {
		files, err := b.refs("files", v, "file")
		if err != nil {
			return err
		}
		if err := b.k.SetFiles(o, files); err != nil {
			return v.Wrap("files", err)
		}
	}
	if v := n.Get("cgroup"); v != nil {
		c, err := b.one("cgroup", v, "cgroup")
		if err != nil {
			return err
		}
		if err := o.SetPtr("cgroups.dfl_cgrp", c); err != nil {
			return v.Wrap("cgroup", err)
		}
	}
	return nil
}

// joinProcess adds a task to the list of threads of a leader's process, whose struct signal_struct
// they share. Kernels before 6.7 have a second list, from thread to thread.
func (b *builder) joinProcess(leader, o *object.Object, at *grammar.Node) error {
	if o != leader {
		signal, err := leader.Pointee("signal")
		if err == nil {
			err = o.SetPtr("signal", signal)
		}
		if err != nil {
			return at.Wrap("threads", err)
		}
	}
	if err := b.k.Link(leader, "signal.thread_head", o, "thread_node"); err != nil {
		return at.Wrap("threads", err)
	}
	if o != leader && o.Has("thread_group") {
		if err := b.k.Link(leader, "thread_group", o, "thread_group"); err != nil {
			return at.Wrap("threads", err)
		}
	}
	return nil
}

// refs returns the objects that a list refers to; null yields a nil object.
func (b *builder) refs(what string, n *grammar.Node, typ string) ([]*object.Object, error) {
	if n.Kind != grammar.Sequence {
		return nil, n.Errorf("%s: want a list of $name, got %s", what, n.Describe())
	}
	out := make([]*object.Object, len(n.Items))
	for i, item := range n.Items {
		if item.Kind == grammar.Null && typ == "file" {
			continue
		}
		var err error
		if out[i], err = b.one(what, item, typ); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// one returns an object of a type, given as $name or as a builder.
func (b *builder) one(what string, n *grammar.Node, typ string) (*object.Object, error) {
	var o *object.Object
	var err error
	switch {
	case isRef(n):
		o, err = b.ref(n)
	case makers()[n.Tag].build != nil:
		o, err = b.built(what, n)
	default:
		return nil, n.Errorf("%s: want the $name of a %s, got %s", what, typ, n.Describe())
	}
	if err == nil && o.TypeName() != typ {
		err = n.Errorf("%s: %s is a %s, want a %s", what, n.Text, o.TypeName(), typ)
	}
	return o, err
}

func makeMM(b *builder, role string, n *grammar.Node) (*object.Object, error) {
	var s model.MMSpec
	for key, to := range map[string]*[]string{"args": &s.Args, "env": &s.Env} {
		v := n.Get(key)
		if v == nil {
			continue
		}
		if v.Kind != grammar.Sequence {
			return nil, v.Errorf("%s: want a list of strings, got %s", key, v.Describe())
		}
		*to = []string{}
		for _, item := range v.Items {
			if item.Kind != grammar.Scalar || strings.Contains(item.Text, "\x00") {
				return nil, item.Errorf("%s: want a string, got %s", key, item.Describe())
			}
			*to = append(*to, item.Text)
		}
	}
	return b.k.NewMM(role, s)
}

// fillMM gives an address space its areas, and user memory at given addresses.
func fillMM(b *builder, o *object.Object, n *grammar.Node) error {
	pairs, err := n.Get("user").Members("user")
	if err != nil {
		return err
	}
	for _, p := range pairs {
		addr, err := p.Key.Uint64("address")
		if err != nil {
			return err
		}
		x, err := plainValue(p.Value)
		if err != nil {
			return err
		}
		data, ok := x.([]byte)
		if !ok {
			if p.Value.Kind != grammar.Scalar {
				return p.Value.Errorf("user: want a string or !hex, got %s", p.Value.Describe())
			}
			data = append([]byte(p.Value.Text), 0)
		}
		if !b.k.IsUserAddress(addr) {
			return p.Key.Errorf("%#x is not a user-space address", addr)
		}
		if err := b.k.UserWrite(addr, data); err != nil {
			return p.Key.Wrap("user", err)
		}
	}
	v := n.Get("areas")
	if v == nil {
		return nil
	}
	if v.Kind != grammar.Sequence {
		return v.Errorf("areas: want a list of {start, end, flags, pgoff, file}, got %s", v.Describe())
	}
	var areas []model.AreaSpec
	for _, item := range v.Items {
		var a model.AreaSpec
		pairs, err := item.Members("areas")
		if err != nil {
			return err
		}
		for _, p := range pairs {
			if to := map[string]*uint64{"start": &a.Start, "end": &a.End, "flags": &a.Flags, "pgoff": &a.PageOffset}[p.Key.Text]; to != nil {
				if *to, err = p.Value.Uint64(p.Key.Text); err != nil {
					return err
				}
				continue
			}
			if p.Key.Text != "file" {
				return p.Key.Unknown("key of an area", p.Key.Text, []string{"start", "end", "flags", "pgoff", "file"})
			}
			if a.File, err = b.one("file", p.Value, "file"); err != nil {
				return err
			}
		}
		areas = append(areas, a)
	}
	if err := b.k.SetAreas(o, areas); err != nil {
		return v.Wrap("areas", err)
	}
	return nil
}

func makeCgroup(b *builder, role string, n *grammar.Node) (*object.Object, error) {
	p := n.Get("path")
	if p == nil {
		return b.k.NewDefault(role, "cgroup")
	}
	path, err := absolute(p)
	if err != nil {
		return nil, err
	}
	id := uint64(0)
	if err := decodeNumbers(n, map[string]*uint64{"id": &id}); err != nil {
		return nil, err
	}
	o, err := b.k.NewCgroup(role, path, id)
	if err != nil {
		return nil, p.Wrap("", err)
	}
	return o, nil
}

func makeBprm(b *builder, role string, n *grammar.Node) (*object.Object, error) {
	o, err := b.k.NewDefault(role, "linux_binprm")
	p := n.Get("path")
	if err != nil || p == nil {
		return o, err
	}
	path, err := absolute(p)
	if err != nil {
		return nil, err
	}
	f, err := b.k.NewFile(role+".file", model.FileSpec{Path: path, Mode: 0o755})
	if err != nil {
		return nil, err
	}
	for _, set := range []struct {
		field string
		v     any
	}{{"filename", path}, {"interp", path}, {"file", f}} {
		if err := o.Set(set.field, set.v); err != nil {
			return nil, p.Wrap("path", err)
		}
	}
	return o, nil
}

func makeRegs(b *builder, role string, n *grammar.Node) (*object.Object, error) {
	var s khook.RegsSpec
	if v := n.Get("args"); v != nil {
		if v.Kind != grammar.Sequence {
			return nil, v.Errorf("args: want a list of values, got %s", v.Describe())
		}
		for _, item := range v.Items {
			x, err := b.register(item)
			if err != nil {
				return nil, err
			}
			s.Args = append(s.Args, x)
		}
	}
	for key, to := range map[string]**uint64{"ret": &s.Ret, "ip": &s.IP, "sp": &s.SP} {
		if v := n.Get(key); v != nil {
			x, err := b.register(v)
			if err != nil {
				return nil, err
			}
			*to = &x
		}
	}
	return b.k.NewRegs(role, s)
}

// register returns the value of a register, given as a number, as user memory, or as a reference to
// an object that is already defined.
func (b *builder) register(n *grammar.Node) (uint64, error) {
	if isRef(n) {
		o, err := b.create(strings.TrimPrefix(n.Text, "$"), n)
		if err != nil {
			return 0, err
		}
		return o.Addr(), nil
	}
	if n.Tag == "!user" {
		x, err := b.user(n)
		if err != nil {
			return 0, err
		}
		return uint64(x.(object.Pointer)), nil
	}
	return n.Uint64("register")
}
