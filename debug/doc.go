// Package debug is the debugger's engine: it steps a program of a linked object forwards and backwards, stops it at
// breakpoints and watchpoints, and reads and changes what the program sees in the terms of its source.
//
// It knows machine (which runs), BTF and DWARF (which name things), and nothing of terminals, command lines or
// protocols: package repl is one front end, an editor protocol may be another.
//
// Start from [New] and [Session]. A run is deterministic, so a place in it is a number: how many instructions were executed
// before. Going back is starting again from the state before the run and executing up to an earlier number; no
// record of the run is kept. What the user changes on the way ([Session.Assign]) belongs to the run: it happens again at its
// number, until a change at an earlier one makes another run of it.
//
// Looking never changes the run. Where an expression makes the simulated kernel come up with objects that the
// program did not ask for yet, they stay for as long as the session stands still and are taken back before it continues.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package debug
