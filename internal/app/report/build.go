package report

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/vm"
)

// NewTarget describes a target; source is where its BTF comes from.
func NewTarget(t *loader.Target, source string) *Target {
	out := &Target{Name: t.Name, Source: source, Release: t.Release, Arch: t.Arch}
	if t.Version != 0 {
		out.Version = t.VersionString()
		if t.VersionKnown != "name" {
			out.VersionFrom = t.VersionKnown
		}
		out.UpdatesUnknown, out.RulesUpdate = t.UpdatesUnknown(), t.RulesUpdate()
	}
	if t.BTF != nil {
		out.ByteOrder, out.PointerSize, out.Types = ByteOrderName(t.BTF.ByteOrder()), t.BTF.PointerSize(), t.BTF.NumTypes()
	}
	return out
}

// ByteOrderName returns "little" or "big".
func ByteOrderName(o binary.ByteOrder) string {
	if o == binary.ByteOrder(binary.BigEndian) {
		return "big"
	}
	return "little"
}

// NewRunDocument returns the document of a linked object before any run: its programs with their
// relocations.
func NewRunDocument(l *loader.Linked, source string) *RunDocument {
	d := &RunDocument{
		Schema: Schema, Object: l.Object.Name, Target: NewTarget(l.Target, source), Programs: []Program{},
		Maps: map[string]Map{}, Globals: map[string]Global{}, Warnings: append(append([]string(nil), l.Object.Warnings...), l.Warnings...),
	}
	if l.Err != nil {
		d.Error = NewError(l.Err)
	}
	for _, lp := range l.Programs {
		d.Programs = append(d.Programs, newProgram(l, lp))
	}
	return d
}

// NewFailedDocument returns the document of an object that could not be linked for a target.
func NewFailedDocument(obj *loader.Object, t *Target, err error) *RunDocument {
	return &RunDocument{
		Schema: Schema, Object: obj.Name, Target: t, Error: NewError(err),
		Programs: []Program{}, Maps: map[string]Map{}, Globals: map[string]Global{},
	}
}

func newProgram(l *loader.Linked, lp *loader.LinkedProgram) Program {
	p := Program{
		Name: lp.Name, Section: lp.Section, Type: lp.Type.String(), Hook: lp.Hook, Insns: len(lp.Insns),
		Subprograms: []string{}, Status: lp.Status.String(), Optional: !lp.Autoload, Runs: []Run{},
	}
	for _, f := range lp.Funcs[min(1, len(lp.Funcs)):] {
		p.Subprograms = append(p.Subprograms, f.Name)
	}
	if lp.Err != nil {
		p.Error = NewError(lp.Err)
		p.Error.Note = lp.Status == loader.StatusUnknownHook
	}
	p.Relocations.Total = len(lp.Relocs)
	for i := range lp.Relocs {
		r := &lp.Relocs[i]
		switch {
		case r.Err != nil:
			p.Relocations.Errors++
		case r.Changed() && !r.Poisoned():
			p.Relocations.Changed++
		}
	}
	p.countPoison(l, lp, nil)
	return p
}

// countPoison lists and counts the missing fields by the fate of the instructions that access them.
// verdict may be nil.
func (p *Program) countPoison(l *loader.Linked, lp *loader.LinkedProgram, verdict *verifier.Verdict) {
	r := &p.Relocations
	r.PoisonedDead, r.PoisonedMay, r.PoisonedReached, p.Poisoned = 0, 0, 0, nil
	for _, v := range verdict.PoisonVerdicts(lp) {
		if v.Reloc == nil {
			continue
		}
		switch v.Verdict {
		case loader.Dead:
			r.PoisonedDead++
		case loader.MayBreak:
			r.PoisonedMay++
		case loader.Break:
			r.PoisonedReached++
		}
		p.Poisoned = append(p.Poisoned, poisoned(l, lp, v))
	}
}

func poisoned(l *loader.Linked, lp *loader.LinkedProgram, v loader.PoisonVerdict) PoisonedInsn {
	out := PoisonedInsn{Insn: v.Insn, Verdict: v.Verdict.String(), Access: v.Reloc.Local.Field(), Hint: l.Explain(v.Reloc)}
	if line, ok := lp.LineAt(v.Insn); ok {
		out.Source = sourcePlace(line)
	}
	return out
}

func sourcePlace(l btf.LineInfo) string { return fmt.Sprintf("%s:%d:%d", l.File, l.Line, l.Col) }

// Fail records why the object could not run.
func (d *RunDocument) Fail(err error) {
	if d.Error == nil {
		d.Error = NewError(err)
	}
	for i := range d.Programs {
		if d.Programs[i].Status == "ok" || d.Programs[i].Status == "unknown-hook" {
			d.Programs[i].Status, d.Programs[i].Error = "refused", NewError(err)
		}
	}
}

// AddVerdict adds the verifier's verdict on a program, which also decides the fate of accesses to
// missing fields.
func (d *RunDocument) AddVerdict(lp *loader.LinkedProgram, v *verifier.Verdict) {
	for i := range d.Programs {
		if p := &d.Programs[i]; p.Name == lp.Name && v != nil {
			p.Verifier = verdictOf(v)
			p.countPoison(lp.Linked(), lp, v)
		}
	}
}

// Unverified records why the verifier was not run.
func (d *RunDocument) Unverified(why string) { d.unverified = "not verified: " + why }

// Choose marks the programs that are not in names as left out. With no names, all programs are
// chosen.
func (d *RunDocument) Choose(names []string) {
	for i := range d.Programs {
		d.Programs[i].left = len(names) > 0 && !slices.Contains(names, d.Programs[i].Name)
	}
}

// Chosen reports whether the program was chosen to run.
func (p *Program) Chosen() bool { return !p.left }

// NotSimulated records why none of the programs that could run was run.
func (d *RunDocument) NotSimulated(reason string) {
	for i := range d.Programs {
		p := &d.Programs[i]
		if p.Status == "ok" || p.Status == "unknown-hook" {
			p.Status, p.Error = "not-simulated", &Error{Kind: "not-simulated", Message: reason, Program: p.Name, Lines: []string{reason}}
		}
	}
}

// OnlyProblems leaves out what runs that end well did: the table shows only what is not ok.
func (d *RunDocument) OnlyProblems() { d.brief = true }

// Add adds a run to its program, and those of programs that trace or extend it to theirs. A program
// has the status of its worst run.
func (d *RunDocument) Add(m *machine.Machine, res *machine.Result) {
	for _, traced := range res.Traced {
		d.Add(m, traced)
	}
	for i := range d.Programs {
		p := &d.Programs[i]
		if p.Name != res.Program {
			continue
		}
		if p.Status == "ok" || p.Status == "unknown-hook" || res.Status == machine.StatusFault || res.Status == machine.StatusRefused {
			p.Status = string(res.Status)
		}
		if err := m.ProgramError(p.Name); err != nil && p.Error == nil && res.Status != machine.StatusUnknownHook {
			p.Error = NewError(err)
			status, _ := m.ProgramStatus(p.Name)
			p.Error.Note = status == machine.StatusUnknownHook
		}
		if !res.Ran {
			return
		}
		if f := res.Fault; f != nil && f.Kind == vm.Poison {
			p.reached(f.Insn)
		}
		p.Coverage = &Coverage{res.Coverage.Reachable, res.Coverage.Executed}
		p.Runs = append(p.Runs, d.newRun(m, res))
		return
	}
}

// AddFunction adds the run of a program for one of the functions that it traces.
func (d *RunDocument) AddFunction(m *machine.Machine, res *machine.Result, function string) {
	d.Add(m, res)
	for i := range d.Programs {
		if p := &d.Programs[i]; p.Name == res.Program && res.Ran {
			r := &p.Runs[len(p.Runs)-1]
			r.Function, r.titled = function, true
		}
	}
}

// Explain adds to the last run of a program why it had no effect, or did not reach a given place.
func (d *RunDocument) Explain(prog string, lines []string) {
	for i := range d.Programs {
		if p := &d.Programs[i]; p.Name == prog && len(p.Runs) > 0 {
			p.Runs[len(p.Runs)-1].WhyNot = lines
		}
	}
}

// Reached adds to the last run of a program with which inputs it got further than the plain run.
func (d *RunDocument) Reached(prog string, r *Reached) {
	for i := range d.Programs {
		if p := &d.Programs[i]; p.Name == prog && len(p.Runs) > 0 {
			p.Runs[len(p.Runs)-1].Reached = r
			d.searched = true
		}
	}
}

// reached changes the verdict on a poisoned instruction to BREAK, since a run executed it.
func (p *Program) reached(insn int) {
	for i := range p.Poisoned {
		x := &p.Poisoned[i]
		if x.Insn == insn && x.Verdict == loader.MayBreak.String() {
			x.Verdict = loader.Break.String()
			p.Relocations.PoisonedMay--
			p.Relocations.PoisonedReached++
		}
	}
}

func (d *RunDocument) newRun(m *machine.Machine, res *machine.Result) Run {
	if d.brief && res.Status == machine.StatusOK {
		return Run{Name: res.Program, program: res.Program, Insns: res.Insns}
	}
	lp, _ := m.Linked().Program(res.Program)
	r := Run{
		Name: res.Program, program: res.Program, Ret: Hex64(res.Ret), CPU: res.CPU, Insns: res.Insns, Helpers: res.Helpers,
		DataOut: HexBytes(res.DataOut), CtxOut: HexBytes(res.CtxOut), Trace: list(res.Trace), Events: []Event{}, MapChanges: make([]Change, 0, len(res.Changes)),
		PacketChanges: PacketDiff(res.PacketIn, res.PacketOut),
		KernelReads:   accesses(res.Reads), KernelWrites: accesses(res.Writes), Warnings: list(res.Warnings), Findings: newFindings(res.Findings), Expectations: []Expectation{},
	}
	r.packetIn, r.packetOut, r.from, r.to = res.PacketIn, res.PacketOut, res.From, res.To
	if res.Fault == nil {
		r.Verdict = progtype.VerdictName(lp.Type, int32(res.Ret))
	} else {
		r.Fault = newFault(res.Fault)
	}
	if v := m.Validate(res); v.Reads > 0 {
		r.Validation = newValidation(v)
	}
	r.Output = res.Output
	for i, e := range res.Events {
		r.Events = append(r.Events, newEvent(m.EventTypes().Spec(), e))
		if i < len(res.Sent) {
			r.Events[i].at = res.Sent[i]
		}
		if e.Type == 0 && len(e.Data) > 8 && d.untyped == "" {
			d.untyped = untypedRecords(m.Linked().Object)
		}
	}
	for _, e := range res.Effects {
		r.Effects = append(r.Effects, Effect{e.Kind.String(), fmt.Sprint(e.Number), e.Detail})
	}
	for _, c := range res.Changes {
		r.MapChanges = append(r.MapChanges, newChange(m, c))
	}
	d.hists.add(m.Linked(), res.Program, res.Changes)
	return r
}

func list(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

func accesses(in []machine.KernelAccess) []Access {
	out := []Access{}
	for _, a := range in {
		out = append(out, Access{Program: a.Program, Insn: a.Insn, Type: a.Type, Path: a.Path, Set: a.Set && !a.Default, Relocated: a.Relocated})
	}
	return out
}

func newFault(f *machine.Fault) *Fault {
	out := &Fault{Kind: f.Kind.String(), Insn: f.Insn, Source: f.Source, Released: f.Released, Last: hex.EncodeToString(f.Last)}
	text := f.Error()
	if f.Text != "" && f.Fault.Kind != vm.Poison { // the number of the poisoned call is meaningless
		text += "\n" + f.Text
	}
	if f.Line != "" {
		text += "\nat " + f.Source + ": " + f.Line
	}
	if f.Released != "" {
		text += "\nreleased at " + f.Released
	}
	if len(f.Last) > 0 {
		text += fmt.Sprintf("\nlast contents: %x", f.Last)
	}
	if f.Hint != "" && f.Kind != vm.Poison { // the list of missing fields already has the hint
		text += "\n" + f.Hint
	}
	out.Text = text
	if mf := f.Mem; mf != nil {
		out.Kind, out.Addr, out.Size, out.Access = mf.Kind.String(), Hex64(mf.Addr), mf.Size, "load"
		if mf.Write {
			out.Access = "store"
		}
		if mf.Region != nil {
			out.Object = mf.Region.Describe(mf.Addr)
		}
	}
	return out
}

// untypedRecords explains why an object's records are shown as bytes. It returns "" if the object
// has all types that compilers emit.
func untypedRecords(o *loader.Object) string {
	const remedy = "; compile with -g and keep the .debug_ sections (as: in a scenario names a struct that BTF has)"
	switch dwarf := o.HasDWARF(); {
	case o.BTF == nil:
		return "records are shown as bytes: the object has no BTF to describe their struct" + remedy
	case !dwarf:
		return "records are shown as bytes: the object's BTF does not contain their struct, and its DWARF was stripped" + remedy
	}
	return ""
}

func newEvent(spec *btf.Spec, e machine.Event) Event {
	return Event{Map: e.Map, Kind: e.Kind, CPU: e.CPU, spec: spec, typ: e.Type, data: e.Data}
}

// Finish adds the warnings of all runs and the histograms that they made, after the last one.
func (d *RunDocument) Finish(m *machine.Machine) {
	d.Warnings = append(d.Warnings, m.Warnings()...)
	d.Histograms = d.hists.list
	if n := len(d.hists.more); n > 0 {
		d.Warnings = append(d.Warnings, fmt.Sprintf("%d more histograms are not shown", n))
	}
}

// AddMaps adds the contents of maps and global variables after the last run. Only the JSON document
// shows them.
func (d *RunDocument) AddMaps(m *machine.Machine) {
	spec := m.Linked().Object.BTF
	for _, def := range m.Linked().Maps {
		bound, ok := m.Map(def)
		if !ok {
			continue
		}
		if def.DataKind != loader.DataNone {
			d.addGlobals(spec, def, bound)
			continue
		}
		d.Maps[def.Name] = newMap(spec, bound)
	}
}

// mostListed is the total size in bytes of an array's values above which its elements are not
// listed.
const mostListed = 16 << 20

// arraySize returns the total size in bytes of an array's values, or 0 for maps whose elements are
// created at run time.
func arraySize(s *maps.Spec) uint64 {
	if s.Type != uapi.MapTypeArray && s.Type != uapi.MapTypePercpuArray {
		return 0
	}
	return uint64(s.MaxEntries) * uint64(s.ValueSize)
}

func newMap(spec *btf.Spec, m maps.Map) Map {
	s := m.Spec()
	out := Map{Type: s.Type.String(), KeySize: s.KeySize, ValueSize: s.ValueSize, MaxEntries: s.MaxEntries, Entries: []Entry{}}
	if size := arraySize(m.Spec()); size > mostListed {
		out.LeftOut = fmt.Sprintf("%d bytes of values are not listed", size)
		return out
	}
	if n, large := maps.Large(m); large {
		out.LeftOut = fmt.Sprintf("%d elements are not listed", n)
		return out
	}
	for _, e := range m.Entries() {
		x := Entry{Key: HexBytes(e.Key)}
		if e.PerCPU != nil {
			for _, v := range e.PerCPU {
				x.PerCPU = append(x.PerCPU, HexBytes(v))
			}
		} else if e.Value != nil {
			v := HexBytes(e.Value)
			x.Value = &v
		}
		if spec != nil && s.KeyType != 0 && s.ValueType != 0 {
			t := TypedEntry{Key: spec.FormatJSON(s.KeyType, e.Key)}
			if e.PerCPU != nil {
				values := []any{}
				for _, v := range e.PerCPU {
					values = append(values, spec.FormatJSON(s.ValueType, v))
				}
				t.Value = values
			} else if e.Value != nil {
				t.Value = spec.FormatJSON(s.ValueType, e.Value)
			}
			x.Typed = t
		}
		out.Entries = append(out.Entries, x)
	}
	return out
}

func (d *RunDocument) addGlobals(spec *btf.Spec, def *loader.Map, m maps.Map) {
	if arraySize(m.Spec()) > mostListed {
		return
	}
	entries := m.Entries()
	value := make([]byte, m.Spec().ValueSize)
	if len(entries) > 0 {
		copy(value, entries[0].Value)
	}
	for _, v := range def.Vars {
		if uint64(v.Off)+uint64(v.Size) > uint64(len(value)) {
			continue
		}
		b := value[v.Off : v.Off+v.Size]
		g := Global{Section: def.Section, Size: int(v.Size), Bytes: HexBytes(b)}
		if spec != nil && v.Type != 0 {
			g.Typed = spec.FormatJSON(v.Type, b)
		}
		d.Globals[v.Name] = g
	}
}
