// Package proto holds the prototypes of the kernel's helpers and kfuncs: argument and return kinds,
// flags, effects, and which programs of which release may call them.
//
// It lists all 211 helpers of the UAPI and every kfunc that the BTF of Linux 7.2 tags, simulated or
// not. It does not know what they do: package helpers implements them, and package verifier checks
// calls against these rows. It imports only uapi.
//
// Start from [Lookup] and [Helper.For], or [LookupKfunc]. [Helpers] and [Kfuncs] list everything.
//
// The rows were compared with the kernel's own tables (get_func_proto of each program type, struct
// bpf_func_proto, register_btf_kfunc_id_set, bpf_prog_type_to_kfunc_hook) of [Releases], which are
// all from 5.10 on but 5.13, 6.15 and 6.16. What changed beside those three is dated from memory.
// A release is its last update: a fix that was brought to 6.6.54 is one of 6.6. For 6.18 the rows
// are compared with that kernel's answers (testdata).
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package proto
