package fuzz

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bpfrun/bpfrun/internal/lazyre"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/machine/finding"
	"github.com/bpfrun/bpfrun/internal/scenario"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
)

// Finding is a finding with the scenario that shows it.
type Finding struct {
	finding.Finding
	// Invariant is the name of the one that does not hold.
	Invariant string
	// Scenario is the path of the file, empty if none is kept.
	Scenario     string
	AfterRuns    uint64
	AfterSeconds float64

	in    *Input
	flags string // that the scenario needs
	key   string
	text  []byte // of the scenario, without the comment
}

// Input is the scenario that shows it, without the comment of its file.
func (x *Finding) Input() string { return string(bytes.TrimPrefix(x.text, []byte("# \n"))) }

// keyOf identifies a finding: the same kind at the same place, whatever the numbers in its text.
func keyOf(p *problem) string {
	text := p.Text
	if p.Insn >= 0 {
		text = fmt.Sprint(p.Insn)
	}
	key := string(p.Kind) + " " + p.Program + " " + p.invariant + " "
	switch p.Kind {
	case finding.Packet: // whatever the verdict is
		text = damaged(text)
	case finding.Invariant: // whatever the values are
		text = ""
	case finding.Differs: // whatever the key is
		text, _, _ = strings.Cut(elements.ReplaceAllString(text, "[]"), " = ") // nor the value
	}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" ,:()=", r) }) {
		if word[0] >= '0' && word[0] <= '9' || word[0] == '-' {
			word = "#"
		}
		key += word + " "
	}
	if p.Kind == finding.Differs { // one for each program and what differs
		key, _, _ = strings.Cut(key, "#")
	}
	return key
}

// elements are keys in texts.
var elements = lazyre.New(`\[[^\]]*\]`)

// damaged says what is wrong in a packet: the length of a header, the checksum of IP, or one of
// what IP carries. The mistake is usually one for all protocols.
func damaged(text string) string {
	path, _, _ := strings.Cut(text, " ")
	layer, field, _ := strings.Cut(path, ".")
	layer, _, _ = strings.Cut(layer, "[")
	if field != "csum" {
		return field
	}
	if layer != "ip" {
		layer = "transport"
	}
	return layer + " " + field
}

// report handles a finding: a new one is made small, made again on both engines, and kept.
func (w *worker) report(ctx context.Context, in *Input, rec *record, p *problem) error {
	f := w.f
	for _, i := range f.opt.Ignore {
		if i.Silences(p.Finding.Kind, p.Finding.Program) {
			return nil
		}
	}
	key := keyOf(p)
	f.mu.Lock()
	known := f.seen[key]
	f.seen[key] = true
	f.mu.Unlock()
	if known {
		return nil
	}
	if p.full != "" {
		list, err := w.sides()
		if err != nil {
			return err
		}
		if fills, err := w.fills(ctx, list[0], in, p); !fills || err != nil {
			f.mu.Lock()
			delete(f.seen, key) // another input may show it
			f.mu.Unlock()
			return err
		}
	}
	out := &Finding{Finding: p.Finding, Invariant: p.invariant, key: key, flags: f.flags, AfterRuns: f.runs.Load(), AfterSeconds: since(f.start)}
	small, problem, err := w.minimise(ctx, in, p, key)
	if err != nil {
		return err
	}
	out.Finding, out.in = problem.Finding, small
	out.Insn = problem.Insn
	ok, err := f.confirm(ctx, out, problem)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !ok {
		f.lost++
		return nil
	}
	f.found = append(f.found, out)
	return nil
}

// minimise takes out of an input what its finding does not need.
func (w *worker) minimise(ctx context.Context, in *Input, p *problem, key string) (*Input, *problem, error) {
	list, err := w.sides()
	if err != nil {
		return nil, nil, err
	}
	first, found := in.clone(), p
	first.Events = first.Events[:p.event+1]
	r := reducer{w: w, best: first, budget: 200}
	r.still = func(next *Input) bool {
		rec, e := list[0].examine(ctx, next, -1, nil)
		if e == nil && p.Kind == finding.Differs {
			e = w.compare(ctx, next, rec, list)
		}
		if e != nil {
			err = e
			return false
		}
		for i := range rec.problems {
			if keyOf(&rec.problems[i]) == key {
				found = &rec.problems[i]
				return true
			}
		}
		return false
	}
	r.reduce()
	return r.best, found, err
}

// confirm makes the scenario of a finding and runs it on both engines. It is false if it does not
// fail on either.
func (f *Fuzzer) confirm(ctx context.Context, out *Finding, p *problem) (bool, error) {
	d := f.newDraft(f.keepDir(), out.in)
	if p.full != "" {
		d.expectBalance(p)
	}
	for i := range out.in.Events {
		e := &out.in.Events[i]
		n := d.event(e)
		name := "then " + f.first.runs[e.Run].Prog
		if i == len(out.in.Events)-1 {
			name = string(p.Kind) + " in " + p.Program
			n.Put("expect", f.expectNot(p))
		}
		d.name(n, name)
	}
	out.text = d.text("", true)
	var failed [2]bool
	for i, engine := range []machine.Engine{machine.EngineInterpreter, machine.EngineJIT} {
		res, err := f.replay(ctx, out.text, engine)
		if err != nil && ctx.Err() == nil {
			f.note("a finding is left out (%s): %v", p.Finding, err)
			return false, nil
		}
		if err != nil {
			return false, err
		}
		for _, r := range res { // a program that these constants keep from being loaded has no finding
			failed[i] = failed[i] || r.Ran && !r.Passed()
			if f.plain[out.Program] != nil && r.Result != nil {
				out.retell(r.Result)
			}
		}
	}
	if failed[0] != failed[1] {
		out.Kind = finding.Engine
		out.Text = "only one of the engines shows it: " + out.Text
	}
	return failed[0] || failed[1], nil
}

// retell takes the text from a run of the object as it is, which has instructions with other
// numbers than the one that was searched.
func (x *Finding) retell(res *machine.Result) {
	for _, p := range problemsOf(res, nil) {
		if p.Kind == x.Kind && p.Program == x.Program && p.Insn == x.Insn {
			x.Finding = p.Finding
		}
	}
}

// expectNot is an expectation that the finding violates.
func (f *Fuzzer) expectNot(p *problem) *grammar.Node {
	n := &grammar.Node{Kind: grammar.Mapping}
	switch {
	case p.fault:
		n.Put("fault", grammar.Word("false"))
	case p.Kind == finding.Differs && p.other != nil:
		if e, err := f.observed(p.own, p.other); err == nil {
			return e
		}
	case p.Kind == finding.Invariant || p.full != "": // the file has it
	default:
		n.Put("findings", grammar.Word("none"))
	}
	return n
}

// observed is what the other side did as expectations, with what only the object itself did:
// records that the other side does not send, elements and variables that it leaves as they were.
func (f *Fuzzer) observed(own, other *machine.Result) (*grammar.Node, error) {
	as := *other
	as.Changes = slices.Clone(as.Changes)
	for _, c := range own.Changes {
		if !slices.ContainsFunc(other.Changes, func(o machine.Change) bool { return o.Map == c.Map && o.CPU == c.CPU && bytes.Equal(o.Key, c.Key) }) {
			c.Old, c.New = c.New, c.Old
			as.Changes = append(as.Changes, c)
		}
	}
	slices.SortStableFunc(as.Changes, func(a, b machine.Change) int { return strings.Compare(a.Map, b.Map) })
	e, err := f.first.whole.Observed(&as)
	if err != nil {
		return nil, err
	}
	for _, ev := range own.Events {
		if ev.Kind != "ringbuf" && ev.Kind != "perf" || slices.ContainsFunc(other.Events, func(o machine.Event) bool { return o.Map == ev.Map }) {
			continue
		}
		e.Child(ev.Kind).Put(ev.Map, grammar.Word("0"))
	}
	return e, nil
}

// replay runs the text of a scenario. Mistakes in it are an error: this package wrote it.
func (f *Fuzzer) replay(ctx context.Context, text []byte, engine machine.Engine) ([]*scenario.Result, error) {
	file, err := scenario.Parse(filepath.Join(f.keepDir(), "finding.yaml"), text)
	if err != nil {
		return nil, fmt.Errorf("its scenario: %w", err)
	}
	opt := f.opt.Scenario
	opt.Engine, opt.MaxInsns, opt.Verify = engine, 0, f.verify // the limit that bpfrun test has
	r, err := scenario.Open(file, f.obj, f.target, opt)
	if err != nil {
		return nil, fmt.Errorf("its scenario: %w", err)
	}
	defer r.Close()
	return r.All(ctx, nil)
}

func (f *Fuzzer) keepDir() string {
	if f.opt.Keep != "" {
		return f.opt.Keep
	}
	return "."
}

// header begins the files that a search writes: files with another beginning are never overwritten.
const header = "Written by bpfrun fuzz"

// File returns the scenario that shows the finding, as it is kept.
func (x *Finding) File() []byte {
	text := header + ": " + strings.Join(strings.Fields(x.key), " ") + "\n" + strings.ReplaceAll(x.Finding.String(), "\n", " ")
	if x.Line != "" {
		text += "\n" + strings.TrimSpace(x.Line)
	}
	if x.flags != "" {
		text += "\nIt needs " + x.flags + "."
	}
	return append([]byte("# "+strings.ReplaceAll(text, "\n", "\n#   ")+"\n"), x.Input()...)
}

// writeFindings writes the scenarios of all findings.
func (f *Fuzzer) writeFindings() error {
	if f.opt.Keep == "" || len(f.found) == 0 {
		return nil
	}
	if err := os.MkdirAll(f.opt.Keep, 0o777); err != nil {
		return err
	}
	count := map[finding.Kind]int{}
	for _, x := range f.found {
		data := x.File()
		for {
			count[x.Kind]++
			path := filepath.Join(f.opt.Keep, fmt.Sprintf("%s-%d.yaml", x.Kind, count[x.Kind]))
			old, err := os.ReadFile(path)
			switch {
			case errors.Is(err, fs.ErrNotExist):
			case err != nil:
				return err
			case !sameFinding(old, data):
				continue // of an earlier search, or changed by hand
			}
			if err := writeFile(path, data); err != nil {
				return err
			}
			x.Scenario = path
			break
		}
	}
	return nil
}

// sameFinding reports whether a file may be replaced by a finding: it has the same first line,
// which says what is found without numbers.
func sameFinding(old, data []byte) bool {
	a, _, _ := bytes.Cut(old, []byte("\n"))
	b, _, _ := bytes.Cut(data, []byte("\n"))
	return bytes.Equal(a, b)
}

// writeFile writes a file as a whole, or leaves the one that exists.
func writeFile(path string, data []byte) (err error) {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, data) {
		return nil
	}
	t, err := os.CreateTemp(filepath.Dir(path), ".fuzz-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(t.Name())
		}
	}()
	_, err = t.Write(data)
	if err = errors.Join(err, t.Chmod(0o644), t.Close()); err != nil {
		return err
	}
	return os.Rename(t.Name(), path)
}

// finish writes what a search found. Who interrupts it does not wait long.
func (f *Fuzzer) finish(ctx context.Context, interrupted bool) error {
	limit := 2 * time.Minute
	if interrupted {
		limit = 10 * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	slices.SortStableFunc(f.found, func(a, b *Finding) int { return int(int64(a.AfterRuns) - int64(b.AfterRuns)) })
	f.noteChange()
	return errors.Join(f.writeFindings(), f.saveCorpus(), f.writeSuite(ctx)) // no room for one is no reason to lose the others
}

// noteChange says that the object is not the one that was searched.
func (f *Fuzzer) noteChange() {
	if f.opt.ObjectPath == "" {
		return
	}
	now, err := os.ReadFile(f.opt.ObjectPath)
	if err == nil && sha256.Sum256(now) == f.digest {
		return
	}
	why := "changed while it was searched"
	if err != nil {
		why = "is not there any more"
	}
	f.note("%s %s: findings and suite are about the build that was opened", f.opt.ObjectPath, why)
}
