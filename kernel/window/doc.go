// Package window is the parts of a simulated address space that are not objects: the memory of the processes ([User]), the
// kernel's text and the addresses of its symbols ([Symbols]), and per-CPU variables ([PerCPU]).
//
// Each is a window of its own in simulated memory, adds what lies in it on first use, and has its own snapshot. The package knows
// object types only to place them; it does not know what runs.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package window
