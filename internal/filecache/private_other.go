//go:build !unix

package filecache

// private reports whether others cannot put entries into a directory; here the user's profile protects it.
func private(string) bool { return true }
