package verifier

import "io"

// Options limit and observe a verification. The zero value is suitable for a normal load.
type Options struct {
	// Log receives the text of the kernel's log; LogLevel is 1 (states at branches) or 2 (every instruction).
	Log      io.Writer
	LogLevel int
	// Memory limits the memory for states, in bytes; 0 is 1 GiB. A program that needs more is Unknown.
	Memory int64
	// onInsn, if not nil, is called before each processed instruction, and where a path ends because an earlier state
	// covers it.
	onInsn func(e *position, pruned bool)
}
