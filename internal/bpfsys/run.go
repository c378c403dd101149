package bpfsys

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/machine/finding"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/bpfattr"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// maxRun limits the host time of one run.
const maxRun = 20 * time.Second

// maxTrace limits the unread bytes of bpf_trace_printk.
const maxTrace = 1 << 20

// run runs a program, for a caller if it is a test run, and makes its effects visible to user
// space. The error is the reason why the program did not complete.
func (s *System) run(c Caller, p *Prog, in machine.Input) (*machine.Result, error) {
	res, _, err := s.runs(c, p, in, 1)
	return res, err
}

// errTooLong means that repetitions of a test run were stopped.
var errTooLong = errors.New("the repetitions of a test run took too long and were stopped")

// runs is run for at most n runs of a test run, see [machine.Machine.RunRepeated]; made is how many
// there were.
func (s *System) runs(c Caller, p *Prog, in machine.Input, n int) (res *machine.Result, made int, err error) {
	if c != nil {
		s.closedSockets()
	}
	s.pullAll()
	defer s.pushAll()
	if p.typ == uapi.ProgTypeSyscall && c != nil {
		s.process = process{s: s, Caller: c, m: s.machine, held: true}
		s.machine.SetSyscalls(&s.process)
		defer s.machine.SetSyscalls(nil)
	}
	ctx, stop := context.WithTimeout(context.Background(), maxRun)
	defer stop()
	start := time.Now()
	if made = 1; n > 1 {
		res, made, err = s.machine.RunRepeated(ctx, p.unique, in, n, s.traced, func() error { return s.betweenRuns(c) })
		if errors.Is(err, context.DeadlineExceeded) {
			err = errTooLong
		}
	} else {
		res, err = s.machine.Run(ctx, p.unique, in)
	}
	if err != nil {
		return nil, made, fmt.Errorf("program %s: %w", p.name, err)
	}
	if s.statsOn > 0 {
		p.runs += uint64(made)
		p.nanos += uint64(time.Since(start))
	}
	for _, traced := range res.Traced {
		if err := failure(s.byUnique(traced.Program), traced, s.machine); err != nil {
			s.note("%v", err)
		}
	}
	s.traced(res.Trace)
	p.streamed(res)
	for _, f := range res.Findings {
		s.found(f)
	}
	return res, made, failure(p, res, s.machine)
}

// findingPlace is what a finding is about, whatever it says of this run.
type findingPlace struct {
	kind    finding.Kind
	program string
	insn    int
}

// maxFindings limits what is remembered of findings.
const maxFindings = 1 << 10

// found notes a finding, once for its place.
func (s *System) found(f finding.Finding) {
	at := findingPlace{f.Kind, f.Program, f.Insn}
	if s.findings[at] || len(s.findings) >= maxFindings {
		return
	}
	if s.findings == nil {
		s.findings = map[findingPlace]bool{}
	}
	s.findings[at] = true
	s.note("finding in program %s: %s", s.byUnique(f.Program).name, f)
}

// traced makes lines of bpf_trace_printk readable.
func (s *System) traced(lines []string) {
	for _, line := range lines {
		if len(s.trace.pipe) < maxTrace {
			s.trace.pipe = append(append(s.trace.pipe, line...), '\n')
		}
	}
}

// betweenRuns lets user space see what repeated runs did so far, and interrupt them.
func (s *System) betweenRuns(c Caller) error {
	s.pushAll()
	if c.Interrupted() {
		return uapi.EINTR
	}
	s.pullAll()
	return nil
}

// byUnique returns the program with a name in the machine.
func (s *System) byUnique(name string) *Prog {
	for o := range s.byID[KindProg].All() {
		if p := o.(*Prog); p.unique == name {
			return p
		}
	}
	return &Prog{unique: name}
}

// NotRunError means that a program did not run to completion.
type NotRunError struct {
	Program string
	Status  machine.Status
	Err     error
}

// Error returns the program's name and the reason.
func (e *NotRunError) Error() string {
	return fmt.Sprintf("program %s: %s: %v", e.Program, e.Status, e.Err)
}

// Unwrap returns the reason.
func (e *NotRunError) Unwrap() error { return e.Err }

var errFault = errors.New("it did what the kernel forbids")

func failure(p *Prog, res *machine.Result, m *machine.Machine) error {
	switch {
	case res.Fault != nil:
		return &NotRunError{p.name, res.Status, fmt.Errorf("%w: instruction %d: %w", errFault, res.Fault.Insn, res.Fault.Fault)}
	case !res.Ran:
		err := m.ProgramError(p.unique)
		if err == nil {
			err = errors.New("it was not run")
		}
		return &NotRunError{p.name, res.Status, err}
	}
	return nil
}

// Flags of BPF_PROG_TEST_RUN.
const (
	testOnCPU, testLive, testChecksum = 1, 2, 4
)

const maxRepeat = 1_000_000

func (s *System) testRun(c Caller, a bpfattr.Test) Result {
	ctxIn, ctx := a.CtxSizeIn(), a.CtxIn()
	ctxOut, ctxTo := a.CtxSizeOut(), a.CtxOut()
	if (ctxIn == 0) != (ctx == 0) || (ctxOut == 0) != (ctxTo == 0) {
		return fail(uapi.EINVAL)
	}
	p, _, e := fileOf[*Prog](c, a.ProgFd())
	if e != 0 {
		return fail(e)
	}
	defer s.follow() // timers that the run armed may be due when the call returns
	row := progtype.Of(p.typ)
	tracing := p.typ == uapi.ProgTypeTracing || p.typ == uapi.ProgTypeRawTracepoint
	if p.typ == uapi.ProgTypeStructOps && s.has(since.OpsTestRun) {
		return s.testOps(c, a, p)
	}
	if !row.TestRun && !tracing {
		return fail(uapi.ENOTSUPP)
	}
	in, packet, e := s.testInput(c, a, p, row)
	if e != 0 {
		return fail(e)
	}
	if p.typ == uapi.ProgTypeTracing {
		return s.testTracing(c, a, p)
	}
	if a.Flags()&testLive != 0 {
		return s.testLiveFrames(c, a, p, in)
	}
	repeat := max(a.Repeat(), 1)
	note := ""
	if repeat > maxRepeat {
		repeat, note = maxRepeat, fmt.Sprintf("a test run of %d repetitions was cut to %d", a.Repeat(), maxRepeat)
	}
	in.Current = s.taskOf(c)
	var res *machine.Result
	start := time.Now()
	for i, done := 0, 0; done < int(repeat); i++ {
		if packet {
			if res != nil && res.DataOut != nil && row.Packet == progtype.WritesPacket {
				in.Packet = res.DataOut
			}
		}
		var made int
		var err error
		if res, made, err = s.runs(c, p, in, int(repeat)-done); err != nil {
			return s.testFailed(p, err)
		}
		done += made
		if i%64 == 63 && c.Interrupted() {
			return fail(uapi.EINTR)
		}
		if time.Since(start) > maxRun {
			return s.testFailed(p, errTooLong)
		}
	}
	duration := uint32(min(time.Since(start)/time.Duration(repeat), 1<<31))
	if !a.PutRetval(uint32(res.Ret)) || !a.PutDuration(duration) {
		return fail(uapi.EFAULT)
	}
	r := Result{Note: note}
	if packet {
		r.Errno = give(c, res.DataOut, a.DataOut(), a.DataSizeOut(), a.PutDataSizeOut)
		if r.Val, r.Errno = s.finished(r.Errno); r.Val != 0 {
			return r
		}
	}
	if p.typ == uapi.ProgTypeSyscall && ctx != 0 && len(res.CtxOut) >= int(ctxIn) {
		if !c.Write(ctx, res.CtxOut[:ctxIn]) {
			return fail(uapi.EFAULT)
		}
	} else if res.CtxOut != nil && ctxTo != 0 && r.Errno == 0 {
		r.Errno = give(c, res.CtxOut, ctxTo, ctxOut, a.PutCtxSizeOut)
	}
	return r
}

// give copies a program's output to the caller; if it does not fit, a truncated copy with ENOSPC
// (bpf_test_finish).
func give(c Caller, data []byte, to uint64, room uint32, putSize func(uint32) bool) uapi.Errno {
	e := uapi.Errno(0)
	n := len(data)
	if room != 0 && n > int(room) {
		n, e = int(room), uapi.ENOSPC
	}
	if to != 0 && !c.Write(to, data[:n]) || !putSize(uint32(len(data))) {
		return uapi.EFAULT
	}
	return e
}

// finished fires the tracepoint bpf_test_finish, whose argument points to the result of the test
// run of a packet program: 0 or a negative errno, which programs may replace (bpf_test_finish).
func (s *System) finished(e uapi.Errno) (int64, uapi.Errno) {
	const name = "bpf_test_finish"
	fits := func(h *attachment, _ string) bool { return exactly(h, name) }
	if !slices.ContainsFunc(slices.Collect(s.hooks.All()), func(h *attachment) bool { return fits(h, name) }) {
		return 0, e
	}
	o, err := s.machine.Kernel().NewBuffer("result of the test run", le.AppendUint32(nil, uint32(-int32(e))))
	if err != nil {
		return 0, uapi.ENOMEM
	}
	defer o.Free()
	if _, err := s.phase(Event{Hook: name, Args: map[string]any{"err": o.Addr()}}, func(h *attachment) bool { return fits(h, name) }); err != nil {
		s.note("%v", err)
	}
	n := int32(le.Uint32(o.Bytes()))
	if n < 0 {
		return 0, uapi.Errno(-n)
	}
	return int64(n), 0
}

func (s *System) testFailed(p *Prog, err error) Result {
	if errors.Is(err, errTooLong) {
		return Result{Errno: uapi.EINTR, Note: errTooLong.Error()}
	}
	var not *NotRunError
	if errors.As(err, &not) && not.Status == machine.StatusNotSimulated {
		return Result{Errno: uapi.EOPNOTSUPP, Note: err.Error()}
	}
	var errno uapi.Errno
	if errors.As(err, &errno) {
		return fail(errno)
	}
	return Result{Errno: uapi.EINVAL, Note: err.Error()}
}

// ethHeader is the length of an Ethernet header, which is the shortest packet of a test run.
const ethHeader = 14

// testInput checks the attributes of a test run and reads its packet and context.
func (s *System) testInput(c Caller, a bpfattr.Test, p *Prog, row *progtype.Row) (in machine.Input, packet bool, e uapi.Errno) {
	flags, cpu, size := a.Flags(), a.Cpu(), a.DataSizeIn()
	packet = row.Takes.Has(progtype.TakesPacket) && p.typ != uapi.ProgTypeRawTracepoint
	raw := p.typ == uapi.ProgTypeRawTracepoint
	allowed := uint32(0)
	switch {
	case raw:
		allowed = testOnCPU
	case p.typ == uapi.ProgTypeXDP:
		if s.has(since.XDPLive) {
			allowed = testLive
		}
	case packet && p.typ != uapi.ProgTypeFlowDissector && s.has(since.TestChecksum):
		allowed = testChecksum
	}
	// Raw tracepoints look at neither other flags nor sizes of data (bpf_prog_test_run_raw_tp).
	if flags&^allowed != 0 && !raw || cpu != 0 && flags&testOnCPU == 0 || a.BatchSize() != 0 && flags&testLive == 0 {
		return in, packet, uapi.EINVAL
	}
	if !packet && (!raw && (size != 0 || a.DataSizeOut() != 0) || a.DataIn() != 0 || a.DataOut() != 0 || a.Repeat() != 0 && (raw || !row.Takes.Has(progtype.TakesBytes))) {
		return in, packet, uapi.EINVAL
	}
	if !packet && p.typ == uapi.ProgTypeSyscall && (a.Repeat() != 0 || a.CtxSizeOut() != 0) {
		return in, packet, uapi.EINVAL
	}
	if flags&testOnCPU != 0 {
		if int(cpu) >= s.cpus() {
			return in, packet, uapi.ENXIO
		}
		in.CPU = int(cpu)
	}
	if packet {
		const most = uapi.PageSize - 256 - 320 // headroom and skb_shared_info use the rest of the page
		if size == 0 {
			return in, packet, uapi.EINVAL
		}
		if flags&testLive != 0 {
			if e := checkLive(a, most); e != 0 {
				return in, packet, e
			}
		}
		// The context's maker knows the limits of each type; one byte more than all of them is as
		// good as any length.
		in.Packet = make([]byte, min(size, hook.MostTestPacket+1))
		if !c.Read(a.DataIn(), in.Packet) {
			// The length is looked at first (bpf_test_init).
			if size < ethHeader && (p.typ != uapi.ProgTypeXDP || s.has(since.TestEthernetHeader)) {
				return in, packet, uapi.EINVAL
			}
			return in, packet, uapi.EFAULT
		}
	}
	in.Net.TestRun = true
	if n := a.CtxSizeIn(); n > 0 {
		if n > 64<<10 {
			return in, packet, uapi.E2BIG
		}
		in.Context = make([]byte, n) // a struct's length is checked when the context is made
		if !c.Read(a.CtxIn(), in.Context) {
			return in, packet, uapi.EFAULT
		}
	} else if row.Context != nil && row.Context.Kernel == "sk_buff" && a.CtxOut() != 0 {
		in.Context = make([]byte, row.Context.Size) // a context of zeros, as bpf_ctx_init makes it: wire_len is then the packet's length
	}
	return in, packet, 0
}
