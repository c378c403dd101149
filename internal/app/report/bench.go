package report

import (
	"fmt"
	"io"

	"github.com/bpfrun/bpfrun/internal/visible"
)

// BenchDocument is the JSON of `bench`. Times are in nanoseconds.
type BenchDocument struct {
	Schema  string `json:"schema"`
	Exit    int    `json:"exit"`
	Error   *Error `json:"error"`
	Object  string `json:"object"`
	Program string `json:"program"`
	// Engine is the engine that executed most instructions of the timed runs, "jit" or "interp": a
	// program that leaves native code every few instructions mostly runs in the interpreter. Native
	// is the share of instructions executed in native code, from 0 to 1.
	Engine string  `json:"engine"`
	Native float64 `json:"native"`
	// Ret is all 64 bits of r0 after the first run, whose instructions Insns counts.
	Ret   string `json:"ret"`
	Insns uint64 `json:"insns"`
	// Min and Median are the times of one run, over all batches.
	Min    float64 `json:"ns_min"`
	Median float64 `json:"ns_median"`
	// Batches are the times of one run, batch by batch.
	Batches []float64 `json:"ns_batches"`
	// LoadNS is the time from opening the file to a program that can run, without parsing the
	// target's types.
	LoadNS int64 `json:"load_ns"`
	// CompileNS is the part of LoadNS that the engine took.
	CompileNS int64   `json:"compile_ns"`
	Target    *Target `json:"target,omitempty"`
	// Compared is the comparison with an earlier document (--compare).
	Compared *BenchComparison `json:"compared,omitempty"`
}

// WriteBench writes the figures as text.
func WriteBench(w io.Writer, d *BenchDocument) error {
	perInsn := 0.0
	if d.Insns > 0 {
		perInsn = d.Min / float64(d.Insns)
	}
	engine := "interpreter"
	if d.Engine == "jit" {
		engine = "native code"
	}
	if d.Native > 0 && d.Native < 0.995 {
		engine += fmt.Sprintf(" (%.0f %% of the instructions are native)", 100*d.Native)
	}
	_, err := visible.Fprintf(w, "%s %s: ret %s, %d instructions\nbest %s, median %s a run, %.2f ns an instruction\nload %s, of that compile %s\nexecuted by the %s\n",
		d.Object, d.Program, d.Ret, d.Insns, nanoseconds(d.Min), nanoseconds(d.Median), perInsn, nanoseconds(float64(d.LoadNS)), nanoseconds(float64(d.CompileNS)), engine)
	if err == nil && d.Compared != nil {
		_, err = visible.Fprintln(w, d.Compared)
	}
	return err
}

// nanoseconds formats a time with a suitable unit.
func nanoseconds(ns float64) string {
	switch {
	case ns >= 1e7:
		return fmt.Sprintf("%.1f ms", ns/1e6)
	case ns >= 1e4:
		return fmt.Sprintf("%.1f µs", ns/1e3)
	}
	return fmt.Sprintf("%.1f ns", ns)
}
