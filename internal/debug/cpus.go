package debug

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"github.com/bpfrun/bpfrun/internal/debug/expr"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/scenario"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/vm"
)

// lane is the state of one CPU. Only the selected CPU's run is loaded in the machine; the runs of
// the others are parked.
type lane struct {
	cpu    int
	state  State
	run    *machine.Session
	result *machine.Result // of the run, once it ended
	began  uint64          // position at which the run began
	before uint64          // instructions of earlier runs on this CPU
	parked uint64          // the value of count while another CPU is selected
}

// count returns how many positions of the run belong to this CPU. With several CPUs, a fault counts
// as one too, since it may change what the others see.
func (l *lane) count(several bool) uint64 {
	n := l.before
	if l.run != nil {
		n += l.run.Insns()
	}
	if several && l.faulted() {
		n++
	}
	return n
}

func (l *lane) faulted() bool { return l.state == Ended && l.result != nil && l.result.Fault != nil }

// lanes are the CPUs that programs run on and the order in which they take turns. The order makes a
// run on several CPUs repeatable: it is recorded as the user steps one CPU and then another, and
// followed whenever the run is executed again.
type lanes struct {
	list    []*lane // by CPU
	several bool    // programs were started on more than one CPU in this run
	others  uint64  // positions of all CPUs but the selected one
	turns   []turn
	known   uint64          // position up to which the order of turns is known
	sent    []machine.Event // records received by user space once all programs ended
}

// turn is a stretch of the run executed by one CPU: from pos to the next turn.
type turn struct {
	pos uint64
	cpu int
}

// beginning is a program started while programs ran on other CPUs.
type beginning struct {
	prog   string
	in     machine.Input
	fields map[string]uint64
}

// laneOf returns the lane of a CPU and creates it if necessary.
func (ls *lanes) laneOf(cpu int) *lane {
	i := sort.Search(len(ls.list), func(i int) bool { return ls.list[i].cpu >= cpu })
	if i == len(ls.list) || ls.list[i].cpu != cpu {
		ls.list = slices.Insert(ls.list, i, &lane{cpu: cpu})
	}
	return ls.list[i]
}

// turnAt returns the CPU that executes at a known position, and where its turn ends.
func (ls *lanes) turnAt(pos uint64) (cpu int, until uint64) {
	i := sort.Search(len(ls.turns), func(i int) bool { return ls.turns[i].pos > pos })
	until = ls.known
	if i < len(ls.turns) {
		until = ls.turns[i].pos
	}
	return ls.turns[i-1].cpu, until
}

// took records that a CPU executes from a position that was not known before.
func (ls *lanes) took(pos uint64, cpu int) {
	for len(ls.turns) > 0 && ls.turns[len(ls.turns)-1].pos == pos {
		ls.turns = ls.turns[:len(ls.turns)-1] // it was waiting
	}
	if n := len(ls.turns); n == 0 || ls.turns[n-1].cpu != cpu {
		ls.turns = append(ls.turns, turn{pos, cpu})
	}
}

// clearLanes discards the runs of all CPUs. The selected CPU stays selected.
func (tl *timeline) clearLanes() {
	tl.lane = &lane{cpu: tl.cpu}
	tl.lanes = lanes{list: []*lane{tl.lane}}
}

// copyLanes saves the state of all CPUs.
func (tl *timeline) copyLanes() []lane {
	out := make([]lane, len(tl.list))
	for i, l := range tl.list {
		out[i] = *l
	}
	return out
}

// putLanes restores the state saved by copyLanes. The runs themselves are restored from a mark.
func (tl *timeline) putLanes(list []lane, cpu int) {
	tl.list, tl.others = make([]*lane, len(list)), 0
	for i := range list {
		l := list[i]
		tl.list[i] = &l
		if l.cpu == cpu {
			tl.lane = &l
		} else {
			tl.others += l.parked
		}
	}
}

// load selects a CPU and loads its run.
func (tl *timeline) load(cpu int) {
	if cpu == tl.cpu {
		return
	}
	tl.Unlook()
	old := tl.lane
	old.parked = old.count(tl.several)
	if old.run != nil {
		old.run.Park()
	}
	tl.lane = tl.laneOf(cpu)
	tl.others += old.parked
	tl.others -= tl.parked
	if tl.run != nil {
		tl.run.Unpark()
	} else {
		_ = tl.m.Kernel().SetCPU(cpu) // checked when the user selected it
		tl.m.Thread().CPU = cpu
	}
	tl.select0()
}

// beginLane begins a program on the selected CPU.
func (tl *timeline) beginLane(b *beginning) error {
	l := tl.lane
	pos := tl.Pos()
	before := l.count(tl.several)
	run, res, err := tl.m.Begin(b.prog, b.in)
	if err != nil {
		return err
	}
	if run == nil {
		return &StatusError{b.prog, res.Status, tl.m.ProgramError(b.prog)}
	}
	for name, v := range b.fields {
		if !run.Context().SetField(name, v) {
			run.Leave()
			return fmt.Errorf("field %s of the context cannot be set", name)
		}
	}
	*l = lane{cpu: l.cpu, state: Running, run: run, began: pos, before: before}
	tl.select0()
	return nil
}

// execute executes at most n instructions on the CPU whose turn it is, and records the end of its
// program.
func (tl *timeline) execute(n uint64) vm.Stop {
	pos := tl.Pos()
	if pos < tl.known {
		cpu, until := tl.turnAt(pos)
		tl.load(cpu)
		n = min(n, until-pos)
	} else {
		tl.took(pos, tl.cpu)
	}
	stop := tl.run.Run(n)
	if stop == vm.Done || stop == vm.Faulted {
		tl.ended()
	}
	tl.known = max(tl.known, tl.Pos())
	return stop
}

// running reports whether there is anything to execute: the selected CPU's program has not ended
// or, as far as the order is known, another CPU's has not.
func (tl *timeline) running() bool {
	if tl.state == Running {
		return true
	}
	pos := tl.Pos()
	if pos >= tl.known {
		return false
	}
	cpu, _ := tl.turnAt(pos)
	return tl.laneOf(cpu).state == Running || tl.begins(cpu, pos)
}

// begins reports whether a program must be started on a CPU at this position and was not started in
// this pass yet.
func (tl *timeline) begins(cpu int, pos uint64) bool {
	for i := tl.done; i < len(tl.edits) && tl.edits[i].pos <= pos; i++ {
		if e := &tl.edits[i]; e.begin != nil && e.cpu == cpu {
			return true
		}
	}
	return false
}

// face selects the CPU whose turn it is at this position, if the order is known.
func (tl *timeline) face() {
	if pos := tl.Pos(); pos < tl.known {
		cpu, _ := tl.turnAt(pos)
		tl.load(cpu)
	}
}

// faceFor is face, but selects the CPU that the command applies to where the order is not known.
func (tl *timeline) faceFor(cpu int) {
	if tl.Pos() >= tl.known {
		tl.load(cpu)
		return
	}
	tl.face()
}

// follows reports whether the selected CPU executes next, as far as the order is known.
func (tl *timeline) follows() bool {
	pos := tl.Pos()
	if pos >= tl.known {
		return true
	}
	cpu, _ := tl.turnAt(pos)
	return cpu == tl.cpu
}

// diverge starts a different run from here: the recorded order and the edits after this position
// are dropped.
func (tl *timeline) diverge() {
	pos := tl.Pos()
	for len(tl.turns) > 0 && tl.turns[len(tl.turns)-1].pos >= pos {
		tl.turns = tl.turns[:len(tl.turns)-1]
	}
	tl.known = min(tl.known, pos)
	tl.edits = tl.edits[:tl.done:tl.done]
	tl.end, tl.sent = 0, nil
	tl.dropWays(pos)
}

// beganAt returns where the program that a CPU was running at a position began.
func (tl *timeline) beganAt(cpu int, pos uint64) uint64 {
	began := uint64(0)
	for i := range tl.edits {
		if e := &tl.edits[i]; e.begin != nil && e.cpu == cpu && e.pos <= pos {
			began = e.pos
		}
	}
	return began
}

// cpuAt returns the CPU that executed at a position, or the selected CPU if none did yet.
func (tl *timeline) cpuAt(pos uint64) int {
	if pos >= tl.known {
		return tl.cpu
	}
	cpu, _ := tl.turnAt(pos)
	return cpu
}

// othersRunning reports whether a CPU other than the selected one has a program that has not ended.
func (tl *timeline) othersRunning() bool {
	return slices.ContainsFunc(tl.list, func(l *lane) bool { return l != tl.lane && l.state == Running })
}

// received returns the records that user space received from the run; over is false while a program
// runs on any CPU, since records are delivered when the last program ends.
func (tl *timeline) received() (events []machine.Event, over bool) {
	if tl.state != Ended || tl.result == nil || tl.othersRunning() {
		return nil, false
	}
	return tl.sent, true
}

// countBack returns the position at which the selected CPU had executed n fewer instructions of its
// program; false if it has not executed that many.
func (tl *timeline) countBack(n uint64) (uint64, bool) {
	pos := tl.Pos()
	for i := len(tl.turns) - 1; i >= 0 && pos > tl.began; i-- {
		t := tl.turns[i]
		if t.pos >= pos {
			continue
		}
		from := max(t.pos, tl.began)
		if t.cpu == tl.cpu {
			if pos-from >= n {
				return pos - n, true
			}
			n -= pos - from
		}
		pos = from
	}
	return tl.began, false
}

// Several reports whether programs were started on more than one CPU in this run.
func (tl *timeline) Several() bool { return tl.several }

// CPU returns the number of the selected CPU.
func (tl *timeline) CPU() int { return tl.cpu }

// CPUInfo describes a CPU.
type CPUInfo struct {
	CPU   int
	State State
	// Program is the program that runs or ran on the CPU, "" for none. Place is its current
	// instruction.
	Program string
	Place   Place
	// Insns is the number of the program's instructions executed.
	Insns  uint64
	Result *machine.Result // once it ended
	// Selected reports whether commands apply to this CPU.
	Selected bool
	// Next reports whether this CPU executes next when the run is repeated.
	Next bool
}

// CPUs describes all CPUs of the machine.
func (s *Session) CPUs() []CPUInfo {
	s.Unlook()
	here := s.cpu
	frame, inline := s.frame, s.inline
	next := -1
	if pos := s.Pos(); pos < s.known {
		next, _ = s.turnAt(pos)
	}
	out := make([]CPUInfo, s.m.Kernel().CPUs())
	for i := range out {
		out[i] = CPUInfo{CPU: i, Selected: i == here, Next: i == next}
	}
	for _, l := range slices.Clone(s.list) {
		if l.run == nil || l.cpu >= len(out) {
			continue
		}
		s.load(l.cpu)
		x := &out[l.cpu]
		x.State, x.Program, x.Result, x.Insns = s.state, s.run.Program().Name, s.result, s.run.Insns()
		t := s.m.Thread()
		x.Place = s.place(t.Image(), t.PC())
	}
	s.load(here)
	s.frame, s.inline = frame, inline
	return out
}

// SelectCPU selects the CPU that commands apply to: programs are started, inspected and stepped
// there, while those of other CPUs are paused. On a CPU that has run no program, only maps, globals
// and the kernel can be inspected.
func (s *Session) SelectCPU(cpu int) error {
	if n := s.m.Kernel().CPUs(); cpu < 0 || cpu >= n {
		return fmt.Errorf("there is no CPU %d, the machine has %d (--cpus)", cpu, n)
	}
	s.load(cpu)
	s.in.CPU, s.base.CPU = cpu, cpu
	return nil
}

// CPUBusyError means that a command cannot run because programs have not ended on the CPUs it
// needs.
type CPUBusyError struct {
	CPU     int
	Program string
	Doing   string
}

// Error names the program and the possible next steps.
func (e *CPUBusyError) Error() string {
	return fmt.Sprintf("%s is in the middle of its run on CPU %d: %s (restart begins all programs again, reset drops them)", e.Program, e.CPU, e.Doing)
}

// follow makes the order of a case with programs on several CPUs the one that the run follows: each
// program begins when its CPU gets its first turn, or after all turns.
func (tl *timeline) follow(st *scenario.Staged) {
	tl.several, tl.turns = true, nil
	pos, first := uint64(0), map[int]uint64{}
	for _, t := range st.Turns {
		if _, ok := first[t.CPU]; !ok {
			first[t.CPU] = pos
		}
		if n := len(tl.turns); n == 0 || tl.turns[n-1].cpu != t.CPU {
			tl.turns = append(tl.turns, turn{pos, t.CPU})
		}
		pos += t.Insns
	}
	tl.known = pos
	for i := range st.Others {
		o := &st.Others[i]
		at, ok := first[o.Input.CPU]
		if !ok {
			at = pos
		}
		tl.edits = append(tl.edits, edit{pos: at, cpu: o.Input.CPU, begin: &beginning{o.Prog, o.Input, o.Fields}})
	}
	slices.SortStableFunc(tl.edits, func(a, b edit) int { return cmp.Compare(a.pos, b.pos) })
}

// beginOnCPU starts a program on the selected CPU while programs on other CPUs are paused.
func (s *Session) beginOnCPU(c *Case, prog string) (*Stop, error) {
	switch {
	case c != nil:
		return nil, &expr.UnavailableError{Name: c.Name, Why: "it sets up the whole machine, and programs run on other CPUs: start it first"}
	case s.state == Running:
		return nil, &CPUBusyError{s.cpu, s.run.Program().Name, "another program cannot be started there"}
	}
	in := s.in
	in.CPU = s.cpu
	several := s.several
	s.diverge()
	s.several = true
	b := &beginning{prog: prog, in: in}
	if err := s.beginLane(b); err != nil {
		s.several = several
		return nil, err
	}
	s.prog, s.caseName = prog, ""
	s.edits = append(s.edits, edit{pos: s.Pos(), cpu: s.cpu, begin: b})
	s.done++
	s.rewatch()
	return s.stopped(Started), nil
}

// waitText describes the lock that the CPU is waiting for.
func (s *Session) waitText(w *machine.Wait) string {
	holder := 0
	for _, l := range s.list {
		if l.run == w.Holder {
			holder = l.cpu
		}
	}
	text := fmt.Sprintf("CPU %d waits for the lock %s", s.cpu, s.AddressText(w.Lock))
	return text + fmt.Sprintf(", which CPU %d took at %s: let that continue (cpu %d).", holder, s.place(w.Image, w.PC), holder)
}

// programOf returns the linked program that runs on the selected CPU, or was started last.
func (ip *inspector) programOf() (*loader.LinkedProgram, bool) {
	if ip.run != nil {
		return ip.run.Program(), true
	}
	return ip.linked.Program(ip.prog)
}
