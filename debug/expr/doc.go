// Package expr reads and evaluates the debugger's expressions, and writes values as text: types by name, memory, conversions, members,
// elements of maps, headers of packets, assignments.
//
// It knows a machine and the object on it, types and memory. Of the run it knows what [Activity] says: packet and records; of the selected
// frame what [Scope] says: the values of names and registers. Positions, breakpoints and time travel are package debug's.
//
// Start from [NewEvaluator]. Each receiver owns the state that its comment names: [Types] none but the basic types, [Memory] what looking
// brought into being, [Values] and [Printer] nothing, [Evaluator] what the last assignment changed.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package expr
