package machine

import (
	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/helpers"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/machine/finding"
	"github.com/bpfrun/bpfrun/vm"
)

// Status is the outcome of a run, in the words of the JSON output.
type Status string

const (
	// StatusOK: the program ran to its end.
	StatusOK Status = "ok"
	// StatusAbsent: the target kernel does not have the program's hook; it was not run.
	StatusAbsent Status = "absent"
	// StatusUnknownHook: the target's BTF does not list the function; the program ran with untyped
	// arguments.
	StatusUnknownHook Status = "unknown-hook"
	// StatusRefused: the target kernel would refuse to load the program.
	StatusRefused Status = "refused"
	// StatusNotSimulated: the program needs something that is not simulated.
	StatusNotSimulated Status = "not-simulated"
	// StatusFault: the program did something that the kernel forbids.
	StatusFault Status = "fault"
	// StatusDisabled: the program was excluded from loading.
	StatusDisabled Status = "disabled"
)

// Result is the result of one run of a program.
type Result struct {
	Program string
	Status  Status
	// Ret is all 64 bits of r0; undefined after a fault.
	Ret uint64
	// Insns is the number of instructions executed.
	Insns uint64
	// From and To are when the run began and ended, Sent when each of Events was sent, in simulated
	// monotonic time. Runs of the same program at other times differ in nothing else.
	From, To uint64
	Sent     []uint64
	// Calls is how often one event called the program: an iterator for each element, a session at
	// entry and return; 0 if it did not run.
	Calls int
	// Helpers counts the calls of each helper and kfunc by name.
	Helpers map[string]int
	Fault   *Fault
	// DataOut is the packet after the run, CtxOut the context if it is writable; else nil.
	DataOut, CtxOut []byte
	// PacketIn and PacketOut are the packet before and after the run, starting with its Ethernet
	// header and without metadata; nil if there is none.
	PacketIn, PacketOut []byte
	Trace               []string
	Events              []Event
	// what an iterator wrote to its sequential file
	Output        string
	Effects       []helpers.Event
	Changes       []Change
	Reads, Writes []KernelAccess
	Warnings      []string
	// Findings are what the run found without being asked.
	Findings []finding.Finding
	// StackReads are reads of stack bytes that were never written, which are also warnings. Only
	// the interpreter detects them; in a replay it runs the first packets and samples of the
	// others.
	StackReads []StackRead
	Coverage   Coverage
	// Traced are the results of programs that trace functions of the program, in the order in which
	// they ran. Their records, effects, trace lines and changes of maps are among those above.
	Traced []*Result
	// Socket is what a program of a sockmap asked for besides its return value; nil if nothing.
	Socket *helpers.SocketVerdict
	// Untyped means that the types of the hook's arguments are unknown.
	Untyped bool
	// Ran means that the program was executed.
	Ran bool
	CPU int
}

// Fault is a run-time fault with everything known about its position.
type Fault struct {
	*vm.Fault
	Program, Function string
	// Insn is the instruction's slot in the final program, as in the kernel's log.
	Insn int
	Text string // the instruction in pseudo-C
	// Source is "file:line:col" and Line the text of that line; both are empty without line
	// information.
	Source, Line string
	// Hint suggests what to do next.
	Hint string
	// Released is the call that ended the life of the memory a use after free is about, "insn 9
	// (file.c:12: bpf_ringbuf_submit(r, 0);)", empty when it is not known. Last are the bytes that
	// memory had then, at most [MostLast] of them; nil for all other faults, and of kernel objects.
	Released string
	Last     []byte
}

// MostLast is how many bytes of freed memory a fault shows.
const MostLast = 64

// Event is a record that a program sent to user space.
type Event struct {
	Map  string
	Kind string // "ringbuf" or "perf"
	CPU  int
	Data []byte
	// Type is the type of [EventTypes.Spec] that matches the record, 0 if none or several do.
	Type btf.ID
}

// Change is a map element that a run created, changed or deleted.
type Change struct {
	Map      string
	Key      []byte
	CPU      int // -1 except for per-CPU maps
	Old, New []byte
}

// KernelAccess is an executed access of kernel memory.
type KernelAccess struct {
	// Program is the one whose instruction it is: after a tail call and in a callback, not the one
	// that was started.
	Program string
	Insn    int
	object.Access
	// Relocated means that CO-RE patched the instruction, or the one that computed the address.
	Relocated bool
}

// Coverage counts a program's instructions.
type Coverage struct {
	// Reachable is the number of instructions that constant propagation cannot rule out on this
	// target.
	Reachable int
	// Executed is the number of them that were executed at least once.
	Executed int
}

// Streams returns what the run wrote to each of the program's streams, nil if nothing.
func (r *Result) Streams() map[uint64][][]byte {
	var out map[uint64][][]byte
	for i := range r.Effects {
		if e := &r.Effects[i]; e.Kind == helpers.StreamText {
			if out == nil {
				out = map[uint64][][]byte{}
			}
			out[e.Number] = append(out[e.Number], e.Data)
		}
	}
	return out
}
