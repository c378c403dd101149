// Package record runs programs of kernel vectors on the running kernel and records what it does.
//
// It uses bpf(2) alone: one array map, BPF_PROG_LOAD and BPF_PROG_TEST_RUN as a traffic control program. Nothing is attached
// or pinned, and everything is gone when the [Kernel] is closed. It needs Linux and the right to load programs (root).
//
// It does not know what a program should do: what the kernel says is the result. Start at [Open] and [Programs].
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package record
