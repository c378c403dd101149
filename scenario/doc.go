// Package scenario reads scenario files and runs them: kernel objects, maps and
// global variables set up in terms of types, programs run with them, and
// expectations on everything the runs did.
//
// It knows the file format and how its values become bytes of the target's
// types. It knows no command line and renders nothing: a [Result] holds what was
// expected and what was seen, each with its place in the file.
//
// Start from [Parse], which makes a [File], and [Open], which checks the file
// against an object linked for one target and makes a [Runner]. Every mistake in
// a file is an [*Error] with file, line and column, found before anything runs.
//
// A File is read-only after Parse and may be used for many targets in parallel.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package scenario
