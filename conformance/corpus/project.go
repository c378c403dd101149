package corpus

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/machine"
)

// WriteProjects writes one table with a row for each package: how many of its programs run to the
// end on at least one of the targets, and why the others do not, on the target that comes closest.
// It suits objects that were built for some of the kernels or architectures only. Programs that no
// loader loads by default do not count.
func WriteProjects(w io.Writer, rows []*Row) error {
	t := &tables{w: w}
	t.printf("| project | objects | programs that run to the end | the others |\n|---|---:|---:|---|\n")
	ran, all := 0, 0
	for _, pkg := range names(rows, func(r *Row) string { return r.Package }) {
		p := newProject(rows, pkg)
		t.printf("| %s | %d | %d of %d | %s |\n", escape(pkg), p.objects, p.ran, p.programs, escape(p.others()))
		ran, all = ran+p.ran, all+p.programs
	}
	t.printf("\nIn all %d of %d programs (%.1f %%).\n", ran, all, 100*float64(ran)/float64(max(all, 1)))
	return t.err
}

// project are the programs of a package's objects, each by its best target.
type project struct {
	objects, programs, ran int
	// why counts the other programs by reason.
	why map[string]int
}

// outcome is what became of a program on the target where it came furthest.
type outcome struct {
	rank int
	why  string
}

// How far a program came, the end first.
const (
	rankRan = iota
	rankFault
	rankNotSimulated
	rankRefused
	rankAbsent
	rankNotLoaded
	rankObject
)

func newProject(rows []*Row, pkg string) *project {
	p := &project{why: map[string]int{}}
	type key struct{ object, program string }
	best := map[key]outcome{}
	var order []key
	add := func(k key, o outcome) {
		old, seen := best[k]
		if !seen {
			order = append(order, k)
		}
		if !seen || o.rank <= old.rank { // kernels are given in the order of their age: a later one says more
			best[k] = o
		}
	}
	rows = slices.DeleteFunc(slices.Clone(rows), func(r *Row) bool { return r.Package != pkg })
	programs := map[string][]string{} // by object, from targets where it could be opened
	for _, r := range rows {
		for i := range r.Programs {
			if name := r.Programs[i].Name; !slices.Contains(programs[r.Object], name) {
				programs[r.Object] = append(programs[r.Object], name)
			}
		}
	}
	for _, r := range rows {
		for i := range r.Programs {
			add(key{r.Object, r.Programs[i].Name}, r.Programs[i].outcome())
		}
		if r.Err == "" {
			continue
		}
		known := programs[r.Object]
		if len(known) == 0 {
			known = []string{""} // an object that no target loads counts as one program
		}
		for _, name := range known {
			add(key{r.Object, name}, outcome{rankObject, anonymous(strings.TrimPrefix(r.Err, r.Object+": "))})
		}
	}
	p.objects = len(names(rows, func(r *Row) string { return r.Object }))
	for _, k := range order {
		switch o := best[k]; o.rank {
		case rankNotLoaded:
		case rankRan:
			p.programs++
			p.ran++
		default:
			p.programs++
			p.why[o.why]++
		}
	}
	return p
}

// outcome returns what a row says of a program. One with an unknown hook runs with the arguments it
// declares.
func (p *Program) outcome() outcome {
	why := string(p.Status)
	if p.Why != "" {
		why += ": " + anonymous(p.Why)
	}
	switch {
	case p.Runs > 0 && (p.Status == machine.StatusOK || p.Status == machine.StatusUnknownHook):
		return outcome{rank: rankRan}
	case p.Status == machine.StatusFault:
		return outcome{rankFault, why}
	case p.Status == machine.StatusNotSimulated:
		return outcome{rankNotSimulated, why}
	case p.Status == machine.StatusRefused:
		return outcome{rankRefused, why}
	case p.Status == machine.StatusDisabled:
		return outcome{rank: rankNotLoaded}
	}
	return outcome{rankAbsent, why}
}

// others lists the reasons, most frequent first.
func (p *project) others() string {
	reasons := make([]string, 0, len(p.why))
	for why := range p.why {
		reasons = append(reasons, why)
	}
	slices.SortFunc(reasons, func(a, b string) int { return cmp.Or(cmp.Compare(p.why[b], p.why[a]), strings.Compare(a, b)) })
	for i, why := range reasons {
		reasons[i] = fmt.Sprintf("%d %s", p.why[why], why)
	}
	return strings.Join(reasons, "; ")
}
