package bpfsys

import (
	"maps"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/kernel"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Point is where a program runs, as events name it.
type Point struct {
	Section  string
	AttachTo string
	Type     uapi.ProgType
	// Placed programs are attached to a device, cgroup or map, with an attach type.
	Placed bool
	Attach uapi.AttachType
}

// At reports whether the point is the named hook: by its full name, by a tracepoint's name without
// the category, by attach type, or by section prefix, with or without the attach target.
func (p Point) At(hook string) bool {
	to := p.AttachTo
	if to == hook && to != "" {
		return true
	}
	_, name, _ := cutLast(to, '/')
	word, _, _ := strings.Cut(p.Section, "/")
	if kind, target, ok := strings.Cut(hook, "/"); ok && word == kind && target == to {
		return true
	}
	if at, ok := strings.CutPrefix(hook, "uprobe"); ok && (strings.HasPrefix(word, "uprobe") || strings.HasPrefix(word, "uretprobe")) {
		// A user space function matches by its file alone, because its offset changes with each
		// build.
		return at == "" || strings.HasPrefix(to, strings.TrimPrefix(at, "/")+":")
	}
	if system, event, ok := strings.Cut(hook, "/"); ok && event == to && slices.Contains([]string{"tp_btf", "raw_tp", "raw_tracepoint"}, strings.TrimSuffix(word, ".w")) {
		return slices.Contains(kernel.EventSystems(event), system)
	}
	if p.Placed {
		return hook == p.Attach.String()
	}
	if (word == "tracepoint" || word == "tp") && name == hook {
		return true
	}
	return hook == word && (to == "" || word == "perf_event") || hook == "xdp" && p.Type == uapi.ProgTypeXDP && to == ""
}

// AtReturn reports whether a program runs when its function returns.
func (p Point) AtReturn() bool {
	s, _ := progtype.ParseSection(p.Section)
	if s == nil {
		return false
	}
	if at := progtype.Of(p.Type).Attached(s.Attach); at != nil && at.Return {
		return true
	}
	return s.Flags.Has(progtype.AtReturn)
}

// CallHook is one of the hooks that a system call passes.
type CallHook struct {
	Name string
	// All calls pass it, so that its programs are told which one it is.
	All bool
	// Function is the call's function, whose programs run at its entry or at its return.
	Function bool
	// After hooks are passed when the call returns.
	After bool
}

// CallHooks lists the hooks that a system call passes, in that order. symbol is the function that
// implements it.
func CallHooks(call, symbol string) []CallHook {
	list := []CallHook{{Name: "sys_enter", All: true}, {Name: "raw_syscalls/sys_enter", All: true}, {Name: "syscalls/sys_enter_" + call}, {Name: symbol, Function: true}}
	if len(hook.SyscallKinds(call)) == 0 { // of which symbol is another name (SYSCALL_DEFINE0 of x86)
		list = append(list, CallHook{Name: "__do_sys_" + call, Function: true})
	}
	if !Returns(call) {
		return list
	}
	return append(list, CallHook{Name: "sys_exit", All: true, After: true}, CallHook{Name: "raw_syscalls/sys_exit", All: true, After: true},
		CallHook{Name: "syscalls/sys_exit_" + call, After: true})
}

// Returns reports whether a system call returns to its caller.
func Returns(call string) bool { return call != "exit" && call != "exit_group" }

// Args returns those of a call's arguments and its result (ret) that programs at the hook see.
func (h CallHook) Args(call string, args map[string]any) map[string]any {
	out := map[string]any{}
	if h.All {
		out["call"] = call
	}
	if h.After {
		if v, ok := args["ret"]; ok {
			out["ret"] = v
		}
		return out
	}
	maps.Copy(out, args)
	if !h.Function {
		delete(out, "ret")
	}
	return out
}
