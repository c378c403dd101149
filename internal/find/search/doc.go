// Package search finds inputs with which a program gets further. A [Trace] follows the operands of
// a run's comparisons back to what the program read (bytes of memory that it did not write, map
// lookups, results of helpers, the packet's length) and names that; [Value.Solve] and [Trace.Flip]
// compute inputs with which a comparison comes out otherwise; [Furthest] runs the program again
// with them on a [machine.Loop], and reports the run that executed the most. [Trace.Stopped] finds
// the branch that kept a run from most of its program.
//
// It knows machines and instructions. It does not know command lines or files. Start at [Furthest],
// or at [NewTrace] for a search of another kind.
package search
