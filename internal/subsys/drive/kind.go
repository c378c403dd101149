package drive

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/subsys/ops"
	"github.com/bpfrun/bpfrun/loader"
)

// Kind is what an object may have of a subsystem: variables of its struct_ops types.
type Kind struct {
	ops.Whole
	// Name is what one is called in messages, such as "scheduler".
	Name string
	// None says that an object has none of them.
	None string
}

// Names returns those of the object's, by the names of their variables.
func (k *Kind) Names(obj *loader.Object) (names []string) {
	for _, m := range obj.Maps {
		if k.typeOf(m) != "" {
			names = append(names, m.Name)
		}
	}
	return names
}

// typeOf returns the struct_ops type of a map of this kind, "" for others.
func (k *Kind) typeOf(m *loader.Map) string {
	if m.StructOps == nil {
		return ""
	}
	if typ := btf.EssentialName(m.StructOps.TypeName); slices.Contains(k.Types, typ) {
		return typ
	}
	return ""
}

// TypeOf returns the struct_ops type of one, "" if the object has none with that name.
func (k *Kind) TypeOf(obj *loader.Object, name string) string {
	for _, m := range obj.Maps {
		if typ := k.typeOf(m); typ != "" && m.Name == name {
			return typ
		}
	}
	return ""
}

// Program returns the program that stands for one where a program is needed: its first member.
func (k *Kind) Program(obj *loader.Object, name string) string {
	for _, m := range obj.Maps {
		if m.StructOps == nil || m.Name != name {
			continue
		}
		for _, member := range m.StructOps.Members {
			if member.Prog != "" {
				return member.Prog
			}
		}
	}
	return ""
}

// Choose returns the name of the object's one: name, or the only one if name is "". The error is a
// [*NoneError].
func (k *Kind) Choose(obj *loader.Object, name string) (string, error) {
	have := k.Names(obj)
	if name == "" && len(have) == 1 {
		return have[0], nil
	}
	if slices.Contains(have, name) {
		return name, nil
	}
	return "", &NoneError{k, name, have}
}

// NoneError means that an object does not have the one that was asked for.
type NoneError struct {
	Kind *Kind
	Name string // "" for the only one
	Have []string
}

// Error names those there are.
func (e *NoneError) Error() string {
	switch {
	case len(e.Have) == 0:
		return "the object has no " + e.Kind.None
	case e.Name == "":
		return "the object has several " + e.Kind.Name + "s, name one: " + strings.Join(e.Have, ", ")
	}
	return fmt.Sprintf("the object has no %s %s (available: %s)", e.Kind.Name, e.Name, strings.Join(e.Have, ", "))
}
