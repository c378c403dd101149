package record

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/conformance"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/worded"
	"github.com/bpfrun/bpfrun/loader"
)

// Sections of an object that describe what to record. Loaders ignore them.
const (
	// sectionChecks holds strings "INDEX:NAME", which name the elements of the global array R.
	sectionChecks = "checks"
	// sectionCases holds strings, each of which is a case in the format of case files, without
	// expectations.
	sectionCases = "cases"
)

// casePrefix begins the names of programs that are cases of their own.
const casePrefix = "t_"

// maxAnnotations limits the size of a section with annotations, in bytes.
const maxAnnotations = 16 << 20

// Plan returns the cases to record for an object: those described in section "cases", and one for
// each other program that BPF_PROG_TEST_RUN can run and whose name begins with "t_" or is listed in
// also.
func Plan(obj *loader.Object, also ...string) (*conformance.CaseFile, error) {
	checks, cases, err := annotations(obj.Path)
	if err != nil {
		return nil, err
	}
	file := &conformance.CaseFile{Object: obj.Name}
	for _, text := range checks {
		index, name, ok := strings.Cut(text, ":")
		n, err := strconv.ParseUint(index, 10, 16)
		if !ok || err != nil {
			return nil, fmt.Errorf("%s: section %s: %q: want INDEX:NAME", obj.Name, sectionChecks, text)
		}
		for uint64(len(file.CheckNames)) <= n {
			file.CheckNames = append(file.CheckNames, "")
		}
		file.CheckNames[n] = name
	}
	run := map[string]bool{}
	for _, text := range cases {
		var c conformance.Case
		dec := json.NewDecoder(strings.NewReader(text))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&c); err != nil {
			return nil, fmt.Errorf("%s: section %s: %q: %w", obj.Name, sectionCases, text, worded.Error(err))
		}
		if len(c.Runs) == 0 {
			c.Runs = []conformance.CaseRun{{Prog: c.Name}}
		}
		for _, r := range c.Runs {
			if _, ok := obj.Program(r.Prog); !ok {
				return nil, fmt.Errorf("%s: case %s: no program %q", obj.Name, c.Name, r.Prog)
			}
			run[r.Prog] = true
		}
		file.Cases = append(file.Cases, c)
	}
	for _, p := range obj.Programs {
		if (strings.HasPrefix(p.Name, casePrefix) || slices.Contains(also, p.Name)) && Runnable(p.Type) && !run[p.Name] {
			file.Cases = append(file.Cases, conformance.Case{Name: p.Name, Runs: []conformance.CaseRun{{Prog: p.Name}}})
		}
	}
	for i := range file.Cases {
		presetChecks(obj, &file.Cases[i])
	}
	return file, nil
}

// presetChecks presets R with the value that marks a check as not executed.
func presetChecks(obj *loader.Object, c *conformance.Case) {
	if _, _, ok := variable(obj.Maps, checkArray); !ok || c.Globals[checkArray] != "" {
		return
	}
	if c.Globals == nil {
		c.Globals = map[string]string{}
	}
	c.Globals[checkArray] = "fill:5a"
}

// Runnable reports whether BPF_PROG_TEST_RUN runs programs of type t with inputs of the caller.
func Runnable(t uapi.ProgType) bool { return progtype.Of(t).TestRun }

// annotations reads the strings in both sections.
func annotations(path string) (checks, cases []string, err error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if checks, err = stringsOf(f, sectionChecks); err != nil {
		return nil, nil, err
	}
	cases, err = stringsOf(f, sectionCases)
	return checks, cases, err
}

// stringsOf reads the NUL-terminated strings in a section. It returns nil if the section does not
// exist.
func stringsOf(f *elf.File, name string) ([]string, error) {
	s := f.Section(name)
	if s == nil {
		return nil, nil
	}
	data, err := io.ReadAll(io.LimitReader(s.Open(), maxAnnotations+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxAnnotations {
		return nil, errors.New("section " + name + " is too large")
	}
	var out []string
	for _, b := range bytes.Split(data, []byte{0}) {
		if len(b) > 0 {
			out = append(out, string(b))
		}
	}
	return out, nil
}

// checkArray is the global array whose elements are checks.
const checkArray = "R"

// variable finds a global variable.
func variable(maps []*loader.Map, name string) (*loader.Map, loader.Var, bool) {
	for _, m := range maps {
		for _, v := range m.Vars {
			if v.Name == name && m.DataKind != loader.DataKconfig {
				return m, v, true
			}
		}
	}
	return nil, loader.Var{}, false
}
