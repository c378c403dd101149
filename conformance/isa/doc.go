// Package isa proves the instruction set: it runs recorded and generated programs and compares with what a kernel, the public
// suite or a plain evaluator say of them.
//
// It knows kernel vectors and the simple lines of the public bpf_conformance suite ([Judge]), the plugin protocol of that suite
// ([Plugin]), programs with a kernel's verdict on loading them ([Decode]), and generated programs ([Differential]). Programs come from
// package generate below it, the plain evaluator is package reference, and package record takes results from a running kernel. It
// does not know BPF objects, BTF, helpers or maps beyond the one map of kernel vectors.
//
// Start at [Judge] for a file, at [Program] and [Interpreter] for one program.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package isa
