package verdicts

import (
	"fmt"
	"io"
	"strings"

	"github.com/bpfrun/bpfrun/internal/verifier"
)

// Details counts what else is equal where verdicts are: of refusals the error, the message with its
// numbers, the instruction and how many were processed; of accepted programs the states.
type Details struct {
	Refused, SameErrno, SameMessage int
	Placed, SamePlace               int
	Counted, SameCount              int
	Stated, SameTotal, NearPeak     int
}

func (d *Details) add(c *Comparison) {
	l, ours := c.Line, c.Ours
	if ours == nil {
		return
	}
	if l.Verdict == Accepted {
		if l.Total == nil || l.Peak == nil {
			return
		}
		d.Stated++
		d.SameTotal += one(*l.Total == ours.TotalStates)
		d.NearPeak += one(near(*l.Peak, ours.PeakStates))
		return
	}
	d.Refused++
	d.SameErrno += one(l.Errno == ours.Errno.Error())
	d.SameMessage += one(l.Reason == ours.Message)
	if l.placed() {
		d.Placed++
		d.SamePlace += one(*l.Where == ours.Insn)
	}
	if l.Processed != nil {
		d.Counted++
		d.SameCount += one(*l.Processed == ours.ProcessedInsns)
	}
}

// placed reports whether the log shows the instruction at fault: not of refusals that are decided
// between two instructions.
func (l *Line) placed() bool {
	return l.Where != nil && ClassOf(l.Reason) != "complexity"
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// near reports whether two counts differ by at most 5 %.
func near(a, b int) bool { return max(a, b)*20 <= min(a, b)*21 }

// Differences describes in what two equal verdicts differ: of refusals the error, the message, the
// instruction, the count; of accepted programs the count and the states.
func (c *Comparison) Differences() string {
	if c.Kind != Agree || c.Ours == nil {
		return ""
	}
	var out []string
	differ := func(what string, theirs, ours any) {
		if theirs != ours {
			out = append(out, fmt.Sprintf("%s %v, here %v", what, theirs, ours))
		}
	}
	count := func(what string, theirs *int, ours int) {
		if theirs != nil {
			differ(what, *theirs, ours)
		}
	}
	if c.Ours.Outcome == verifier.Refused {
		differ("errno", c.Line.Errno, c.Ours.Errno.Error())
		differ("message", fmt.Sprintf("%q", c.Line.Reason), fmt.Sprintf("%q", c.Ours.Message))
		if c.Line.placed() {
			differ("instruction", *c.Line.Where, c.Ours.Insn)
		}
	}
	count("processed", c.Line.Processed, c.Ours.ProcessedInsns)
	if c.Ours.Outcome == verifier.Accepted {
		count("states", c.Line.Total, c.Ours.TotalStates)
		count("peak", c.Line.Peak, c.Ours.PeakStates)
	}
	return strings.Join(out, "; ")
}

// WriteDetails writes what else is equal, as a Markdown table.
func (r *Report) WriteDetails(w io.Writer) {
	fmt.Fprintln(w, "| kernel | refused by both | errno equal | message equal, numbers too | instruction equal | processed insns equal | accepted by both | states equal | peak within 5 % |")
	fmt.Fprintln(w, "|---|---:|---:|---:|---:|---:|---:|---:|---:|")
	for _, a := range r.Agreements() {
		d := &a.Details
		fmt.Fprintf(w, "| %s | %d | %s | %s | %s | %s | %d | %s | %s |\n", a.Kernel, d.Refused, share(d.SameErrno, d.Refused), share(d.SameMessage, d.Refused),
			share(d.SamePlace, d.Placed), share(d.SameCount, d.Counted), d.Stated, share(d.SameTotal, d.Stated), share(d.NearPeak, d.Stated))
	}
}
