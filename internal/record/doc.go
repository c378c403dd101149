// Package record turns what really happened into files of events: the output of strace, perf
// script, bpftrace and ftrace, and captured packets.
//
// A [Recorder] takes [Event]s and writes the lines of a file that bpfrun exec replays. [Read] finds
// out what its input is and parses it; what a line says that an event cannot (memory behind
// pointers, names of constants that are not known) is left out and counted. [Redaction] replaces
// private data before anything is written.
//
// Parsers keep one line and, for each process, one unfinished call: memory does not follow the
// length of the input.
package record
