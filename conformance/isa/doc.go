// Package isa tests the instruction set. It runs recorded and generated programs and compares their
// results with those of a kernel, of the public bpf_conformance suite, or of a simple reference
// evaluator.
//
// It knows kernel vectors and the lines of the public suite ([Judge]), the plugin protocol of that
// suite ([Plugin]), programs with a kernel's load verdict ([Decode]), and generated programs
// ([Differential]). Package generate generates the programs, package reference is the reference
// evaluator, and package record records results on the running kernel. Package isa does not know
// BPF objects, BTF, or helpers and maps beyond those that kernel vectors use.
//
// Start from [Judge] to run a file, and from [Program] and [Interpreter] to run one program.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package isa
