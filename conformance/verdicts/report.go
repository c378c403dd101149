package verdicts

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/bpfrun/bpfrun/internal/verifier"
)

// Agreement counts the comparisons with one release.
type Agreement struct {
	Kernel                                   string
	Judged, Agree                            int
	Accepted, Refused                        int // by the kernel
	FalseAccept, FalseRefusal, CannotSay     int
	NotJudged, Failed                        int
	SameClass, SameText, BothRefuse          int
	BothAccept, Counted, Within5, WithinHalf int
	Exact                                    int
	Details                                  Details
	Took                                     time.Duration
	Speed                                    Speed
	Disagreements                            []*Comparison
}

// Report collects comparisons by release.
type Report struct {
	byKernel map[string]*Agreement
	// Keep limits the length of each list of comparisons; 0 keeps all.
	Keep int
}

// NewReport returns an empty report.
func NewReport() *Report { return &Report{byKernel: map[string]*Agreement{}} }

// Add counts a comparison.
func (r *Report) Add(c *Comparison) {
	a := r.byKernel[c.Line.Kernel]
	if a == nil {
		a = &Agreement{Kernel: c.Line.Kernel}
		r.byKernel[c.Line.Kernel] = a
	}
	a.add(c, r.Keep)
}

func (a *Agreement) add(c *Comparison, limit int) {
	keep := func(list *[]*Comparison) {
		if limit == 0 || len(*list) < limit {
			*list = append(*list, c)
		}
	}
	a.Took += c.Took
	switch c.Kind {
	case NotJudged:
		a.NotJudged++
		return
	case Failed:
		a.Failed++
	case FalseAccept:
		a.FalseAccept++
	case FalseRefusal:
		a.FalseRefusal++
	case CannotSay:
		a.CannotSay++
	case Agree:
		a.Agree++
	}
	a.Judged++
	accepted := c.Line.Verdict == Accepted
	if accepted {
		a.Accepted++
	} else {
		a.Refused++
	}
	if c.Kind != Agree {
		keep(&a.Disagreements)
		return
	}
	a.Details.add(c)
	if !accepted {
		a.BothRefuse++
		if c.SameText {
			a.SameText++
		}
		if c.SameClass() {
			a.SameClass++
		}
		return
	}
	a.BothAccept++
	a.Speed.add(c)
	if c.Line.Processed == nil {
		return
	}
	a.Counted++
	theirs, ours := float64(*c.Line.Processed), float64(c.Ours.ProcessedInsns)
	if ours == theirs {
		a.Exact++
	}
	if ours >= theirs*0.95 && ours <= theirs*1.05 {
		a.Within5++
	}
	if ours >= theirs/1.5 && ours <= theirs*1.5 {
		a.WithinHalf++
	}
}

// Agreements returns the counts of each release, oldest release first.
func (r *Report) Agreements() []*Agreement {
	var out []*Agreement
	for _, a := range r.byKernel {
		out = append(out, a)
	}
	slices.SortFunc(out, func(x, y *Agreement) int { return cmp.Compare(order(x.Kernel), order(y.Kernel)) })
	return out
}

// order returns a sort key for a release: "6.12.107-amd64" sorts before "6.18.44".
func order(release string) uint64 {
	var major, minor, patch uint64
	fmt.Sscanf(release, "%d.%d.%d", &major, &minor, &patch)
	return major<<32 | minor<<16 | patch
}

func share(n, of int) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(of))
}

// WriteTable writes the agreement as a Markdown table.
func (r *Report) WriteTable(w io.Writer) {
	fmt.Fprintln(w, "| kernel | judged | same verdict | accepted only by bpfrun | refused only by bpfrun | unknown | same class of reason | same text | accepted by both | processed insns equal | within 5 % | within 1.5x |")
	fmt.Fprintln(w, "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
	for _, a := range r.Agreements() {
		fmt.Fprintf(w, "| %s | %d | %d (%s) | %d | %d | %d | %s | %s | %d | %s | %s | %s |\n", a.Kernel, a.Judged, a.Agree, share(a.Agree, a.Judged),
			a.FalseAccept, a.FalseRefusal, a.CannotSay+a.Failed, share(a.SameClass, a.BothRefuse), share(a.SameText, a.BothRefuse), a.BothAccept,
			share(a.Exact, a.Counted), share(a.Within5, a.Counted), share(a.WithinHalf, a.Counted))
	}
}

// String describes the comparison in one line: the program, and both verdicts with their reasons.
func (c *Comparison) String() string {
	theirs := c.Line.Verdict
	if c.Line.Verdict != Accepted {
		theirs = fmt.Sprintf("refused %s %q", c.Line.Errno, c.Line.Reason)
	}
	if c.Line.Where != nil {
		theirs += fmt.Sprintf(" at %d", *c.Line.Where)
	}
	if c.Line.Processed != nil {
		theirs += fmt.Sprintf(" (%d insns)", *c.Line.Processed)
	}
	ours := ""
	switch {
	case c.Err != nil:
		ours = c.Err.Error()
	case c.Ours == nil:
	case c.Ours.Outcome == verifier.Refused:
		ours = fmt.Sprintf("refused %q at %d (%d insns)", c.Ours.Message, c.Ours.Insn, c.Ours.ProcessedInsns)
	case c.Ours.Outcome == verifier.Unknown:
		ours = fmt.Sprintf("unknown: %s at %d", c.Ours.Missing, c.Ours.Insn)
	default:
		ours = fmt.Sprintf("accepted (%d insns)", c.Ours.ProcessedInsns)
	}
	return fmt.Sprintf("%s %s [%s %s] kernel: %s; here: %s", c.Kind, c.Line.Key(), c.Line.ProgType, c.Line.Kernel, theirs, ours)
}
