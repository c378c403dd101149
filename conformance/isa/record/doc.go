// Package record runs programs of kernel vectors on the running kernel and records the results.
//
// It uses only bpf(2): it creates one array map, loads programs as traffic control programs
// (BPF_PROG_LOAD) and runs them with BPF_PROG_TEST_RUN. It attaches and pins nothing, and closing
// the [Kernel] releases everything. It needs Linux and permission to load programs (root).
//
// It does not know what a program should do: the kernel's behaviour is the expected result. Start
// at [Open] and [Programs].
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package record
