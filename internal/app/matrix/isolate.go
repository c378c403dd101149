package matrix

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/loader"
)

// trial finds out whether programs of an object differ between two kernels only because other
// programs of it ran on just one of them: it runs the object again on both kernels without those.
type trial struct {
	object               int
	kernel, ref          int   // each the first of the kernels that are equal
	programs             []int // that differ
	onlyHere, onlyAtBase []int // programs that ran on only one of the two kernels
}

// rerun is a run of an object for some outcomes only: its cells say less than those of the first
// run.
type rerun struct {
	verdicts []*verifier.Verdict // on its programs
	without  []int               // programs that do not run
	wanted   []int               // programs whose outcomes are wanted: nothing runs after the last of them
}

// experiment is a rerun of an object on a kernel; several trials may need the same.
type experiment struct {
	object, kernel int
	again          string
}

// newTrial returns nil if the same programs ran on both kernels.
func (r *runner) newTrial(object, kernel, ref int, programs []int) *trial {
	t := &trial{object: object, kernel: kernel, ref: ref, programs: programs}
	here, base := r.results[object][kernel].outcomes, r.results[object][ref].outcomes
	for q := range here {
		switch {
		case here[q] != nil && base[q] == nil:
			t.onlyHere = append(t.onlyHere, q)
		case here[q] == nil && base[q] != nil:
			t.onlyAtBase = append(t.onlyAtBase, q)
		}
	}
	if len(t.onlyHere)+len(t.onlyAtBase) == 0 {
		return nil
	}
	return t
}

// make returns the results of the trial on its two kernels; open returns one that can be opened.
func (r *runner) make(t *trial, open func(kernel int) *target) (here, base *result) {
	without := slices.Sorted(slices.Values(slices.Concat(t.onlyHere, t.onlyAtBase)))
	one := func(k int) *result {
		again := &rerun{r.results[t.object][k].verdicts(), without, t.programs}
		x := experiment{t.object, k, again.key()}
		r.mu.Lock()
		res := r.made[x]
		r.mu.Unlock()
		if res == nil {
			res = r.runOrRecall(r.objects[t.object], open(k), again)
			r.mu.Lock()
			r.made[x] = res
			r.mu.Unlock()
		}
		return res
	}
	return one(t.kernel), one(t.ref)
}

// tryWhileOpen makes the trials of a kernel that all objects ran on, while its types and those of
// the base are in memory.
func (r *runner) tryWhileOpen(k int) {
	base := r.targets[r.cfg.Base].first().index
	for i := range r.objects {
		var programs []int
		here, there := r.results[i][k], r.results[i][base]
		for p, o := range here.outcomes {
			if ref := there.outcomes[p]; o != nil && ref != nil && here.cells[p].Result == RunOK && o.comparable(ref) && len(o.differences(ref)) > 0 {
				programs = append(programs, p)
			}
		}
		if len(programs) == 0 || r.ctx.Err() != nil {
			continue
		}
		if t := r.newTrial(i, k, base, programs); t != nil {
			r.make(t, func(k int) *target { return &r.targets[k] })
		}
	}
}

// suspect is a differing cell.
type suspect struct {
	cell **Cell
	base string // the name of the kernel that it is compared with
}

// follow finds the differences caused by programs that ran on only one of the two kernels. If a
// cell no longer differs without those, it names them as the cause; otherwise the remaining
// differences are its own.
func (r *runner) follow(m *Matrix) {
	type pair struct{ object, kernel, ref int }
	differing := map[pair]map[int][]suspect{} // by program
	at := 0
	for i, o := range r.objects {
		for p := range o.Programs {
			row := &m.Rows[at]
			at++
			ref := reference(r.outcomes(i, p), r.cfg.Base)
			for k := range row.Cells {
				if row.Cells[k].Result != RunDiffers {
					continue
				}
				x := pair{i, r.targets[k].first().index, r.targets[ref].first().index}
				if differing[x] == nil {
					differing[x] = map[int][]suspect{}
				}
				differing[x][p] = append(differing[x][p], suspect{&row.Cells[k], m.Targets[ref].Name})
			}
		}
	}
	open := map[int]*target{}
	pairs := slices.SortedFunc(maps.Keys(differing), func(a, b pair) int {
		return cmp.Or(a.ref-b.ref, a.kernel-b.kernel, a.object-b.object)
	})
	for _, x := range pairs {
		if r.ctx.Err() != nil {
			return
		}
		t := r.newTrial(x.object, x.kernel, x.ref, slices.Sorted(maps.Keys(differing[x])))
		if t == nil {
			continue
		}
		for k := range open { // keep the types of at most two kernels in memory
			if k != x.kernel && k != x.ref {
				delete(open, k)
			}
		}
		here, base := r.make(t, func(k int) *target {
			if open[k] == nil {
				open[k] = r.targets[k].again()
			}
			return open[k]
		})
		for _, p := range t.programs {
			if a, b := here.outcomes[p], base.outcomes[p]; a != nil && b != nil {
				for _, s := range differing[x][p] {
					r.explainAgain(t, s, a.differences(b))
				}
			}
		}
	}
}

// explainAgain replaces the differences in a cell by those that are left in a trial.
func (r *runner) explainAgain(t *trial, s suspect, diffs []string) {
	c := **s.cell // others share it
	if len(diffs) > 0 {
		c.Detail = strings.Replace(c.Detail, c.differs, explainDifferences(s.base, diffs), 1)
		*s.cell = r.kept.cell(&c)
		return
	}
	var why []string
	for _, x := range []struct {
		programs []int
		where    string
	}{{t.onlyAtBase, "here"}, {t.onlyHere, "there"}} {
		if len(x.programs) > 0 {
			why = append(why, fmt.Sprintf("%s not running %s", programNames(r.objects[t.object], x.programs), x.where))
		}
	}
	c.Result, c.Follows = RunOK, true
	c.Detail = strings.Replace(c.Detail, c.differs, "same result as on "+s.base+", except for consequences of "+strings.Join(why, " and ")+": "+strings.TrimPrefix(c.differs, "differs from "+s.base+": "), 1)
	*s.cell = r.kept.cell(&c)
}

func programNames(o *loader.Object, programs []int) string {
	names := make([]string, len(programs))
	for i, p := range programs {
		names[i] = o.Programs[p].Name
	}
	return strings.Join(names, ", ")
}

// outcomes returns a program's outcome on each kernel.
func (r *runner) outcomes(object, program int) []*outcome {
	out := make([]*outcome, len(r.targets))
	for k := range r.targets {
		out[k] = r.result(object, k).outcomes[program]
	}
	return out
}
