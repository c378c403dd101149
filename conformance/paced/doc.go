// Package paced keeps a kernel usable while many programs are loaded one after another.
//
// A kernel frees programs later, in a work item each, all of which need the lock of its allocator of code; a loader that holds the
// lock may wait for another item of the same queue (bpf_prog_pack_alloc, vm_unmap_aliases). When a thousand programs are freed at
// once no program can be loaded on that machine any more (seen on Linux 6.18). So loads are spread out and, after some of them, the
// kernel is given time to free programs; and loads that keep the verifier busy for minutes are interrupted.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package paced
