// Package finding names what runs find without being asked: bytes that leak, packets that a program broke, reads of other
// fields than those meant. It knows the kinds and what silences them; it does not know how anything is found. Start with
// [Finding] and [Kinds].
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package finding

import (
	"fmt"
	"strings"
)

// Kind is a kind of finding, in the words of the JSON output and of --ignore.
type Kind string

// The kinds of findings of one run.
const (
	// Leak: bytes leave that the run never wrote.
	Leak Kind = "leak"
	// Packet: a checksum or a length that was right is wrong in a packet that goes on.
	Packet Kind = "packet"
	// Fault: a program that the verifier accepts is stopped.
	Fault Kind = "fault"
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
	// UseAfterDelete: memory of an element is used after another run deleted the element, and it became another one's.
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

// Kinds lists all kinds, in the order in which reports list them.
var Kinds = []Row{
	{Leak, "bytes leave the program (in a record, a map value or key, user memory, a packet, a trace, a socket option) that the run never wrote"},
	{Packet, "a checksum or length of an IP, TCP, UDP, ICMP or SCTP header was right before the run and is wrong in a packet that is passed on, sent back or redirected"},
	{Fault, "a program that the verifier accepts is stopped by a fault: a bug of the kernel's verifier, or of bpfrun"},
	{Limit, "a run reaches the limit of instructions"},
	{Engine, "native code and the interpreter do not do the same: a bug of bpfrun"},
	{Invariant, "an invariant of the scenario does not hold after a run"},
	{Differs, "another build of the object, or another kernel, does something else with the same input (fuzz --against, fuzz with --btf twice)"},
}

// Finding is one thing that a run found.
type Finding struct {
	Kind    Kind
	Program string
	// Insn is the instruction in the final program that the finding is about, -1 if it is about the run as a whole.
	Insn int
	// Source is "file:line:col" and Line the text of that line; both are empty without line information.
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

// ParseIgnore reads "KIND" or "KIND:PROGRAM".
func ParseIgnore(text string) (Ignore, error) {
	kind, program, _ := strings.Cut(text, ":")
	var names []string
	for _, r := range Kinds {
		if string(r.Kind) == kind {
			return Ignore{r.Kind, program}, nil
		}
		names = append(names, string(r.Kind))
	}
	return Ignore{}, fmt.Errorf("%q is no kind of finding: want %s, or KIND:PROGRAM", kind, strings.Join(names, ", "))
}

// Silences reports whether the finding is ignored.
func (i Ignore) Silences(f Finding) bool {
	return i.Kind == f.Kind && (i.Program == "" || i.Program == f.Program)
}

// Without returns the findings that none of list silences.
func Without(findings []Finding, list []Ignore) []Finding {
	var out []Finding
next:
	for _, f := range findings {
		for _, i := range list {
			if i.Silences(f) {
				continue next
			}
		}
		out = append(out, f)
	}
	return out
}
