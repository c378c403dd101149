// Package matrix runs objects on many kernels and says where they behave
// differently: every program of every object on every target, its relocations and
// what it did, each compared with a reference kernel.
//
// It knows machines and targets, no command line, and renders nothing. Results are
// compared after simulated addresses are replaced by the names of what they point
// to, so that another placement is no difference.
//
// Start from [Run], which gives a [Matrix] of [Cell]s.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package matrix
