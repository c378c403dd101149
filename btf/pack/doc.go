// Package pack reads and writes archives of the BTF of many kernels, in which what kernels have in
// common is stored once: a struct that has not changed between releases, although the ids of the
// types that it refers to have.
//
// A kernel that is read from an archive is equal to the one that was added, byte for byte. The
// format is described in docs/kernels.md.
//
// Start at [Open], or at [NewWriter]. The package knows BTF as words and strings; it does not know
// files, releases, or what types mean.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package pack
