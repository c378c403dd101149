// Package exec runs an unmodified program on the bpf(2) of a simulated kernel.
//
// The program is a child process under a seccomp filter: system calls that have to do with BPF are notified to this process, the supervisor,
// which serves them with package bpfsys; all others go to the host. It knows the calls of Linux on amd64 and arm64, the program's memory and
// descriptors, and how waiting is emulated. It does not know what BPF commands do.
//
// The program is not trusted. Its memory is copied once and every length is checked; nothing is written to it without asking whether
// the call is still under way; the host's bpf(2), perf_event_open(2) and uprobe(2) are never reached; files are opened on its behalf from
// the simulated kernel alone.
//
// A descriptor of an object is an open file of a memfd that stands for it: which object a descriptor is follows from the inode, wherever the
// descriptor went by dup, fork or SCM_RIGHTS; inotify and a lock on each open file tell when none is left.
//
// Start at [Run]. On other systems it gives [ErrUnsupported].
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package exec
