package builds

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/app/minkernel"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/loader"
)

// Facts are what a program is in one build.
type Facts struct {
	Section, Type string
	Optional      bool
	// Status is what the kernel does with it: ok, absent (it lacks the hook), refused, or
	// not-simulated if there is no verdict; Why and Source say more.
	Status machine.Status
	Why    string
	Source string // "file.c:12"
	// Processed and States are the verifier's figures, Stack the bytes of all functions, Insns the
	// slots that are loaded, Relocs the CO-RE relocations.
	Processed, States, Stack, Insns, Relocs int
	// Maps, Helpers and Kfuncs are those that the program names, sorted.
	Maps, Helpers, Kfuncs []string
	// Oldest is the oldest release that loads it, "" if none is known; Needs is what holds it back.
	Oldest  string
	ByRules bool
	Needs   string
}

// facts describes a program; nil if the build does not have it or does not load it.
func (s *side) facts(ctx context.Context, name string) (*Facts, error) {
	lp, ok := s.linked.Program(name)
	if !ok || lp.Status == loader.StatusDisabled {
		return nil, nil
	}
	f := &Facts{Section: lp.Section, Type: lp.Type.String(), Optional: !lp.Autoload, Insns: len(lp.Insns), Relocs: len(lp.Relocs), Status: machine.StatusOK}
	f.calls(lp)
	f.require(s.needs, name)
	switch lp.Status {
	case loader.StatusAbsent:
		f.Status, f.Why = machine.StatusAbsent, lp.Err.Error()
		return f, nil
	case loader.StatusRefused:
		f.Status, f.Why = machine.StatusRefused, lp.Err.Error()
		return f, nil
	case loader.StatusOK, loader.StatusUnknownHook, loader.StatusDisabled:
	}
	v, err := s.checker.Verdict(ctx, lp)
	if err != nil || v == nil {
		return f, err
	}
	f.Processed, f.States = v.ProcessedInsns, v.TotalStates
	for _, depth := range v.StackDepth {
		f.Stack += depth
	}
	switch v.Outcome {
	case verifier.Refused:
		f.Status, f.Why = machine.StatusRefused, fmt.Sprintf("%s (%s)", v.Message, v.Errno.Name())
		if v.Message == "" {
			f.Why = v.Reason
		}
	case verifier.Unknown:
		f.Status, f.Why = machine.StatusNotSimulated, v.Missing
	case verifier.Accepted:
		return f, nil
	}
	if v.Source != nil {
		f.Source = fmt.Sprintf("%s:%d", path.Base(v.Source.File), v.Source.Line)
	}
	return f, nil
}

// calls lists what a program calls and which maps it names.
func (f *Facts) calls(lp *loader.LinkedProgram) {
	for pc := range lp.Insns {
		in := &lp.Insns[pc]
		ref := lp.Refs[pc]
		switch {
		case in.Op() == decode.OpCallHelper && uapi.FuncID(in.Imm).Known():
			f.Helpers = append(f.Helpers, uapi.FuncID(in.Imm).String())
		case ref.Kind == loader.RefKfunc:
			f.Kfuncs = append(f.Kfuncs, ref.Name)
		}
		if ref.Map != nil {
			f.Maps = append(f.Maps, ref.Map.Name)
		}
	}
	for _, list := range []*[]string{&f.Maps, &f.Helpers, &f.Kfuncs} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
}

// require notes the oldest release.
func (f *Facts) require(r *minkernel.Result, name string) {
	if r == nil {
		return
	}
	for i := range r.Programs {
		p := &r.Programs[i]
		if p.Name != name || p.Oldest < 0 {
			continue
		}
		a := &p.Answers[p.Oldest]
		f.Oldest, f.ByRules = r.Columns[p.Oldest].Release.String(), a.ByRules
		if a.Patch > 0 {
			f.Oldest += fmt.Sprintf(".%d", a.Patch)
		}
		if p.Held != nil {
			f.Needs = p.Held.Text()
		}
	}
}

// Map is a map whose definition changed.
type Map struct {
	Name string
	// Old and New are the definitions, "" where the build lacks the map.
	Old, New string
	// Changes name what is different: "max_entries 1024 → 4096".
	Changes []string
}

// compareMaps returns the maps that one build lacks or defines otherwise. The contents of data
// sections are no definition.
func compareMaps(a, b *loader.Linked) []Map {
	var out []Map
	for _, m := range b.Maps {
		old, ok := a.Map(m.Name)
		if !ok {
			out = append(out, Map{Name: m.Name, New: definition(m)})
			continue
		}
		if changes := mapChanges(old, m); len(changes) > 0 {
			out = append(out, Map{m.Name, definition(old), definition(m), changes})
		}
	}
	for _, m := range a.Maps {
		if _, ok := b.Map(m.Name); !ok {
			out = append(out, Map{Name: m.Name, Old: definition(m)})
		}
	}
	return out
}

func mapChanges(a, b *loader.Map) []string {
	var out []string
	change := func(what string, x, y any) {
		if x != y {
			out = append(out, fmt.Sprintf("%s %v → %v", what, x, y))
		}
	}
	change("type", a.Type, b.Type)
	change("key_size", a.KeySize, b.KeySize)
	change("value_size", a.ValueSize, b.ValueSize)
	change("max_entries", a.MaxEntries, b.MaxEntries)
	change("map_flags", fmt.Sprintf("%#x", a.Flags), fmt.Sprintf("%#x", b.Flags))
	change("map_extra", a.Extra, b.Extra)
	change("pinning", a.Pinning, b.Pinning)
	switch {
	case a.Inner != nil && b.Inner != nil:
		for _, c := range mapChanges(a.Inner, b.Inner) {
			out = append(out, "inner "+c)
		}
	case a.Inner != nil || b.Inner != nil:
		change("inner map", a.Inner != nil, b.Inner != nil)
	}
	return out
}

func definition(m *loader.Map) string {
	return fmt.Sprintf("%s, key %d, value %d, %d entries", strings.ToLower(m.Type.String()), m.KeySize, m.ValueSize, m.MaxEntries)
}
