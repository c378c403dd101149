package bpftest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/packet"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Program is a program of an object. Get it with [Object.Program].
type Program struct {
	o    *Object
	name string
}

// Program returns a program by name. If the object has no such program, the test ends.
func (o *Object) Program(name string) *Program {
	o.t.Helper()
	if !slices.Contains(o.m.Names(), name) {
		o.fail(unknown("program", name, o.m.Names()))
	}
	return &Program{o, name}
}

// Name returns the program's name.
func (p *Program) Name() string { return p.name }

// Reasons why a program cannot run, for [errors.Is] on the errors of [Program.Err] and
// [Program.TryRun].
var (
	// ErrAbsent: the kernel does not have the program's hook.
	ErrAbsent = errors.New("the kernel does not have the program's hook")
	// ErrRefused: the kernel would refuse to load the program.
	ErrRefused = errors.New("the kernel would not load it")
	// ErrNotSimulated: the program needs something that is not simulated.
	ErrNotSimulated = errors.New("not simulated")
	// ErrDisabled: the program was not loaded, because it is optional or excluded by [Without] or
	// [Only].
	ErrDisabled = errors.New("not loaded")
)

var reasons = map[machine.Status]error{
	machine.StatusAbsent: ErrAbsent, machine.StatusRefused: ErrRefused, machine.StatusNotSimulated: ErrNotSimulated, machine.StatusDisabled: ErrDisabled,
}

// NotRunError explains why a program was not run.
type NotRunError struct {
	Program string
	// Kernel is the target's name.
	Kernel string
	// Reason is one of ErrAbsent, ErrRefused, ErrNotSimulated and ErrDisabled; Err has the details.
	Reason, Err error
}

// Error names the program, the kernel, the reason and the details.
func (e *NotRunError) Error() string {
	text := fmt.Sprintf("program %s on %s: %v", e.Program, e.Kernel, e.Reason)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the reason and the details.
func (e *NotRunError) Unwrap() []error { return []error{e.Reason, e.Err} }

// Err returns nil if the program can run on this kernel, else a [*NotRunError]. A test that runs on
// several kernels may skip those without the hook:
//
//	if errors.Is(prog.Err(), bpftest.ErrAbsent) {
//		t.Skip(prog.Err())
//	}
func (p *Program) Err() error {
	status, err := p.o.m.ProgramStatus(p.name)
	return p.notRun(status, err)
}

func (p *Program) notRun(status machine.Status, err error) error {
	if reason := reasons[status]; reason != nil {
		return &NotRunError{p.name, p.o.k.Name(), reason, err}
	}
	return nil
}

// Input is the input of a run. The zero value gives the default context of the program's type.
type Input struct {
	// Packet is the packet for XDP, tc and other networking programs, starting with its Ethernet
	// header (for cgroup_skb, with its IP header). [Object.Packet] builds one.
	Packet []byte
	// Args are arguments of the traced function, system call or hook, or fields of the tracepoint's
	// record, by name; ret is the return value in exit probes. Values are as for [Fields]: []byte
	// and strings for pointers are placed in memory, and Fields create a struct for a pointer to
	// one.
	Args Fields
	// Context is the context of a syscall program, as a Go value or bytes, or the ctx_in of a
	// networking program in the form BPF_PROG_TEST_RUN accepts.
	Context any
	// Fields are fields of the context of networking and cgroup programs, such as mark or
	// user_port, by name.
	Fields map[string]uint64
	// Current is the task the program runs in; nil means a default task.
	Current *Struct
	// Socket is the struct sock that a networking program runs for; NoSocket runs it without one.
	Socket   *Struct
	NoSocket bool
	// CPU is the CPU that the program runs on.
	CPU int
	// Cookie is the attach cookie (bpf_get_attach_cookie).
	Cookie uint64
	// Helpers overrides calls of helpers and kfuncs, by name.
	Helpers map[string]Answer
	// Settle is simulated time that passes after the program has returned. Callbacks of timers and
	// work queues that become due belong to the run.
	Settle time.Duration
}

// Answer is what a helper call returns instead of being executed.
type Answer struct {
	at     int
	values []uint64
	errno  string
}

// Returns answers successive calls with these values; the last one repeats.
func Returns(values ...int64) Answer {
	a := Answer{values: make([]uint64, len(values))}
	for i, v := range values {
		a.values[i] = uint64(v)
	}
	return a
}

// Fails answers calls with an error by its Linux name, such as "ENOENT": the helper returns the
// negative number.
func Fails(errno string) Answer { return Answer{errno: errno} }

// At answers one call of the run only, counted from 1; all others are executed.
func (a Answer) At(call int) Answer {
	a.at = call
	return a
}

func (a Answer) override() (machine.Override, error) {
	if a.errno != "" {
		e, ok := uapi.ParseErrno(a.errno)
		if !ok {
			return machine.Override{}, fmt.Errorf("Fails(%q): want the name of an error, such as ENOENT", a.errno)
		}
		return machine.Fails(a.at, e), nil
	}
	if len(a.values) == 0 || a.at < 0 {
		return machine.Override{}, errors.New("want Returns(value...) or Fails(errno); calls count from 1")
	}
	return machine.Override{FailAt: a.at, Returns: a.values}, nil
}

// Packet builds a packet from an expression such as
// "eth/ip(src=10.0.0.1)/tcp(dport=80,flags=S)/'GET /'", from hex digits, or from @FILE with a
// packet or a capture (@capture.pcap#3). Lengths and checksums are filled in. docs/packets.md
// describes the expressions.
func (o *Object) Packet(expression string) []byte {
	o.t.Helper()
	b, err := packet.Load(expression, "")
	if err != nil {
		o.fail(fmt.Errorf("packet: %w", err))
	}
	return b
}

// Result is the outcome of a run.
type Result struct {
	// Program is the program's name.
	Program string
	// Ret is the return value the kernel uses: the low 32 bits of R0.
	Ret int32
	// R0 is the full register.
	R0 uint64
	// Records are what the program sent to user space through ring and perf buffers, in order.
	Records []Record
	// Packet is the packet after the run, starting with its Ethernet header; nil if there is none.
	Packet []byte
	// Context is the context after the run if programs can write it, else nil.
	Context []byte
	// Trace lists the lines printed with bpf_printk.
	Trace []string
	// Output is what an iterator wrote.
	Output string
	// Effects are the program's effects outside its maps, in order: signals, redirects, overridden
	// return values.
	Effects []Effect
	// Calls counts the calls of helpers and kfuncs by name.
	Calls map[string]int
	// Instructions is the number of instructions executed.
	Instructions uint64
	// Warnings are possible problems: fields that were read but never set, calls whose result was
	// assumed.
	Warnings []string
	// Findings are what is wrong whatever the program is meant to do, such as a checksum that it
	// broke ("packet: ip.csum is wrong ...").
	Findings []string
	// Fault is the reason why the program was stopped, or nil if it returned.
	Fault *Fault

	o   *Object
	typ uapi.ProgType
}

// Effect is one effect of a program outside its maps.
type Effect struct {
	// Kind is one word: signal, redirect, override-return and others; see effects in
	// docs/scenarios.md.
	Kind string
	// Number is the signal, the interface index or the return value.
	Number uint64
	Detail string
}

// Verdict returns the name of the return value, such as XDP_DROP, or the number if the program's
// type has no names.
func (r *Result) Verdict() string {
	if name := progtype.VerdictName(r.typ, r.Ret); name != "" {
		return name
	}
	return fmt.Sprint(r.Ret)
}

// Run runs the program once. Without input the program gets the default context of its type. A
// fault, or a program that cannot run, fails the test with the source line and the command that
// opens the debugger there. Input that does not fit the program ends the test.
func (p *Program) Run(in ...Input) *Result {
	p.o.t.Helper()
	res, err := p.TryRun(in...)
	switch {
	case res == nil:
		p.o.fail(err)
	case err != nil:
		p.o.t.Errorf("%s", p.o.failure(p, err, in))
	}
	return res
}

// TryRun is [Program.Run] for tests that expect a failure. The error is a [*Fault], with the result
// up to the fault, or a [*NotRunError], with an empty result. For input that does not fit the
// program it is another error, and the result is nil.
func (p *Program) TryRun(in ...Input) (*Result, error) {
	var one Input
	switch len(in) {
	case 0:
	case 1:
		one = in[0]
	default:
		return nil, fmt.Errorf("Run(%s): got %d inputs, want at most one", p.name, len(in))
	}
	if err := p.Err(); err != nil {
		return &Result{Program: p.name, o: p.o}, err
	}
	mi, err := p.input(one)
	if err != nil {
		return nil, fmt.Errorf("program %s: %w", p.name, err)
	}
	res, err := p.o.m.Run(context.Background(), p.name, mi)
	if err != nil {
		return nil, fmt.Errorf("program %s: %w", p.name, err)
	}
	out := p.o.result(res)
	lp, _ := p.o.m.Linked().Program(p.name)
	out.typ = lp.Type
	switch {
	case out.Fault != nil:
		return out, out.Fault
	case res.Status == machine.StatusUnknownHook:
		out.Warnings = append(out.Warnings, fmt.Sprint(p.o.m.ProgramError(p.name)))
	case !res.Ran:
		return out, p.notRun(res.Status, p.o.m.ProgramError(p.name))
	}
	return out, nil
}

// Advance advances simulated time and runs the callbacks of timers and work queues that become due.
// The result contains what was sent to user space meanwhile. A fault in a callback fails the test.
func (o *Object) Advance(d time.Duration) *Result {
	o.t.Helper()
	res, err := o.m.Settle(context.Background(), d)
	o.fail(err)
	out := o.result(res)
	if out.Fault != nil {
		o.t.Errorf("bpftest: a callback while time passed:\n%v", out.Fault)
	}
	return out
}

func (o *Object) result(res *machine.Result) *Result {
	out := &Result{
		Program: res.Program, Ret: int32(res.Ret), R0: res.Ret, Packet: res.PacketOut, Context: res.CtxOut, Trace: res.Trace, Output: res.Output,
		Calls: res.Helpers, Instructions: res.Insns, Warnings: res.Warnings, o: o,
	}
	for _, e := range res.Events {
		out.Records = append(out.Records, Record{Map: e.Map, CPU: e.CPU, Data: e.Data, o: o})
	}
	for _, f := range res.Findings {
		out.Findings = append(out.Findings, f.String())
	}
	for _, e := range res.Effects {
		out.Effects = append(out.Effects, Effect{e.Kind.String(), e.Number, e.Detail})
	}
	if res.Fault != nil {
		out.Fault = newFault(res.Fault, o.k.Name())
	}
	return out
}

// input converts the input for the machine and checks that it fits.
func (p *Program) input(in Input) (mi machine.Input, err error) {
	m := p.o.m
	lp, _ := m.Linked().Program(p.name)
	takes := progtype.Of(lp.Type).Takes
	if in.CPU < 0 || in.CPU >= m.Kernel().CPUs() {
		return mi, fmt.Errorf("CPU %d: the kernel has %d CPUs, numbered from 0", in.CPU, m.Kernel().CPUs())
	}
	if in.Packet != nil && !takes.Has(progtype.TakesPacket) {
		return mi, fmt.Errorf("Packet: programs of type %v take no packet", lp.Type)
	}
	if in.Cookie != 0 && !takes.Has(progtype.TakesCookie) {
		return mi, fmt.Errorf("Cookie: programs of type %v have no attach cookie", lp.Type)
	}
	mi = machine.Input{CPU: in.CPU, Packet: in.Packet, Cookie: in.Cookie, Settle: in.Settle}
	mi.Net.Fields, mi.Net.NoSocket = in.Fields, in.NoSocket
	if in.Socket != nil {
		mi.Net.Socket = in.Socket.obj
		if _, err := m.Kernel().SocketOf(in.Socket.obj); err != nil {
			return mi, fmt.Errorf("Socket: %w", err)
		}
	}
	if in.Current != nil {
		if in.Current.Type() != "task_struct" {
			return mi, fmt.Errorf("Current is a %s, want a task_struct", in.Current.Type())
		}
		mi.Current = in.Current.obj
	}
	if mi.Context, err = p.context(in.Context); err != nil {
		return mi, err
	}
	for _, name := range slices.Sorted(maps.Keys(in.Helpers)) {
		if _, isHelper := uapi.ParseFuncID(name); !isHelper && !slices.Contains(m.Calls(p.name), name) {
			return mi, unknown("helper", name, m.Calls(p.name))
		}
		over, err := in.Helpers[name].override()
		if err != nil {
			return mi, fmt.Errorf("Helpers[%s]: %w", name, err)
		}
		if mi.Overrides == nil {
			mi.Overrides = map[string]machine.Override{}
		}
		mi.Overrides[name] = over
	}
	return mi, p.arguments(in.Args, &mi)
}

// leastContext is the minimum size of a syscall program's context, in bytes.
const leastContext = 64

func (p *Program) context(v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case []byte:
		return v, nil
	}
	size, err := sizeOf("Context", v)
	if err != nil {
		return nil, err
	}
	b, err := marshal("Context", v, size, p.o.order())
	if err != nil {
		return nil, err
	}
	return append(b, make([]byte, max(leastContext-len(b), 0))...), nil
}

// arguments checks the names against the program's context and builds the values.
func (p *Program) arguments(args Fields, mi *machine.Input) error {
	if len(args) == 0 {
		return nil
	}
	m := p.o.m
	probe := *mi
	if call, ok := args["call"].(string); ok { // it determines the arguments
		probe.Args = map[string]any{"call": call}
	}
	c, err := m.Inspect(p.name, probe)
	if err != nil {
		return err
	}
	typed := map[string]hook.Arg{}
	for _, a := range c.Args {
		typed[a.Name] = a
	}
	var names []string
	takes := map[string]bool{}
	for name := range args {
		takes[name] = c.TakesArg(name)
	}
	names = c.ArgNames()
	if c.Iterates() {
		err = errors.New("Args: an iterator takes no arguments")
	}
	c.Leave()
	c.Free()
	if err != nil {
		return err
	}
	mi.Args = map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if !takes[name] {
			return unknown("argument", name, names)
		}
		if mi.Args[name], err = p.argument(name, args[name], typed); err != nil {
			return fmt.Errorf("argument %s: %w", name, err)
		}
	}
	return nil
}

func (p *Program) argument(name string, v any, typed map[string]hook.Arg) (any, error) {
	arg, isArg := typed[name]
	k := p.o.m.Kernel()
	switch v := v.(type) {
	case Fields:
		if !isArg {
			break
		}
		obj, err := k.PointeeOf(name, &arg)
		if err != nil {
			return nil, err
		}
		for _, field := range slices.Sorted(maps.Keys(v)) {
			x, err := kernelValue(v[field])
			if err == nil {
				err = obj.Set(field, x)
			}
			if err != nil {
				return nil, err
			}
		}
		return obj, nil
	case []byte:
		if isArg {
			return k.NewBytes(name, v)
		}
	}
	return kernelValue(v)
}

// failure describes why a run failed and how to debug it.
func (o *Object) failure(p *Program, err error, in []Input) string {
	var b strings.Builder
	fmt.Fprintf(&b, "bpftest: %s, program %s on %s\n", o.m.Linked().Object.Name, p.name, o.k.Name())
	fmt.Fprintf(&b, "%v", err)
	if f := (*Fault)(nil); !errors.As(err, &f) {
		return b.String() // there is nothing to step through
	}
	var one Input
	if len(in) > 0 {
		one = in[0]
	}
	fmt.Fprintf(&b, "\ndebug it: %s", o.debugLine(p, one))
	return b.String()
}
