// Package btffile reads BTF from files as distributions and archives ship it: raw, in an ELF file,
// compressed, in a tar archive, a kernel image or a Debian package. It handles containers and a
// cache of their contents; package btf parses the BTF.
//
// Start at [Load], or at [Cache] when the same compressed files are read repeatedly.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package btffile
