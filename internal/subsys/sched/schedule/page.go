package schedule

import (
	"fmt"
	"time"

	"github.com/bpfrun/bpfrun/internal/markup"
	"github.com/bpfrun/bpfrun/internal/subsys/show"
)

// Page implements [show.Document].
func (s *Schedule) Page() func(show.Page) { return s.page }

// page draws who ran where and when, with a table of the tasks.
func (s *Schedule) page(p show.Page) {
	p.Printf("<h2>%s</h2>\n", show.Title(s.Run, What, s.Ops))
	p.Failure(s.Error)
	if s.Exit == nil {
		return
	}
	class := "good"
	if s.Status != "ok" || s.Exit.Message != "" {
		class = "bad"
	}
	p.Printf("<p>%s %s after %s, %d instructions</p>\n", markup.Tag(class, s.Exit.Kind), s.Exit.Message, time.Duration(s.Duration), s.Insns)
	c := show.Colours{}
	var names []string
	for i := range s.Tasks {
		c.Of(s.Tasks[i].Name)
		names = append(names, s.Tasks[i].Name)
	}
	lanes := make([]show.Lane, len(s.Busy))
	for cpu := range lanes {
		lanes[cpu].Name = fmt.Sprintf("CPU %d", cpu)
	}
	for _, x := range s.Segments {
		if x.CPU >= 0 && x.CPU < len(lanes) && x.To > x.From && x.To <= s.Duration {
			lanes[x.CPU].Spans = append(lanes[x.CPU].Spans, show.Span{From: x.From, To: x.To, What: x.Task})
		}
	}
	show.Timeline(p, "which task ran on which CPU", lanes, s.Duration, c, show.Time)
	if s.Dropped > 0 {
		p.Printf("<p class=\"mute\">%d later parts were not recorded</p>\n", s.Dropped)
	}
	show.Keys(p, c, names)
	var rows [][]markup.HTML
	for i := range s.Tasks {
		t := &s.Tasks[i]
		share := float64(t.Runtime) * 100 / float64(max(s.Duration, 1))
		rows = append(rows, []markup.HTML{
			markup.Escape(t.Name), markup.Sprintf("%d", uint64(t.Weight)), markup.Escape(time.Duration(t.Runtime).String()), markup.Sprintf("%.1f&nbsp;%%", share), markup.Sprintf("%d", t.Runs),
			markup.Sprintf("%d", t.Preempted), markup.Sprintf("%d", t.Migrations), markup.Escape(time.Duration(t.MaxWait).String()), markup.Escape(time.Duration(t.MaxLatency).String()),
		})
	}
	p.Table([]show.Heading{
		{Name: "task"}, {Name: "weight", Number: true, Wide: true}, {Name: "runtime", Number: true}, {Name: "share", Number: true}, {Name: "runs", Number: true, Wide: true}, {Name: "preempted", Number: true, Wide: true}, {Name: "migrations", Number: true, Wide: true},
		{Name: "max wait", Number: true, Wide: true}, {Name: "max latency", Number: true},
	}, rows)
	for cpu, busy := range s.Busy {
		percent := float64(busy) * 100 / float64(max(s.Duration, 1))
		p.Printf("<p>CPU %d busy <span class=\"bar\" aria-hidden=\"true\"><i style=\"width:%.1f%%\"></i></span> %.1f&nbsp;%%</p>\n", cpu, percent, percent)
	}
	if s.Exit.Dump != "" {
		p.Printf("<details><summary>dump</summary><pre>%s</pre></details>\n", s.Exit.Dump)
	}
}
