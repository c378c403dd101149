package machine

import (
	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/helpers"
	"github.com/bpfrun/bpfrun/kernel"
	"github.com/bpfrun/bpfrun/vm"
)

// Status describes how far a program got, in the words of the JSON output.
type Status string

const (
	// StatusOK: the program ran to its end.
	StatusOK Status = "ok"
	// StatusAbsent: the target kernel does not have the program's hook; it was not run.
	StatusAbsent Status = "absent"
	// StatusUnknownHook: the target's BTF does not list the function; the program ran with untyped arguments.
	StatusUnknownHook Status = "unknown-hook"
	// StatusRefused: the target kernel would refuse to load the program.
	StatusRefused Status = "refused"
	// StatusNotSimulated: the program needs something that is not simulated.
	StatusNotSimulated Status = "not-simulated"
	// StatusFault: the program did what the kernel forbids.
	StatusFault Status = "fault"
	// StatusDisabled: loading was switched off for the program.
	StatusDisabled Status = "disabled"
)

// Result is what one run of a program did.
type Result struct {
	Program string
	Status  Status
	// Ret is all 64 bits of r0; meaningless after a fault.
	Ret uint64
	// Insns is the number of instructions executed.
	Insns uint64
	// Helpers counts the calls of each helper and kfunc by name.
	Helpers map[string]int
	Fault   *Fault
	// DataOut is the packet after the run, CtxOut the context where it can be written; nil without.
	DataOut, CtxOut []byte
	// PacketIn and PacketOut are the packet before and after, both from its Ethernet header on and without metadata; nil without.
	PacketIn, PacketOut []byte
	Trace               []string
	Events              []Event
	// Output is what an iterator wrote to its sequential file.
	Output        string
	Effects       []helpers.Event
	Changes       []Change
	Reads, Writes []KernelAccess
	Warnings      []string
	// StackReads are reads of stack bytes that nobody wrote, which are warnings too. Only the interpreter notices them; of a replay it
	// runs the first packets and samples of the others.
	StackReads []StackRead
	Coverage   Coverage
	// Untyped means that nothing was known of the types of the hook's arguments.
	Untyped bool
	// Ran means that the program was executed.
	Ran bool
	CPU int
}

// Fault is a run-time fault with everything known about its place.
type Fault struct {
	*vm.Fault
	Program, Function string
	// Insn is the instruction's slot in the final program, as the kernel's log counts.
	Insn int
	Text string // the instruction in pseudo-C
	// Source is "file:line:col", Line the text of that line; empty without line info.
	Source, Line string
	// Hint describes what to do next.
	Hint string
}

// Event is a record a program sent to user space.
type Event struct {
	Map  string
	Kind string // "ringbuf" or "perf"
	CPU  int
	Data []byte
	// Type is the type of [EventTypes.Spec] that fits the record, 0 when none or several do.
	Type btf.ID
}

// Change is one map element that a run created, changed or deleted.
type Change struct {
	Map      string
	Key      []byte
	CPU      int // -1 but for per-CPU maps
	Old, New []byte
}

// KernelAccess is one executed access of kernel memory.
type KernelAccess struct {
	Insn int
	kernel.Access
	// Relocated means that the instruction, or the one that computed the address, was patched by CO-RE.
	Relocated bool
}

// Coverage counts a program's instructions.
type Coverage struct {
	// Reachable is the number of instructions constant propagation cannot rule out on this target.
	Reachable int
	// Executed is how many of them have been executed at least once.
	Executed int
}
