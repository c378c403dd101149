// Package exec runs an unmodified user-space tool on the bpf(2) of a simulated kernel.
//
// The tool is a child process under a seccomp filter: system calls that concern BPF are notified to
// this process, the supervisor, which serves them with package bpfsys; all others go to the host.
// The package knows the system calls of Linux on amd64 and arm64, the tool's memory and
// descriptors, and how to emulate blocking calls. It does not know what BPF commands do.
//
// The tool is not trusted. Its memory is copied once and every length is checked; nothing is
// written to it before checking that the call is still pending; the host's bpf(2),
// perf_event_open(2) and uprobe(2) are never reached; files are opened on the tool's behalf only
// from the simulated kernel.
//
// A descriptor of an object is an open file of a memfd that stands for the object. The inode
// identifies the object, wherever the descriptor went by dup, fork or SCM_RIGHTS; inotify and a
// lock on each open file tell when none is left.
//
// Start at [Run]. On other systems it returns [ErrUnsupported].
package exec
