// Package testrun runs scenario files and the tests inside objects on many kernels, in parallel.
//
// It knows which files an argument means ([Paths]), which tests are chosen ([Pick]), how many kernels stay open, and in which order jobs
// run ([Check], [Run]). It does not know what a run is (scenario, intest), command lines, or rendering (report).
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package testrun
