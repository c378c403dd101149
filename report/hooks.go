package report

import (
	"github.com/bpfrun/bpfrun/internal/exitcode"
	"github.com/bpfrun/bpfrun/machine"
)

// HookCount counts what was to run on a kernel by what is known of the hooks: the programs of an object, or the runs of a
// scenario file. One rule makes the exit code of `run`, `test` and `matrix` from it.
type HookCount struct {
	// Ran counts what has a hook on the kernel, Absent what has none, Unknown what may have one: BTF does not list it.
	Ran, Absent, Unknown int
	// optional counts optional programs without a hook, which are missed only where nothing else is there.
	optional int
	// Named means that absent ones were chosen by name.
	Named bool
}

// Add counts one program or run by its status. Disabled ones do not count.
func (h *HookCount) Add(status machine.Status) {
	switch status {
	case machine.StatusAbsent:
		h.Absent++
	case machine.StatusUnknownHook:
		h.Unknown++
	case machine.StatusDisabled:
	default:
		h.Ran++
	}
}

// AddOptional counts a program that nobody asked for.
func (h *HookCount) AddOptional(status machine.Status) {
	switch status {
	case machine.StatusAbsent:
		h.optional++
	case machine.StatusUnknownHook:
		h.Ran++
	default:
		h.Add(status)
	}
}

// Exit returns the exit code that hooks cause, 0 or 3. Tools bring programs for several kernels and load those whose hooks exist, so
// that an absent hook is a failure only where it leaves nothing to run, or was asked for by name. An unknown hook is a doubt, as is a
// field that may be missing. strict makes both failures.
func (h HookCount) Exit(strict bool) int {
	switch {
	case strict && h.Absent+h.Unknown > 0, h.Absent > 0 && h.Named, h.Absent+h.optional > 0 && h.Ran+h.Unknown == 0:
		return exitcode.Load
	}
	return exitcode.OK
}
