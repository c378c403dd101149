//go:build !linux

package main

import "os"

// wasClosed reports whether standard output was closed when this process began, as far as that can
// be known.
func wasClosed(*os.File) bool { return false }
