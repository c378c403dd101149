package sched

import "strings"

// Operations that describe the scheduler when an error ends it.
const (
	OpDump     Op = "dump"
	OpDumpCPU  Op = "dump_cpu"
	OpDumpTask Op = "dump_task"
)

// DumpArgs is struct scx_dump_ctx.
type DumpArgs struct {
	Exit *Exit
	At   uint64 // simulated time, in nanoseconds
}

// dumping is what operations that describe the scheduler write (struct scx_dump_data).
type dumping struct {
	prefix string
	begun  bool   // the operation has written a line
	line   string // not ended yet
	out    strings.Builder
}

// maxLine is the length of what one call of such an operation may leave without a newline (struct
// scx_bstr_buf).
const maxLine = 1024

// dump is scx_dump_state after an error: the scheduler describes itself, its CPUs, beginning with
// the one where the error happened, and their tasks. The text is what its operations write; the
// kernel puts its own findings between.
func (s *Sim) dump() {
	if !s.exit.Failed() || !s.ready {
		return
	}
	s.dumping = &dumping{}
	defer func() { s.dumping = nil }()
	args := DumpArgs{s.exit, s.Now()}
	s.describe(nil, "", OpDump, args)
	s.dumpCPU(s.cpus[s.exit.CPU], args)
	for _, c := range s.cpus {
		if c.id != s.exit.CPU {
			s.dumpCPU(c, args)
		}
	}
	s.exit.Dump = s.dumping.out.String()
}

// dumpCPU is scx_dump_cpu.
func (s *Sim) dumpCPU(c *rq, args DumpArgs) {
	idle := c.list.n == 0 && c.curr == nil
	s.describe(c, "  ", OpDumpCPU, args, s.cpuArg(c.id), idle)
	if c.curr != nil && c.curr.Class == Ext {
		s.describe(c, "    ", OpDumpTask, args, c.curr)
	}
	for t := c.list.first; t != nil; t = c.list.after(t) {
		s.describe(c, "    ", OpDumpTask, args, t)
	}
}

// describe calls an operation; what it writes gets a prefix.
func (s *Sim) describe(c *rq, prefix string, op Op, args ...any) {
	s.dumping.prefix, s.dumping.begun = prefix, false
	s.call(c, op, args...)
	s.dumping.flush()
}

// Dump is scx_bpf_dump; other operations than those that describe the scheduler may not call it.
func (s *Sim) Dump(text string) {
	d := s.dumping
	if d == nil {
		s.errorf("scx_bpf_dump() must only be called from ops.dump() and friends")
		return
	}
	d.line += text
	if d.line = d.line[:min(len(d.line), maxLine)]; len(d.line) == maxLine || strings.HasSuffix(d.line, "\n") {
		d.flush()
	}
}

// flush is ops_dump_flush: each line gets the prefix, the last one is ended, and an empty one comes
// before the first of an operation.
func (d *dumping) flush() {
	if d.line == "" {
		return
	}
	if !d.begun {
		d.begun = true
		d.out.WriteByte('\n')
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(d.line, "\n"), "\n") {
		d.out.WriteString(d.prefix + line + "\n")
	}
	d.line = ""
}
