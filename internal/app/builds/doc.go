// Package builds compares two builds of an object: what the verifier of a kernel says about their
// programs, what they cost, call and need, how maps are defined, and what the same inputs make them
// do.
//
// It does not decide which changes are good: limits are the caller's. It renders nothing. Start
// from [Compare].
package builds
