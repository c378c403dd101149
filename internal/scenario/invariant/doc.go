// Package invariant evaluates what must hold after every run of a program: expressions in the
// debugger's language about maps, global variables, the packet and the return value, before and
// after the run.
//
// Start from [New], add invariants with [Checker.Add], and call [Checker.Begin] and [Checker.End]
// around each run. It knows one machine; which runs are made, and where invariants are written, is
// the caller's.
package invariant
