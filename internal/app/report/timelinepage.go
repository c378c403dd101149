package report

import (
	"cmp"
	"fmt"
	"time"

	"github.com/bpfrun/bpfrun/internal/markup"
)

// span is a part of a lane: what was there from when until when.
type span struct {
	from, to uint64
	what     string
	title    string
}

// Limits of drawings: a timeline with more parts is drawn in slices, each with what was there
// longest.
const (
	mostSpans   = 1500
	laneSlices  = 400
	mostSamples = 1000
	mostPackets = 300
)

// lane is a row of a timeline.
type lane struct {
	name  string
	spans []span
}

// colours gives names the colours of a page, in the order in which they are asked for.
type colours map[string]int

func (c colours) of(name string) string {
	n, ok := c[name]
	if !ok {
		n = len(c)
		c[name] = n
	}
	return kindClass(n)
}

// keys writes what the colours mean.
func (p *reportPage) keys(c colours, names []string) {
	p.Write("<ul class=\"keys\">")
	for _, n := range names {
		p.Printf("<li><i class=\"%s\"></i>%s</li>", c.of(n), n)
	}
	p.Write("</ul>\n")
}

// timeline draws lanes over the time until end, in nanoseconds.
func (p *reportPage) timeline(about string, lanes []lane, end uint64, c colours) {
	p.lanes(about, lanes, end, c, shortTime)
}

// lanes draws lanes over what ticks writes, until end.
func (p *reportPage) lanes(about string, lanes []lane, end uint64, c colours, ticks func(uint64) string) {
	if end == 0 {
		return
	}
	p.Printf("<div class=\"lanes keep\" role=\"img\" aria-label=\"%s\">\n", about)
	sliced := false
	for _, l := range lanes {
		if len(l.spans)*len(lanes) > mostSpans {
			l.spans, sliced = slicedSpans(l.spans, end), true
		}
		p.Printf("<div class=\"lane\"><b title=\"%s\">%s</b><div class=\"track\">", l.name, l.name)
		for _, s := range l.spans {
			left, width := 100*float64(s.from)/float64(end), 100*float64(s.to-s.from)/float64(end)
			text := ""
			if width > 4 {
				text = s.what
			}
			p.Printf("<i class=\"%s\" style=\"left:%.3f%%;width:%.3f%%\" title=\"%s\">%s</i>", c.of(s.what), left, width, cmp.Or(s.title, s.what+" "+betweenText(s.from, s.to)), text)
		}
		p.Write("</div></div>\n")
	}
	p.Write("<div class=\"ticks\">")
	for i := range uint64(5) {
		p.Printf("<span>%s</span>", ticks(end*i/4))
	}
	p.Write("</div>\n")
	if sliced {
		p.Printf("<p class=\"mute\">Drawn in %d slices of time, each with what was there longest.</p>\n", laneSlices)
	}
	p.Write("</div>\n")
}

// slicedSpans draws many parts as slices of equal length.
func slicedSpans(spans []span, end uint64) []span {
	held := make([]map[string]uint64, laneSlices)
	width := max(end/laneSlices, 1)
	for _, s := range spans {
		for at := s.from; at < s.to; {
			n := min(at/width, laneSlices-1)
			until := s.to
			if n < laneSlices-1 {
				until = min(until, (n+1)*width)
			}
			if held[n] == nil {
				held[n] = map[string]uint64{}
			}
			held[n][s.what] += until - at
			at = until
		}
	}
	var out []span
	for n, h := range held {
		what, most := "", uint64(0)
		for name, t := range h {
			if t > most || t == most && name < what {
				what, most = name, t
			}
		}
		if most*2 < width { // mostly nothing
			continue
		}
		from, to := uint64(n)*width, uint64(n+1)*width
		if k := len(out); k > 0 && out[k-1].what == what && out[k-1].to == from {
			out[k-1].to = to
			continue
		}
		out = append(out, span{from: from, to: to, what: what})
	}
	return out
}

func betweenText(from, to uint64) string {
	return fmt.Sprintf("%v to %v", time.Duration(from), time.Duration(to))
}

// shortTime is a time with at most four digits.
func shortTime(ns uint64) string {
	d := time.Duration(ns)
	for _, unit := range []time.Duration{time.Second, time.Millisecond, time.Microsecond} {
		if d >= unit {
			return d.Round(unit / 100).String()
		}
	}
	return d.String()
}

// schedule draws who ran where and when, with a table of the tasks.
func (p *reportPage) schedule(s *Schedule) {
	title := cmp.Or(s.Run, "schedule of "+s.Ops)
	p.Printf("<h2>%s</h2>\n", title)
	p.failure(s.Error)
	if s.Exit == nil {
		return
	}
	class := "good"
	if s.Status != "ok" || s.Exit.Message != "" {
		class = "bad"
	}
	p.Printf("<p>%s %s after %s, %d instructions</p>\n", tag(class, s.Exit.Kind), s.Exit.Message, time.Duration(s.Duration), s.Insns)
	c := colours{}
	var names []string
	for i := range s.Tasks {
		c.of(s.Tasks[i].Name)
		names = append(names, s.Tasks[i].Name)
	}
	lanes := make([]lane, len(s.Busy))
	for cpu := range lanes {
		lanes[cpu].name = fmt.Sprintf("CPU %d", cpu)
	}
	for _, x := range s.Segments {
		if x.CPU >= 0 && x.CPU < len(lanes) && x.To > x.From && x.To <= s.Duration {
			lanes[x.CPU].spans = append(lanes[x.CPU].spans, span{from: x.From, to: x.To, what: x.Task})
		}
	}
	p.timeline("which task ran on which CPU", lanes, s.Duration, c)
	if s.Dropped > 0 {
		p.Printf("<p class=\"mute\">%d later parts were not recorded</p>\n", s.Dropped)
	}
	p.keys(c, names)
	var rows [][]markup.HTML
	for i := range s.Tasks {
		t := &s.Tasks[i]
		share := float64(t.Runtime) * 100 / float64(max(s.Duration, 1))
		rows = append(rows, []markup.HTML{
			escaped(t.Name), markup.Sprintf("%d", uint64(t.Weight)), escaped(time.Duration(t.Runtime).String()), markup.Sprintf("%.1f&nbsp;%%", share), markup.Sprintf("%d", t.Runs),
			markup.Sprintf("%d", t.Preempted), markup.Sprintf("%d", t.Migrations), escaped(time.Duration(t.MaxWait).String()), escaped(time.Duration(t.MaxLatency).String()),
		})
	}
	p.table([]heading{
		{name: "task"}, {"weight", true, true}, {"runtime", true, false}, {"share", true, false}, {"runs", true, true}, {"preempted", true, true}, {"migrations", true, true},
		{"max wait", true, true}, {"max latency", true, false},
	}, rows)
	for cpu, busy := range s.Busy {
		percent := float64(busy) * 100 / float64(max(s.Duration, 1))
		p.Printf("<p>CPU %d busy <span class=\"bar\" aria-hidden=\"true\"><i style=\"width:%.1f%%\"></i></span> %.1f&nbsp;%%</p>\n", cpu, percent, percent)
	}
	if s.Exit.Dump != "" {
		p.Printf("<details><summary>dump</summary><pre>%s</pre></details>\n", s.Exit.Dump)
	}
}

// traffic draws the queue over time and when packets waited and were sent, with a table of the
// flows.
func (p *reportPage) traffic(t *Traffic) {
	p.Printf("<h2>%s</h2>\n", cmp.Or(t.Run, "traffic of "+t.Ops))
	p.failure(t.Error)
	if len(t.Flows) == 0 {
		return
	}
	p.Printf("<p>link of %s busy %.1f&nbsp;%% of %s; fairness %.3f; queue of at most %d packets (%d bytes), %.1f in the mean</p>\n",
		rateText(t.Rate), float64(t.Busy)*100/float64(max(t.Duration, 1)), time.Duration(t.Duration).Round(time.Microsecond), t.Fairness, t.MostHeld, t.MostHeldBytes, t.MeanHeld)
	if t.Stats.Qlen != uint64(t.Held) {
		p.Printf("<p>%s q.qlen is %d when traffic ends, but the discipline has %d packets</p>\n", tag("odd", "wrong"), t.Stats.Qlen, t.Held)
	}
	if t.Stalled {
		p.Printf("<p>%s nothing makes the kernel ask for the last %d packets</p>\n", tag("bad", "stalled"), t.Held)
	}
	p.queue(t)
	p.waits(t)
	var rows [][]markup.HTML
	for i := range t.Flows {
		f := &t.Flows[i]
		if f.Leaked > 0 {
			p.Printf("<p>%s %d packets of %s exist after the discipline was destroyed</p>\n", tag("bad", "leaked"), f.Leaked, f.Name)
		}
		span := func(ns uint64) markup.HTML { return escaped(time.Duration(ns).Round(time.Microsecond).String()) }
		rows = append(rows, []markup.HTML{
			escaped(f.Name), markup.Sprintf("%d", f.Arrived), markup.Sprintf("%d", f.Sent), markup.Sprintf("%d", f.Dropped), escaped(rateText(f.Rate)), span(f.Mean), span(f.P99), span(f.Max),
		})
	}
	p.table([]heading{{name: "flow"}, {"arrived", true, true}, {"sent", true, false}, {"dropped", true, false}, {"rate", true, false}, {"mean wait", true, true}, {"p99 wait", true, true}, {"max wait", true, false}}, rows)
}

// queue draws the length of the queue over time, as steps.
func (p *reportPage) queue(t *Traffic) {
	most := 1
	for i := range t.Queue {
		most = max(most, t.Queue[i].Held)
	}
	if len(t.Queue) < 2 || t.Duration == 0 {
		return
	}
	p.Printf("<h3>packets in the queue, at most %d</h3>\n<svg class=\"chart\" viewBox=\"0 0 1000 100\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"length of the queue over time\">\n", most)
	for i := 1; i < 4; i++ {
		p.Printf("<line x1=\"0\" x2=\"1000\" y1=\"%d\" y2=\"%d\"/>", 25*i, 25*i)
	}
	p.Write("<polyline points=\"0,98 ")
	// Each step of the drawing has the largest length in it.
	step := max(uint64(1), t.Duration/mostSamples)
	at, last := uint64(0), 98.0
	for i := 0; i < len(t.Queue); {
		at = t.Queue[i].At / step * step
		held := 0
		for ; i < len(t.Queue) && t.Queue[i].At < at+step; i++ {
			held = max(held, t.Queue[i].Held)
		}
		x, y := 1000*float64(at)/float64(t.Duration), 98-95*float64(held)/float64(most)
		p.Printf("%.1f,%.1f %.1f,%.1f ", x, last, x, y)
		last = y
	}
	p.Printf("1000,%.1f\"/>\n</svg>\n<div class=\"ticks\" style=\"margin-left:0\">", last)
	for i := range uint64(5) {
		p.Printf("<span>%s</span>", shortTime(t.Duration/4*i))
	}
	p.Write("</div>\n")
	if t.DroppedSamples > 0 {
		p.Printf("<p class=\"mute\">%d later lengths were not recorded</p>\n", t.DroppedSamples)
	}
}

// waits draws, for each flow, when its packets were on the link.
func (p *reportPage) waits(t *Traffic) {
	const waiting, dropped = "in the queue", "dropped"
	c := colours{}
	c.of(waiting)
	list := t.Packets
	if len(list) > mostPackets {
		list = list[:mostPackets]
	}
	end := uint64(1)
	for i := range list {
		end = max(end, list[i].Arrival, list[i].Dequeued, list[i].Sent, list[i].Dropped)
	}
	var lanes []lane
	for i := range list {
		x := &list[i]
		l := lane{name: x.Name}
		left := max(x.Dequeued, x.Dropped)
		if left > x.Arrival {
			l.spans = append(l.spans, span{from: x.Arrival, to: left, what: waiting, title: fmt.Sprintf("%s: %s", x.Name, betweenText(x.Arrival, left))})
		}
		switch {
		case x.Sent > x.Dequeued && x.Dequeued > 0:
			l.spans = append(l.spans, span{from: x.Dequeued, to: x.Sent, what: "on the link"})
		case x.Dropped > 0:
			l.spans = append(l.spans, span{from: x.Dropped, to: min(x.Dropped+end/200+1, end), what: dropped})
		}
		if len(l.spans) > 0 {
			lanes = append(lanes, l)
		}
	}
	if len(lanes) == 0 {
		return
	}
	p.Printf("<details><summary>the first %s, from arrival to the link</summary>\n", plural(len(lanes), "packet"))
	p.keys(c, []string{waiting, "on the link", dropped})
	p.timeline("packets from arrival to the link", lanes, end, c)
	p.Write("</details>\n")
}
