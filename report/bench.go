package report

import (
	"fmt"
	"io"
)

// BenchDocument is the JSON of `bench`. Times are nanoseconds.
type BenchDocument struct {
	Schema  string `json:"schema"`
	Exit    int    `json:"exit"`
	Error   *Error `json:"error"`
	Object  string `json:"object"`
	Program string `json:"program"`
	Engine  string `json:"engine"`
	// Ret is all of r0 after the first run, which Insns counts too.
	Ret   string `json:"ret"`
	Insns uint64 `json:"insns"`
	// Min and Median are of one run, over all batches.
	Min    float64 `json:"ns_min"`
	Median float64 `json:"ns_median"`
	// LoadNS is the time from the file to a program that can run, without reading the target's types.
	LoadNS int64 `json:"load_ns"`
	// CompileNS is the engine's part of it.
	CompileNS int64   `json:"compile_ns"`
	Target    *Target `json:"target,omitempty"`
}

// WriteBench writes the figures for people.
func WriteBench(w io.Writer, d *BenchDocument) error {
	perInsn := 0.0
	if d.Insns > 0 {
		perInsn = d.Min / float64(d.Insns)
	}
	_, err := fmt.Fprintf(w, "%s %s: ret %s, %d instructions\nbest %s, median %s a run, %.2f ns an instruction\nload %s, of that compile %s\n",
		d.Object, d.Program, d.Ret, d.Insns, nanoseconds(d.Min), nanoseconds(d.Median), perInsn, nanoseconds(float64(d.LoadNS)), nanoseconds(float64(d.CompileNS)))
	return err
}

// nanoseconds writes a time with a unit in which it reads well.
func nanoseconds(ns float64) string {
	switch {
	case ns >= 1e7:
		return fmt.Sprintf("%.1f ms", ns/1e6)
	case ns >= 1e4:
		return fmt.Sprintf("%.1f µs", ns/1e3)
	}
	return fmt.Sprintf("%.1f ns", ns)
}
