// Package isa tests the instruction set: it runs recorded and generated programs and compares the results with those of
// a kernel, the public suite or a simple evaluator.
//
// It knows kernel vectors and the simple lines of the public bpf_conformance suite ([Judge]), the plugin protocol of
// that suite ([Plugin]), programs with a kernel's load verdict ([Decode]), and generated programs ([Differential]).
// Package generate generates programs, package reference is the simple evaluator, and package record takes results from
// a running kernel. Package isa does not know BPF objects, BTF, helpers or maps other than the one map of kernel
// vectors.
//
// Start from [Judge] for a file, from [Program] and [Interpreter] for one program.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package isa
