package report

import (
	"bytes"
	"fmt"

	"github.com/bpfrun/bpfrun/internal/markup"
	"github.com/bpfrun/bpfrun/internal/packet"
)

// packets draws a packet as the run left it, with what it was before where that differs: headers as
// rows of 32 bits, as RFCs draw them, and the bytes after them.
func (p *reportPage) packets(before, after []byte, changes []string) {
	if before == nil && after == nil {
		return
	}
	changed := !bytes.Equal(before, after)
	state := markup.HTML("")
	if changed {
		state = " open"
	}
	was, is := packet.Decode(before, packet.Ethernet), packet.Decode(after, packet.Ethernet)
	p.Printf("<details%s class=\"keep\"><summary>packet %s, %d bytes", state, is.String(), len(after))
	if changed {
		p.Printf(", was %s, %d bytes", was.String(), len(before))
	}
	p.Write("</summary>\n<div class=\"packet\">\n")
	var list []item
	for _, c := range changes {
		list = append(list, item{"packet", c})
	}
	p.items(list)
	for _, l := range was.Layers {
		if _, still := is.Layer(l.Path()); !still {
			p.Printf("<h4><del>%s</del> %s</h4>\n", l.Path(), markup.Tag("odd", fmt.Sprintf("removed, %d bytes", l.Len)))
		}
	}
	for _, l := range is.Layers {
		old, had := was.Layer(l.Path())
		p.Printf("<h4>%s", l.Path())
		if !had && changed {
			p.Printf(" %s", markup.Tag("odd", "inserted"))
		}
		p.Write("</h4>\n")
		fields := l.Fields(after)
		if fields == nil {
			var ref []byte
			if had {
				ref = before[old.Off : old.Off+old.Len]
			}
			p.payload(ref, after[l.Off:l.Off+l.Len], changed)
			continue
		}
		p.Write("<div class=\"bits\">\n")
		at := 8 * l.Off
		for _, f := range fields {
			from := 8*f.Off + f.Bit
			if from < at {
				continue // part of a field that is drawn
			}
			if from > at {
				p.Printf("<div style=\"grid-column:span %d\"></div>\n", min(from-at, 32))
			}
			at = from + f.Bits
			text, class, earlier := f.Text(after), markup.HTML(""), markup.HTML("")
			if !had && changed {
				class = ` class="odd"`
			} else if o, ok := old.Field(before, f.Name); ok && o.Text(before) != text {
				class, earlier = ` class="odd"`, markup.Sprintf("<del>%s</del> ", o.Text(before))
			}
			p.Printf("<div style=\"grid-column:span %d\"%s><small>%s</small><span>%s%s</span></div>\n", min(f.Bits, 32), class, f.Name, earlier, text)
		}
		p.Write("</div>\n")
	}
	if is.Cut != "" {
		p.Printf("<p class=\"mute\">%s</p>\n", is.Cut)
	}
	p.Write("</div></details>\n")
}

// mostBytes is the number of bytes of payload that are shown.
const mostBytes = 256

// payload writes bytes in hexadecimal with their text; those that changed are marked.
func (p *reportPage) payload(before, after []byte, changed bool) {
	p.Write("<div class=\"bytes\">")
	for i, c := range after[:min(len(after), mostBytes)] {
		switch {
		case i > 0 && i%16 == 0:
			p.Write("\n")
		case i > 0:
			p.Write(" ")
		}
		if changed && (i >= len(before) || before[i] != c) {
			p.Printf("<mark>%02x</mark>", int(c))
		} else {
			p.Printf("%02x", int(c))
		}
	}
	text := make([]byte, 0, mostBytes)
	for _, c := range after[:min(len(after), mostBytes)] {
		if c < ' ' || c > '~' {
			c = '.'
		}
		text = append(text, c)
	}
	p.Printf("\n<span class=\"mute\">%s</span>", string(text))
	if len(after) > mostBytes {
		p.Printf("\n<span class=\"mute\">%d more bytes</span>", len(after)-mostBytes)
	}
	p.Write("</div>\n")
}
