// Package btffile reads BTF from files as distributions and archives ship it: raw, in an ELF file, compressed, in
// a tar archive, a kernel image or a Debian package. It knows containers and a cache of what was in them; what BTF means it leaves to package btf.
//
// Start from [Load], or from [Cache] where the same compressed files are read again and again.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package btffile
