package intest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// Stage is one stage of a staged test.
type Stage string

// Stages, in the order they run.
const (
	Pktgen Stage = "pktgen"
	Setup  Stage = "setup"
	Check  Stage = "check"
)

var stages = [...]Stage{Pktgen, Setup, Check}

// Test is one test of an object.
type Test struct {
	Name string
	// Stages are the programs of a staged test. It always has a check.
	Stages map[Stage]*loader.Program
	// Plain is the program of a plain test, nil for a staged one.
	Plain *loader.Program
}

// last returns the program that decides the test.
func (t *Test) last() *loader.Program {
	if t.Plain != nil {
		return t.Plain
	}
	return t.Stages[Check]
}

// Type returns the program type of a stage, or of a plain test's program if s is "".
func (t *Test) Type(s Stage) uapi.ProgType {
	if p := t.Stages[s]; p != nil {
		return p.Type
	}
	return t.last().Type
}

// Prog names the program that decides the test.
func (t *Test) Prog() string { return t.last().Name }

// SuiteError means that the sections of an object do not form valid tests.
type SuiteError struct {
	Object, Test string
	Text         string
}

// Error names the object and the test, and describes the mistake.
func (e *SuiteError) Error() string {
	return fmt.Sprintf("%s: test %s: %s", e.Object, e.Test, e.Text)
}

// split parses a section name; stage is "" for a plain test.
func split(section string) (name string, stage Stage, ok bool) {
	parts := strings.Split(strings.TrimPrefix(section, "?"), "/")
	at := slices.Index(parts, "test")
	if strings.HasPrefix(parts[0], "uprobe") || strings.HasPrefix(parts[0], "uretprobe") || parts[0] == "usdt" {
		return "", "", false // the rest is the path of a binary
	}
	if at < 1 || len(parts) < at+2 || parts[at+1] == "" {
		return "", "", false
	}
	switch rest := parts[at+2:]; len(rest) {
	case 0:
		return parts[at+1], "", true
	case 1:
		if slices.Contains(stages[:], Stage(rest[0])) {
			return parts[at+1], Stage(rest[0]), true
		}
	}
	return "", "", false
}

// misspelled returns the stage that the end of a section name seems to misspell. Without an error,
// a test with a misspelled stage would be skipped unnoticed.
func misspelled(section string) (Stage, bool) {
	i := strings.LastIndexByte(section, '/')
	if _, _, isTest := split(section[:max(i, 0)]); !isTest {
		return "", false
	}
	letters := func(s string) string {
		b := []byte(strings.ToLower(s))
		slices.Sort(b)
		return string(slices.Compact(b))
	}
	end := strings.ToLower(section[i+1:])
	for _, s := range stages {
		stage := string(s)
		if end != "" && (letters(end) == letters(stage) || strings.HasPrefix(stage, end) || strings.HasPrefix(end, stage)) {
			return s, true
		}
	}
	return "", false
}

// set collects the sections that share a test name.
type set struct {
	stages map[Stage][]*loader.Program
	plain  []*loader.Program
}

// Discover finds the tests of an object: first staged tests, sorted by name because they share its
// maps, then plain tests. Programs that share a section are separate tests, each preceded by the
// same first stages. An object without tests yields none. The error is a [*SuiteError].
func Discover(obj *loader.Object) ([]*Test, error) {
	sets := map[string]*set{}
	for _, p := range obj.Programs {
		name, stage, ok := split(p.Section)
		if meant, is := misspelled(p.Section); is && !ok {
			return nil, &SuiteError{obj.Name, p.Name, fmt.Sprintf("section %s is not a stage of a test (does it mean /%s?)", p.Section, meant)}
		}
		if !ok {
			continue
		}
		if stage != "" && p.Type != uapi.ProgTypeUnspec && !progtype.Of(p.Type).Takes.Has(progtype.TakesPacket) {
			return nil, &SuiteError{obj.Name, name, fmt.Sprintf("section %s: %v programs take no packet (test stages are of type xdp or tc)", p.Section, p.Type)}
		}
		s := sets[name]
		if s == nil {
			s = &set{stages: map[Stage][]*loader.Program{}}
			sets[name] = s
		}
		if stage == "" {
			s.plain = append(s.plain, p)
		} else {
			s.stages[stage] = append(s.stages[stage], p)
		}
	}
	names := slices.Sorted(maps.Keys(sets))
	var out, plain []*Test
	for _, name := range names {
		s := sets[name]
		for _, p := range s.plain {
			plain = append(plain, &Test{Name: title(name, p, s.plain), Plain: p})
		}
		tests, err := s.staged(name)
		if err != nil {
			return nil, &SuiteError{obj.Name, name, err.Error()}
		}
		out = append(out, tests...)
	}
	return append(out, plain...), nil
}

// title returns the test's name, with its program's name where the name alone is ambiguous.
func title(name string, p *loader.Program, all []*loader.Program) string {
	if len(all) > 1 {
		return name + " (" + p.Name + ")"
	}
	return name
}

// staged returns the staged tests of one name: one for each check.
func (s *set) staged(name string) ([]*Test, error) {
	if len(s.stages) == 0 {
		return nil, nil
	}
	first := map[Stage]*loader.Program{}
	for _, stage := range stages[:len(stages)-1] {
		switch all := s.stages[stage]; len(all) {
		case 0:
		case 1:
			first[stage] = all[0]
		default:
			return nil, fmt.Errorf("programs %s and %s are both in section %s", all[0].Name, all[1].Name, all[1].Section)
		}
	}
	checks := s.stages[Check]
	if len(checks) == 0 {
		return nil, fmt.Errorf("has no program in a section TYPE/test/%s/check", name)
	}
	var out []*Test
	for _, check := range checks {
		t := &Test{Name: title(name, check, checks), Stages: maps.Clone(first)}
		t.Stages[Check] = check
		out = append(out, t)
	}
	return out, nil
}
