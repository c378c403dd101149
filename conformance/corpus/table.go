package corpus

import (
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/machine"
)

// Summary is what all objects on one target come to.
type Summary struct {
	Target string `json:"target"`
	// Objects is how many were measured, Sound in how many of them every program is ok, absent or of an unknown hook.
	Objects int `json:"objects"`
	Sound   int `json:"sound"`
	// Faults, Refused and NotSimulated count objects with a program of that status; an object that does not load at
	// all is refused.
	Faults       int `json:"faults"`
	Refused      int `json:"refused"`
	NotSimulated int `json:"not_simulated"`
	// Median is the median over the objects that ran of the executed share of their reachable instructions.
	Median float64 `json:"median_share"`
	// Ran is the number of objects with a program that ran.
	Ran int `json:"ran"`
}

// Summarise sums up the rows of each target, in the order they first appear.
func Summarise(rows []*Row) []Summary {
	var out []Summary
	for _, target := range names(rows, func(r *Row) string { return r.Target }) {
		s := Summary{Target: target}
		var shares []float64
		for _, r := range rows {
			if r.Target != target {
				continue
			}
			s.add(r)
			if v, ok := r.Share(); ok {
				shares = append(shares, v)
			}
		}
		s.Ran, s.Median = len(shares), median(shares)
		out = append(out, s)
	}
	return out
}

func (s *Summary) add(r *Row) {
	s.Objects++
	if r.Sound() {
		s.Sound++
	}
	has := func(st machine.Status) int {
		if slices.ContainsFunc(r.Programs, func(p Program) bool { return p.Status == st }) {
			return 1
		}
		return 0
	}
	s.Faults += has(machine.StatusFault)
	s.NotSimulated += has(machine.StatusNotSimulated)
	if r.Err != "" {
		s.Refused++
	} else {
		s.Refused += has(machine.StatusRefused)
	}
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	slices.Sort(v)
	if n := len(v); n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2
	}
	return v[len(v)/2]
}

// names lists the distinct values of a property in order of appearance.
func names(rows []*Row, of func(*Row) string) []string {
	var out []string
	for _, r := range rows {
		if n := of(r); !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// Write writes the tables of all rows as Markdown: a summary per target, objects by targets, what did not run and why,
// and the kernel fields read.
func Write(w io.Writer, rows []*Row) error {
	t := &tables{w: w, rows: rows}
	t.objects = names(rows, func(r *Row) string { return r.Object })
	t.targets = names(rows, func(r *Row) string { return r.Target })
	t.summary()
	t.matrix()
	t.problems()
	t.fields()
	return t.err
}

type tables struct {
	w                io.Writer
	rows             []*Row
	objects, targets []string
	err              error
}

func (t *tables) printf(format string, args ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.w, format, args...)
	}
}

func (t *tables) row(object, target string) *Row {
	for _, r := range t.rows {
		if r.Object == object && r.Target == target {
			return r
		}
	}
	return nil
}

func (t *tables) summary() {
	t.printf("| kernel | objects | every program ok, absent or of an unknown hook | with a fault | refused | not simulated | median share of reachable instructions executed |\n")
	t.printf("|---|---:|---:|---:|---:|---:|---:|\n")
	for _, s := range Summarise(t.rows) {
		t.printf("| %s | %d | %d | %d | %d | %d | %s |\n", kernelName(s.Target), s.Objects, s.Sound, s.Faults, s.Refused, s.NotSimulated, percent(s.Median))
	}
}

// kernelName is a target's name without what all of them have in common.
func kernelName(target string) string { return strings.TrimPrefix(path.Base(target), "linux-") }

func percent(v float64) string { return fmt.Sprintf("%.0f %%", 100*v) }

func (t *tables) matrix() {
	t.printf("\n| object |")
	for _, k := range t.targets {
		t.printf(" %s |", kernelName(k))
	}
	t.printf("\n|---|%s\n", strings.Repeat("---|", len(t.targets)))
	for _, o := range t.objects {
		t.printf("| %s |", o)
		for _, k := range t.targets {
			t.printf(" %s |", cell(t.row(o, k)))
		}
		t.printf("\n")
	}
}

// statuses in the order cells name them.
var statuses = [...]machine.Status{
	machine.StatusOK, machine.StatusUnknownHook, machine.StatusAbsent, machine.StatusDisabled,
	machine.StatusFault, machine.StatusRefused, machine.StatusNotSimulated,
}

// cell is one object on one target: programs by status, and the executed share.
func cell(r *Row) string {
	if r == nil {
		return ""
	}
	if r.Err != "" {
		return "**refused**"
	}
	var parts []string
	for _, st := range statuses {
		n := 0
		for i := range r.Programs {
			if r.Programs[i].Status == st {
				n++
			}
		}
		switch {
		case n == 0:
		case st == machine.StatusFault || st == machine.StatusRefused || st == machine.StatusNotSimulated:
			parts = append(parts, fmt.Sprintf("**%d %s**", n, st))
		default:
			parts = append(parts, fmt.Sprintf("%d %s", n, st))
		}
	}
	text := strings.Join(parts, ", ")
	if share, ok := r.Share(); ok {
		text += ", " + percent(share)
	}
	return text
}

// problems lists everything that is not sound, with its reason. Targets with the same reason share a line.
func (t *tables) problems() {
	type line struct {
		what, why string
		on        []string
	}
	var lines []line
	add := func(r *Row, what, why string) {
		for i := range lines {
			if l := &lines[i]; l.what == what && l.why == why {
				l.on = append(l.on, kernelName(r.Target))
				return
			}
		}
		lines = append(lines, line{what, why, []string{kernelName(r.Target)}})
	}
	for _, o := range t.objects {
		for _, k := range t.targets {
			r := t.row(o, k)
			switch {
			case r == nil:
			case r.Err != "":
				add(r, o, r.Err)
			default:
				for i := range r.Programs {
					if p := &r.Programs[i]; !p.sound() {
						add(r, fmt.Sprintf("%s, %s: %s", o, p.Name, p.Status), p.Why)
					}
				}
			}
		}
	}
	if len(lines) == 0 {
		return
	}
	t.printf("\nNot run, or not to the end:\n\n")
	for _, l := range lines {
		t.printf("- %s (%s): %s\n", l.what, strings.Join(l.on, ", "), escape(l.why))
	}
}

// fields lists the kernel fields each object reads. A field that is not read on every target the object runs on carries those
// it is read on.
func (t *tables) fields() {
	t.printf("\n| object | kernel fields read |\n|---|---|\n")
	for _, o := range t.objects {
		on := map[string][]string{}
		ran := 0
		for _, k := range t.targets {
			r := t.row(o, k)
			if r == nil {
				continue
			}
			if _, ok := r.Share(); !ok {
				continue
			}
			ran++
			for _, f := range r.Fields {
				on[f] = append(on[f], shortKernel(k))
			}
		}
		var list []string
		for f, kernels := range on {
			text := "`" + f + "`"
			if len(kernels) < ran {
				text += " (" + strings.Join(kernels, ", ") + ")"
			}
			list = append(list, text)
		}
		slices.Sort(list)
		if len(list) == 0 {
			list = []string{"none"}
		}
		t.printf("| %s | %s |\n", o, strings.Join(list, ", "))
	}
}

// shortKernel is the version of a kernel's name and its architecture, unless that is amd64: "6.1", "6.1 arm64".
func shortKernel(target string) string {
	parts := strings.Split(kernelName(target), "-")
	v := strings.SplitN(parts[0], ".", 3)
	out := strings.Join(v[:min(2, len(v))], ".")
	for _, p := range parts[1:] {
		switch p {
		case "arm64", "riscv64", "armhf", "s390x", "ppc64el", "i386", "rt":
			out += " " + p
		}
	}
	return out
}

func escape(s string) string { return strings.ReplaceAll(s, "|", "\\|") }
