// Package klog reads the log of a kernel's verifier as loaders print it: libbpf and bpftool, cilium/ebpf, aya, or the bare text of
// log level 1 or 2.
//
// It knows the forms of lines and nothing of programs; package verifier finds the place in one.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package klog
