// Package selftests runs the kernel's own CO-RE selftests on the simulated machine, with their
// inputs and expected outputs. It relocates the programs against types in BTF files, executes them,
// and compares their output byte by byte, or expects the load to be refused if the selftest does.
//
// The selftests are GPL-2.0 and not part of this repository. build.sh extracts them from a kernel
// source tree. The tests find the result through BPFRUN_SELFTESTS and skip without it. Our own
// programs (testdata/core) test the same rules without a kernel source tree.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package selftests
