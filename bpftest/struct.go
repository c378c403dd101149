package bpftest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/kernel/model"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/scenario"
)

// Fields are members of a kernel struct by name or path ("cred.uid.val", "real_parent->tgid",
// "comm"). Values are Go integers and bools, names of enumerators, strings and []byte for arrays (a
// string also for a char pointer), [*Struct] or nil for pointers, [User] addresses, []any for
// arrays, and Fields for structs and for pointers to structs (which get a new struct). Members
// without a value have the one a real kernel would give them if the simulation knows it, else 0.
type Fields map[string]any

// Struct is an object of the simulated kernel: a task, a file, any type of the kernel's BTF.
type Struct struct {
	o   *Object
	obj *object.Object
	def definition
}

// User is an address in user memory; see [Object.User].
type User uint64

// Struct creates a kernel object of the given type. If the kernel has no such type or field, the
// test ends.
func (o *Object) Struct(typ string, f Fields) *Struct {
	o.t.Helper()
	return o.build("object", f, "", Fields{"type": typ}, func(role string) (*object.Object, error) { return o.m.Kernel().NewObjectNamed(role, typ) })
}

// Task creates a task with what every task has: ids, credentials, an address space, files, a
// cgroup. Use it as [Input.Current], as an argument, or in the Fields of other objects.
func (o *Object) Task(f Fields) *Struct {
	o.t.Helper()
	return o.build("task", f, "!task", nil, o.m.Kernel().NewTask)
}

// File creates an open file with its path.
func (o *Object) File(path string, f Fields) *Struct {
	o.t.Helper()
	return o.build("file", f, "!file", Fields{"path": path}, func(role string) (*object.Object, error) {
		return o.m.Kernel().NewFile(role, model.FileSpec{Path: path})
	})
}

// build creates an object; tag and own are its builder and keys in a scenario file.
func (o *Object) build(what string, f Fields, tag string, own Fields, build func(role string) (*object.Object, error)) *Struct {
	o.t.Helper()
	def := definition{name: fmt.Sprintf("%s%d", what, len(o.objects)+1), tag: tag, own: own, fields: Fields{}}
	obj, err := build(def.name)
	o.fail(err)
	s := &Struct{o, obj, def}
	o.objects = append(o.objects, s)
	for _, name := range slices.Sorted(maps.Keys(f)) {
		s.Set(name, f[name])
	}
	o.fail(o.m.Kernel().Err())
	return s
}

// Objects creates kernel objects, by name, from the text of a scenario file's objects: section,
// with all of its builders (!task, !file, !sock, !mm, ...) and with references between objects
// ($name). Sockets are found by programs that look them up.
func (o *Object) Objects(yaml string) map[string]*Struct {
	o.t.Helper()
	objects, err := scenario.BuildObjects(o.m.Kernel(), "objects", []byte(strings.Join(dedent(yaml), "\n")))
	o.fail(err)
	out := map[string]*Struct{}
	for name, obj := range objects {
		out[name] = &Struct{o, obj, definition{name: name}}
	}
	o.texts = append(o.texts, yaml)
	return out
}

// User places bytes in user memory and returns their address. Programs read them with
// bpf_probe_read_user. End the bytes of a C string with a NUL.
func (o *Object) User(data []byte) User { return User(o.m.Kernel().UserAlloc(data)) }

// Current returns the task that programs run in when [Input.Current] is nil.
func (o *Object) Current() *Struct { return &Struct{o, o.m.Kernel().Current(), definition{}} }

// Type returns the name of the object's struct.
func (s *Struct) Type() string { return s.obj.TypeName() }

// Address returns the object's address in kernel memory.
func (s *Struct) Address() uint64 { return s.obj.Addr() }

// Has reports whether the kernel's type has a field.
func (s *Struct) Has(path string) bool { return s.obj.Has(path) }

// Set sets a field; see [Fields].
func (s *Struct) Set(path string, v any) {
	s.o.t.Helper()
	value, err := kernelValue(v)
	if err == nil {
		err = s.obj.Set(path, value)
	}
	s.o.fail(err)
	if s.def.fields != nil {
		s.def.fields[path] = v
	}
}

// Uint returns the value of an integer, enum or pointer field.
func (s *Struct) Uint(path string) uint64 {
	s.o.t.Helper()
	v, err := s.obj.Uint(path)
	s.o.fail(err)
	return v
}

// Text returns the string in a char array, or the string that a char pointer points to.
func (s *Struct) Text(path string) string {
	s.o.t.Helper()
	v, err := s.obj.String(path)
	s.o.fail(err)
	return v
}

// kernelValue converts a value of Fields for the kernel.
func kernelValue(v any) (any, error) {
	switch v := v.(type) {
	case *Struct:
		if v == nil {
			return nil, nil
		}
		return v.obj, nil
	case User:
		return object.Pointer(v), nil
	case Fields:
		out := make(map[string]any, len(v))
		for name, e := range v {
			x, err := kernelValue(e)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			out[name] = x
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			x, err := kernelValue(e)
			if err != nil {
				return nil, fmt.Errorf("[%d]: %w", i, err)
			}
			out[i] = x
		}
		return out, nil
	}
	return v, nil
}
