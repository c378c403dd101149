// Diagrams draws the pictures of the documentation that have boxes and arrows:
//
//	go run ./scripts/diagrams docs/images
//
// They are light or dark as the browser asks.
package main

import (
	"fmt"
	"html"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: diagrams DIR")
		os.Exit(2)
	}
	for name, d := range diagrams() {
		if err := os.WriteFile(filepath.Join(os.Args[1], name), []byte(d.svg()), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "diagrams:", err)
			os.Exit(1)
		}
	}
}

// Kinds of boxes.
const (
	given  = "given" // what a user has
	part   = "part"  // what bpfrun does
	result = "result"
)

// box is a box with a title and lines of text.
type box struct {
	x, y, w int
	kind    string
	title   string
	lines   []string
}

// arrow leads from a point to another one.
type arrow struct {
	from, to point
	text     string
	both     bool
}

type point struct{ x, y int }

type diagram struct {
	about  string
	w, h   int
	boxes  []box
	arrows []arrow
}

const (
	lineHeight = 18
	padding    = 12
)

func (b *box) height() int { return 2*padding + lineHeight*(1+len(b.lines)) - 4 }

// sides in the middle of a box's edges.
func (b *box) left() point   { return point{b.x, b.y + b.height()/2} }
func (b *box) right() point  { return point{b.x + b.w, b.y + b.height()/2} }
func (b *box) top() point    { return point{b.x + b.w/2, b.y} }
func (b *box) bottom() point { return point{b.x + b.w/2, b.y + b.height()} }

const style = `
text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #1c2128; }
.title { font-weight: 600; } .note { font-size: 12px; fill: #5b6572; }
rect { stroke-width: 1.2; } .given { fill: #eef0f3; stroke: #9aa5b2; } .part { fill: #dbe9fa; stroke: #2a78d6; } .result { fill: #e7f4ea; stroke: #178a63; }
path { stroke: #5b6572; stroke-width: 1.5; fill: none; } marker path { fill: #5b6572; stroke: none; }
@media (prefers-color-scheme: dark) {
  text { fill: #e3e7ec; } .note { fill: #98a3b0; }
  .given { fill: #232a33; stroke: #5b6572; } .part { fill: #17304d; stroke: #3987e5; } .result { fill: #14301d; stroke: #219a70; }
  path { stroke: #98a3b0; } marker path { fill: #98a3b0; }
}
`

func (d *diagram) svg() string {
	var b strings.Builder
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\">\n<title>%s</title>\n<style>%s</style>\n", d.w, d.h, d.w, d.h, html.EscapeString(d.about), style)
	b.WriteString("<defs><marker id=\"end\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" orient=\"auto-start-reverse\"><path d=\"M0,0L8,4L0,8z\"/></marker></defs>\n")
	for _, x := range d.boxes {
		fmt.Fprintf(&b, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"8\"/>\n", x.kind, x.x, x.y, x.w, x.height())
		fmt.Fprintf(&b, "<text class=\"title\" x=\"%d\" y=\"%d\">%s</text>\n", x.x+padding, x.y+padding+11, html.EscapeString(x.title))
		for i, l := range x.lines {
			fmt.Fprintf(&b, "<text class=\"note\" x=\"%d\" y=\"%d\">%s</text>\n", x.x+padding, x.y+padding+11+lineHeight*(i+1), html.EscapeString(l))
		}
	}
	for _, a := range d.arrows {
		start := ""
		if a.both {
			start = ` marker-start="url(#end)"`
		}
		fmt.Fprintf(&b, "<path d=\"M%d,%dL%d,%d\" marker-end=\"url(#end)\"%s/>\n", a.from.x, a.from.y, a.to.x, a.to.y, start)
		if a.text == "" {
			continue
		}
		x, y, anchor := (a.from.x+a.to.x)/2, (a.from.y+a.to.y)/2-6, "middle"
		if a.from.x == a.to.x {
			x, y, anchor = a.from.x+8, (a.from.y+a.to.y)/2+4, "start"
		} else if a.from.y != a.to.y {
			x, anchor = x-6, "end"
		}
		fmt.Fprintf(&b, "<text class=\"note\" x=\"%d\" y=\"%d\" text-anchor=\"%s\">%s</text>\n", x, y, anchor, html.EscapeString(a.text))
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// diagrams are the pictures, by file name.
func diagrams() map[string]*diagram {
	return map[string]*diagram{"object.svg": object(), "snapshot.svg": snapshot(), "matrix-cell.svg": cell(), "exec.svg": supervisor()}
}

// object shows the way from an object to a result.
func object() *diagram {
	file := box{20, 20, 200, given, "prog.o, unmodified", []string{"instructions, maps", "CO-RE relocations, BTF"}}
	kernel := box{20, 180, 200, given, "a kernel's BTF", []string{"types and offsets", "no kernel runs"}}
	load := box{290, 20, 190, part, "load", []string{"relocate as libbpf does", "kfuncs, maps, globals"}}
	verify := box{290, 180, 190, part, "verify", []string{"as that release does", "accepted or refused"}}
	run := box{550, 20, 190, part, "run", []string{"simulated kernel objects", "helpers, maps, clocks"}}
	out := box{550, 180, 190, result, "result", []string{"return value, records", "maps, packet, findings"}}
	return &diagram{"From an object and a kernel's types to a result: bpfrun relocates the object, verifies it, runs it on simulated kernel objects, and shows what it did", 760, 270,
		[]box{file, kernel, load, verify, run, out},
		[]arrow{
			{file.right(), load.left(), "", false}, {kernel.right(), point{load.x, load.y + load.height() - 8}, "", false}, {kernel.right(), verify.left(), "rules", false},
			{load.bottom(), verify.top(), "code", false}, {point{verify.x + verify.w, verify.y + 20}, point{run.x, run.y + run.height() - 8}, "accepted", false}, {run.bottom(), out.top(), "", false},
			{point{verify.x + verify.w, out.y + out.height()/2}, out.left(), "refused", false},
		}}
}

// snapshot shows what is restored before each run and when the debugger goes back.
func snapshot() *diagram {
	ready := box{20, 90, 210, part, "snapshot of a machine", []string{"memory, maps, globals", "kernel objects, clocks", "restored before each run"}}
	first := box{320, 20, 170, part, "run 1", []string{"writes memory, maps"}}
	second := box{320, 110, 170, part, "run 2", []string{"another input"}}
	third := box{320, 200, 170, part, "run 3 …", []string{"a million in a search"}}
	one := box{570, 20, 170, result, "result 1", []string{"compared with before"}}
	two := box{570, 110, 170, result, "result 2", []string{"as if it were the first"}}
	three := box{570, 200, 170, result, "result 3 …", []string{"found again each time"}}
	return &diagram{"Runs begin at one snapshot: what a run changed is restored before the next one begins", 760, 275,
		[]box{ready, first, second, third, one, two, three},
		[]arrow{
			{ready.right(), first.left(), "", false}, {ready.right(), second.left(), "", false}, {ready.right(), third.left(), "", false},
			{first.right(), one.left(), "", false}, {second.right(), two.left(), "", false}, {third.right(), three.left(), "", false},
		}}
}

// cell shows how a cell of the matrix comes about.
func cell() *diagram {
	objects := box{20, 20, 170, given, "objects", []string{"a.bpf.o, b.bpf.o"}}
	kernels := box{20, 130, 170, given, "kernels", []string{"5.10, 6.1, 6.12, 7.2", "equal ones only once"}}
	relocate := box{260, 20, 200, part, "1. relocations", []string{"same, changed, missing"}}
	verdict := box{260, 100, 200, part, "2. verdict", []string{"of that release's verifier"}}
	behaviour := box{260, 180, 200, part, "3. behaviour", []string{"same input on each kernel"}}
	word := box{540, 70, 200, result, "a cell", []string{"✓ same, ✓ changed, ✓ dead", "≠ differs: what and why", "✗ BREAK: source line, hint"}}
	return &diagram{"A cell of the matrix: one object on one kernel, its relocations, its verdict, and its behaviour compared with the first kernel", 760, 255,
		[]box{objects, kernels, relocate, verdict, behaviour, word},
		[]arrow{
			{objects.right(), relocate.left(), "", false}, {objects.right(), verdict.left(), "", false}, {kernels.right(), verdict.left(), "", false}, {kernels.right(), behaviour.left(), "", false},
			{relocate.right(), word.left(), "", false}, {verdict.right(), word.left(), "", false}, {behaviour.right(), word.left(), "", false},
		}}
}

// supervisor shows who serves which calls of a tool under bpfrun exec.
func supervisor() *diagram {
	tool := box{20, 20, 200, given, "tool, unmodified", []string{"its loader: libbpf, aya, …", "its user space and output"}}
	host := box{20, 190, 200, given, "your kernel", []string{"files, terminal, network", "no BPF, no root"}}
	filter := box{300, 20, 190, part, "bpfrun exec", []string{"seccomp user notification", "serves calls about BPF"}}
	events := box{550, 190, 190, given, "events file", []string{"system calls, packets,", "functions that happen"}}
	kernel := box{550, 20, 190, part, "simulated kernel", []string{"verifier, maps, links", "programs at their hooks"}}
	buffer := box{300, 190, 190, result, "ring buffers, maps", []string{"memory that the tool", "maps and reads"}}
	return &diagram{"bpfrun exec: the tool's system calls about BPF go to a simulated kernel, all others to the host; events make its programs run, and the tool reads what they write", 760, 280,
		[]box{tool, host, filter, events, kernel, buffer},
		[]arrow{
			{tool.right(), filter.left(), "bpf(2)", true}, {tool.bottom(), host.top(), "all other calls", true}, {filter.right(), kernel.left(), "", true},
			{events.top(), kernel.bottom(), "happen", false}, {point{kernel.x, kernel.y + kernel.height() - 8}, point{buffer.x + buffer.w, buffer.y + 16}, "write", false},
			{point{buffer.x, buffer.y + 16}, point{tool.x + tool.w, tool.y + tool.height() - 8}, "", false},
		}}
}
