package device

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/endian"
	"github.com/bpfrun/bpfrun/internal/exitcode"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/subsys/drive"
	"github.com/bpfrun/bpfrun/internal/subsys/hid"
	"github.com/bpfrun/bpfrun/loader"
)

const (
	opsType   = "hid_bpf_ops"
	probeType = "hid_bpf_probe_args"
)

// HID is a device with the programs of a machine. Create it with [New].
type HID struct {
	*hid.Device
	// Probed means that the object has a probe program, and Accepted that it took the device (or
	// that there is none).
	Probed, Accepted bool
	ProbeReturned    int32
	// Attached names the struct_ops maps that are attached, Left those that are not and why.
	Attached []string
	Left     map[string]string
	// Results are the runs of all programs, in order.
	Results []*machine.Result
	// Answers are the results of the events that user space made.
	Answers []Answer
	// Trace follows the programs of further events; nil runs them at full speed.
	Trace machine.Tracer

	m *machine.Machine
}

// Answer is what a request of user space returned.
type Answer struct {
	Event Event
	Ret   int32
	Data  []byte
}

// EventKind is what happens to a device.
type EventKind uint8

// Kinds of events.
const (
	Input  EventKind = iota // the device sends a report
	Get                     // user space asks for a report
	Set                     // user space sets a report
	Output                  // user space sends an output report
)

// String names the kind as scenario files do.
func (k EventKind) String() string { return [...]string{"input", "get", "set", "output"}[k] }

// Event is one thing that happens.
type Event struct {
	Kind EventKind
	Type hid.ReportType // of Get and Set
	// Data is the report, which begins with its id if it has one; of Get, the id and as many bytes
	// as are asked for.
	Data  []byte
	After time.Duration // simulated time that passes before
}

// Uses reports whether the object has programs for HID devices.
func Uses(l *loader.Linked) bool { return len(Programs(l)) > 0 }

// Programs names the programs for HID devices: members of struct hid_bpf_ops, and the program that
// accepts a device.
func Programs(l *loader.Linked) []string {
	var out []string
	ops := false
	for _, s := range l.StructOps {
		if btf.EssentialName(s.Map.StructOps.TypeName) == opsType {
			for _, mem := range s.Map.StructOps.Members {
				if mem.Prog != "" && !slices.Contains(out, mem.Prog) {
					out = append(out, mem.Prog)
				}
			}
			ops = true
		}
	}
	if p := probeProgram(l); p != "" && ops {
		out = append(out, p)
	}
	return out
}

// probeProgram returns the syscall program that is asked whether the object is for a device.
func probeProgram(l *loader.Linked) string {
	for _, lp := range l.Programs {
		if progtype.Of(lp.Type).Context.Layout == progtype.BytesLayout && machine.ContextStruct(l.Object.BTF, lp.FuncType) == probeType {
			return lp.Name
		}
	}
	return ""
}

// New connects a device, asks the object's probe program, attaches the object's struct_ops maps,
// and connects the device anew with its fixed descriptor. answers are the device's feature reports
// by id. A device that the probe does not accept gets no programs unless force is true.
func New(ctx context.Context, m *machine.Machine, info hid.Info, force bool, answers map[uint8][]byte) (*HID, error) {
	d, err := m.Kernel().HID.Add(info)
	if err != nil {
		return nil, err
	}
	h := &HID{Device: d, Accepted: true, Left: map[string]string{}, m: m}
	for id, data := range answers {
		d.SetReport(hid.FeatureReport, id, data)
	}
	if err := m.Kernel().HID.ProbeDevice(d); err != nil {
		return nil, err
	}
	if err := h.probe(ctx); err != nil {
		return h, err
	}
	if h.Accepted || force {
		h.attach()
	}
	return h, h.reconnect(ctx)
}

// probe runs the object's probe program on the device's descriptor.
func (h *HID) probe(ctx context.Context) error {
	name := probeProgram(h.m.Linked())
	if name == "" {
		return nil
	}
	const room, retval = hid.MaxDescriptor, 8 + hid.MaxDescriptor
	order := h.m.Memory().ByteOrder()
	args := make([]byte, retval+4)
	endian.PutUint(order, args[0:4], uint64(h.ID))
	endian.PutUint(order, args[4:8], uint64(len(h.Descriptor)))
	copy(args[8:8+room], h.Descriptor)
	res, err := h.run(ctx, name, machine.Input{Context: args})
	if err != nil {
		return err
	}
	if res.Ran && res.Fault == nil && len(res.CtxOut) >= retval+4 {
		h.Probed, h.ProbeReturned = true, int32(uint32(endian.Uint(order, res.CtxOut[retval:retval+4])))
		h.Accepted = h.ProbeReturned == 0
	}
	return nil
}

// attach attaches the struct_ops maps whose programs all load, in the order of the object.
func (h *HID) attach() {
	const before = 1 << 3 // BPF_F_BEFORE
	for _, s := range h.m.Linked().StructOps {
		if btf.EssentialName(s.Map.StructOps.TypeName) != opsType {
			continue
		}
		name := s.Map.Name
		o := &hid.Ops{Name: name, Programs: map[string]string{}, Entries: map[string]uint64{}}
		for _, mem := range s.Map.StructOps.Members {
			if mem.Name == "flags" && int(mem.Off)+4 <= len(s.Map.StructOps.Data) {
				o.Before = endian.Uint(h.m.Memory().ByteOrder(), s.Map.StructOps.Data[mem.Off:mem.Off+4])&before != 0
			}
			if mem.Prog == "" {
				continue
			}
			entry, ok := h.m.Entry(mem.Prog)
			if !ok {
				h.Left[name] = fmt.Sprintf("program %s cannot run", mem.Prog)
			}
			o.Programs[mem.Name], o.Entries[mem.Name] = mem.Prog, entry
		}
		if s.Err != nil {
			h.Left[name] = s.Err.Error()
		}
		if h.Left[name] != "" {
			continue
		}
		if errno := h.Device.Attach(o); errno != 0 {
			h.Left[name] = "the kernel refuses to attach it: " + errno.Error()
			continue
		}
		h.Attached = append(h.Attached, name)
	}
}

// reconnect fixes the descriptor and parses it, as the kernel does when programs with a fixup are
// attached.
func (h *HID) reconnect(ctx context.Context) error {
	bus := h.m.Kernel().HID
	w, err := bus.Fixup(h.Device)
	if err != nil {
		return err
	}
	if w != nil {
		if err := h.walk(ctx, w); err != nil {
			return err
		}
		w.EndFixup()
	}
	return bus.ProbeDevice(h.Device)
}

// walk runs the programs of a call.
func (h *HID) walk(ctx context.Context, w *hid.Walk) error {
	for {
		o, more := w.Next()
		if !more {
			return nil
		}
		res, err := h.run(ctx, o.Programs[w.Member], machine.Input{Values: w.Values()})
		if err != nil {
			return err
		}
		if res.Fault != nil || !res.Ran {
			return &FaultError{Result: res}
		}
		w.Returned(int32(uint32(res.Ret)))
	}
}

// FaultError means that a program of the device faulted; nothing more happens to the device.
type FaultError struct{ Result *machine.Result }

// Error names the program.
func (e *FaultError) Error() string {
	return "program " + e.Result.Program + " of the device stopped with a fault"
}

func (h *HID) run(ctx context.Context, name string, in machine.Input) (*machine.Result, error) {
	in.Trace = h.Trace
	res, err := h.m.Run(ctx, name, in)
	if err != nil {
		return nil, err
	}
	h.Results = append(h.Results, res)
	return res, nil
}

// Do makes events happen, one after the other. The error is a [*FaultError], that of ctx, or of the
// machine.
func (h *HID) Do(ctx context.Context, events ...Event) error {
	for _, e := range events {
		if e.After > 0 {
			res, err := h.m.Settle(ctx, e.After)
			if err != nil {
				return err
			}
			if res.Fault != nil {
				return &FaultError{Result: res}
			}
		}
		if err := h.event(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

func (h *HID) event(ctx context.Context, e Event) error {
	bus, buf := h.m.Kernel().HID, slices.Clone(e.Data)
	num := byte(0)
	if len(buf) > 0 {
		num = buf[0]
	}
	var w *hid.Walk
	var ret int32
	var err error
	switch e.Kind {
	case Input:
		w, ret, err = bus.Input(h.Device, hid.InputReport, buf, 0, false, false)
	case Get:
		w, ret, err = bus.Request(h.Device, num, buf, e.Type, hid.GetReport, 0, false)
	case Set:
		w, ret, err = bus.Request(h.Device, num, buf, e.Type, hid.SetReport, 0, false)
	case Output:
		w, ret, err = bus.Output(h.Device, buf, 0, false)
	}
	if err != nil {
		return err
	}
	answer := Answer{Event: e, Ret: ret}
	if w != nil {
		if err := h.walk(ctx, w); err != nil {
			return err
		}
		switch e.Kind {
		case Get, Set:
			answer.Ret, answer.Data = w.EndRequest()
		default:
			answer.Ret = w.End()
		}
	}
	if answer.Data = answer.Data[:max(min(len(answer.Data), int(answer.Ret)), 0)]; e.Kind != Get {
		answer.Data = nil
	}
	if e.Kind != Input {
		h.Answers = append(h.Answers, answer)
	}
	return nil
}

// Result sums the runs up for one of the programs: its last result, with all its reads, and the
// records, helpers, findings and warnings of all programs, and the fault that ended it all.
func (h *HID) Result(program string) *machine.Result {
	out := &machine.Result{Program: program, Status: machine.StatusOK, Helpers: map[string]int{}}
	for _, r := range h.Results {
		if r.Program == program {
			was := out
			out = new(machine.Result)
			*out = *r
			out.Events, out.Trace, out.Effects, out.Changes, out.Warnings = was.Events, was.Trace, was.Effects, was.Changes, was.Warnings
			out.Insns, out.Helpers, out.Findings = was.Insns, was.Helpers, was.Findings
			out.Reads, out.Writes, out.StackReads = append(was.Reads, r.Reads...), append(was.Writes, r.Writes...), append(was.StackReads, r.StackReads...)
		}
		out.Ran = out.Ran || r.Ran
		out.Insns += r.Insns
		for name, n := range r.Helpers {
			out.Helpers[name] += n
		}
		out.Events, out.Trace, out.Effects = append(out.Events, r.Events...), append(out.Trace, r.Trace...), append(out.Effects, r.Effects...)
		out.Changes, out.Warnings = append(out.Changes, r.Changes...), append(out.Warnings, r.Warnings...)
		out.Findings = append(out.Findings, r.Findings...)
		if r.Fault != nil {
			out.Fault, out.Status = r.Fault, r.Status
		}
	}
	return out
}

// IsFault reports whether an error of [New] or [HID.Do] is a fault of a program.
func IsFault(err error) bool {
	var f *FaultError
	return errors.As(err, &f)
}

// Parts implements [drive.Simulation]. What may also run alone is left out: it does so on kernels
// without such devices, too.
func (h *HID) Parts(m *machine.Machine) map[string]drive.Part {
	out := map[string]drive.Part{}
	for _, res := range h.Results {
		lp, ok := m.Linked().Program(res.Program)
		if !ok || progtype.Of(lp.Type).Target != progtype.OpsMember {
			continue
		}
		p := out[res.Program]
		if p.Status == "" || p.Status == machine.StatusOK {
			p.Status, p.Fault = res.Status, res.Fault
		}
		p.Calls++
		p.Did = append(p.Did, fmt.Sprintf("call %d returned %d", p.Calls, int32(uint32(res.Ret))))
		out[res.Program] = p
	}
	return out
}

// ExitCode implements [drive.Simulation]: the runs of programs have exit codes of their own.
func (h *HID) ExitCode() int { return exitcode.OK }

// Runs implements [drive.Simulation].
func (h *HID) Runs() []*machine.Result { return append([]*machine.Result{}, h.Results...) }
