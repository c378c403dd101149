// Package bpfsys implements bpf(2) for a simulated kernel, independently of how calls arrive.
//
// It knows the commands of each release and the rules for their attributes; objects (maps,
// programs, BTF, links, perf events, iterators) with their ids, references and attachments; the
// simulated bpffs; perf_event_open(2) and the ioctls of perf events; the buffers that user space
// maps; and the files that loaders read. Package verifier checks programs and package machine runs
// them. It does not know the host's processes, descriptor tables or system calls: a [Caller]
// represents the task that makes a call.
//
// Start at [New], [System.Call] and [System.Fire].
package bpfsys
