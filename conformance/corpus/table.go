package corpus

import (
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/machine"
)

// Summary contains the totals of a package's objects on one target.
type Summary struct {
	Package string `json:"package"`
	Target  string `json:"target"`
	// Objects is the number of measured objects; Sound is the number whose programs all have the
	// status ok, absent or unknown-hook.
	Objects int `json:"objects"`
	Sound   int `json:"sound"`
	// Faults, Refused and NotSimulated count objects with a program of that status. An object that
	// does not load counts as refused.
	Faults       int `json:"faults"`
	Refused      int `json:"refused"`
	NotSimulated int `json:"not_simulated"`
	// Median is the median, over the objects that ran, of the executed share of their reachable
	// instructions.
	Median float64 `json:"median_share"`
	// Ran is the number of objects with a program that ran.
	Ran int `json:"ran"`
	// Programs counts the programs of all objects, Refusals those meant to be refused.
	Programs int `json:"programs"`
	Refusals int `json:"must_be_refused"`
	// Insns is the number of executed instructions, Reads the number of locations read in kernel
	// objects.
	Insns uint64 `json:"insns"`
	Reads int    `json:"kernel_reads"`
}

// Summarise sums up the rows of each package and target, in the order in which they first appear.
func Summarise(rows []*Row) []Summary {
	var out []Summary
	for _, pkg := range names(rows, func(r *Row) string { return r.Package }) {
		for _, target := range names(rows, func(r *Row) string { return r.Target }) {
			s := Summary{Package: pkg, Target: target}
			var shares []float64
			for _, r := range rows {
				if r.Target != target || r.Package != pkg {
					continue
				}
				s.add(r)
				if v, ok := r.Share(); ok {
					shares = append(shares, v)
				}
			}
			if s.Objects > 0 {
				s.Ran, s.Median = len(shares), median(shares)
				out = append(out, s)
			}
		}
	}
	return out
}

func (s *Summary) add(r *Row) {
	s.Objects++
	if r.Sound() {
		s.Sound++
	}
	has := func(st machine.Status) int {
		if slices.ContainsFunc(r.Programs, func(p Program) bool { return p.Status == st && !p.sound() }) {
			return 1
		}
		return 0
	}
	for i := range r.Programs {
		p := &r.Programs[i]
		s.Programs++
		s.Insns += p.Insns
		s.Reads += p.Reads
		if p.Refusal {
			s.Refusals++
		}
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

// names returns the distinct values of a property in order of appearance.
func names(rows []*Row, of func(*Row) string) []string {
	var out []string
	for _, r := range rows {
		if n := of(r); !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// Write writes the tables of all rows in Markdown. For each package: a summary per target, objects
// by targets, the programs that did not run with reasons, and the kernel fields that were read.
func Write(w io.Writer, rows []*Row) error {
	for i, pkg := range names(rows, func(r *Row) string { return r.Package }) {
		t := &tables{w: w}
		for _, r := range rows {
			if r.Package == pkg {
				t.rows = append(t.rows, r)
			}
		}
		t.objects = names(t.rows, func(r *Row) string { return r.Object })
		t.targets = names(t.rows, func(r *Row) string { return r.Target })
		if i > 0 {
			t.printf("\n")
		}
		t.printf("### %s\n\n", pkg)
		t.summary()
		t.matrix()
		t.problems()
		t.fields()
		if t.err != nil {
			return t.err
		}
	}
	return nil
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
		share := percent(s.Median)
		if s.Ran == 0 {
			share = "none ran"
		}
		t.printf("| %s | %d | %d | %d | %d | %d | %s |\n", kernelName(s.Target), s.Objects, s.Sound, s.Faults, s.Refused, s.NotSimulated, share)
	}
}

// kernelName returns a target's name without the parts common to all.
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

// statuses in the order in which cells list them.
var statuses = [...]machine.Status{
	machine.StatusOK, machine.StatusUnknownHook, machine.StatusAbsent, machine.StatusDisabled,
	machine.StatusFault, machine.StatusRefused, machine.StatusNotSimulated,
}

// cell formats one object on one target: programs by status, and the executed share.
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

// problem is a reason why programs of an object did not run to their end, with the targets.
type problem struct {
	object, status, why string
	programs, on        []string
}

// problems lists everything that is not sound, with its reason. Programs with the same reason on
// the same targets share a line.
func (t *tables) problems() {
	var single []problem // one program each
	add := func(r *Row, program, status, why string) {
		for i := range single {
			if p := &single[i]; p.object == r.Object && p.programs[0] == program && p.status == status && p.why == why {
				p.on = append(p.on, kernelName(r.Target))
				return
			}
		}
		single = append(single, problem{r.Object, status, why, []string{program}, []string{kernelName(r.Target)}})
	}
	for _, o := range t.objects {
		for _, k := range t.targets {
			r := t.row(o, k)
			switch {
			case r == nil:
			case r.Err != "":
				add(r, "", string(machine.StatusRefused), r.Err)
			default:
				for i := range r.Programs {
					if p := &r.Programs[i]; !p.sound() {
						add(r, p.Name, string(p.Status), p.Why)
					}
				}
			}
		}
	}
	if len(single) == 0 {
		return
	}
	t.printf("\nNot run, or not to the end:\n\n")
	for _, p := range merge(single) {
		what := p.object
		if p.programs[0] != "" {
			what += ", " + strings.Join(p.programs, " ")
		}
		t.printf("- %s: %s on %s: %s\n", what, p.status, strings.Join(p.on, ", "), escape(p.why))
	}
}

// merge joins the programs of an object that share a reason and its targets.
func merge(single []problem) []problem {
	var out []problem
next:
	for _, p := range single {
		for i := range out {
			if q := &out[i]; q.object == p.object && q.status == p.status && q.why == p.why && slices.Equal(q.on, p.on) {
				q.programs = append(q.programs, p.programs...)
				continue next
			}
		}
		out = append(out, p)
	}
	return out
}

// fields lists the kernel fields that each object reads. A field that is not read on every target
// the object runs on is listed with its targets. Objects that read no fields are left out.
func (t *tables) fields() {
	head := "\n| object | kernel fields read |\n|---|---|\n"
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
		if len(list) == 0 {
			continue
		}
		slices.Sort(list)
		t.printf("%s| %s | %s |\n", head, o, strings.Join(list, ", "))
		head = ""
	}
}

// shortKernel returns the version and the architecture of a kernel's name, without amd64: "6.1",
// "6.1 arm64".
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
