package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/internal/subsys/drive"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// judge compares what a run did with the file's expectations.
type judge struct {
	grammar.Checks
	r          *Runner
	run        *Run
	res        *machine.Result
	validation *machine.Validation
	verdicts   map[int32]int    // packets of a capture by return value
	chained    *machine.Chained // nil for runs of one program
	each       []FunctionResult // nil for runs of one function
	simulated  drive.Simulation // nil for runs of no subsystem
	why        error            // why it did not run, or not to its end
}

// mismatches adds the result of a comparison: one expectation that holds, or one for each
// difference.
func (j *judge) mismatches(at *grammar.Node, what string, ms []mismatch) {
	if len(ms) == 0 {
		j.Expect(at.Pos, what, true, "", "")
	}
	for _, m := range ms {
		j.Expect(m.Pos, m.path, false, m.want, m.got)
	}
}

// all checks all expectations. If the run ended in an unexpected way, only that is reported.
func (j *judge) all() error {
	e := &j.run.Expect
	if !j.Checking && !j.outcome() {
		return nil
	}
	var wrong grammar.Mistakes
	for _, step := range []func(*Expect) error{j.ret, j.chain, j.functions, j.maps, j.globals, j.ringbuf, j.perf, j.trace, j.output, j.effects, j.kernel, j.reads, j.helpers, j.packet, j.context, j.simulation, j.receiver, j.others, j.findings} {
		if err := step(e); !wrong.Add(err) && !j.Checking {
			return err
		}
	}
	if err := wrong.Err(); err != nil {
		return err
	}
	if n := e.Truncated; n != nil && j.run.TruncateNode == nil {
		return n.Errorf("truncated: the run truncates no packet; add truncate: all")
	} else if n != nil && j.Checking {
		if err := j.counts(n, "truncated", "length"); err != nil {
			return err
		}
	}
	if !j.Checking {
		j.invariants()
	}
	if !j.Checking && j.run.UnsetStack == FailUnset {
		j.unsetStack()
	}
	if !j.Checking && j.r.opt.Strict {
		j.strict()
	}
	return nil
}

// outcome checks whether the program ran and how it ended. It returns false if nothing else can be
// checked.
func (j *judge) outcome() bool {
	e := &j.run.Expect
	got := string(j.res.Status)
	if e.Status != nil {
		j.Expect(e.Status.Pos, "status", e.Status.Text == got, e.Status.Text, got)
		if !j.res.Ran {
			return false
		}
	}
	if !j.res.Ran {
		why := ""
		if j.why != nil {
			why = ": " + grammar.FirstLine(j.why.Error())
		} else if err := j.r.m.ProgramError(j.res.Program); err != nil {
			why = ": " + grammar.FirstLine(err.Error())
		} else if p := j.r.input[j.run]; p != nil && p.cannot != nil {
			why = ": " + grammar.FirstLine(p.cannot.Error())
		}
		j.Expect(j.run.ProgNode.Pos, "status", false, "ok", got+why)
		return false
	}
	f := j.res.Fault
	switch {
	case e.Fault != nil && e.Fault.Text != "false":
		kind := "none"
		if f != nil {
			kind = faultKind(f)
		}
		want := e.Fault.Text
		ok := f != nil && (want == "true" || want == kind)
		if want == "true" {
			want = "any fault"
		}
		j.Expect(e.Fault.Pos, "fault", ok, want, kind)
		return ok || f == nil
	case f != nil && (e.Status == nil || e.Status.Text != got):
		j.Expect(j.run.ProgNode.Pos, "fault", false, "none", faultKind(f)+": "+grammar.FirstLine(f.Error())+place(f))
		return false
	}
	return true
}

func faultKind(f *machine.Fault) string {
	if f.Mem != nil {
		return f.Mem.Kind.String()
	}
	return f.Kind.String()
}

func place(f *machine.Fault) string {
	if f.Source == "" {
		return fmt.Sprintf(" at insn %d", f.Insn)
	}
	return " at " + f.Source
}

// ret compares the return value: the low 32 bits, as the kernel does, or all 64 after "u64:".
func (j *judge) ret(e *Expect) error {
	n := e.Ret
	if n == nil {
		return nil
	}
	if j.run.PcapNode != nil {
		return j.counts(n, "ret", "packet")
	}
	if n.Kind == grammar.Mapping {
		return n.Errorf("ret: verdict counts need a run with pcap")
	}
	bare := *n
	wide := false
	if text, ok := strings.CutPrefix(n.Text, "u64:"); ok {
		bare.Text, wide = strings.TrimSpace(text), true
	}
	if n.Tag == "!any" {
		return nil
	}
	bare.Tag = ""
	want, err := j.retValue(&bare)
	if err != nil {
		return err
	}
	got := j.res.Ret
	if !wide {
		want, got = uint64(int64(int32(uint32(want)))), uint64(int64(int32(uint32(got))))
	}
	ok := got == want
	if cond := grammar.Conditions[n.Tag]; cond != nil {
		c := 0
		switch {
		case int64(got) < int64(want):
			c = -1
		case int64(got) > int64(want):
			c = 1
		}
		ok = cond(c)
	} else if n.Tag != "" {
		return n.Errorf("ret: %s does not fit here", n.Tag)
	}
	j.Expect(n.Pos, "ret", ok, strings.TrimPrefix(n.Tag+" "+bare.Text, " "), j.retText(got, wide))
	return nil
}

func (j *judge) retText(v uint64, wide bool) string {
	if wide {
		return fmt.Sprintf("%#x", v)
	}
	lp, _ := j.r.m.Linked().Program(j.run.Prog)
	if name := progtype.VerdictName(lp.Type, int32(v)); name != "" {
		return name
	}
	return fmt.Sprint(int32(uint32(v)))
}

func (j *judge) retValue(n *grammar.Node) (uint64, error) {
	if n.Kind != grammar.Scalar {
		return 0, n.Errorf("ret: want a number or a name, got %s", n.Describe())
	}
	if _, ok := grammar.Number(n.Text); ok {
		return n.Uint64("ret")
	}
	switch n.Text {
	case "true":
		return 1, nil
	case "false":
		return 0, nil
	}
	lp, _ := j.r.m.Linked().Program(j.run.Prog)
	if v, ok := progtype.ParseVerdict(lp.Type, n.Text); ok {
		return uint64(int64(v)), nil
	}
	if strings.HasPrefix(n.Text, "-E") {
		err, e := n.Errno("ret")
		return uint64(err.Neg()), e
	}
	if spec := j.r.m.Kernel().BTF(); spec != nil {
		if v, ok := spec.EnumValue("", n.Text); ok {
			return v, nil
		}
	}
	if spec := j.r.m.Linked().Object.BTF; spec != nil {
		if v, ok := spec.EnumValue("", n.Text); ok {
			return v, nil
		}
	}
	return 0, n.Errorf("ret: %s is neither a number, a verdict of %v programs, an error (-EPERM) nor an enumerator", grammar.Brief(n.Text), lp.Type)
}

func (j *judge) trace(e *Expect) error {
	n := e.Trace
	if n == nil || j.Checking {
		return nil
	}
	if n.Kind == grammar.Scalar {
		for _, line := range j.res.Trace {
			if strings.Contains(line, n.Text) {
				j.Expect(n.Pos, "trace", true, "", "")
				return nil
			}
		}
		j.Expect(n.Pos, "trace", false, fmt.Sprintf("a line with %q", n.Text), fmt.Sprintf("%q", j.res.Trace))
		return nil
	}
	if len(n.Items) != len(j.res.Trace) {
		j.Expect(n.Pos, "trace", false, fmt.Sprintf("%d lines", len(n.Items)), fmt.Sprintf("%d lines: %q", len(j.res.Trace), j.res.Trace))
		return nil
	}
	for i, item := range n.Items {
		what := fmt.Sprintf("trace[%d]", i)
		if item.Tag == "!match" {
			ms, err := matches(item, j.res.Trace[i], what)
			if err != nil {
				return err
			}
			j.mismatches(item, what, ms)
			continue
		}
		j.Expect(item.Pos, what, item.Tag == "!any" || item.Text == j.res.Trace[i], fmt.Sprintf("%q", item.Text), fmt.Sprintf("%q", j.res.Trace[i]))
	}
	return nil
}

// kernel compares fields of objects, written as "sh.exit_code: 0" or nested.
func (j *judge) kernel(e *Expect) error {
	return eachPair(e.Kernel, func(p grammar.Pair) error {
		name, path, _ := strings.Cut(p.Key.Text, ".")
		key := &grammar.Node{Pos: p.Key.Pos, Text: "$" + name}
		o, err := j.r.b.ref(key)
		if err != nil {
			return err
		}
		ms, err := j.field(o, path, p.Key, p.Value, name)
		if err != nil {
			return err
		}
		j.mismatches(p.Key, p.Key.Text, ms)
		return nil
	})
}

// eachPair calls do for every pair and collects the errors.
func eachPair(pairs []grammar.Pair, do func(grammar.Pair) error) error {
	var wrong grammar.Mistakes
	for _, p := range pairs {
		wrong.Add(do(p))
	}
	return wrong.Err()
}

// field compares one field of an object, or the members below it.
func (j *judge) field(o *object.Object, path string, key, n *grammar.Node, name string) ([]mismatch, error) {
	if n.Kind == grammar.Mapping && n.Tag == "" {
		var out []mismatch
		for _, p := range n.Pairs {
			names, optional := option(p.Key.Text)
			chosen := ""
			for _, x := range names {
				if full := joinPath(path, x); o.Has(full) {
					chosen = full
					break
				}
			}
			if chosen == "" && optional {
				continue
			}
			if chosen == "" {
				chosen = joinPath(path, names[0])
			}
			ms, err := j.field(o, chosen, p.Key, p.Value, name)
			if err != nil {
				return nil, err
			}
			out = append(out, ms...)
		}
		return out, nil
	}
	what := joinPath(name, path)
	var chosen string
	names, optional := option(path)
	for _, x := range names {
		if o.Has(x) {
			chosen = x
			break
		}
	}
	if chosen == "" {
		if optional {
			return nil, nil
		}
		chosen = names[0]
	}
	f, data, err := o.Peek(chosen)
	if err != nil {
		return nil, key.Wrap("", err)
	}
	if data == nil {
		if j.Checking {
			return nil, nil
		}
		return []mismatch{{n.Pos, what, n.Describe(), "no object: a pointer in the path is null"}}, nil
	}
	if isRef(n) {
		want, err := j.r.b.ref(n)
		if err != nil {
			return nil, err
		}
		if got, _ := o.Pointee(chosen); got != want {
			return []mismatch{{n.Pos, what, n.Text, roleOf(got)}}, nil
		}
		return nil, nil
	}
	if t := f.Spec.SkipMods(f.Type); t.Kind == btf.KindPtr && n.Kind == grammar.Scalar && n.Tag == "" {
		if _, isNumber := grammar.Number(n.Text); !isNumber {
			got, err := o.String(chosen)
			if err != nil || got != n.Text {
				return []mismatch{{n.Pos, what, fmt.Sprintf("%q", n.Text), fmt.Sprintf("%q", got)}}, nil
			}
			return nil, nil
		}
	}
	return j.r.b.compare(f.Spec, btf.Field{Type: f.Type, BitOffset: uint32(f.BitOff), BitSize: f.BitSize}, n, data, what)
}

func roleOf(o *object.Object) string {
	if o == nil {
		return "null"
	}
	return "$" + o.Role()
}

// isFunction reports whether the kernel or the object has a function with that name: the program
// may call it as a kfunc only on other kernels.
func (j *judge) isFunction(name string) bool {
	for _, spec := range []*btf.Spec{j.r.m.Kernel().BTF(), j.r.m.Linked().Object.BTF} {
		if spec == nil {
			continue
		}
		if _, ok := spec.FindID(btf.KindFunc, name); ok {
			return true
		}
	}
	return false
}

func (j *judge) helpers(e *Expect) error {
	return eachPair(e.Helpers, func(p grammar.Pair) error {
		name, calls := p.Key.Text, j.r.m.Calls(j.run.Prog)
		if !strings.HasPrefix(name, "bpf_") && !slices.Contains(calls, name) {
			name = "bpf_" + name
		}
		want, err := p.Value.Int(name, 0, 1<<40)
		if err != nil {
			return err
		}
		if j.Checking {
			if _, isHelper := uapi.ParseFuncID(name); !isHelper && !slices.Contains(calls, name) && !j.isFunction(name) {
				return p.Key.Unknown("helper", name, calls)
			}
		} else {
			got := j.res.Helpers[name]
			j.Expect(p.Value.Pos, name+" calls", got == want, itoa(want), itoa(got))
		}
		return nil
	})
}

// context compares the context after the run, given as hex digits or by members.
func (j *judge) context(e *Expect) error {
	n := e.Ctx
	if n == nil {
		return nil
	}
	if n.Kind == grammar.Mapping {
		return j.contextMembers(n)
	}
	want, err := n.Hex("ctx")
	if err != nil {
		return err
	}
	if !j.Checking {
		j.Expect(n.Pos, "ctx", string(want) == string(j.res.CtxOut), fmt.Sprintf("%x", want), fmt.Sprintf("%x", j.res.CtxOut))
	}
	return nil
}

// contextMembers compares members of the context.
func (j *judge) contextMembers(n *grammar.Node) error {
	spec, id, err := j.r.contextType(j.run, n)
	if err != nil {
		return err
	}
	data := j.res.CtxOut
	if j.Checking {
		size, err := spec.Sizeof(id)
		if err != nil {
			return n.Wrap("ctx", err)
		}
		data = make([]byte, size)
	}
	ms, err := j.r.b.compare(spec, btf.Field{Type: id}, networkMembers(n), data, "ctx")
	if err == nil && !j.Checking {
		j.mismatches(n, "ctx", ms)
	}
	return err
}

// strict turns every read that is not proved valid into a failed expectation.
func (j *judge) strict() {
	if j.validation == nil {
		return
	}
	seen := map[string]bool{}
	for _, f := range j.validation.Findings {
		at := f.Text
		if f.Source != "" {
			at += " (" + f.Source + ")"
		}
		if !seen[at] {
			seen[at] = true
			j.Expect(j.run.ProgNode.Pos, "kernel read at insn "+itoa(f.Insn), false, "proved", string(f.Kind)+": "+at)
		}
	}
}
