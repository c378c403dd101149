// Package record runs the programs of an object on the running kernel and records what they do, as cases that
// conformance.Cases replays.
//
// It is a small loader of its own on bpf(2): maps, type information, BPF_PROG_LOAD and BPF_PROG_TEST_RUN. Nothing is attached
// or pinned, and everything is gone when a case is done. What goes into the kernel is what package loader made of the object:
// a difference in linking shows as a difference in the record. It needs Linux and the right to load programs (root).
//
// It does not know what a program should do: what the kernel says is the result. Start at [Plan] and [Cases].
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package record
