package verdicts

import (
	"fmt"
	"io"
	"math"
	"time"
)

// Speed compares our CPU time with the time that the kernel's verifier took, program by program.
type Speed struct {
	Programs     int
	Ours, Theirs time.Duration
	logs         float64 // sum of the logarithms of the ratios
}

// add counts a program if both times are known.
func (s *Speed) add(c *Comparison) {
	if c.CPU <= 0 || c.Line.Usec == nil || *c.Line.Usec <= 0 {
		return
	}
	theirs := time.Duration(*c.Line.Usec) * time.Microsecond
	s.Programs++
	s.Ours += c.CPU
	s.Theirs += theirs
	s.logs += math.Log(float64(c.CPU) / float64(theirs))
}

// Mean returns the geometric mean of the ratios of our time to the kernel's, or 0 if there are no
// programs.
func (s *Speed) Mean() float64 {
	if s.Programs == 0 {
		return 0
	}
	return math.Exp(s.logs / float64(s.Programs))
}

// WriteSpeed writes the times as a Markdown table.
func (r *Report) WriteSpeed(w io.Writer) {
	fmt.Fprintln(w, "| kernel | programs | its verifier, all | here, all | ratio of each, geometric mean |")
	fmt.Fprintln(w, "|---|---:|---:|---:|---:|")
	for _, a := range r.Agreements() {
		s := &a.Speed
		fmt.Fprintf(w, "| %s | %d | %v | %v | %.2f |\n", a.Kernel, s.Programs, s.Theirs.Round(time.Millisecond), s.Ours.Round(time.Millisecond), s.Mean())
	}
}
