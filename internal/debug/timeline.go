package debug

import (
	"context"
	"errors"
	"math"

	"github.com/bpfrun/bpfrun/internal/debug/expr"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/packet"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/vm"
)

// timeline owns the run: its position, the states kept for going back, the user's edits, and its
// end. It moves without stopping at breakpoints; Session decides where to stop.
type timeline struct {
	*subject
	*expr.Memory
	*selection
	*lane // the selected CPU; its run is in the machine
	lanes

	start  *machine.Snapshot // before the current run
	end    uint64            // position of the end, 0 while unknown
	edits  []edit
	done   int   // edits applied so far in the current pass
	ways   []way // states kept along the run, by position; the first is the start
	hits   []mem.Hit
	lastAt spot // the last instruction executed
	// assign repeats an assignment at the current position.
	assign func(text string)
}

// Idle, PacketNow, PacketStart and Sent implement expr.Activity.
func (tl *timeline) Idle() bool { return tl.state == Idle }

func (tl *timeline) PacketNow() (addr uint64, data []byte, ok bool) {
	if tl.state == Idle || tl.run.Context().Packet == nil {
		return 0, nil, false
	}
	p := tl.run.Context().Packet
	return p.Data(), p.Bytes(), true
}

func (tl *timeline) PacketStart() packet.Start {
	if progtype.Of(tl.run.Program().Type).Layer == progtype.Network {
		return packet.Network
	}
	return packet.Ethernet
}

func (tl *timeline) Sent(def *loader.Map) (records [][]byte, ok bool) {
	events, over := tl.received()
	if !over {
		return nil, false
	}
	for _, e := range events {
		if e.Map == def.Name {
			records = append(records, e.Data)
		}
	}
	return records, true
}

// edit is a change made by the user at a position of the run: an assignment, or a program started
// on another CPU. It is repeated in every pass.
type edit struct {
	pos   uint64
	cpu   int
	frame int
	text  string      // the assignment
	dst   expr.Stored // the assignment's destination
	begin *beginning  // nil for an assignment
}

// applyEdits makes the edits at the current position.
func (tl *timeline) applyEdits() {
	for tl.done < len(tl.edits) && tl.edits[tl.done].pos <= tl.Pos() {
		e := tl.edits[tl.done]
		tl.done++
		cpu, frame := tl.cpu, tl.frame
		tl.load(e.cpu)
		// It succeeded here before, and its effect depends only on the state.
		if e.begin != nil {
			_ = tl.beginLane(e.begin)
		} else {
			tl.frame = e.frame
			tl.assign(e.text)
		}
		if tl.load(cpu); cpu == tl.cpu {
			tl.frame = frame
		}
	}
}

// untilEdit returns the number of instructions up to the next edit.
func (tl *timeline) untilEdit() uint64 {
	if tl.done < len(tl.edits) && tl.edits[tl.done].pos > tl.Pos() {
		return tl.edits[tl.done].pos - tl.Pos()
	}
	return math.MaxUint64
}

// Edits returns the number of edits in the run.
func (tl *timeline) Edits() int {
	n := 0
	for i := range tl.edits {
		if tl.edits[i].begin == nil {
			n++
		}
	}
	return n
}

// KernelReads returns the run's accesses of kernel memory so far.
func (tl *timeline) KernelReads() (reads, writes []machine.KernelAccess) {
	res := tl.result
	if tl.state == Running {
		res = tl.run.Result()
	}
	if res == nil {
		return nil, nil
	}
	return res.Reads, res.Writes
}

// Printed returns the lines the run has written to the trace log so far.
func (tl *timeline) Printed() []string {
	if tl.run == nil {
		return nil
	}
	return tl.run.Printed()
}

func (tl *timeline) mayRun() error {
	switch tl.state {
	case Idle:
		return ErrIdle
	case Ended:
		return ErrEnded
	}
	return nil
}

// exec executes at most n instructions and at least one, and records the end of the run.
func (tl *timeline) exec(n uint64) vm.Stop {
	before := tl.Pos()
	t := tl.m.Thread()
	tl.lastAt = spot{t.Image(), t.PC()}
	stop := tl.execute(n)
	if stop == vm.Break && tl.Pos() == before {
		stop = tl.execute(n) // step off the breakpoint at the current instruction
	}
	return stop
}

// State is the state of a session.
type State uint8

const (
	// Idle: no program has been started.
	Idle State = iota
	// Running: a program has been started and is stopped before one of its instructions.
	Running
	// Ended: the program ended or faulted; it can be run in reverse.
	Ended
)

// Errors of a session; test with errors.Is.
var (
	// ErrIdle: the command needs a started program.
	ErrIdle = errors.New("no program is running (start one with run)")
	// ErrEnded: the command needs a program that has not ended.
	ErrEnded = errors.New("the program has ended (reverse commands and restart work)")
	// ErrRange: the position is outside the run.
	ErrRange = errors.New("the run does not have that many instructions")
)

// State returns the state of the session.
func (tl *timeline) State() State { return tl.state }

// Result returns the result of the run, nil before its end.
func (tl *timeline) Result() *machine.Result { return tl.result }

// Pos returns the number of instructions of the run executed.
func (tl *timeline) Pos() uint64 {
	return tl.others + tl.lane.count(tl.several)
}

// leave drops the runs on all CPUs.
func (tl *timeline) leave() {
	if tl.run != nil {
		tl.run.Leave()
	}
	for _, l := range tl.list {
		if l != tl.lane && l.run != nil {
			l.run.Leave()
		}
	}
	tl.clearLanes()
}

// rewind moves to the first instruction.
func (tl *timeline) rewind() { tl.resume(&tl.ways[0]) }

// goTo moves to position n, or to the end if the run is shorter.
func (tl *timeline) goTo(ctx context.Context, n uint64) error {
	tl.Unlook()
	back := n < tl.Pos() || tl.state == Ended && n < tl.end
	if w := tl.wayTo(n); back || tl.running() && w.pos > tl.Pos() {
		tl.resume(w)
	}
	err := tl.advance(ctx, n)
	tl.face()
	return err
}

// goBackTo moves to the position and CPU at which a search began, even if the search was
// interrupted.
func (tl *timeline) goBackTo(ctx context.Context, n uint64, cpu int) error {
	err := tl.goTo(context.WithoutCancel(ctx), n)
	tl.load(cpu)
	return err
}

// chunk is the number of instructions executed between checks of the context.
const chunk = 1 << 20

// advance executes up to position n without stopping at breakpoints and watchpoints.
func (tl *timeline) advance(ctx context.Context, n uint64) error {
	for tl.running() && tl.Pos() < n {
		if err := ctx.Err(); err != nil {
			return err
		}
		tl.applyEdits()
		if stop := tl.execute(min(n-tl.Pos(), tl.untilEdit(), chunk)); stop == vm.Stopped && tl.run.Waits() != nil {
			break // waiting for a lock that another CPU holds
		}
	}
	tl.hits = tl.hits[:0]
	return nil
}

// ended records that the run is over. The result that an earlier pass recorded stays the run's
// result.
func (tl *timeline) ended() {
	tl.result = tl.run.Finish()
	tl.state, tl.frame = Ended, 0
	if !tl.othersRunning() {
		tl.end = tl.Pos()
		tl.sent = tl.result.Events
	}
}

// live reports whether there are activations to inspect: the program is running or has faulted.
func (tl *timeline) live() bool {
	return tl.state == Running || tl.state == Ended && tl.result.Fault != nil
}

func (tl *timeline) endReason() Reason {
	if tl.result != nil && tl.result.Fault != nil {
		return Faulted
	}
	return Exited
}

// onWatch is called in the middle of an instruction: it records the access and requests a stop
// after the instruction.
func (tl *timeline) onWatch(h mem.Hit) {
	if tl.state != Running || tl.run == nil {
		return
	}
	const most = 64
	if len(tl.hits) < most {
		tl.hits = append(tl.hits, h)
	}
	t := tl.m.Thread()
	tl.lastAt = spot{t.Image(), t.PC()}
	t.Suspend("watchpoint")
}
