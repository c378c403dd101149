package show

import (
	"cmp"
	"fmt"
	"time"

	"github.com/bpfrun/bpfrun/internal/markup"
)

// Span is a part of a lane: what was there from when until when.
type Span struct {
	From, To uint64
	What     string
	Title    string // "" for What and when
}

// Limits of drawings: a timeline with more parts is drawn in slices, each with what was there
// longest. There are more of them than fit on a screen, so that zooming in shows more.
const (
	mostSpans  = 4000
	laneSlices = 1000
)

// Unit says what the axis of a timeline counts.
type Unit string

// Units of timelines.
const (
	Time  Unit = "time" // nanoseconds
	Count Unit = "count"
)

func (u Unit) tick(at uint64) string {
	if u == Time {
		return ShortTime(at)
	}
	return fmt.Sprint(at)
}

// Lane is a row of a timeline.
type Lane struct {
	Name  string
	Spans []Span
}

// Colours gives names the colours of a page, in the order in which they are asked for.
type Colours map[string]int

// Of returns the class of a name.
func (c Colours) Of(name string) string {
	n, ok := c[name]
	if !ok {
		n = len(c)
		c[name] = n
	}
	return KindClass(n)
}

// Keys writes what the colours mean.
func Keys(p Page, c Colours, names []string) {
	p.Write("<ul class=\"keys\">")
	for _, n := range names {
		p.Printf("<li><i class=\"%s\"></i>%s</li>", c.Of(n), n)
	}
	p.Write("</ul>\n")
}

// Timeline draws lanes over time or what else the unit is, until end. On a page with
// [markup.TimelineScript] it can be magnified and moved.
func Timeline(p Page, about string, lanes []Lane, end uint64, c Colours, unit Unit) {
	if end == 0 {
		return
	}
	p.Printf("<div class=\"lanes keep\"><div class=\"zoom\" role=\"group\" aria-label=\"Zoom: %s\"></div>%s aria-label=\"%s\" data-end=\"%d\" data-unit=\"%s\">\n", about, markup.TimelineMark, about, end, string(unit))
	sliced := false
	for _, l := range lanes {
		if len(l.Spans)*len(lanes) > mostSpans {
			l.Spans, sliced = slicedSpans(l.Spans, end), true
		}
		p.Printf("<div class=\"lane\"><b title=\"%s\">%s</b><div class=\"track\"><div class=\"whole\">", l.Name, l.Name)
		for _, s := range l.Spans {
			left, width := 100*float64(s.From)/float64(end), 100*float64(s.To-s.From)/float64(end)
			text := ""
			if width > 4 {
				text = s.What
			}
			p.Printf("<i class=\"%s\" style=\"left:%.4f%%;width:%.4f%%\" data-what=\"%s\" title=\"%s\">%s</i>", c.Of(s.What), left, width, s.What, cmp.Or(s.Title, s.What+" "+BetweenText(s.From, s.To)), text)
		}
		p.Write("</div></div></div>\n")
	}
	p.Write("<div class=\"ticks\">")
	for i := range uint64(5) {
		p.Printf("<span>%s</span>", unit.tick(end/4*i+end%4*i/4))
	}
	p.Write("</div>\n</div>\n")
	if sliced {
		p.Printf("<p class=\"mute\">Drawn in %d slices of time, each with what was there longest.</p>\n", laneSlices)
	}
	p.Write("</div>\n")
}

// slicedSpans draws many parts as slices of equal length.
func slicedSpans(spans []Span, end uint64) []Span {
	held := make([]map[string]uint64, laneSlices)
	width := max(end/laneSlices, 1)
	for _, s := range spans {
		for at := s.From; at < s.To; {
			n := min(at/width, laneSlices-1)
			until := s.To
			if n < laneSlices-1 {
				until = min(until, (n+1)*width)
			}
			if held[n] == nil {
				held[n] = map[string]uint64{}
			}
			held[n][s.What] += until - at
			at = until
		}
	}
	var out []Span
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
		if k := len(out); k > 0 && out[k-1].What == what && out[k-1].To == from {
			out[k-1].To = to
			continue
		}
		out = append(out, Span{From: from, To: to, What: what})
	}
	return out
}

// BetweenText says from when until when.
func BetweenText(from, to uint64) string {
	return fmt.Sprintf("%v to %v", time.Duration(from), time.Duration(to))
}

// ShortTime is a time with at most four digits.
func ShortTime(ns uint64) string {
	d := time.Duration(ns)
	for _, unit := range []time.Duration{time.Second, time.Millisecond, time.Microsecond} {
		if d >= unit {
			return d.Round(unit / 100).String()
		}
	}
	return d.String()
}

// KindClass is the colour of the n-th thing of a kind; the last one is for all others.
func KindClass(n int) string { return fmt.Sprintf("k%d", min(n, 7)) }
