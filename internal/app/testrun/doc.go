// Package testrun runs scenario files and the tests inside objects on many kernels, in parallel.
//
// It expands arguments to files ([Paths]), selects tests ([Pick]), limits how many kernels stay
// open, and orders and runs the jobs ([Check], [Run]). Runs themselves (scenario, intest), command
// lines, and rendering (report) belong to other packages.
package testrun
