//go:build !linux || !(amd64 || arm64)

package exec

// Run gives ErrUnsupported on this system.
func Run(Config) (int, error) { return 0, ErrUnsupported }

// Child reports whether this process is the child of a supervisor, which no process on this system is.
func Child([]string) bool { return false }
