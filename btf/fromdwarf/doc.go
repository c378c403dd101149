// Package fromdwarf converts DWARF 2 to 5 to BTF: types, functions with their parameters, per-CPU
// and global variables, and declaration and type tags, of object files, executables, kernels and
// modules. Its output follows pahole -J.
//
// It decodes DIEs itself, unit by unit and in parallel, because debug/dwarf allocates an object for
// each and a kernel has tens of millions. It uses the ELF symbols as well. It does not merge equal
// types; package btf/dedup does.
//
// Start at [Make].
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package fromdwarf
