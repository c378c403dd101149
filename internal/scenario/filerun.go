package scenario

import (
	"encoding/hex"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/vm"
)

func itoa(n int) string { return strconv.Itoa(n) }

func (f *File) decodeRun(n *Node) (*Run, error) {
	if n.Kind != Mapping {
		return nil, n.fields(runForm)
	}
	r := &Run{Pos: n.Pos, ProgNode: n.Get("prog"), Context: n.Get("context"), Current: n.Get("current"), CPUNode: n.Get("cpu"), Repeat: 1}
	r.Elements, r.Map, r.CookieNode = n.Get("elements"), n.Get("map"), n.Get("cookie")
	r.Function, r.USDT = n.Get("function"), n.Get("usdt")
	// with returns a step that is skipped if the key is missing.
	with := func(key string, step func(v *Node) error) func() error {
		return func() error {
			if v := n.Get(key); v != nil {
				return step(v)
			}
			return nil
		}
	}
	duration := func(key string, to *time.Duration) func() error {
		return with(key, func(v *Node) (err error) { *to, err = v.duration(key); return err })
	}
	err := try(
		func() error { return n.fields(runForm) },
		func() error { return n.needsProg() },
		func() error { return n.noConflicts() },
		with("sched", func(v *Node) error { return r.decodeSched(n, v) }),
		with("chain", func(v *Node) error { return r.decodeChain(v) }),
		with("qdisc", func(v *Node) error { return f.decodeQdisc(r, n, v) }),
		with("sockets", func(v *Node) error { return f.decodeSockets(r, n, v) }),
		with("functions", func(v *Node) error { return r.decodeFunctions(v) }),
		with("prog", func(v *Node) (err error) { r.Prog, err = v.text("prog"); r.Name = r.Prog; return err }),
		with("name", func(v *Node) (err error) { r.Name, err = v.text("name"); return err }),
		with("cpu", func(v *Node) (err error) { r.CPU, err = v.int("cpu", 0, 1023); return err }),
		with("since", func(v *Node) (err error) { r.Since, err = v.release(); return err }),
		with("arch", func(v *Node) (err error) { r.Arch, err = v.arch(); return err }),
		with("cookie", func(v *Node) (err error) { r.Cookie, err = v.uint64("cookie"); return err }),
		with("repeat", func(v *Node) (err error) { r.Repeat, err = v.int("repeat", 1, 1_000_000); return err }),
		with("unset_stack", r.decodeUnset),
		duration("after", &r.After), duration("settle", &r.Settle),
		with("args", func(v *Node) (err error) { r.Args, err = v.pairs("args"); return err }),
		with("helpers", func(v *Node) (err error) { r.Helpers, err = decodeHelpers(v); return err }),
		func() error { return f.decodePacket(r, n) },
		func() error { return r.decodeTruncate(n.Get("truncate")) },
		with("ctx", func(v *Node) (err error) {
			if v.Kind == Mapping {
				r.CtxFields = v
				return nil
			}
			r.Ctx, err = f.bytes("ctx", v)
			return err
		}),
		with("hid", func(v *Node) (err error) { r.HID, err = f.decodeHID(v); return err }),
		with("expect", r.Expect.decode),
		r.noOverlap,
	)
	return r, err
}

// simulated reports whether the run is a simulation that calls the programs.
func (r *Run) simulated() bool {
	return r.Sched != nil || r.Qdisc != nil || r.Sockets != nil || r.Race != nil
}

// needsProg checks that a run has a program, a chain of them, a schedule, traffic, or sockets.
func (n *Node) needsProg() error {
	if n.lost || n.Get("prog") != nil || n.Get("chain") != nil || n.Get("sched") != nil || n.Get("qdisc") != nil || n.Get("sockets") != nil || n.fields(runForm) != nil {
		return nil
	}
	e := n.errorf("%s needs %q", runForm.name, "prog")
	e.missing = "prog"
	return e
}

// maxBytesFile limits the size of packet and context files, in bytes.
const maxBytesFile = 1 << 20

// bytes decodes hex digits, or reads @FILE relative to the scenario.
func (f *File) bytes(what string, n *Node) ([]byte, error) {
	if n == nil {
		return nil, nil
	}
	if n.Kind != Scalar {
		return nil, n.errorf("%s: want hex digits or @FILE, got %s", what, n.describe())
	}
	name, isFile := strings.CutPrefix(n.Text, "@")
	if !isFile {
		return n.hex(what)
	}
	path := filepath.FromSlash(name)
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(f.Path), path)
	}
	b, err := readFile(path, maxBytesFile)
	if err != nil {
		return nil, n.wrap(what, err)
	}
	if len(b) > maxBytesFile {
		return nil, n.errorf("%s: %s is larger than the limit of %d bytes", what, name, maxBytesFile)
	}
	return b, nil
}

// hex decodes hex digits; white space and colons between them are ignored.
func (n *Node) hex(what string) ([]byte, error) {
	if n.Kind != Scalar {
		return nil, n.errorf("%s: want hex digits, got %s", what, n.describe())
	}
	text := strings.NewReplacer(" ", "", "\n", "", "\t", "", ":", "").Replace(strings.TrimPrefix(n.Text, "0x"))
	b, err := hex.DecodeString(text)
	if err != nil {
		return nil, n.errorf("%s: %s is not a string of hex digits", what, brief(n.Text))
	}
	if b == nil {
		b = []byte{}
	}
	return b, nil
}

func decodeHelpers(n *Node) ([]HelperAnswer, error) {
	pairs, err := n.pairs("helpers")
	if err != nil {
		return nil, err
	}
	var out []HelperAnswer
	var wrong mistakes
	for _, p := range pairs {
		a := HelperAnswer{Pos: p.Key.Pos, Name: p.Key.Text}
		if !strings.HasPrefix(a.Name, "bpf_") && !strings.Contains(a.Name, "_") {
			a.Name = "bpf_" + a.Name
		}
		switch p.Value.Kind {
		case Scalar:
			v, err := p.Value.result(a.Name)
			wrong.add(err)
			a.Returns = []uint64{v}
		case Sequence:
			for _, item := range p.Value.Items {
				v, err := item.result(a.Name)
				wrong.add(err)
				a.Returns = append(a.Returns, v)
			}
		default:
			if !wrong.add(a.decode(p.Value)) {
				a.Returns = []uint64{0}
			}
		}
		if len(a.Returns) == 0 {
			wrong.add(p.Value.errorf("%s: want a value, a list of values, or {fail_at: N, errno: E}", a.Name))
		}
		out = append(out, a) // look up its name even if its result is invalid
	}
	return out, wrong.err()
}

func (a *HelperAnswer) decode(n *Node) error {
	if err := n.fields(overrideForm); err != nil {
		return err
	}
	var err error
	if v := n.Get("fail_at"); v != nil {
		if a.FailAt, err = v.int("fail_at", 1, 1<<30); err != nil {
			return err
		}
	}
	ret, errno := n.Get("ret"), n.Get("errno")
	switch {
	case ret != nil && errno != nil:
		return errno.errorf("%s: give either ret or errno, not both", a.Name)
	case errno != nil:
		e, err := errno.errno(a.Name)
		if err != nil {
			return err
		}
		a.Returns = []uint64{uint64(e.Neg())}
	case ret != nil:
		v, err := ret.result(a.Name)
		if err != nil {
			return err
		}
		a.Returns = []uint64{v}
	case a.FailAt != 0:
		a.Returns = []uint64{0} // NULL, for helpers that return pointers
	}
	return nil
}

// result decodes what a helper returns: a number or an error.
func (n *Node) result(what string) (uint64, error) {
	if n.Kind == Scalar && strings.HasPrefix(n.Text, "-E") {
		e, err := n.errno(what)
		return uint64(e.Neg()), err
	}
	return n.uint64(what)
}

func (e *Expect) decode(n *Node) error {
	if n.Kind != Mapping {
		return n.fields(expectForm)
	}
	e.Ret, e.Fault, e.Status, e.Trace = n.Get("ret"), n.Get("fault"), n.Get("status"), n.Get("trace")
	e.Packet, e.Ctx, e.Sched, e.HID = n.Get("packet"), n.Get("ctx"), n.Get("sched"), n.Get("hid")
	e.Qdisc, e.Sends, e.Receiver = n.Get("qdisc"), n.Get("sends"), n.Get("receiver")
	e.Output, e.Effects, e.Truncated, e.Others, e.Chain = n.Get("output"), n.Get("effects"), n.Get("truncated"), n.Get("others"), n.Get("chain")
	e.Findings = n.Get("findings")
	var wrong mistakes
	wrong.add(n.fields(expectForm))
	for _, m := range []struct {
		name string
		to   *[]Pair
	}{
		{"maps", &e.Maps}, {"globals", &e.Globals}, {"ringbuf", &e.Ringbuf}, {"perf", &e.Perf}, {"kernel", &e.Kernel}, {"helpers", &e.Helpers}, {"sockets", &e.Sockets},
		{"functions", &e.Functions},
	} {
		var err error
		*m.to, err = n.Get(m.name).pairs(m.name)
		wrong.add(err)
	}
	if r := n.Get("reads"); r != nil {
		if r.Kind != Sequence {
			wrong.add(r.errorf("reads: want a list of TYPE.path, got %s", r.describe()))
		}
		e.Reads = r.Items
	}
	wrong.add(e.check())
	return wrong.err()
}

// statuses lists the words that expect.status accepts.
var statuses = []string{"ok", "absent", "unknown-hook", "refused", "not-simulated", "fault", "disabled"}

// check returns an error for expectations that are wrong for any object.
func (e *Expect) check() error {
	var wrong mistakes
	if e.Ctx != nil && e.Ctx.Kind != Mapping {
		_, err := e.Ctx.hex("ctx")
		wrong.add(err)
	}
	if o := e.Output; o != nil && o.Kind != Scalar {
		wrong.add(o.errorf("output: want a string, got %s", o.describe()))
	}
	wrong.add(e.checkFindings())
	if f := e.Effects; f != nil && f.Kind != Sequence {
		wrong.add(f.errorf("effects: want a list, got %s", f.describe()))
	}
	if e.Effects != nil {
		for _, n := range e.Effects.Items {
			wrong.add(checkEffect(n))
		}
	}
	if s := e.Status; s != nil && (s.Kind != Scalar || !slices.Contains(statuses, s.Text)) {
		wrong.add(s.unknown("status", s.Text, statuses))
	}
	if f := e.Fault; f != nil && f.Kind != Scalar {
		wrong.add(f.errorf("fault: want a kind of fault, true or false, got %s", f.describe()))
	} else if f != nil && f.Text != "true" && f.Text != "false" {
		if kinds := append(vm.FaultKinds(), mem.FaultKinds()...); !slices.Contains(kinds, f.Text) {
			wrong.add(f.unknown("kind of fault", f.Text, kinds))
		}
	}
	for _, r := range e.Reads {
		if r.Kind != Scalar || !strings.ContainsAny(r.Text, ".>") {
			wrong.add(r.errorf("reads: want TYPE.path, got %s", r.describe()))
		}
	}
	if t := e.Trace; t != nil {
		for _, line := range t.Items {
			if line.Kind != Scalar {
				wrong.add(line.errorf("trace: want a line, got %s", line.describe()))
			}
		}
		if t.Kind == Mapping {
			wrong.add(t.errorf("trace: want a list of lines, got %s", t.describe()))
		}
	}
	for _, p := range e.Helpers {
		_, err := p.Value.int(p.Key.Text, 0, 1<<40)
		wrong.add(err)
	}
	return wrong.err()
}
