// Package selftests runs the kernel's own BPF selftests about CO-RE on the simulated machine, with the inputs and expected
// outputs of the selftests themselves: programs relocated against types in BTF files, executed, and what they
// computed compared byte by byte; or refused where the selftest wants the load to fail.
//
// The selftests are GPL-2.0 and not part of this repository. build.sh makes a directory of them from a kernel source tree;
// the tests look for it in BPFRUN_SELFTESTS and skip without. The rules they check are also checked by
// our own probes (testdata/core), everywhere.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package selftests
