// Package paced keeps a kernel usable while many programs are loaded one after another.
//
// A kernel frees each program later, in a work item that takes the lock of the allocator of JIT
// memory. A loader that holds the lock may itself wait for a work item on the same queue
// (bpf_prog_pack_alloc, vm_unmap_aliases). Freeing a thousand programs at once can therefore
// deadlock program loading until reboot (seen on Linux 6.18). To avoid that, callers spread out
// their loads and regularly give the kernel time to free programs. Loads that keep the verifier
// busy for minutes are interrupted.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package paced
