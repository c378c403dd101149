package bpftest

import (
	"errors"
	"testing"

	"github.com/bpfrun/bpfrun/internal/app/fuzz"
	"github.com/bpfrun/bpfrun/internal/machine"
)

// Fuzz lets go test -fuzz, and services that run such tests, search inputs of a program: packets,
// arguments of its hook, results and failures of helpers. Each run begins with the object as it is
// now. The test fails with an input with which the program faults or has a finding, such as a
// packet whose checksum it breaks; check, if given, may fail it for other reasons.
//
//	func FuzzFilter(f *testing.F) {
//		obj := bpftest.New(f).Load("filter.bpf.o")
//		bpftest.Fuzz(f, obj.Program("filter"))
//	}
//
// The engine sees which branches of the program a run took. bpfrun fuzz knows more of programs: it
// solves their comparisons and is faster.
func Fuzz(f *testing.F, p *Program, check ...func(t *testing.T, res *Result)) {
	f.Helper()
	if err := p.Err(); err != nil {
		f.Fatalf("bpftest: %v", err)
	}
	h, err := newHarness(p)
	if err != nil {
		f.Fatalf("bpftest: program %s: %v", p.name, err)
	}
	run := func(t *testing.T, packet, more []byte) {
		res, problems, err := h.try(packet, more)
		if err != nil {
			t.Skip(err)
		}
		for _, text := range problems {
			t.Error(text)
		}
		for _, f := range check {
			f(t, res)
		}
	}
	if h.choices.Packet == nil {
		f.Add([]byte{})
		f.Fuzz(func(t *testing.T, more []byte) { run(t, nil, more) })
		return
	}
	for _, packet := range append([][]byte{h.choices.Packet}, h.choices.SeedPackets()...) {
		f.Add(packet, []byte{})
	}
	f.Fuzz(run)
}

// harness runs a program with inputs that are bytes.
type harness struct {
	p       *Program
	start   *machine.Snapshot
	choices *fuzz.Choices
}

func newHarness(p *Program) (*harness, error) {
	m := p.o.m
	h := &harness{p: p, start: m.Snapshot()}
	var err error
	h.choices, err = fuzz.ChoicesOf(m, p.name)
	m.Restore(h.start)
	return h, err
}

// errNoInput means that bytes are no input of the program.
var errNoInput = errors.New("no input of the program")

// try makes one run and returns what is wrong. The error means that there is no such input.
func (h *harness) try(packet, more []byte) (res *Result, problems []string, err error) {
	p, c := h.p, h.choices
	if c.Packet != nil && (len(packet) < c.Least || len(packet) > c.Most) {
		return nil, nil, errNoInput
	}
	p.o.m.Restore(h.start)
	in := Input{Packet: packet}
	args, answers := c.Read(more)
	for name, v := range args {
		if in.Args == nil {
			in.Args = Fields{}
		}
		in.Args[name] = v
	}
	for _, a := range answers {
		if in.Helpers == nil {
			in.Helpers = map[string]Answer{}
		}
		in.Helpers[a.Helper] = Answer{at: a.At, values: a.Returns}
	}
	res, err = p.TryRun(in)
	if res == nil {
		return nil, nil, errors.Join(errNoInput, err)
	}
	tell(p.o.m.Covered(p.name))
	if err != nil {
		return res, []string{p.o.failure(p, err, []Input{in})}, nil
	}
	for _, f := range res.Findings {
		problems = append(problems, f+"\n"+p.o.debugLine(p, in))
	}
	return res, problems, nil
}

// tell tells the engine what a run executed: it counts blocks of Go code, so that each block of the
// program is one.
func tell(covered []machine.InsnCoverage) {
	before := false
	for pc, c := range covered {
		if c.Executed && !before {
			block(uint8(pc ^ pc>>8*31))
		}
		if before = c.Executed; before && pc&7 == 0 { // long blocks may have jumps into them
			block(uint8(pc ^ pc>>8*31))
		}
	}
}
