// Package window implements the parts of a simulated address space that are not objects: the memory
// of processes ([User]), the kernel's text and the addresses of its symbols ([Symbols]), and
// per-CPU variables ([PerCPU]).
//
// Each is a window of its own in simulated memory, is filled on first use, and has its own
// snapshot. The package uses object types only to place objects; it does not know what runs.
package window
