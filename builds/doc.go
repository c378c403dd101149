// Package builds compares two builds of an object: what the verifier of a kernel says about their programs, what they cost, call and need, how maps
// are defined, and what the same inputs make them do.
//
// It does not decide which changes are good: limits are the caller's. It renders nothing. Start from [Compare].
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package builds
