// Package corpus measures how well real objects run: it runs every program of many objects on the
// types of many kernels with the default contexts, and reports the status of each program, how much
// of its code was executed and which fields of the kernel it read.
//
// It knows objects and targets, but no particular tool. It reports the statuses of the machine
// unchanged, and writes tables in Markdown.
//
// Start from [Measure] for one object on one target, and [Write] for the tables of many.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package corpus
