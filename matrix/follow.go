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
	kernel, ref          int
	onlyHere, onlyAtBase []int // those programs
}

// rerun is a run of an object for its outcomes only: its cells say less than those of the first run.
type rerun struct {
	verdicts []*verifier.Verdict // on its programs
	without  []int               // programs that do not run
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
				s := suspect{row: row, object: i, program: p, kernel: k, ref: ref}
				for q := range o.Programs {
					here, base := r.results[i][k].outcomes[q] != nil, r.results[i][ref].outcomes[q] != nil
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
			open[k] = &target{kernel: r.targets[k].kernel}
			open[k].open()
		}
		return open[k]
	}
	// Suspects of one object and the same left-out programs share an experiment.
	type experiment struct {
		object, kernel int
		without        string
	}
	made := map[experiment]*result{}
	again := func(s *suspect, k int) *result {
		without := slices.Sorted(slices.Values(slices.Concat(s.onlyHere, s.onlyAtBase)))
		key := experiment{s.object, k, fmt.Sprint(without)}
		if made[key] == nil {
			made[key] = r.runObject(r.objects[s.object], get(k), &rerun{r.results[s.object][k].verdicts(), without})
		}
		return made[key]
	}
	suspects := r.suspects(m)
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
		here, base := again(s, s.kernel), again(s, s.ref)
		a, b := here.outcomes[s.program], base.outcomes[s.program]
		if a == nil || b == nil {
			continue
		}
		c := *s.row.Cells[s.kernel] // others share it
		diffs := a.differences(b)
		basename := m.Targets[s.ref].Name
		if len(diffs) > 0 {
			c.Detail = strings.Replace(c.Detail, c.differs, explainDifferences(basename, diffs), 1)
			s.row.Cells[s.kernel] = r.kept.cell(&c)
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
		c.Detail = strings.Replace(c.Detail, c.differs, "same result as on "+basename+", except for consequences of "+strings.Join(why, " and ")+": "+strings.TrimPrefix(c.differs, "differs from "+basename+": "), 1)
		s.row.Cells[s.kernel] = r.kept.cell(&c)
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
		out[k] = r.results[object][k].outcomes[program]
	}
	return out
}
