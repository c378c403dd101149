package scenes

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/exec"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/loader"
)

// MaxRuns limits the runs of a scenario.
const MaxRuns = 20_000

// Summary counts what became of events.
type Summary struct {
	Events, Runs int
	Unheard      map[string]int // events at hooks where the object has no program, by hook
	Left         map[string]int // values that no program at the hook takes, by hook and name
	Cut          bool           // there were more runs than [MaxRuns]
}

// ErrNoRuns means that no event is at a hook of one of the object's programs.
var ErrNoRuns = errors.New("no event is at a hook of the object's programs")

var errEnough = errors.New("enough runs")

// writer collects runs and objects.
type writer struct {
	m       *machine.Machine
	points  []point
	takes   map[string]func(string) bool // names that a program takes, by program and call
	objects *objects
	runs    []*grammar.Node
	names   map[string]int
	after   time.Duration
	cpus    int
	sum     Summary
}

// point is where a program of the object runs.
type point struct {
	bpfsys.Point
	prog *loader.LinkedProgram
}

// Scenario returns a scenario of events for the object of a machine, whose file is path. All runs
// are a sequence: they share maps and variables.
func Scenario(ev *exec.Events, m *machine.Machine, path string) (*grammar.Node, Summary, error) {
	w := &writer{m: m, takes: map[string]func(string) bool{}, objects: newObjects(), names: map[string]int{}}
	w.sum.Unheard, w.sum.Left = map[string]int{}, map[string]int{}
	for _, name := range m.Names() {
		lp, ok := m.Linked().Program(name)
		if !ok {
			continue
		}
		to := lp.AttachTo
		if s, _ := progtype.ParseSection(lp.Section); s != nil && s.Flags.Has(progtype.SyscallName) {
			to = m.Kernel().SyscallSymbol(to)
		}
		w.points = append(w.points, point{bpfsys.Point{Section: lp.Section, AttachTo: to, Type: lp.Type}, lp})
	}
	err := ev.Each(w.line)
	if w.sum.Cut = errors.Is(err, errEnough); err != nil && !w.sum.Cut {
		return nil, w.sum, err
	}
	if len(w.runs) == 0 {
		return nil, w.sum, ErrNoRuns
	}
	w.sum.Runs = len(w.runs)
	root := &grammar.Node{Kind: grammar.Mapping}
	root.Put("object", grammar.Quote(path))
	root.Child("kernel").Put("values", grammar.Word("default"))
	if w.cpus > 1 {
		root.Child("kernel").Put("cpus", grammar.Word(strconv.Itoa(w.cpus)))
	}
	w.objects.write(root)
	runs, order := &grammar.Node{Kind: grammar.Sequence, Items: w.runs}, &grammar.Node{Kind: grammar.Sequence}
	root.Put("runs", runs)
	for _, r := range w.runs {
		order.Items = append(order.Items, r.Get("name"))
	}
	if len(w.runs) > 1 {
		root.Put("sequence", order)
	}
	return root, w.sum, nil
}

func (w *writer) line(l exec.Line) error {
	switch {
	case l.Auto:
		return errors.New(`a scenario cannot have "auto": bpfrun scenario new OBJECT writes runs without events`)
	case l.Pass > 0:
		w.after += l.Pass
		return nil
	}
	w.sum.Events++
	w.objects.see(l.Event)
	before := len(w.runs)
	var err error
	if call, ok := strings.CutPrefix(l.Event.Hook, "syscall/"); ok {
		err = w.call(l, call)
	} else {
		err = w.hook(l, bpfsys.CallHook{Name: l.Event.Hook}, l.Event.Args, bpfsys.Point.At, true, true)
	}
	if err == nil && len(w.runs) == before {
		w.sum.Unheard[l.Event.Hook]++
	}
	return err
}

// call adds the runs of a system call.
func (w *writer) call(l exec.Line, call string) error {
	exactly := func(p bpfsys.Point, hook string) bool { return p.AttachTo == hook }
	for _, h := range bpfsys.CallHooks(call, w.m.Kernel().SyscallSymbol(call)) {
		if err := w.hook(l, h, h.Args(call, l.Event.Args), exactly, true, bpfsys.Returns(call)); err != nil {
			return err
		}
	}
	return nil
}

// hook adds the runs of the programs at a hook: those at the entry of a function before those at
// its return.
func (w *writer) hook(l exec.Line, h bpfsys.CallHook, args map[string]any, fits func(bpfsys.Point, string) bool, entry, back bool) error {
	for _, ret := range []bool{false, true} {
		for i := range w.points {
			p := &w.points[i]
			if p.AtReturn() != ret || ret && !back || !ret && !entry || !fits(p.Point, h.Name) && !w.placed(p, h.Name) {
				continue
			}
			if len(w.runs) == MaxRuns {
				return errEnough
			}
			w.run(l, p, h, args)
		}
	}
	return nil
}

// placed reports whether a program can be attached to a device or cgroup by the attach type that an
// event names.
func (w *writer) placed(p *point, name string) bool {
	row := progtype.Of(p.Type)
	if row.TargetOf(p.prog.Attach) != 0 {
		return false
	}
	if s, _ := progtype.ParseSection(p.Section); s != nil && row.Attached(s.Attach) != nil {
		return s.Attach.String() == name
	}
	return slices.ContainsFunc(row.Attaches, func(a progtype.Attach) bool { return a.Type.String() == name })
}

func (w *writer) run(l exec.Line, p *point, h bpfsys.CallHook, args map[string]any) {
	run := &grammar.Node{Kind: grammar.Mapping}
	name := fmt.Sprintf("%d %s", l.Number, p.prog.Name)
	if w.names[name]++; w.names[name] > 1 {
		name += fmt.Sprintf(" (%d)", w.names[name])
	}
	run.Put("name", grammar.Quote(name))
	run.Put("prog", grammar.Word(p.prog.Name))
	if len(l.Event.Task) > 0 {
		run.Put("current", grammar.Word("$"+w.objects.task(l.Event.Task)))
	}
	if l.Event.CPU > 0 {
		run.Put("cpu", grammar.Word(strconv.Itoa(l.Event.CPU)))
		w.cpus = max(w.cpus, l.Event.CPU+1)
	}
	if w.after > 0 {
		run.Put("after", grammar.Word(strings.Replace(w.after.String(), "µ", "u", 1)))
		w.after = 0
	}
	if l.Repeat > 1 {
		run.Put("repeat", grammar.Word(strconv.Itoa(l.Repeat)))
	}
	if l.Event.Packet != nil && progtype.Of(p.Type).Takes.Has(progtype.TakesPacket) {
		run.Put("packet", grammar.Quote(fmt.Sprintf("%x", l.Event.Packet)))
	}
	takes := w.argNames(p, args)
	list := &grammar.Node{Kind: grammar.Mapping}
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if !takes(name) {
			w.left(l.Event.Hook, name)
			continue
		}
		list.Put(name, argument(args[name], strings.HasPrefix(l.Event.Hook, "syscall/")))
	}
	for _, name := range slices.Sorted(maps.Keys(l.Event.Tasks)) {
		if !takes(name) {
			w.left(l.Event.Hook, name)
			continue
		}
		list.Put(name, grammar.Word("$"+w.objects.task(l.Event.Tasks[name])))
	}
	for name := range l.Event.Sockets { // recordings name none
		w.left(l.Event.Hook, name)
	}
	if len(list.Pairs) > 0 {
		run.Put("args", list)
	}
	w.runs = append(w.runs, run)
}

func (w *writer) left(hook, name string) { w.sum.Left[hook+" "+name]++ }

// argNames returns which names of arguments a program takes. It depends on the call where all calls
// pass the hook.
func (w *writer) argNames(p *point, args map[string]any) func(string) bool {
	call, _ := args["call"].(string)
	key := p.prog.Name + " " + call
	if f, ok := w.takes[key]; ok {
		return f
	}
	in := machine.Input{}
	if call != "" {
		in.Args = map[string]any{"call": call}
	}
	f := func(string) bool { return true }
	if c, err := w.m.Inspect(p.prog.Name, in); err == nil {
		known := map[string]bool{}
		names, untyped := c.ArgNames(), c.Untyped
		for _, n := range names {
			known[n] = true
		}
		c.Leave()
		c.Free()
		f = func(n string) bool { return untyped || known[n] }
	}
	w.takes[key] = f
	return f
}

// argument writes a value as scenarios have it. Texts and bytes of system calls are in user memory.
func argument(v any, call bool) *grammar.Node {
	switch v := v.(type) {
	case []string:
		n := &grammar.Node{Kind: grammar.Sequence, Tag: "!user"}
		for _, s := range v {
			n.Items = append(n.Items, grammar.Quote(s))
		}
		return n
	case []byte:
		return &grammar.Node{Text: fmt.Sprintf("0x%x", v), Tag: "!user"}
	case string:
		if v == "" && call {
			return &grammar.Node{Quoted: true, Tag: "!user"}
		}
		return grammar.Quote(strings.Replace(v, "$", "$$", min(1, strings.Count(v, "$"))))
	}
	return grammar.Word(fmt.Sprint(v))
}

// syscallName returns the system call of an event.
func syscallName(e bpfsys.Event) string {
	call, ok := strings.CutPrefix(e.Hook, "syscall/")
	if !ok || hook.SyscallArgNames(call) == nil {
		return ""
	}
	return call
}
