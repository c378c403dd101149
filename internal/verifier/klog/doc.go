// Package klog parses the log of a kernel's verifier as loaders print it: libbpf and bpftool,
// cilium/ebpf, aya, or the plain text of log level 1 or 2.
//
// It knows the format of lines but nothing about programs; package verifier maps a log to a
// program.
package klog
