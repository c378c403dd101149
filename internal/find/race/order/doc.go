// Package order explores in which order the steps of several actors can happen: it decides who goes
// next, never what a step does. Orders that differ only in steps that do not affect each other are
// one order, and it is explored once.
//
// Three things keep the number of orders small, and each is exact:
//
//   - Only accesses that conflict with an access of another actor are points at which another actor can go next ([Explorer] learns which these are
//     while it explores, and begins again when it learned something).
//   - What happened is identified by the accesses and by which of them depends on which, not by their order (happens-before caching: Musuvathi and Qadeer,
//     "Partial-order reduction for context-bounded state exploration", 2007). Where that and the actor at work are the same, everything that follows
//     is the same.
//   - Preemptions are bounded: an actor that could go on is interrupted at most so many times ("Iterative context bounding", PLDI 2007). Most bugs need
//     one or two.
//
// Beyond the bound, [Explorer.Random] takes orders at random with priorities that change at random
// points (PCT: Burckhardt and others, ASPLOS 2010).
//
// Start with [System], what is explored, and [Explorer].
package order
