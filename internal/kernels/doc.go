// Package kernels finds the types of kernels: in files, directories and globs, and by release
// ("6.12", "6.12-arm64", "debian-6.12.107") on a search path.
//
// It knows how type files are named and where distributions install them. It does not interpret
// types and downloads nothing.
//
// Start at [Path.Expand], which resolves --btf, with [Default]. A [Source] is a kernel that was
// found; [Path.Add] stores one in the user's own directory.
package kernels
