package bpfsys

import (
	"maps"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/nearest"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// tellUnknownNames says which names of an event no program at its hook takes, once for each hook
// and name. The event happens all the same: a recorded event may name what another kernel's hook
// has. Hooks whose arguments are not known, such as functions that BTF does not list, take any.
func (s *System) tellUnknownNames(e Event) {
	names := slices.Collect(maps.Keys(e.Args))
	names = slices.AppendSeq(slices.AppendSeq(names, maps.Keys(e.Tasks)), maps.Keys(e.Sockets))
	names = slices.DeleteFunc(names, func(n string) bool { return s.askedNames[e.Hook+" "+n] })
	if len(names) == 0 || len(s.askedNames) > maxAskedNames {
		return
	}
	if s.askedNames == nil {
		s.askedNames = map[string]bool{}
	}
	slices.Sort(names)
	for _, n := range names {
		s.askedNames[e.Hook+" "+n] = true
	}
	if call, ok := strings.CutPrefix(e.Hook, "syscall/"); ok {
		if args := hook.SyscallArgNames(call); len(args) > 0 {
			s.tellUnknown(e.Hook, slices.DeleteFunc(names, func(n string) bool { return slices.Contains(recordNames, n) }), append(args, "ret"))
		}
		return
	}
	var available []string
	for h := range s.hooks.All() {
		if !matches(h, e.Hook) {
			continue
		}
		c, err := s.machine.Kernel().NewContext(hook.ContextSpec{ProgType: h.prog.typ, AttachTo: h.hook.AttachTo, Section: h.hook.Section})
		if err != nil {
			return
		}
		known := c.ArgNames()
		names = slices.DeleteFunc(names, func(n string) bool {
			typ := s.pointees[e.Hook+" "+n]
			return typ != "" && typ != notTaken
		}) // the record follows from it
		names = slices.DeleteFunc(names, c.TakesArg)
		c.Leave()
		c.Free()
		if named := slices.DeleteFunc(slices.Clone(known), func(n string) bool { return n == "ret" }); len(named) == 0 || h.prog.typ == uapi.ProgTypeKprobe && h.hook.AttachTo == "" {
			return
		}
		for _, n := range known {
			if !slices.Contains(available, n) {
				available = append(available, n)
			}
		}
	}
	if len(available) > 0 {
		s.tellUnknown(e.Hook, names, available)
	}
}

// recordNames are fields of the records of system calls' tracepoints that are no arguments of the
// call.
var recordNames = []string{"id", "nr", "__syscall_nr", "args"}

// tellUnknown says which names are not available at a hook.
func (s *System) tellUnknown(at string, names, available []string) {
	for _, n := range names {
		if slices.Contains(available, n) {
			continue
		}
		what, near := "available", available
		if like := nearest.Like(n, available); len(like) > 0 {
			what, near = "nearest", like
		}
		s.note("event %s: no program there takes %s (%s: %s)", at, n, what, strings.Join(near, ", "))
	}
}

// maxAskedNames limits the names that were looked up.
const maxAskedNames = 4096
