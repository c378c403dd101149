// Package kernels finds the types of kernels: in files, directories and globs, and by the names of releases ("6.12", "6.12-arm64",
// "debian-6.12.107") on a search path.
//
// It knows how files of types are named and where distributions put them. It does not know what their types mean, and fetches nothing.
//
// Start from [Path.Expand], which is what --btf takes, on [Default]. A [Source] is a kernel that was found; [Path.Add] keeps one in the user's
// own directory.
package kernels
