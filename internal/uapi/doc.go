// Package uapi contains the numbers and names of the kernel's BPF interface: program, map and
// attach types, helper functions, error numbers, flags and verdicts.
//
// Enumerations (enums_gen.go, funcid_gen.go) are generated from the BTF of Linux 7.2 and include
// everything that older kernels define, because the interface only grows. Flags, error numbers and
// verdicts are written by hand, because BTF has no macros. The target's BTF tells which numbers a
// kernel knows.
//
// Constants are named like the kernel's, word by word: BPF_MAP_TYPE_PERCPU_HASH is
// MapTypePercpuHash, BPF_FUNC_ktime_get_ns is FuncKtimeGetNs, BPF_TRACE_FENTRY is
// AttachTraceFentry; only XDP, LSM, LRU and LPM stay in capitals. Start from ProgType, MapType and
// FuncID.
package uapi

import "strconv"

//go:generate go run ./gen

// unknown formats a number without a name.
func unknown(kind string, n int64) string {
	return kind + "(" + strconv.FormatInt(n, 10) + ")"
}
