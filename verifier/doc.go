// Package verifier tells whether the verifier of a release of Linux accepts a program, without that kernel.
//
// It walks the program as kernel/bpf/verifier.c does: the same states, the same order of branches, the same pruning, so that
// the instructions it processes can be compared with a kernel's. What a release does differently is a row in package since.
// It knows instructions, BTF and linked objects; it knows nothing of execution, simulated memory or rendering.
//
// Only loads with all capabilities are judged, as tools make them: the rules against speculative execution do not apply.
// Where architectures differ the rules are those of x86-64 with its JIT.
//
// What has no rule here yields [Unknown] with a name, never a guess.
//
// Start at [Verify], [Program] and [Verdict]; [FromLinked] makes a Program of a linked object.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package verifier
