// Package debug is the debugger's engine. It runs a program of a linked object forwards and
// backwards, stops it at breakpoints and watchpoints, and reads and changes its state in terms of
// the source.
//
// It depends on machine (which runs programs) and on BTF and DWARF (which name things), but not on
// terminals, command lines or protocols: packages repl and dap are its front ends.
//
// Start from [New] and [Session]. A run is deterministic, so a position in it is a number: the
// count of instructions executed before it. Going back means restarting from a state saved earlier
// in the run and executing up to a lower number; no execution log is kept. Changes that the user
// makes ([Session.Assign]) belong to the run: they are repeated at their positions, until a change
// at an earlier position starts a different run.
//
// Inspection never changes the run. If evaluating an expression makes the simulated kernel create
// objects that the program has not accessed yet, they exist only while the session is stopped and
// are removed before it continues.
package debug
