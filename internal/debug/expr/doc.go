// Package expr parses and evaluates the debugger's expressions and formats values: types by name,
// memory, conversions, members, map elements, packet headers, assignments.
//
// It depends on a machine and its object. It accesses the run only through [Activity] (packet and
// records) and the selected frame only through [Scope] (names and registers). Positions,
// breakpoints and time travel belong to package debug.
//
// Start from [NewEvaluator]. Each component owns the state that its comment names: [Types] has only
// the basic types, [Memory] the objects that inspection created, [Values] and [Printer] nothing,
// [Evaluator] what the last assignment changed.
package expr
