package debug

import (
	"context"
	"errors"
	"math"

	"github.com/bpfrun/bpfrun/debug/expr"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/machine"
	"github.com/bpfrun/bpfrun/mem"
	"github.com/bpfrun/bpfrun/packet"
	"github.com/bpfrun/bpfrun/progtype"
	"github.com/bpfrun/bpfrun/vm"
)

// timeline owns the run: its position, the states kept to go back to, the user's changes, and its end. It moves without stopping at
// breakpoints; where to stop is left to Session.
type timeline struct {
	*subject
	*expr.Memory
	*selection
	*lane // the CPU that is looked at; its run is in the machine
	lanes

	start  *machine.Snapshot // before the current run
	end    uint64            // position of the end, 0 while not known
	edits  []edit
	done   int   // edits applied so far in the current pass
	ways   []way // states on the way, by position; the first is the start
	hits   []mem.Hit
	lastAt spot // the instruction that was executed last
	// assign makes an assignment at the current position again.
	assign func(text string)
}

// Idle, PacketNow, PacketStart and Sent make it the activity of values.
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

// edit is a change the user made, at its place in the run: an assignment, or a program that was started on another CPU. It is made again in
// every pass.
type edit struct {
	pos   uint64
	cpu   int
	frame int
	text  string      // the assignment
	dst   expr.Stored // what it changed
	begin *beginning  // nil for an assignment
}

// applyEdits makes the changes that belong to the position.
func (tl *timeline) applyEdits() {
	for tl.done < len(tl.edits) && tl.edits[tl.done].pos <= tl.Pos() {
		e := tl.edits[tl.done]
		tl.done++
		cpu, frame := tl.cpu, tl.frame
		tl.load(e.cpu)
		// It succeeded at this very place before; what it does is decided by the state alone.
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

// untilEdit returns the number of instructions up to the next change.
func (tl *timeline) untilEdit() uint64 {
	if tl.done < len(tl.edits) && tl.edits[tl.done].pos > tl.Pos() {
		return tl.edits[tl.done].pos - tl.Pos()
	}
	return math.MaxUint64
}

// Edits returns the number of changes that belong to the run.
func (tl *timeline) Edits() int {
	n := 0
	for i := range tl.edits {
		if tl.edits[i].begin == nil {
			n++
		}
	}
	return n
}

// KernelReads returns the accesses of kernel memory that the run made so far.
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

// Printed returns the lines the run wrote to the trace log so far.
func (tl *timeline) Printed() []string {
	switch {
	case tl.result != nil && tl.state == Ended:
		return tl.result.Trace
	case tl.run != nil && tl.state == Running:
		return tl.run.Result().Trace
	}
	return nil
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

// exec executes at most n instructions and at least one, and notes the end of the run.
func (tl *timeline) exec(n uint64) vm.Stop {
	before := tl.Pos()
	t := tl.m.Thread()
	tl.lastAt = spot{t.Image(), t.PC()}
	stop := tl.execute(n)
	if stop == vm.Break && tl.Pos() == before {
		stop = tl.execute(n) // leave the breakpoint the session stands at
	}
	return stop
}

// State describes what a session can do now.
type State uint8

const (
	// Idle: no program was started.
	Idle State = iota
	// Running: a program was started and stands before one of its instructions.
	Running
	// Ended: the program ended or faulted; it can be run backwards from there.
	Ended
)

// Errors of a session; test with errors.Is.
var (
	// ErrIdle: the command needs a program that was started.
	ErrIdle = errors.New("no program is running (start one with run)")
	// ErrEnded: the command needs a program that has not ended.
	ErrEnded = errors.New("the program has ended (reverse commands and restart work)")
	// ErrRange: a position that the run does not have.
	ErrRange = errors.New("the run does not have that many instructions")
)

// State returns what the session can do now.
func (tl *timeline) State() State { return tl.state }

// Result returns what the run did when it ended, nil before.
func (tl *timeline) Result() *machine.Result { return tl.result }

// Pos returns how many instructions of the run were executed.
func (tl *timeline) Pos() uint64 {
	return tl.others + tl.lane.count(tl.several)
}

// leave drops what runs, on all CPUs.
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

// rewind goes to the first instruction.
func (tl *timeline) rewind() { tl.resume(&tl.ways[0]) }

// goTo moves to position n, or to the end when the run ends before.
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

// goBackTo is goTo of a place on a CPU from which a search began. Where it was interrupted, it goes there all the same.
func (tl *timeline) goBackTo(ctx context.Context, n uint64, cpu int) error {
	err := tl.goTo(context.WithoutCancel(ctx), n)
	tl.load(cpu)
	return err
}

// chunk is how many instructions are executed before the context is looked at again.
const chunk = 1 << 20

// advance executes up to position n without stopping at breakpoints and watchpoints.
func (tl *timeline) advance(ctx context.Context, n uint64) error {
	for tl.running() && tl.Pos() < n {
		if err := ctx.Err(); err != nil {
			return err
		}
		tl.applyEdits()
		if stop := tl.execute(min(n-tl.Pos(), tl.untilEdit(), chunk)); stop == vm.Stopped && tl.run.Waits() != nil {
			break // for a lock that another CPU holds
		}
	}
	tl.hits = tl.hits[:0]
	return nil
}

// ended notes that the run is over. What an earlier pass found stays the result of the run.
func (tl *timeline) ended() {
	tl.result = tl.run.Finish()
	tl.state, tl.frame = Ended, 0
	if !tl.othersRunning() {
		tl.end = tl.Pos()
		tl.sent = tl.result.Events
	}
}

// live reports whether there are activations to look at: the program runs, or was stopped for what it did.
func (tl *timeline) live() bool {
	return tl.state == Running || tl.state == Ended && tl.result.Fault != nil
}

func (tl *timeline) endReason() Reason {
	if tl.result != nil && tl.result.Fault != nil {
		return Faulted
	}
	return Exited
}

// onWatch is called in the middle of an instruction: it notes the access and asks for a stop after it.
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
