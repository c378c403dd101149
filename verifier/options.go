package verifier

import "io"

// Options bound and observe a verification. The zero value is what a load has.
type Options struct {
	// Log receives the text of the kernel's log; LogLevel is 1 (states at branches) or 2 (every instruction).
	Log      io.Writer
	LogLevel int
	// Memory bounds what states may take, in bytes; 0 is 1 GiB. What needs more is Unknown.
	Memory int64
	// onInsn, when not nil, is called before each instruction that is processed, and where a path ends at a state that an earlier one
	// covers.
	onInsn func(e *position, pruned bool)
}
