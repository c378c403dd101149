// Package check checks BTF as BPF_BTF_LOAD of a Linux release does, and rewrites an object's BTF as
// libbpf does for that release.
//
// It knows the rules of kernel/bpf/btf.c from 5.10 on: headers, sections and limits, the encoding
// of each kind, whether every reference resolves, and the special fields (bpf_spin_lock,
// bpf_list_head, kptrs). The rows of internal/uapi/since hold the differences between releases. It
// does not read ELF files or programs.
//
// Start at [BTF], which returns a [*Problem] or nil, and [Sanitise].
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package check
