package matrix

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/verifier"
)

// suspect is a differing cell of an object that had other programs run on only one of the two kernels.
type suspect struct {
	row                  *Row
	object, program      int
	at                   int    // the cell in the row
	base                 string // the name of the kernel that it is compared with
	kernel, ref          int    // the first kernels that are equal to the two
	onlyHere, onlyAtBase []int  // those programs
}

// experiment is a run of an object without some programs. Suspects of one object and the same left-out programs share it.
type experiment struct {
	object, kernel int
	without        string
}

// without are the programs that ran on only one of the two kernels.
func (s *suspect) without() []int {
	return slices.Sorted(slices.Values(slices.Concat(s.onlyHere, s.onlyAtBase)))
}

// experiments returns the runs on the two kernels.
func (s *suspect) experiments() [2]experiment {
	without := fmt.Sprint(s.without())
	return [2]experiment{{s.object, s.kernel, without}, {s.object, s.ref, without}}
}

// rerun is a run of an object for some outcomes only: its cells say less than those of the first run.
type rerun struct {
	verdicts []*verifier.Verdict // on its programs
	without  []int               // programs that do not run
	wanted   map[int]bool        // programs whose outcomes are wanted: nothing runs after the last of them
}

// suspects returns the differing cells that other programs of the object may explain.
func (r *runner) suspects(m *Matrix) []suspect {
	var out []suspect
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
				s := suspect{row: row, object: i, program: p, at: k, kernel: r.targets[k].first().index, ref: r.targets[ref].first().index, base: m.Targets[ref].Name}
				for q := range o.Programs {
					here, base := r.result(i, k).outcomes[q] != nil, r.result(i, ref).outcomes[q] != nil
					if here && !base {
						s.onlyHere = append(s.onlyHere, q)
					} else if base && !here {
						s.onlyAtBase = append(s.onlyAtBase, q)
					}
				}
				if len(s.onlyHere)+len(s.onlyAtBase) > 0 {
					out = append(out, s)
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b suspect) int { return cmp.Or(a.ref-b.ref, a.kernel-b.kernel) })
	return out
}

// follow finds the differences caused by programs that ran on only one of the two kernels: it runs the object again on both kernels without
// those programs. If the cell no longer differs, it names those programs as the cause; otherwise the remaining differences are its own.
func (r *runner) follow(m *Matrix) {
	open := map[int]*target{}
	get := func(k int) *target {
		if open[k] == nil {
			open[k] = r.targets[k].again()
		}
		return open[k]
	}
	suspects := r.suspects(m)
	wanted := map[experiment]map[int]bool{}
	for i := range suspects {
		for _, x := range suspects[i].experiments() {
			if wanted[x] == nil {
				wanted[x] = map[int]bool{}
			}
			wanted[x][suspects[i].program] = true
		}
	}
	made := map[experiment]*result{}
	again := func(x experiment, without []int) *result {
		if made[x] == nil {
			made[x] = r.runOrRecall(r.objects[x.object], get(x.kernel), &rerun{r.result(x.object, x.kernel).verdicts(), without, wanted[x]})
		}
		return made[x]
	}
	for i := range suspects {
		s := &suspects[i]
		if r.ctx.Err() != nil {
			return
		}
		for k := range open { // keep the types of at most two kernels in memory
			if k != s.kernel && k != s.ref {
				delete(open, k)
			}
		}
		maps.DeleteFunc(made, func(x experiment, _ *result) bool { return x.kernel != s.kernel && x.kernel != s.ref })
		o := r.objects[s.object]
		x, without := s.experiments(), s.without()
		here, base := again(x[0], without), again(x[1], without)
		a, b := here.outcomes[s.program], base.outcomes[s.program]
		if a == nil || b == nil {
			continue
		}
		c := *s.row.Cells[s.at] // others share it
		diffs := a.differences(b)
		if len(diffs) > 0 {
			c.Detail = strings.Replace(c.Detail, c.differs, explainDifferences(s.base, diffs), 1)
			s.row.Cells[s.at] = r.kept.cell(&c)
			continue
		}
		var why []string
		for _, x := range []struct {
			programs []int
			where    string
		}{{s.onlyAtBase, "here"}, {s.onlyHere, "there"}} {
			if len(x.programs) > 0 {
				why = append(why, fmt.Sprintf("%s not running %s", programNames(o, x.programs), x.where))
			}
		}
		c.Result, c.Follows = RunOK, true
		c.Detail = strings.Replace(c.Detail, c.differs, "same result as on "+s.base+", except for consequences of "+strings.Join(why, " and ")+": "+strings.TrimPrefix(c.differs, "differs from "+s.base+": "), 1)
		s.row.Cells[s.at] = r.kept.cell(&c)
	}
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
