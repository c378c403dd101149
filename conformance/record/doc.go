// Package record runs the programs of an object on the running kernel and records the results as
// cases, which conformance.Cases replays.
//
// It is a small loader on top of bpf(2): it creates maps, loads BTF and programs, and runs them
// with BPF_PROG_TEST_RUN. It attaches and pins nothing, and releases everything after each case. It
// loads the output of package loader, so a mistake in linking shows up as a difference in the
// recording. It needs Linux and permission to load programs (root).
//
// It does not know what a program should do: the kernel's behaviour is the expected result. Start
// from [Plan] and [Cases].
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package record
