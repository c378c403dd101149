// Package check judges BTF as BPF_BTF_LOAD of a release of Linux does, and makes from an object's BTF what libbpf would give to that
// release.
//
// It knows the rules of kernel/bpf/btf.c from 5.10 on: headers, sections and limits, what each kind may look like, whether every
// reference leads to a type that can be resolved, and the special fields (bpf_spin_lock, bpf_list_head, kptrs). What releases
// do differently is one table of facts. It does not read ELF files and does not know programs.
//
// Start from [BTF], which returns a [*Problem] or nil, and [Sanitise].
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package check
