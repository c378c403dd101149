package verifier

import "io"

// Options limit and observe a verification. The zero value is suitable for a normal load.
type Options struct {
	// Log receives the text of the kernel's log; LogLevel is 1 (states at branches) or 2 (every
	// instruction).
	Log      io.Writer
	LogLevel int
	// Stats adds the kernel's figures of the whole verification to the end of the log
	// (BPF_LOG_STATS), at level 0 too.
	Stats bool
	// Emptied, if not nil, makes the log that of a load: a kernel empties it at level 1 when a
	// function was verified, and calls of Emptied say where (do_check_common, bpf_vlog_reset).
	// Without it the log keeps how a program passed.
	Emptied func()
	// Memory limits the memory for states, in bytes; 0 is 1 GiB. A program that needs more is
	// Unknown.
	Memory int64
	// Costs, if not nil, is filled with what the verification cost.
	Costs *Costs
	// Opened, if not nil, is called when an instruction loads one of the numbers in [Map.Open].
	Opened func(insn int, m *Map, o *Open)
	// onInsn, if not nil, is called before each processed instruction, and where a path ends
	// because an earlier state covers it.
	onInsn func(e *position, pruned bool)
	// follow, if not nil, makes the exploration that of one run.
	follow *follower
}
