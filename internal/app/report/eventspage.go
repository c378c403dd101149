package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/bpfrun/bpfrun/internal/subsys/show"
)

// runsOverTime draws when programs ran on a machine and when they sent records, with a lane for
// each program and each buffer. Time stands still while instructions run and advances with calls,
// so that what happens at one moment is drawn as a short part. A single run without records has
// nothing to show.
func (p *reportPage) runsOverTime(d *RunDocument) {
	first, last, things := uint64(math.MaxUint64), uint64(0), 0
	for i := range d.Programs {
		for j := range d.Programs[i].Runs {
			r := &d.Programs[i].Runs[j]
			if !r.timed() {
				continue
			}
			first, last = min(first, r.from), max(last, r.to)
			things += 1 + len(r.Events)
		}
	}
	if things < 2 || last <= first {
		return
	}
	end := last - first
	short := max(end/300, 1)
	end += short
	span := func(from, to uint64, what, title string) show.Span {
		from, to = from-first, to-first
		to = min(max(to, from+short), end)
		return show.Span{From: from, To: to, What: what, Title: fmt.Sprintf("%s, %s", title, show.BetweenText(from, to))}
	}
	var lanes []show.Lane
	buffers := map[string]*show.Lane{}
	var names []string
	for i := range d.Programs {
		x := &d.Programs[i]
		lane := show.Lane{Name: x.Name}
		for j := range x.Runs {
			r := &x.Runs[j]
			if !r.timed() {
				continue
			}
			lane.Spans = append(lane.Spans, span(r.from, r.to, x.Name, cmp.Or(r.Name, x.Name)+": "+outcome(r)))
			for k := range r.Events {
				e := &r.Events[k]
				if e.at < first || e.at > last {
					continue
				}
				b := buffers[e.Map]
				if b == nil {
					b = &show.Lane{Name: e.Map}
					buffers[e.Map] = b
					names = append(names, e.Map)
				}
				b.Spans = append(b.Spans, span(e.at, e.at, e.Map, e.Kind+" "+cut(e.Text(), 200)))
			}
		}
		if len(lane.Spans) > 0 {
			lanes = append(lanes, lane)
		}
	}
	for _, n := range names {
		lanes = append(lanes, *buffers[n])
	}
	for i := range lanes {
		slices.SortStableFunc(lanes[i].Spans, func(a, b show.Span) int { return cmp.Compare(a.From, b.From) })
	}
	p.Write("<h3>runs and records over time</h3>\n")
	show.Timeline(p, "when programs ran and sent records", lanes, end, show.Colours{}, show.Time)
}

// timed reports whether it is known when the run was.
func (r *Run) timed() bool { return r.from > 0 && r.to >= r.from }
