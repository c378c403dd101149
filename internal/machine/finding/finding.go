// Package finding names what runs find without being asked: bytes that leak, packets that a program
// broke, reads of other fields than those meant. It knows the kinds and what silences them; it does
// not know how anything is found. Start with [Finding] and [Kinds].
package finding

import (
	"fmt"
	"slices"
	"strings"
)

// Kind is a kind of finding, in the words of the JSON output and of --ignore.
type Kind string

// The kinds of findings of one run.
const (
	// Leak: bytes leave that the run never wrote.
	Leak Kind = "leak"
	// Overread: a read goes past the end of the object that the pointer means.
	Overread Kind = "overread"
	// WrongField: a read of kernel memory is not of the field that the source names, or no
	// relocation adjusts it.
	WrongField Kind = "wrong-field"
	// Packet: a checksum or a length that was right is wrong in a packet that goes on.
	Packet Kind = "packet"
	// Fault: a program that the verifier accepts is stopped.
	Fault Kind = "fault"
	// Full: a map keeps an element of each pair of events that the program should balance, so that
	// it fills up.
	Full Kind = "full"
	// Limit: a limit of the kernel is reached.
	Limit Kind = "limit"
	// Engine: native code and the interpreter differ.
	Engine Kind = "engine"
	// Invariant: what a scenario says of every run does not hold.
	Invariant Kind = "invariant"
	// Differs: two builds, or two kernels, do different things with one input.
	Differs Kind = "differs"
)

// The kinds of findings of several runs at a time.
const (
	// NotSerialisable: the outcome is that of no order of whole runs.
	NotSerialisable Kind = "not-serialisable"
	// UseAfterDelete: memory of an element is used after another run deleted the element, and it
	// became another one's.
	UseAfterDelete Kind = "use-after-delete"
	// Deadlock: runs wait for each other.
	Deadlock Kind = "deadlock"
	// DataRace: plain accesses that nothing orders, without a wrong outcome.
	DataRace Kind = "data-race"
)

// A Row describes a kind.
type Row struct {
	Kind Kind
	// Rule says when there is a finding, as one sentence without a full stop.
	Rule string
}

// Kinds lists the kinds of findings of one run, in the order in which reports list them.
var Kinds = []Row{
	{Leak, "bytes leave the program (in a record, a map value or key, user memory, a packet, a trace, a socket option) that the run never wrote"},
	{Overread, "a read of kernel memory, as by bpf_probe_read_kernel, goes past the end of the object that the pointer means"},
	{WrongField, "a load of kernel memory is not of the field that the source names, or of a field at an offset that no relocation adjusts; reported with the CO-RE validation of a run"},
	{Packet, "a checksum or length of an IP, TCP, UDP, ICMP or SCTP header was right before the run and is wrong in a packet that is passed on, sent back or redirected"},
	{Fault, "a program that the verifier accepts is stopped by a fault: a bug of the kernel's verifier, or of bpfrun"},
	{Full, "a map that is not an LRU keeps an element of each call of a function whose return should delete it, so that it fills up and updates fail (fuzz only)"},
	{Limit, "a run reaches a limit of the kernel: that of instructions or of tail calls, or a ring buffer that was empty has no room for what it sends"},
	{Engine, "native code and the interpreter do not do the same: a bug of bpfrun"},
	{Invariant, "an invariant of the scenario does not hold after a run"},
	{Differs, "another build of the object, or another kernel, does something else with the same input (fuzz --against, fuzz with --btf twice)"},
}

// RaceKinds lists the kinds of findings of several runs at a time, the worst first.
var RaceKinds = []Row{
	{Deadlock, "runs wait for each other, or one for a lock that it holds"},
	{UseAfterDelete, "memory of an element is used after another run deleted the element, and it became another one's"},
	{NotSerialisable, "maps, variables, records and results at the end are those of no order of whole runs"},
	{DataRace, "plain accesses of the same bytes that nothing orders, without a wrong outcome"},
}

// Finding is one thing that a run found.
type Finding struct {
	Kind    Kind
	Program string
	// Insn is the instruction in the final program that the finding is about, -1 if it is about the
	// run as a whole.
	Insn int
	// Source is "file:line:col" and Line the text of that line; both are empty without line
	// information.
	Source, Line string
	// Text says what is wrong, in the user's terms.
	Text string
}

// String returns "packet: ip.csum is 0xfc58, right is 0x3d66 (f.bpf.c:12:3)".
func (f Finding) String() string {
	s := string(f.Kind) + ": " + f.Text
	if f.Source != "" {
		s += " (" + f.Source + ")"
	}
	return s
}

// Ignore silences findings. Create it with [ParseIgnore]; the zero value silences nothing.
type Ignore struct {
	Kind    Kind
	Program string // empty: of every program
}

// Names returns the names of all kinds.
func Names() []string {
	var out []string
	for _, r := range slices.Concat(Kinds, RaceKinds) {
		out = append(out, string(r.Kind))
	}
	return out
}

// ParseIgnore reads "KIND" or "KIND:PROGRAM".
func ParseIgnore(text string) (Ignore, error) {
	kind, program, named := strings.Cut(text, ":")
	names := Names()
	if !slices.Contains(names, kind) || named && program == "" {
		return Ignore{}, fmt.Errorf("%q is no kind of finding: want KIND or KIND:PROGRAM; kinds are %s", text, strings.Join(names, ", "))
	}
	return Ignore{Kind(kind), program}, nil
}

// Silences reports whether a finding of a kind in a program is ignored.
func (i Ignore) Silences(kind Kind, program string) bool {
	return i.Kind == kind && (i.Program == "" || i.Program == program)
}

// Silenced reports whether one of list silences a finding of a kind in a program.
func Silenced(list []Ignore, kind Kind, program string) bool {
	return slices.ContainsFunc(list, func(i Ignore) bool { return i.Silences(kind, program) })
}

// Without returns the findings that none of list silences.
func Without(findings []Finding, list []Ignore) []Finding {
	if len(list) == 0 {
		return findings
	}
	var out []Finding
	for _, f := range findings {
		if !Silenced(list, f.Kind, f.Program) {
			out = append(out, f)
		}
	}
	return out
}
