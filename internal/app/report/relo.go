package report

import (
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/corerelo"
	"github.com/bpfrun/bpfrun/loader"
)

// ReloDocument is the JSON of `relo` for one object and one target.
type ReloDocument struct {
	Schema   string        `json:"schema"`
	Exit     int           `json:"exit"`
	Error    *Error        `json:"error"`
	Object   string        `json:"object"`
	Target   *Target       `json:"target,omitempty"`
	Programs []ReloProgram `json:"programs"`
}

// ReloDocuments is the JSON of `relo` for several targets.
type ReloDocuments struct {
	Schema  string          `json:"schema"`
	Exit    int             `json:"exit"`
	Results []*ReloDocument `json:"results"`
}

// OneReloDocument is the JSON of [ReloDocuments] with one result, as [OneDocument] is for
// [Documents].
type OneReloDocument struct {
	ReloDocument
	Results []*ReloDocument `json:"results"`
}

func (d ReloDocuments) document() any {
	switch {
	case d.Results == nil:
		d.Results = []*ReloDocument{}
	case len(d.Results) == 1:
		return OneReloDocument{*d.Results[0], d.Results}
	}
	return d
}

// ReloProgram is one function of the object with its relocations.
type ReloProgram struct {
	Name         string       `json:"name"`
	Section      string       `json:"section"`
	IsSubprogram bool         `json:"is_subprogram"`
	Optional     bool         `json:"optional"`
	Insns        int          `json:"insns"`
	Hashes       *Hashes      `json:"hashes,omitempty"`
	Relocations  []Relocation `json:"relocations"`
}

// Hashes are the three hashes of a program; a subprogram has only the first.
type Hashes struct {
	Core   string `json:"core"`
	Final  string `json:"final,omitempty"`
	Digest string `json:"digest,omitempty"`
}

// Relocation is one CO-RE relocation record.
type Relocation struct {
	Program     string `json:"program"`
	Insn        int    `json:"insn"`
	SectionInsn int    `json:"section_insn"`
	Source      string `json:"source"`
	Kind        string `json:"kind"`
	Local       string `json:"local"`
	Target      string `json:"target"`
	Candidates  int    `json:"candidates"`
	Old         string `json:"old"`
	New         string `json:"new"`
	Result      string `json:"result"` // ok, poison, error
	MemSize     string `json:"mem_size,omitempty"`
	Error       string `json:"error,omitempty"`
	Verdict     string `json:"verdict,omitempty"` // for poison: dead, may-break, BREAK
	Hint        string `json:"hint,omitempty"`
	// Rejected lists the candidates that do not match.
	Rejected []RejectedCandidate `json:"rejected,omitempty"`
	// Matching lists all candidates that match if there are several; they give the same result.
	Matching []string `json:"matching,omitempty"`

	text, line string
	changed    bool
}

// RejectedCandidate is a target type that does not match, and the reason.
type RejectedCandidate struct {
	Candidate string `json:"candidate"` // "[id] struct x"
	Reason    string `json:"reason"`    // one word: no-member, incompatible-type, ...
	Why       string `json:"why"`
}

// NewReloDocument lists every relocation of every function.
func NewReloDocument(l *loader.Linked, source string) *ReloDocument {
	d := &ReloDocument{Schema: Schema, Object: l.Object.Name, Target: NewTarget(l.Target, source), Programs: []ReloProgram{}}
	if l.Err != nil {
		d.Error = NewError(l.Err)
	}
	verdicts := map[relocKey]string{}
	programs := map[string]*loader.LinkedProgram{}
	for _, lp := range l.Programs {
		programs[lp.Name] = lp
		for _, v := range lp.PoisonVerdicts() {
			if v.Reloc != nil {
				k := relocKey{v.Reloc.Func, v.Reloc.FuncInsn}
				verdicts[k] = worstVerdict(verdicts[k], v.Verdict)
			}
		}
	}
	for _, f := range l.Functions {
		p := ReloProgram{Name: f.Name, Section: f.Section, IsSubprogram: f.IsSubprogram(), Insns: len(f.Insns), Relocations: []Relocation{}}
		p.Optional = f.Program != nil && !f.Program.Autoload
		p.Hashes = &Hashes{Core: f.Core()}
		if lp := programs[f.Name]; lp != nil && !p.IsSubprogram && lp.Status != loader.StatusDisabled {
			p.Hashes.Final, p.Hashes.Digest = lp.Final(), lp.Digest()
		}
		for i := range f.Relocs {
			r := &f.Relocs[i]
			x := newRelocation(l, f, r)
			x.Verdict = verdicts[relocKey{f.Name, r.FuncInsn}]
			p.Relocations = append(p.Relocations, x)
		}
		d.Programs = append(d.Programs, p)
	}
	return d
}

type relocKey struct {
	fn   string
	insn int
}

// worstVerdict returns the worse of two verdicts on an instruction that several programs contain.
func worstVerdict(have string, v loader.Verdict) string {
	for _, w := range []loader.Verdict{loader.Break, loader.MayBreak, loader.Dead} {
		if have == w.String() || v == w {
			return w.String()
		}
	}
	return have
}

// candidates lists the candidate types.
func (x *Relocation) candidates(r *corerelo.Relocation) {
	for _, rej := range r.Rejected {
		name := fmt.Sprintf("[%d] %s", rej.ID, rej.BTF.TypeString(rej.ID))
		if rej.Source != "" && rej.Source != "vmlinux" {
			name += " in " + rej.Source
		}
		x.Rejected = append(x.Rejected, RejectedCandidate{name, rej.Reason.String(), rej.Why})
	}
	if len(r.Targets) > 1 {
		for i := range r.Targets {
			x.Matching = append(x.Matching, r.Targets[i].Text())
		}
	}
}

func newRelocation(l *loader.Linked, f *loader.LinkedFunction, r *loader.Reloc) Relocation {
	x := Relocation{Program: f.Name, Insn: r.FuncInsn, SectionInsn: r.SectionInsn, Kind: r.Kind.String(), Result: "ok"}
	if r.Relocation != nil {
		x.Local, x.Candidates, x.text = r.Local.String(), r.Candidates, r.Local.Text()
		if r.Target != nil {
			x.Target = r.Target.String()
		}
		x.candidates(r.Relocation)
	}
	if line, ok := f.LineAt(r.FuncInsn); ok {
		x.Source, x.line = sourcePlace(line), strings.TrimSpace(line.Text)
	}
	x.Old, x.New = Hex64(r.Patch.Old), Hex64(r.Patch.New)
	x.changed = r.Changed()
	switch {
	case r.Err != nil:
		x.Result, x.Error = "error", r.Err.Error()
	case r.Poisoned():
		x.Result = "poison"
	}
	if r.Patch.OldSize != r.Patch.NewSize && x.Result == "ok" {
		x.MemSize = fmt.Sprintf("%d>%d", r.Patch.OldSize, r.Patch.NewSize)
	}
	if x.Result != "ok" {
		x.Hint = l.Explain(r)
	}
	return x
}
