package hook

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/endian"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// IterSpec describes what an iterator program visits, as far as the kernel does not know it itself.
type IterSpec struct {
	// Maps and Programs are those of the object, in the order they were loaded.
	Maps     []MapInfo
	Programs []ProgInfo
	// Map is the map whose elements are visited; Elements are their addresses. Regions are the
	// memory allocated for them; they become part of the context.
	Map      *MapInfo
	Elements []MapElement
	Regions  []*mem.Region
	// Given overrides what is visited: the arguments of each call by name.
	Given []map[string]any
}

// MapInfo describes a map for struct bpf_map.
type MapInfo struct {
	ID                             uint32
	Name                           string
	Type                           uapi.MapType
	KeySize, ValueSize, MaxEntries uint32
	Flags                          uint32
}

// ProgInfo describes a program for struct bpf_prog.
type ProgInfo struct {
	ID    uint32
	Name  string
	Type  uapi.ProgType
	Insns int
}

// MapElement is one element of a map in simulated memory. Key is where its key is; of a storage map
// it is the address of the owner.
type MapElement struct{ Key, Value uint64 }

// step is one call of a program that one event calls several times.
type step struct {
	data []byte // of the context
	args []Arg  // of an iterator's element
	seq  uint64 // number of the element
	ret  bool   // the call at the return of the function
	last bool   // the call of an iterator without an element
}

// Steps returns the maximum number of calls of the program: an iterator is called for each element
// and once more without one, a session probe at the function's entry and return.
func (c *Context) Steps() int { return max(len(c.steps), 1) }

// Step prepares call n, from 0: it puts the call's arguments into the context.
func (c *Context) Step(n int) {
	if n < 0 || n >= len(c.steps) {
		return
	}
	s := &c.steps[n]
	copy(c.k.Mem().Bytes(c.Region), s.data)
	if c.meta != nil {
		_ = c.meta.SetUint("seq_num", s.seq)
	}
}

// Iterates reports whether the steps are elements visited by an iterator.
func (c *Context) Iterates() bool { return c.meta != nil }

// Elements returns the arguments of each call of an iterator but the last one, which has no element.
func (c *Context) Elements() (out [][]Arg) {
	for i := range c.steps {
		if s := &c.steps[i]; c.meta != nil && !s.last {
			out = append(out, s.args)
		}
	}
	return out
}

// Returning reports whether call n is the one at the function's return.
func (c *Context) Returning(n int) bool { return n >= 0 && n < len(c.steps) && c.steps[n].ret }

// iterContext creates the context of an iterator, struct bpf_iter__TARGET: the parameters of the
// function bpf_iter_TARGET, eight bytes each (kernel/bpf/bpf_iter.c DEFINE_BPF_ITER_FUNC).
func (h *Hooks) iterContext(c *Context) error {
	name := c.spec.AttachTo
	c.Func = "bpf_iter_" + name
	spec, p, ok := h.proto(c, c.Func)
	if !ok || len(p.Params) == 0 {
		return &object.AbsentError{Hook: name, What: "iterator (function bpf_iter_" + name + ")", Nearest: h.nearestNames(btf.KindFunc, "bpf_iter_", name)}
	}
	c.FuncAddr = h.SymbolAddr(c.Func)
	meta, err := h.iterMeta()
	if err != nil {
		return err
	}
	c.meta = meta
	elements, err := h.iterElements(c, name, spec, p)
	if err != nil {
		return err
	}
	first := make([]Arg, len(p.Params))
	for i, param := range p.Params {
		first[i] = Arg{Name: param.Name, Spec: spec, Type: param.Type, slots: 1}
	}
	first[0].Value, first[0].Object = meta.Addr(), meta
	last := slices.Clone(first)
	for i := range last {
		if last[i].Name == "map" && name != "bpf_map" {
			last[i].Value, last[i].Object = h.iterMap(c)
		}
	}
	add := func(args []Arg, seq int, last bool) {
		data := make([]byte, 8*len(args))
		for i := range args {
			endian.PutUint(h.Order(), data[8*i:8*i+args[i].width()], args[i].Value)
		}
		c.steps = append(c.steps, step{data: data, args: args, seq: uint64(seq), last: last})
	}
	for i, e := range elements {
		args := slices.Clone(last)
		for j := range args {
			if a, ok := e[args[j].Name]; ok {
				args[j].Value, args[j].Object = a.Value, a.Object
			}
		}
		if i == 0 {
			c.Args = args
		}
		add(args, i, false)
	}
	if c.Args == nil {
		c.Args = last
	}
	add(last, max(len(elements)-1, 0), true)
	if err := h.arrayContext(c); err != nil {
		return err
	}
	c.Step(0)
	return nil
}

// width is the size in bytes of an iterator's argument: a field narrower than its eight bytes is at
// their start.
func (a *Arg) width() int {
	n, err := a.Spec.Sizeof(a.Type)
	if err != nil || n <= 0 || n > 8 {
		return 8
	}
	return int(n)
}

// setEach changes an argument, one that is no pointer, for all elements of an iterator.
func (c *Context) setEach(name string, v uint64) bool {
	i := slices.IndexFunc(c.Args, func(a Arg) bool { return a.Name == name })
	if i < 1 || c.Args[i].Spec.SkipMods(c.Args[i].Type).Kind == btf.KindPtr {
		return false
	}
	steps := slices.Clone(c.steps) // those of a snapshot stay as they are
	for n := range steps {
		s := &steps[n]
		if s.last {
			continue
		}
		s.data, s.args = slices.Clone(s.data), slices.Clone(s.args)
		endian.PutUint(c.k.Order(), s.data[8*i:8*i+s.args[i].width()], v)
		s.args[i].Value = v
	}
	c.steps = steps
	c.Args = slices.Clone(c.Args)
	c.Args[i].Value = v
	c.Step(0)
	return true
}

// iterMeta creates the struct bpf_iter_meta with its sequential file.
func (h *Hooks) iterMeta() (*object.Object, error) {
	if o := h.Kept("iterator meta"); o != nil {
		return o, nil
	}
	o, err := h.NewObjectNamed("meta", "bpf_iter_meta")
	if err != nil {
		return nil, err
	}
	seq, err := h.NewObjectNamed("meta.seq", "seq_file")
	if err != nil {
		return nil, err
	}
	seq.Below(o)
	b := object.Build(o)
	b.Ptr("seq", seq)
	b.Num("session_id", 1)
	b.Num("seq_num", 0)
	h.Keep("iterator meta", o)
	return o, nil
}

// iterArgs are the arguments of one call.
type iterArgs map[string]Arg

// iterElements lists the arguments of the calls.
func (h *Hooks) iterElements(c *Context, name string, spec *btf.Spec, p *btf.Type) ([]iterArgs, error) {
	if it := c.spec.Iter; it != nil && it.Given != nil {
		return h.givenElements(c, it.Given, spec, p)
	}
	one := func(arg string, objects []*object.Object) []iterArgs {
		var out []iterArgs
		for _, o := range objects {
			out = append(out, iterArgs{arg: {Value: o.Addr(), Object: o}})
		}
		return out
	}
	switch name {
	case "task":
		return one("task", h.iterTasks(false)), nil
	case "task_file":
		return h.taskFiles(), nil
	case "task_vma":
		return h.taskVMAs(), nil
	case "cgroup":
		return one("cgroup", h.Cgroups()), nil
	case "bpf_map":
		objects, err := h.mapObjects(c)
		return one("map", objects), err
	case "bpf_prog":
		objects, err := h.progObjects(c)
		return one("prog", objects), err
	case "bpf_map_elem":
		return h.mapElements(c), nil
	case "bpf_sk_storage_map":
		return h.storageElements(c)
	case "tcp", "udp":
		if h.Mode() == object.ModeDefault && len(c.spec.Args) == 0 {
			return h.tableElements(c, spec, p, h.Table(name)), nil
		}
	}
	return h.otherElements(c, spec, p), nil
}

// givenElements returns the calls that the user lists. Arguments that are not named are null or 0.
func (h *Hooks) givenElements(c *Context, given []map[string]any, spec *btf.Spec, p *btf.Type) ([]iterArgs, error) {
	chosen := c.spec.Args
	defer func() { c.spec.Args = chosen }()
	var out []iterArgs
	for _, g := range given {
		c.spec.Args = g
		e := iterArgs{}
		for _, param := range p.Params[1:] {
			a := Arg{Name: param.Name, Spec: spec, Type: param.Type, slots: 1}
			if _, ok := g[param.Name]; !ok {
				continue
			}
			if err := h.override(c, &a); err != nil {
				return nil, err
			}
			e[param.Name] = a
		}
		out = append(out, e)
	}
	return out, nil
}

// otherElements returns, for targets without a list of objects in the kernel, the objects of the
// type that a scenario created. In default mode there is one.
func (h *Hooks) otherElements(c *Context, spec *btf.Spec, p *btf.Type) []iterArgs {
	e := iterArgs{}
	key := ""
	for _, param := range p.Params[1:] {
		a := h.argument(c.Func, param.Name, spec, param.Type)
		if to := object.Target(spec, param.Type); key == "" && to.Type != nil && to.Type.Kind == btf.KindStruct && param.Name != "map" {
			key = param.Name
			if h.Mode() != object.ModeDefault {
				break
			}
		}
		e[param.Name] = a
	}
	if h.Mode() == object.ModeDefault || key == "" {
		return []iterArgs{e}
	}
	var typ string
	for _, param := range p.Params[1:] {
		if param.Name == key {
			typ = object.Target(spec, param.Type).Type.Name
		}
	}
	var out []iterArgs
	for _, o := range h.Objects() {
		if o.Parent() == nil && !o.IsBuiltin() && h.isA(o, typ) {
			out = append(out, iterArgs{key: {Value: o.Addr(), Object: o}})
		}
	}
	return out
}

// tableElements returns the sockets of a table, each with an iterator's other arguments.
func (h *Hooks) tableElements(c *Context, spec *btf.Spec, p *btf.Type, sockets []*object.Object) []iterArgs {
	var out []iterArgs
	for _, o := range sockets {
		e := iterArgs{}
		for i, param := range p.Params[1:] {
			if i == 0 {
				e[param.Name] = Arg{Value: o.Addr(), Object: o}
				continue
			}
			e[param.Name] = h.argument(c.Func, param.Name, spec, param.Type)
		}
		out = append(out, e)
	}
	return out
}

// isA reports whether an object has a type, or is stored in one that begins with it.
func (h *Hooks) isA(o *object.Object, typ string) bool {
	if o.TypeName() == typ {
		return true
	}
	return o.Storage() != nil && (o.Storage().Name == typ || typ == "udp_sock" && o.Storage().Name == "udp6_sock" || typ == "sock_common" && strings.HasSuffix(o.Storage().Name, "_sock"))
}

// iterTasks lists the tasks by pid: in default mode the running ones, their leaders and init; in a
// scenario its own.
func (h *Hooks) iterTasks(leaders bool) []*object.Object {
	var known []*object.Object
	if h.Mode() == object.ModeDefault {
		known = append(known, h.InitTask())
		for cpu := range h.CPUs() {
			t := h.CurrentOn(cpu)
			if t == nil {
				continue
			}
			known = append(known, t)
			if l, err := t.Pointee("group_leader"); err == nil {
				known = append(known, l)
			}
		}
	} else {
		for _, o := range h.Objects() {
			if o.Parent() == nil && o.TypeName() == "task_struct" {
				known = append(known, o)
			}
		}
	}
	var out []*object.Object
	seen := map[uint64]bool{}
	for _, o := range known {
		if o == nil {
			continue
		}
		pid := o.Num("pid")
		if pid == 0 || seen[pid] || leaders && pid != o.Num("tgid") {
			continue
		}
		seen[pid] = true
		out = append(out, o)
	}
	slices.SortStableFunc(out, func(a, b *object.Object) int { return int(a.Num("pid")) - int(b.Num("pid")) })
	return out
}

// taskFiles lists the open files in processes' file tables.
func (h *Hooks) taskFiles() []iterArgs {
	var out []iterArgs
	for _, t := range h.iterTasks(true) {
		n := t.Num("files.fdt.max_fds")
		for fd := range min(n, maxFds) {
			f, err := t.Pointee(fmt.Sprintf("files.fdt.fd[%d]", fd))
			if err != nil || f == nil {
				continue
			}
			out = append(out, iterArgs{"task": {Value: t.Addr(), Object: t}, "fd": {Value: fd}, "file": {Value: f.Addr(), Object: f}})
		}
	}
	return out
}

// maxFds limits the file descriptors visited per process.
const maxFds = 1024

// taskVMAs lists the memory areas of processes.
func (h *Hooks) taskVMAs() []iterArgs {
	var out []iterArgs
	for _, t := range h.iterTasks(false) {
		mm, err := t.Pointee("mm")
		if err != nil || mm == nil {
			continue
		}
		for _, vma := range h.VMAs(mm) {
			out = append(out, iterArgs{"task": {Value: t.Addr(), Object: t}, "vma": {Value: vma.Addr(), Object: vma}})
		}
	}
	return out
}

// mapObjects creates the struct bpf_map of the object's maps.
func (h *Hooks) mapObjects(c *Context) ([]*object.Object, error) {
	if c.spec.Iter == nil {
		return nil, nil
	}
	var out []*object.Object
	for i := range c.spec.Iter.Maps {
		o, err := h.mapObject(&c.spec.Iter.Maps[i])
		if err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, nil
}

// mapRole names the struct bpf_map that iterators get of a map.
const mapRole = "bpf_map "

// MapID returns which map a struct bpf_map stands for that an iterator handed out.
func (h *Hooks) MapID(addr uint64) (id uint32, ok bool) {
	o := h.ObjectAt(addr)
	if o == nil || o.Addr() != h.Mem().Truncate(addr) {
		return 0, false
	}
	text, ok := strings.CutPrefix(o.Role(), mapRole)
	n, err := strconv.ParseUint(text, 10, 32)
	return uint32(n), ok && err == nil
}

func (h *Hooks) mapObject(m *MapInfo) (*object.Object, error) {
	role := mapRole + strconv.FormatUint(uint64(m.ID), 10)
	if o := h.Kept(role); o != nil {
		return o, nil
	}
	o, err := h.NewObjectNamed(role, "bpf_map")
	if err != nil {
		return nil, err
	}
	b := object.Build(o)
	b.Num("id", uint64(m.ID))
	b.Num("map_type", uint64(m.Type))
	b.Num("key_size", uint64(m.KeySize))
	b.Num("value_size", uint64(m.ValueSize))
	b.Num("max_entries", uint64(m.MaxEntries))
	b.Num("map_flags", uint64(m.Flags))
	b.Text("name", shortName(m.Name))
	b.Num("refcnt.counter", 2) // the file descriptor and the iterator
	b.Num("usercnt.counter", 1)
	b.Num("frozen", 0)
	h.Keep(role, o)
	return o, nil
}

// shortName truncates a name as the kernel does: BPF_OBJ_NAME_LEN including the NUL.
func shortName(s string) string { return s[:min(len(s), 15)] }

// progObjects creates the struct bpf_prog of the object's programs.
func (h *Hooks) progObjects(c *Context) ([]*object.Object, error) {
	if c.spec.Iter == nil {
		return nil, nil
	}
	var out []*object.Object
	for _, p := range c.spec.Iter.Programs {
		role := fmt.Sprintf("bpf_prog %d", p.ID)
		o := h.Kept(role)
		if o == nil {
			var err error
			if o, err = h.NewObjectNamed(role, "bpf_prog"); err != nil {
				return nil, err
			}
			b := object.Build(o)
			b.Num("type", uint64(p.Type))
			b.Num("len", uint64(p.Insns))
			b.Num("jited", 1)
			b.Num("gpl_compatible", 1)
			if aux := b.Child("aux"); aux != nil {
				a := object.Build(aux)
				a.Num("id", uint64(p.ID))
				a.Text("name", shortName(p.Name))
				a.Num("refcnt.counter", 1)
				a.Ptr("prog", o)
			}
			h.Keep(role, o)
		}
		out = append(out, o)
	}
	return out, nil
}

// iterMap returns the map whose elements an iterator visits.
func (h *Hooks) iterMap(c *Context) (uint64, *object.Object) {
	if c.spec.Iter == nil || c.spec.Iter.Map == nil {
		return 0, nil
	}
	o, err := h.mapObject(c.spec.Iter.Map)
	if err != nil {
		h.Fail(err)
		return 0, nil
	}
	return o.Addr(), o
}

func (h *Hooks) mapElements(c *Context) []iterArgs {
	if c.spec.Iter == nil {
		return nil
	}
	var out []iterArgs
	for _, e := range c.spec.Iter.Elements {
		out = append(out, iterArgs{"key": {Value: e.Key}, "value": {Value: e.Value}})
	}
	return out
}

// storageElements are the sockets that a map stores values for.
func (h *Hooks) storageElements(c *Context) ([]iterArgs, error) {
	if c.spec.Iter == nil {
		return nil, nil
	}
	var out []iterArgs
	for _, e := range c.spec.Iter.Elements {
		s := h.SocketAt(e.Key)
		if s == nil {
			continue
		}
		o, err := s.Object()
		if err != nil {
			return nil, err
		}
		out = append(out, iterArgs{"sk": {Value: o.Addr(), Object: o}, "value": {Value: e.Value}})
	}
	return out, nil
}
