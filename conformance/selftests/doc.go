// Package selftests runs the kernel's own CO-RE selftests on the simulated machine, with the inputs and expected
// outputs of the selftests. Programs are relocated against types in BTF files and executed, and their output is
// compared byte by byte; or the load is refused if the selftest expects that.
//
// The selftests are GPL-2.0 and not part of this repository. build.sh extracts them from a kernel source tree. The
// tests find the result through BPFRUN_SELFTESTS and skip without it. Our own programs (testdata/core) check the same
// rules everywhere.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package selftests
