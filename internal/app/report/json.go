package report

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/subsys"
	"github.com/bpfrun/bpfrun/internal/subsys/show"
	"github.com/bpfrun/bpfrun/internal/visible"
)

// Schema is the schema name of every document.
const Schema = "bpfrun/1"

// Error is the JSON form of an error.
type Error = show.Error

// Target describes the kernel whose types were used.
type Target struct {
	Name        string `json:"name"`
	Source      string `json:"source"`
	Release     string `json:"release,omitempty"`
	Version     string `json:"version,omitempty"`
	VersionFrom string `json:"version_from,omitempty"`
	// UpdatesUnknown: the release is kept through all updates, so that the rules are those of the
	// release with update RulesUpdate, or without any.
	UpdatesUnknown bool   `json:"updates_unknown,omitempty"`
	RulesUpdate    int    `json:"rules_update,omitempty"`
	Arch           string `json:"arch"`
	ByteOrder      string `json:"byte_order"`
	PointerSize    int    `json:"pointer_size"`
	Types          int    `json:"types"`
}

// RunDocument is the JSON of `run`, `test` and the default command for one object and one target.
type RunDocument struct {
	Schema string `json:"schema"`
	Exit   int    `json:"exit"`
	Error  *Error `json:"error"`
	Object string `json:"object"`
	// Scenario is the path of the scenario file that ran.
	Scenario string `json:"scenario,omitempty"`
	// Seed is the seed of the scenario's runs or of the tests inside the object.
	Seed *uint64 `json:"seed,omitempty"`
	// Tests are the tests inside the object that ran.
	Tests    []Test            `json:"tests,omitempty"`
	Target   *Target           `json:"target,omitempty"`
	Programs []Program         `json:"programs"`
	Maps     map[string]Map    `json:"maps"`
	Globals  map[string]Global `json:"globals"`
	Warnings []string          `json:"warnings,omitempty"`
	// Histograms are those in maps and global variables that runs changed, as the last one left
	// them.
	Histograms []Histogram `json:"histograms,omitempty"`
	// Chain is what programs decided that ran one after the other on one hook.
	Chain *Chain `json:"chain,omitempty"`
	// Simulations are what became of programs that ran as wholes.
	subsys.Simulations
	// Try is a command line whose flags let programs pass the branches that ended them, if flags
	// can do that.
	Try string `json:"try,omitempty"`

	hists      histSet
	searched   bool   // some runs are not plain
	brief      bool   // see OnlyProblems
	untyped    string // for tables: why records are shown as bytes
	profile    *RunProfile
	unverified string // for tables: why there are no verdicts of the verifier
}

// Chain is what the programs of one hook decided together.
type Chain struct {
	// Verdict is what the kernel does in the end; "" if the programs decide nothing, or one of them
	// cannot run.
	Verdict string `json:"verdict"`
	// NotRun are the programs after the one that decided.
	NotRun []string `json:"not_run"`
	// Broken is the program that cannot run, so that there is no verdict.
	Broken string `json:"broken,omitempty"`
}

// text describes the chain in a line.
func (c *Chain) text() string {
	switch {
	case c.Broken != "":
		return "no verdict, because " + c.Broken + " cannot run"
	case c.Verdict == "":
		return "all programs ran; they decide nothing for each other"
	case len(c.NotRun) > 0:
		return c.Verdict + "; not run: " + strings.Join(c.NotRun, ", ")
	}
	return c.Verdict
}

// Documents is the JSON of several targets.
type Documents struct {
	Schema  string         `json:"schema"`
	Exit    int            `json:"exit"`
	Results []*RunDocument `json:"results"`
}

// OneDocument is the JSON of [Documents] with one result: the list and, next to it, the members of
// its only element, for scripts written before the list existed.
type OneDocument struct {
	RunDocument
	Results []*RunDocument `json:"results"`
}

func (d Documents) document() any {
	switch {
	case d.Results == nil:
		d.Results = []*RunDocument{}
	case len(d.Results) == 1 && d.Results[0] != nil:
		one := OneDocument{*d.Results[0], d.Results}
		one.Exit = d.Exit
		return one
	}
	return d
}

// NewErrorDocument returns the document that any command writes when it has no result.
func NewErrorDocument(err error, exit int) *OneDocument {
	doc := RunDocument{Schema: Schema, Exit: exit, Error: NewError(err), Programs: []Program{}, Maps: map[string]Map{}, Globals: map[string]Global{}}
	return &OneDocument{doc, []*RunDocument{}}
}

// Program is one program of a RunDocument.
type Program struct {
	Name        string      `json:"name"`
	Section     string      `json:"section"`
	Type        string      `json:"type"`
	Hook        string      `json:"hook"`
	Insns       int         `json:"insns"`
	Subprograms []string    `json:"subprograms"`
	Relocations Relocations `json:"relocations"`
	Status      string      `json:"status"`
	// Optional means that tools load the program only on request (its section name begins with
	// "?").
	Optional bool           `json:"optional"`
	Error    *Error         `json:"error,omitempty"`
	Coverage *Coverage      `json:"coverage,omitempty"`
	Runs     []Run          `json:"runs"`
	Replay   *Replay        `json:"replay,omitempty"`
	Poisoned []PoisonedInsn `json:"poisoned,omitempty"`
	// Verifier is the verdict of the kernel's verifier, if it was run.
	Verifier *Verdict `json:"verifier,omitempty"`

	left bool // left out because other programs were chosen
}

// PoisonedInsn is an instruction whose relocation failed.
type PoisonedInsn struct {
	Insn    int    `json:"insn"`
	Verdict string `json:"verdict"` // dead, may-break, BREAK
	Source  string `json:"source,omitempty"`
	Access  string `json:"access"`
	Hint    string `json:"hint,omitempty"`
}

// Relocations counts a program's CO-RE relocations.
type Relocations struct {
	Total           int `json:"total"`
	Changed         int `json:"changed"`
	PoisonedDead    int `json:"poisoned_dead"`
	PoisonedMay     int `json:"poisoned_may"`
	PoisonedReached int `json:"poisoned_reached"`
	Errors          int `json:"errors"`
}

// Coverage counts executed instructions.
type Coverage struct {
	Reachable int `json:"reachable"`
	Executed  int `json:"executed"`
}

// Run is one run of a program.
type Run struct {
	Name string `json:"name"`
	// Function is the one that the run is of, where the program traces many and it was chosen.
	Function string         `json:"function,omitempty"`
	Ret      string         `json:"ret"`
	Verdict  string         `json:"verdict,omitempty"`
	CPU      int            `json:"cpu"`
	Insns    uint64         `json:"insns"`
	Helpers  map[string]int `json:"helpers"`
	Fault    *Fault         `json:"fault"`
	DataOut  string         `json:"data_out,omitempty"`
	CtxOut   string         `json:"ctx_out,omitempty"`
	// PacketChanges describes the changes to the packet: "ip.ttl 64 -> 63", "ip.csum fixed".
	PacketChanges []string      `json:"packet_changes,omitempty"`
	Trace         []string      `json:"trace"`
	Events        []Event       `json:"events"`
	Output        string        `json:"output,omitempty"` // from an iterator
	Effects       []Effect      `json:"effects,omitempty"`
	MapChanges    []Change      `json:"map_changes"`
	KernelReads   []Access      `json:"kernel_reads"`
	KernelWrites  []Access      `json:"kernel_writes"`
	Warnings      []string      `json:"warnings"`
	Findings      []RunFinding  `json:"findings"`
	Expectations  []Expectation `json:"expectations"`
	Validation    *Validation   `json:"validation,omitempty"`
	// WhyNot explains why the run had no effect, executed less than half of the program, or did not
	// reach the requested place: the branch that decided, what it compared, and what would change
	// it.
	WhyNot []string `json:"why_not,omitempty"`
	// Reached tells with which inputs the run got further than the plain run; nil for a plain run.
	Reached *Reached `json:"reached,omitempty"`

	titled  bool   // shown under its own name
	program string // the one that was started

	packetIn, packetOut []byte // nil if it has none

	from, to uint64 // in simulated time
}

// Reached tells how a run got further than the one with the given input.
type Reached struct {
	// By are the inputs that were changed: "packet ip.protocol = 17", "map config[0].mode = 3".
	By []string `json:"by"`
	// Plain is the coverage of the run with the given input.
	Plain Coverage `json:"plain"`
}

// Fault is a run-time fault.
type Fault struct {
	Kind   string `json:"kind"`
	Insn   int    `json:"insn"`
	Source string `json:"source,omitempty"`
	Addr   string `json:"addr,omitempty"`
	Size   int    `json:"size,omitempty"`
	Access string `json:"access,omitempty"` // load, store
	Object string `json:"object,omitempty"`
	// Released is the call that freed the memory, Last the first bytes that it had then; both only
	// of a use after free, where they are known.
	Released string `json:"released,omitempty"`
	Last     string `json:"last_contents,omitempty"`
	Text     string `json:"text"`
}

// Event is one record sent to user space.
type Event struct {
	Map  string
	Kind string
	CPU  int

	spec *btf.Spec // of typ
	typ  btf.ID    // 0 is none
	data []byte
	at   uint64 // in simulated time
}

// Text returns the record as text.
func (e *Event) Text() string {
	if e.typ == 0 {
		return shortHex(e.data)
	}
	return e.spec.TypeString(e.typ) + " " + e.spec.FormatString(e.typ, e.data)
}

// eventForm is the JSON form of an Event.
type eventForm struct {
	Map      string `json:"map"`
	Kind     string `json:"kind"`
	CPU      int    `json:"cpu"`
	Data     string `json:"data"`
	TypeName string `json:"type,omitempty"`
	Typed    any    `json:"typed,omitempty"`
	Text     string `json:"text"`
}

// MarshalJSON formats the record only when it is written, since a run may have hundreds of
// thousands.
func (e Event) MarshalJSON() ([]byte, error) {
	out := eventForm{Map: e.Map, Kind: e.Kind, CPU: e.CPU, Data: HexBytes(e.data), Text: e.Text()}
	if e.typ != 0 {
		out.TypeName, out.Typed = e.spec.TypeString(e.typ), e.spec.FormatJSON(e.typ, e.data)
	}
	return marshalForm(out)
}

// marshalForm encodes a value without escaping what only matters inside HTML.
func marshalForm(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}

// Effect is a side effect outside the program and its maps.
type Effect struct {
	Kind  string `json:"kind"`
	Value string `json:"value"`
	// Detail names what the effect applies to, such as a socket or a map.
	Detail string `json:"detail,omitempty"`
}

// Access is one access to kernel memory.
type Access struct {
	Program   string `json:"program"`
	Insn      int    `json:"insn"`
	Type      string `json:"type"`
	Path      string `json:"path"`
	Set       bool   `json:"set"`
	Relocated bool   `json:"relocated"`
}

// Expectation is one checked expectation of a scenario.
type Expectation struct {
	What string `json:"what"`
	OK   bool   `json:"ok"`
	Want string `json:"want"`
	Got  string `json:"got"`
	// Place is "file:line:col" in the scenario file.
	Place string `json:"place,omitempty"`
}

// Map is the contents of a map after the last run.
type Map struct {
	Type       string  `json:"type"`
	KeySize    uint32  `json:"key_size"`
	ValueSize  uint32  `json:"value_size"`
	MaxEntries uint32  `json:"max_entries"`
	Entries    []Entry `json:"entries"`
	LeftOut    string  `json:"left_out,omitempty"` // why there are no entries
}

// Entry is one element of a map.
type Entry struct {
	Key    string   `json:"key"`
	Value  *string  `json:"value,omitempty"`
	PerCPU []string `json:"percpu,omitempty"`
	Typed  any      `json:"typed,omitempty"`
}

// TypedEntry is an element formatted by its types.
type TypedEntry struct {
	Key   any `json:"key"`
	Value any `json:"value"`
}

// Global is one global variable after the last run.
type Global struct {
	Section string `json:"section"`
	Size    int    `json:"size"`
	Bytes   string `json:"bytes"`
	Typed   any    `json:"typed,omitempty"`
}

// WriteJSON writes a document, indented, with a final newline.
func WriteJSON(w io.Writer, doc any) error {
	if d, ok := doc.(interface{ document() any }); ok {
		doc = d.document()
	}
	e := json.NewEncoder(visible.JSON{W: w})
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(doc)
}

// Hex64 formats a number that can exceed 2^53.
func Hex64(v uint64) string { return fmt.Sprintf("0x%x", v) }

// HexBytes formats bytes as lower-case hex digits.
func HexBytes(b []byte) string { return hex.EncodeToString(b) }
