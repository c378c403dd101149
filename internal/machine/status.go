package machine

import "github.com/bpfrun/bpfrun/internal/exitcode"

// StatusRow says what a status means and what it does to the exit code: the same for every command
// and for the JSON output.
type StatusRow struct {
	Status Status
	// Exit is the exit code of a run with that outcome of which nothing else was expected. An
	// absent and an unknown hook are failures only where they leave nothing to run, or with
	// --strict: that is for all programs of an object together to say.
	Exit int
	// Meaning is one sentence without a full stop.
	Meaning string
}

// Statuses lists all statuses, the best first.
var Statuses = []StatusRow{
	{StatusOK, exitcode.OK, "the program ran to its end"},
	{StatusUnknownHook, exitcode.OK, "the kernel's BTF does not list the function; the program ran with untyped arguments"},
	{StatusDisabled, exitcode.OK, "the program was excluded from loading"},
	{StatusAbsent, exitcode.OK, "the kernel does not have the program's hook; it was not run"},
	{StatusNotSimulated, exitcode.NotSimulated, "the program needs something that is not simulated"},
	{StatusFault, exitcode.Fault, "the program did something that the kernel forbids"},
	{StatusRefused, exitcode.Load, "the kernel would refuse to load the program"},
}

// Exit returns the exit code of a run with the status; see [StatusRow].
func (s Status) Exit() int {
	for _, o := range Statuses {
		if o.Status == s {
			return o.Exit
		}
	}
	return exitcode.Bug
}
