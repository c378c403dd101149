// Package bpfsys implements bpf(2) of a simulated kernel, independent of how calls arrive.
//
// It knows the commands of a release with the rules for their attributes, the objects (maps, programs, BTF, links, perf events,
// iterators) with their ids and references, what they are attached to, the simulated bpffs, the perf side (perf_event_open(2) and its
// ioctls), the buffers that user space maps, and the files that loaders read. Package verifier checks programs and package
// machine runs them. It does not know the host's processes, descriptor tables or system calls: a [Caller] represents whoever makes a call.
//
// Start at [New], [System.Call] and [System.Fire].
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package bpfsys
