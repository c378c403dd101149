package minkernel

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/corerelo"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
	"github.com/bpfrun/bpfrun/loader"
)

// Kind is what a release lacks.
type Kind string

// Kinds of what holds a program back.
const (
	Helper      Kind = "helper"
	Kfunc       Kind = "kfunc"
	MapType     Kind = "map type"
	ProgramType Kind = "program type"
	AttachType  Kind = "attach type"
	Hook        Kind = "hook"
	Field       Kind = "CO-RE field"
	Symbol      Kind = "kernel symbol"
	Instruction Kind = "instruction"
	Rule        Kind = "verifier rule"
	// Refusal is one of the verifier that no single row of a release explains: types differ, or the
	// program is refused everywhere.
	Refusal Kind = "verifier"
	// Object is what refuses the whole object: its type information, or a definition in it.
	Object Kind = "object"
)

// Hold is what keeps a release from loading a program.
type Hold struct {
	Kind Kind
	// Name is that of the helper, type, field and so on; for rules, what newer releases do.
	Name string
	// Since is the release that brought it according to the rows, 0 if none says.
	Since uapi.Release
	// Rules are the rules of the verifier that make the difference.
	Rules []since.Rule
	// Message is the last line of the kernel's log, or what the loader says.
	Message string
	// Source is "file.c:12", "" if unknown.
	Source string

	helper  uapi.FuncID
	mapType uapi.MapType
	types   bool // it is decided by types, not by rows
	doubt   string
}

// Guardable reports whether a program can test for it and do without.
func (h *Hold) Guardable() bool {
	return h.Kind == Helper || h.Kind == Kfunc || h.Kind == Field
}

// same reports whether two are the same thing to mend.
func (h *Hold) same(o *Hold) bool { return h.Kind == o.Kind && h.Name == o.Name }

// early returns what keeps a program from reaching the verifier, without what is waived, or nil.
func early(l *loader.Linked, lp *loader.LinkedProgram, w *waiver) *Hold {
	switch lp.Status {
	case loader.StatusAbsent:
		name := lp.AttachTo
		if name == "" {
			name = lp.Section
		}
		return &Hold{Kind: Hook, Name: name, Message: plain(lp.Err), types: true}
	case loader.StatusRefused:
		return refusedEarly(l, lp, w)
	}
	return nil
}

func refusedEarly(l *loader.Linked, lp *loader.LinkedProgram, w *waiver) *Hold {
	h := &Hold{Kind: Object, Name: plain(lp.Err), Message: plain(lp.Err), types: true, Source: sourceOf(lp.Err)}
	t := l.Target
	switch err := lp.Err; {
	case errors.Is(err, loader.ErrUnknownToTarget):
		switch {
		case !t.HasProgType(lp.Type):
			h.Kind, h.Name, h.Since, h.types = ProgramType, lp.Type.String(), progtype.Of(lp.Type).Since, false
		case lp.Attach != 0 && !t.HasAttachType(lp.Attach):
			h.Kind, h.Name, h.Since, h.types = AttachType, lp.Attach.String(), progtype.AttachSince(lp.Attach), false
		default:
			return missingMap(t, lp, w, h)
		}
	case errors.Is(err, loader.ErrCORE):
		for i := range lp.Relocs {
			if r := &lp.Relocs[i]; r.Err != nil && r.Relocation != nil && r.Local.BTF != nil {
				h.Kind, h.Name = Field, r.Local.Field()
				break
			}
		}
	case errors.Is(err, loader.ErrExtern):
		return missingExtern(l, w, h)
	}
	return h
}

// missingMap returns the first map of a type that the kernel lacks and that is not waived.
func missingMap(t *loader.Target, lp *loader.LinkedProgram, w *waiver, h *Hold) *Hold {
	var missing []*loader.Map
	for _, r := range lp.Refs {
		for m := r.Map; m != nil; m = m.Inner {
			if !t.HasMapType(m.Type) && !w.maps[m.Type] {
				missing = append(missing, m)
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	m := slices.MinFunc(missing, func(a, b *loader.Map) int { return int(a.Type) - int(b.Type) })
	h.Kind, h.Name, h.Since, h.types, h.mapType = MapType, m.Type.String(), m.Type.Since(), false, m.Type
	return h
}

// missingExtern returns the first symbol that refuses the object and is not waived.
func missingExtern(l *loader.Linked, w *waiver, h *Hold) *Hold {
	for _, e := range l.Externs {
		if e.Err == nil {
			continue
		}
		h.Name, h.Message = e.Name, plain(e.Err)
		switch e.Kind {
		case loader.ExternKfunc:
			if w.kfuncs[e.Name] {
				continue
			}
			h.Kind = Kfunc
			h.setKfunc(e.Name, l.Target, proto.Caller{})
		default:
			h.Kind = Symbol
		}
		return h
	}
	return nil
}

// refusedBy names what the verifier refuses a program for.
func refusedBy(l *loader.Linked, lp *loader.LinkedProgram, p *verifier.Program, v *verifier.Verdict) *Hold {
	h := &Hold{Kind: Refusal, Name: v.Message, Message: v.Message}
	if h.Name == "" {
		h.Name, h.Message = v.Reason, v.Reason
	}
	if v.Source != nil {
		h.Source = fmt.Sprintf("%s:%d", path.Base(v.Source.File), v.Source.Line)
	}
	if v.Refusal == refusal.UnknownProgramType {
		h.Kind, h.Name, h.Since = ProgramType, lp.Type.String(), progtype.Of(lp.Type).Since
		return h
	}
	pc := v.Insn
	if pc < 0 || pc >= len(p.Insns) {
		return h
	}
	if kind, n, poisoned := corerelo.ParsePoison(p.Insns[pc]); poisoned {
		h.types = true
		switch r, ok := lp.RelocAt(pc); {
		case kind == corerelo.PoisonCORE && ok && r.Relocation != nil && r.Local.BTF != nil:
			h.Kind, h.Name = Field, r.Local.Field()
			h.Message = lp.PoisonText(pc)
		case kind == corerelo.PoisonKfunc && n < len(l.Externs):
			h.Kind, h.Name = Kfunc, l.Externs[n].Name
			h.Message = lp.PoisonText(pc)
			h.setKfunc(h.Name, l.Target, lp.Caller())
		}
		return h
	}
	switch v.Refusal {
	case refusal.InvalidFunc, refusal.UnknownFunc, refusal.ProgramTypeCannotUseHelper:
		h.setHelper(uapi.FuncID(p.Insns[pc].Imm), l.Target, lp.Caller())
	case refusal.CallingKernelFunctionNotAllowed, refusal.InvalidKernelFunctionCallNotEliminated:
		if ref, ok := p.Refs[pc]; ok {
			h.Kind, h.Name = Kfunc, ref.Name
			h.setKfunc(ref.Name, l.Target, lp.Caller())
		}
	}
	return h
}

// setHelper dates a helper for a program.
func (h *Hold) setHelper(id uapi.FuncID, t *loader.Target, c proto.Caller) {
	row, ok := proto.Lookup(id)
	if !ok {
		return
	}
	release := uapi.ReleaseOf(t.Version)
	h.Kind, h.Name, h.helper = Helper, row.Name(), id
	h.Since = row.Since
	if row.In(release) {
		h.Since = firstOf(release, func(r uapi.Release) bool { return row.For(r, c) != nil })
		h.undated(release, h.Since)
	}
}

// setKfunc dates a kfunc for a program.
func (h *Hold) setKfunc(name string, t *loader.Target, c proto.Caller) {
	row, ok := proto.LookupKfunc(btf.EssentialName(name))
	if !ok {
		return
	}
	release := uapi.ReleaseOf(t.Version)
	h.types = row.In(release) // the lender's types lack what the release has
	h.Since = row.Since
	if row.In(release) && c.Class() != 0 && !row.For(release, c) {
		h.types = false
		h.Since = firstOf(release, func(r uapi.Release) bool { return row.For(r, c) })
		h.undated(release, h.Since)
	}
}

// undated notes that who may call a function is known only for some releases, and that the one
// asked about is between two of them.
func (h *Hold) undated(release, from uapi.Release) {
	if from == 0 || slices.Contains(proto.Releases, release) {
		return
	}
	for _, read := range proto.Releases {
		if read.Has(release) {
			if read.Has(from) {
				h.doubt = fmt.Sprintf("%s is for programs of this type on Linux %s; the tables of releases between that one and the one before it were not read", h.Name, read)
			}
			return
		}
	}
}

// firstOf returns the first release from one on for which something holds, or 0.
func firstOf(from uapi.Release, holds func(uapi.Release) bool) uapi.Release {
	for _, r := range since.Releases() {
		if r.Has(from) && holds(r) {
			return r
		}
	}
	return 0
}

// plain is the text of a loader's error without its place.
func plain(err error) string {
	var e *loader.Error
	if !errors.As(err, &e) {
		if err == nil {
			return ""
		}
		return err.Error()
	}
	c := *e
	c.Object, c.Section, c.Program, c.Source = "", "", "", ""
	return c.Error()
}

// sourceOf is the line that a loader's error names, "" if it names none.
func sourceOf(err error) string {
	var e *loader.Error
	if !errors.As(err, &e) || e.Source == "" {
		return ""
	}
	place, _, _ := strings.Cut(e.Source, " ")
	return path.Base(place)
}
