// Package verifier predicts whether the verifier of a release of Linux accepts a program, without
// running that kernel.
//
// It explores the program as kernel/bpf/verifier.c does, with the same states, the same order of
// branches and the same pruning, so that the number of processed instructions can be compared with
// a kernel's. Differences between releases are rows of internal/uapi/since. The package knows
// instructions, BTF and linked objects; it does not execute programs, simulate memory or render
// results.
//
// It assumes loads with all capabilities, the usual case for tools, so the rules against
// speculative execution do not apply. Where architectures differ, it follows x86-64 with the JIT.
//
// Anything without a rule here yields [Unknown] and names what is missing; nothing is guessed.
//
// Start from [Verify], [Program] and [Verdict]; [FromLinked] creates a Program from a linked
// object.
package verifier
