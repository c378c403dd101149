// Package machine combines a linked object with simulated memory, a simulated kernel, maps, helpers
// and the processor, and runs its programs.
//
// It is the only package that composes these: it binds the loader's symbolic references to
// addresses, creates each program's context, applies the rules that depend on the program type, and
// collects what a run did. It knows no command line and renders nothing.
//
// Start from [New] and [Machine.Run]. [Machine.Snapshot] and [Machine.Restore] bring a state back.
// To run one program very often from one state, with other input each time and at little more than
// the cost of its instructions, use [Machine.Loop]; for the packets of a capture, one after another
// without restoring anything, [Machine.Replay]. A Machine is single-threaded; any number of
// machines run in parallel and share only immutable BTF.
package machine
