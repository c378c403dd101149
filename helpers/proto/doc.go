// Package proto holds the prototypes of the kernel's helpers and kfuncs: argument and return kinds,
// flags, effects, and which programs of which release may call them.
//
// It lists all 211 helpers of the UAPI and every kfunc that the BTF of Linux 7.2 tags, simulated or
// not. It does not know what they do: package helpers implements them, and package verifier checks
// calls against these rows. It imports only uapi.
//
// Start from [Lookup] and [Helper.For], or [LookupKfunc]. [Helpers] and [Kfuncs] list everything.
//
// The rows were made from the kernel's own tables (get_func_proto of each program type, struct
// bpf_func_proto, register_btf_kfunc_id_set) of seven releases: 5.10, 5.15, 6.1, 6.6, 6.12, 6.18
// and 7.2. They are exact for those. Changes in between are dated by the first of these releases
// that has them; backported fixes are dated by the release, not by the stable update. For 6.18 they
// are compared with that kernel's answers (testdata).
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package proto
