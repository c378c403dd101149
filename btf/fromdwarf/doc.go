// Package fromdwarf makes BTF of DWARF 2 to 5: types, functions with their parameters, per-CPU and global variables, declaration and
// type tags, of objects, executables, kernels and modules. What it takes and how it is written follows pahole -J.
//
// It decodes DIEs itself, by unit and in parallel, because debug/dwarf makes an object of each and a kernel has tens of millions; and it knows the
// symbols of ELF files. It does not merge equal types (package btf/dedup does).
//
// Start from [Make].
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package fromdwarf
