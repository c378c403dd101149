package scenario

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/internal/subsys"
	"github.com/bpfrun/bpfrun/vm"
)

func itoa(n int) string { return strconv.Itoa(n) }

func (f *File) decodeRun(n *grammar.Node) (*Run, error) {
	if n.Kind != grammar.Mapping {
		return nil, n.Fields(runForm)
	}
	r := &Run{Pos: n.Pos, ProgNode: n.Get("prog"), Context: n.Get("context"), Current: n.Get("current"), CPUNode: n.Get("cpu"), Repeat: 1}
	r.Elements, r.Map, r.CookieNode = n.Get("elements"), n.Get("map"), n.Get("cookie")
	r.Function, r.USDT = n.Get("function"), n.Get("usdt")
	// with returns a step that is skipped if the key is missing.
	with := func(key string, step func(v *grammar.Node) error) func() error {
		return func() error {
			if v := n.Get(key); v != nil {
				return step(v)
			}
			return nil
		}
	}
	duration := func(key string, to *time.Duration) func() error {
		return with(key, func(v *grammar.Node) (err error) { *to, err = v.Duration(key); return err })
	}
	err := grammar.Try(
		func() error { return n.Fields(runForm) },
		func() error { return needsProg(n) },
		func() error { return noConflicts(n) },
		with("chain", func(v *grammar.Node) error { return r.decodeChain(v) }),
		func() error { return f.decodeSimulated(r, n) },
		with("functions", func(v *grammar.Node) error { return r.decodeFunctions(v) }),
		with("prog", func(v *grammar.Node) (err error) { r.Prog, err = v.NonEmpty("prog"); r.Name = r.Prog; return err }),
		with("name", func(v *grammar.Node) (err error) { r.Name, err = v.NonEmpty("name"); return err }),
		with("cpu", func(v *grammar.Node) (err error) { r.CPU, err = v.Int("cpu", 0, 1023); return err }),
		with("since", func(v *grammar.Node) (err error) { r.Since, err = v.Release(); return err }),
		with("arch", func(v *grammar.Node) (err error) { r.Arch, err = v.Arch(); return err }),
		with("cookie", func(v *grammar.Node) (err error) { r.Cookie, err = v.Uint64("cookie"); return err }),
		with("repeat", func(v *grammar.Node) (err error) { r.Repeat, err = v.Int("repeat", 1, 1_000_000); return err }),
		with("unset_stack", r.decodeUnset),
		duration("after", &r.After), duration("settle", &r.Settle),
		with("args", func(v *grammar.Node) (err error) { r.Args, err = v.Members("args"); return err }),
		with("helpers", func(v *grammar.Node) (err error) { r.Helpers, err = decodeHelpers(v); return err }),
		func() error { return f.decodePacket(r, n) },
		func() error { return r.decodeTruncate(n.Get("truncate")) },
		with("ctx", func(v *grammar.Node) (err error) {
			if v.Kind == grammar.Mapping {
				r.CtxFields = v
				return nil
			}
			r.Ctx, err = f.bytes("ctx", v)
			return err
		}),
		with("expect", r.Expect.decode),
		r.noOverlap,
	)
	return r, err
}

// needsProg checks that a run has a program, a chain of them, or a simulation that calls programs.
func needsProg(n *grammar.Node) error {
	if n.Lost || n.Get("prog") != nil || n.Get("chain") != nil || n.Fields(runForm) != nil {
		return nil
	}
	for _, form := range subsys.Scenes() {
		if form.Whole() && n.Get(form.Key()) != nil {
			return nil
		}
	}
	e := n.Errorf("%s needs %q", runForm.Name, "prog")
	e.Missing = "prog"
	return e
}

// maxBytesFile limits the size of packet and context files, in bytes.
const maxBytesFile = 1 << 20

// bytes decodes hex digits, or reads @FILE relative to the scenario.
func (f *File) bytes(what string, n *grammar.Node) ([]byte, error) {
	if n == nil {
		return nil, nil
	}
	if n.Kind != grammar.Scalar {
		return nil, n.Errorf("%s: want hex digits or @FILE, got %s", what, n.Describe())
	}
	name, isFile := strings.CutPrefix(n.Text, "@")
	if !isFile {
		return n.Hex(what)
	}
	path := filepath.FromSlash(name)
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(f.Path), path)
	}
	b, err := readFile(path, maxBytesFile)
	if err != nil {
		return nil, n.Wrap(what, err)
	}
	if len(b) > maxBytesFile {
		return nil, n.Errorf("%s: %s is larger than the limit of %d bytes", what, name, maxBytesFile)
	}
	return b, nil
}

func decodeHelpers(n *grammar.Node) ([]HelperAnswer, error) {
	pairs, err := n.Members("helpers")
	if err != nil {
		return nil, err
	}
	var out []HelperAnswer
	var wrong grammar.Mistakes
	for _, p := range pairs {
		a := HelperAnswer{Pos: p.Key.Pos, Name: p.Key.Text}
		if !strings.HasPrefix(a.Name, "bpf_") && !strings.Contains(a.Name, "_") {
			a.Name = "bpf_" + a.Name
		}
		switch p.Value.Kind {
		case grammar.Scalar:
			v, err := p.Value.Result(a.Name)
			wrong.Add(err)
			a.Returns = []uint64{v}
		case grammar.Sequence:
			for _, item := range p.Value.Items {
				v, err := item.Result(a.Name)
				wrong.Add(err)
				a.Returns = append(a.Returns, v)
			}
		default:
			if !wrong.Add(a.decode(p.Value)) {
				a.Returns = []uint64{0}
			}
		}
		if len(a.Returns) == 0 {
			wrong.Add(p.Value.Errorf("%s: want a value, a list of values, or {fail_at: N, errno: E}", a.Name))
		}
		out = append(out, a) // look up its name even if its result is invalid
	}
	return out, wrong.Err()
}

func (a *HelperAnswer) decode(n *grammar.Node) error {
	if err := n.Fields(overrideForm); err != nil {
		return err
	}
	var err error
	if v := n.Get("fail_at"); v != nil {
		if a.FailAt, err = v.Int("fail_at", 1, 1<<30); err != nil {
			return err
		}
	}
	ret, errno := n.Get("ret"), n.Get("errno")
	switch {
	case ret != nil && errno != nil:
		return errno.Errorf("%s: give either ret or errno, not both", a.Name)
	case errno != nil:
		e, err := errno.Errno(a.Name)
		if err != nil {
			return err
		}
		a.Returns = []uint64{uint64(e.Neg())}
	case ret != nil:
		v, err := ret.Result(a.Name)
		if err != nil {
			return err
		}
		a.Returns = []uint64{v}
	case a.FailAt != 0:
		a.Returns = []uint64{0} // NULL, for helpers that return pointers
	}
	return nil
}

func (e *Expect) decode(n *grammar.Node) error {
	if n.Kind != grammar.Mapping {
		return n.Fields(expectForm)
	}
	e.Ret, e.Fault, e.Status, e.Trace = n.Get("ret"), n.Get("fault"), n.Get("status"), n.Get("trace")
	e.Packet, e.Ctx, e.Receiver = n.Get("packet"), n.Get("ctx"), n.Get("receiver")
	e.Simulated = expectedOfSubsystems(n)
	e.Output, e.Effects, e.Truncated, e.Others, e.Chain = n.Get("output"), n.Get("effects"), n.Get("truncated"), n.Get("others"), n.Get("chain")
	e.Findings = n.Get("findings")
	var wrong grammar.Mistakes
	wrong.Add(n.Fields(expectForm))
	for _, m := range []struct {
		name string
		to   *[]grammar.Pair
	}{
		{"maps", &e.Maps}, {"globals", &e.Globals}, {"ringbuf", &e.Ringbuf}, {"perf", &e.Perf}, {"kernel", &e.Kernel}, {"helpers", &e.Helpers},
		{"functions", &e.Functions},
	} {
		var err error
		*m.to, err = n.Get(m.name).Members(m.name)
		wrong.Add(err)
	}
	if r := n.Get("reads"); r != nil {
		if r.Kind != grammar.Sequence {
			wrong.Add(r.Errorf("reads: want a list of TYPE.path, got %s", r.Describe()))
		}
		e.Reads = r.Items
	}
	wrong.Add(e.check())
	return wrong.Err()
}

// statuses lists the words that expect.status accepts.
var statuses = []string{"ok", "absent", "unknown-hook", "refused", "not-simulated", "fault", "disabled"}

// check returns an error for expectations that are wrong for any object.
func (e *Expect) check() error {
	var wrong grammar.Mistakes
	if e.Ctx != nil && e.Ctx.Kind != grammar.Mapping {
		_, err := e.Ctx.Hex("ctx")
		wrong.Add(err)
	}
	if o := e.Output; o != nil && o.Kind != grammar.Scalar {
		wrong.Add(o.Errorf("output: want a string, got %s", o.Describe()))
	}
	wrong.Add(e.checkFindings())
	if f := e.Effects; f != nil && f.Kind != grammar.Sequence {
		wrong.Add(f.Errorf("effects: want a list, got %s", f.Describe()))
	}
	if e.Effects != nil {
		for _, n := range e.Effects.Items {
			wrong.Add(checkEffect(n))
		}
	}
	if s := e.Status; s != nil && (s.Kind != grammar.Scalar || !slices.Contains(statuses, s.Text)) {
		wrong.Add(s.Unknown("status", s.Text, statuses))
	}
	if f := e.Fault; f != nil && f.Kind != grammar.Scalar {
		wrong.Add(f.Errorf("fault: want a kind of fault, true or false, got %s", f.Describe()))
	} else if f != nil && f.Text != "true" && f.Text != "false" {
		if kinds := append(vm.FaultKinds(), mem.FaultKinds()...); !slices.Contains(kinds, f.Text) {
			wrong.Add(f.Unknown("kind of fault", f.Text, kinds))
		}
	}
	for _, r := range e.Reads {
		if r.Kind != grammar.Scalar || !strings.ContainsAny(r.Text, ".>") {
			wrong.Add(r.Errorf("reads: want TYPE.path, got %s", r.Describe()))
		}
	}
	if t := e.Trace; t != nil {
		for _, line := range t.Items {
			if line.Kind != grammar.Scalar {
				wrong.Add(line.Errorf("trace: want a line, got %s", line.Describe()))
			}
		}
		if t.Kind == grammar.Mapping {
			wrong.Add(t.Errorf("trace: want a list of lines, got %s", t.Describe()))
		}
	}
	for _, p := range e.Helpers {
		_, err := p.Value.Int(p.Key.Text, 0, 1<<40)
		wrong.Add(err)
	}
	return wrong.Err()
}
