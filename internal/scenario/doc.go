// Package scenario reads scenario files and runs them. A file sets up kernel objects, maps and
// global variables by their types, runs programs, and states what to expect of everything that the
// runs do.
//
// The package knows the file format and how to encode its values as the target's types. It knows no
// command lines and renders nothing: a [Result] holds the expected and actual values, each with its
// position in the file.
//
// Start from [Parse], which returns a [File], and [Open], which checks the file against an object
// linked for one target and returns a [Runner]. Every mistake in a file is an [*Error] with file,
// line and column, found before anything runs.
//
// A File is read-only after Parse and may be used for many targets in parallel.
package scenario
