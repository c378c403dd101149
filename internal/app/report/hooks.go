package report

import (
	"github.com/bpfrun/bpfrun/internal/exitcode"
	"github.com/bpfrun/bpfrun/internal/machine"
)

// HookCount counts the programs of an object, or the runs of a scenario file, by whether their
// hooks exist on the kernel. `run`, `test` and `matrix` all derive their exit code from it.
type HookCount struct {
	// Ran counts those whose hook exists, Absent those whose hook does not, Unknown those whose
	// hook may exist although BTF does not list it.
	Ran, Absent, Unknown int
	// optional counts optional programs without a hook. They matter only if nothing else could run.
	optional int
	// Named means that absent programs or runs were chosen by name.
	Named bool
}

// Add counts one program or run by its status. Disabled programs do not count.
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

// AddOptional counts an optional program that was not requested.
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

// Exit returns the exit code that hooks cause, 0 or 3. Tools ship programs for several kernels and
// load those whose hooks exist, so an absent hook is a failure only if it leaves nothing to run or
// was requested by name. An unknown hook is a doubt, as is a field that may be missing. strict
// turns both into failures.
func (h HookCount) Exit(strict bool) int {
	switch {
	case strict && h.Absent+h.Unknown > 0, h.Absent > 0 && h.Named, h.Absent+h.optional > 0 && h.Ran+h.Unknown == 0:
		return exitcode.Load
	}
	return exitcode.OK
}
