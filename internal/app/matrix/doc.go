// Package matrix runs every program of every object on every kernel and finds where their behaviour
// differs from that on a reference kernel.
//
// It knows machines and targets, but neither command lines nor rendering. Before results are
// compared, simulated addresses are replaced by the names of what they point to, so that a
// different memory layout is not a difference.
//
// Start from [Run], which returns a [Matrix] of [Cell]s.
package matrix
