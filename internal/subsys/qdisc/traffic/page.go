package traffic

import (
	"fmt"
	"time"

	"github.com/bpfrun/bpfrun/internal/markup"
	"github.com/bpfrun/bpfrun/internal/subsys/show"
)

// Limits of drawings.
const (
	mostSamples = 1000
	mostPackets = 300
)

// Page implements [show.Document].
func (t *Traffic) Page() func(show.Page) { return t.page }

// page draws the queue over time and when packets waited and were sent, with a table of the
// flows.
func (t *Traffic) page(p show.Page) {
	p.Printf("<h2>%s</h2>\n", show.Title(t.Run, What, t.Ops))
	p.Failure(t.Error)
	if len(t.Flows) == 0 {
		return
	}
	p.Printf("<p>link of %s busy %.1f&nbsp;%% of %s; fairness %.3f; queue of at most %d packets (%d bytes), %.1f in the mean</p>\n",
		rateText(t.Rate), float64(t.Busy)*100/float64(max(t.Duration, 1)), time.Duration(t.Duration).Round(time.Microsecond), t.Fairness, t.MostHeld, t.MostHeldBytes, t.MeanHeld)
	if t.Stats.Qlen != uint64(t.Held) {
		p.Printf("<p>%s q.qlen is %d when traffic ends, but the discipline has %d packets</p>\n", markup.Tag("odd", "wrong"), t.Stats.Qlen, t.Held)
	}
	if t.Stalled {
		p.Printf("<p>%s nothing makes the kernel ask for the last %d packets</p>\n", markup.Tag("bad", "stalled"), t.Held)
	}
	t.queue(p)
	t.waits(p)
	var rows [][]markup.HTML
	for i := range t.Flows {
		f := &t.Flows[i]
		if f.Leaked > 0 {
			p.Printf("<p>%s %d packets of %s exist after the discipline was destroyed</p>\n", markup.Tag("bad", "leaked"), f.Leaked, f.Name)
		}
		span := func(ns uint64) markup.HTML { return markup.Escape(time.Duration(ns).Round(time.Microsecond).String()) }
		rows = append(rows, []markup.HTML{
			markup.Escape(f.Name), markup.Sprintf("%d", f.Arrived), markup.Sprintf("%d", f.Sent), markup.Sprintf("%d", f.Dropped), markup.Escape(rateText(f.Rate)), span(f.Mean), span(f.P99), span(f.Max),
		})
	}
	p.Table([]show.Heading{{Name: "flow"}, {Name: "arrived", Number: true, Wide: true}, {Name: "sent", Number: true}, {Name: "dropped", Number: true}, {Name: "rate", Number: true}, {Name: "mean wait", Number: true, Wide: true}, {Name: "p99 wait", Number: true, Wide: true}, {Name: "max wait", Number: true}}, rows)
}

// queue draws the length of the queue over time, as steps.
func (t *Traffic) queue(p show.Page) {
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
		p.Printf("<span>%s</span>", show.ShortTime(t.Duration/4*i))
	}
	p.Write("</div>\n")
	if t.DroppedSamples > 0 {
		p.Printf("<p class=\"mute\">%d later lengths were not recorded</p>\n", t.DroppedSamples)
	}
}

// waits draws, for each flow, when its packets were on the link.
func (t *Traffic) waits(p show.Page) {
	const waiting, dropped = "in the queue", "dropped"
	c := show.Colours{}
	c.Of(waiting)
	list := t.Packets
	if len(list) > mostPackets {
		list = list[:mostPackets]
	}
	end := uint64(1)
	for i := range list {
		end = max(end, list[i].Arrival, list[i].Dequeued, list[i].Sent, list[i].Dropped)
	}
	var lanes []show.Lane
	for i := range list {
		x := &list[i]
		l := show.Lane{Name: x.Name}
		left := max(x.Dequeued, x.Dropped)
		if left > x.Arrival {
			l.Spans = append(l.Spans, show.Span{From: x.Arrival, To: left, What: waiting, Title: fmt.Sprintf("%s: %s", x.Name, show.BetweenText(x.Arrival, left))})
		}
		switch {
		case x.Sent > x.Dequeued && x.Dequeued > 0:
			l.Spans = append(l.Spans, show.Span{From: x.Dequeued, To: x.Sent, What: "on the link"})
		case x.Dropped > 0:
			l.Spans = append(l.Spans, show.Span{From: x.Dropped, To: min(x.Dropped+end/200+1, end), What: dropped})
		}
		if len(l.Spans) > 0 {
			lanes = append(lanes, l)
		}
	}
	if len(lanes) == 0 {
		return
	}
	p.Printf("<details><summary>the first %s, from arrival to the link</summary>\n", packets(len(lanes)))
	show.Keys(p, c, []string{waiting, "on the link", dropped})
	show.Timeline(p, "packets from arrival to the link", lanes, end, c, show.Time)
	p.Write("</details>\n")
}

func packets(n int) string {
	if n == 1 {
		return "1 packet"
	}
	return fmt.Sprintf("%d packets", n)
}
