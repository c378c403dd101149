// Package corpus measures how real objects fare: it runs every program of many objects on many
// kernels' types with the default contexts, and says what became of each program, how much of its
// code was executed and which fields of the kernel it read.
//
// It knows objects and targets, and nothing of any particular tool. It judges nothing but the
// statuses the machine gives, and writes its tables as Markdown.
//
// Start from [Measure] for one object on one target, and [Write] for the tables of many.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package corpus
