// Package conformance proves the instruction set: it runs recorded programs and compares with what a kernel or the
// public suite says of them.
//
// It knows three inputs: kernel vectors and the simple lines of the public bpf_conformance suite ([Line], judged by
// [ISA]), the plugin protocol of that suite ([Plugin]), and programs with a kernel's verdict on loading them ([Decode]).
// Generated programs are compared between the interpreter and the plain evaluator of package
// conformance/reference by [Differential], and their results taken from a running kernel by package conformance/record.
// It does not know BPF objects, CO-RE or kernel types.
//
// Start at [ISA] for a file, at [Program] and [Interpreter] for one program.
package conformance
