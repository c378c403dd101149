// Package maps implements the BPF map types of the simulated kernel.
//
// It knows what a map of each type accepts at creation, what its operations do and which error they
// return. Values are in the simulated memory of package mem, where programs can access them, each
// with its own bounds. It does not know helpers, programs or user space tools: a helper determines
// which operation a program requested and calls it here, and what a file descriptor would refer to
// (a program, a cgroup, a socket, another map) is passed as a Go value.
//
// Start from [Env] (one per machine), [New] and [Map]. Operations of particular types are the small
// interfaces in iface.go ([RingBuffer], [PerfArray], [Queue], [OuterMap], ...). The bpf(2) element
// commands, whose semantics differ from those of the helpers, are the functions User* in user.go.
//
// # Rules
//
// Rules come from kernel/bpf of Linux 6.18 and are compared with the running kernel by
// kernel_test.go, operation by operation. Where the kernel is not deterministic, this package is:
//
//   - Iteration (NextKey, Walk) over hashes is in slot order, which is insertion order as long as nothing is deleted.
//     Entries is always sorted by key bytes.
//   - Hash maps without BPF_F_NO_PREALLOC reuse the slot of a deleted element at once, last freed first, and keep one
//     spare slot per CPU for replacing an existing element, as the kernel does: a program that still holds the old
//     pointer sees the old or a reused value. Maps with BPF_F_NO_PREALLOC delay the reuse. At the end of a run
//     ([Env.EndRun]) deleted elements are marked freed in memory, and later accesses through a pointer to them fault.
//   - LRU maps evict exactly the least recently used element, one at a time, and hold exactly max_entries. The kernel
//     approximates: it evicts in batches, keeps per-CPU free lists, and may evict an element that was used more recently,
//     even for an update of an existing key. A use is a lookup or update by a program, or an update (but not a lookup) by
//     user space.
//   - Ring buffers, perf buffers and user ring buffers belong to a simulated user space that consumes
//     everything at the end of every run ([ConsumeEachRun]), unless [Env.Consume] says otherwise.
//
// A Map and its Env belong to one machine and are not safe for concurrent use.
package maps
