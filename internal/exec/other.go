//go:build !linux || !(amd64 || arm64)

package exec

// Run returns ErrUnsupported: this system cannot run tools under a supervisor.
func Run(Config) (int, error) { return 0, ErrUnsupported }

// Child returns false: no process on this system is the child of a supervisor.
func Child([]string) bool { return false }
