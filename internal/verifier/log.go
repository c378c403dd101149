package verifier

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// logger writes the kernel's log. At log level 1 it holds back the text of a path, which is dropped
// if the path succeeds.
type logger struct {
	w     io.Writer
	level int
	buf   []byte

	touched  uint32 // set of registers
	slots    uint64 // set of stack slots, whatever the frame
	all      bool
	fresh    bool
	lastLine *Line
	open     int // length of an instruction whose line is still open, because its state follows

	stats   bool
	began   time.Time
	emptied func()
}

func newLogger(o Options) *logger {
	l := &logger{w: o.Log, level: o.LogLevel, stats: o.Stats, began: time.Now(), emptied: o.Emptied}
	if l.w == nil {
		l.level, l.stats, l.emptied = 0, false, nil
	}
	return l
}

func (l *logger) pos() int { return len(l.buf) }

// rewind drops what was logged since n, at level 1 (bpf_vlog_reset in pop_stack). Where n is at the
// end of an instruction, the kernel's log goes on behind the line's end, which the first space
// before a state may have replaced: what comes next is on the same line then.
func (l *logger) rewind(n int) {
	if l.level != 1 || n > len(l.buf) {
		return
	}
	end := byte('\n')
	if n < len(l.buf) {
		end = l.buf[n]
	}
	l.buf, l.open = l.buf[:n], 0
	if n > 0 && l.buf[n-1] != '\n' {
		l.buf = append(l.buf, end)
	}
}

// passed drops the text about a function that was verified, if the log is that of a load.
func (l *logger) passed() {
	if l.level < 2 && l.emptied != nil {
		l.flush()
		l.emptied()
	}
}

func (l *logger) endLine() {
	if l.open > 0 {
		l.buf, l.open = append(l.buf, '\n'), 0
	}
}

func (l *logger) flush() {
	if l.level > 0 {
		l.endLine()
		_, _ = l.w.Write(l.buf)
		l.buf = l.buf[:0]
	}
}

func (l *logger) printf(format string, args ...any) {
	if l.level > 0 {
		l.endLine()
		l.buf = fmt.Appendf(l.buf, format, args...)
		if l.level > 1 && len(l.buf) > 1<<16 {
			l.flush()
		}
	}
}

func (l *logger) line(s string) {
	if l.level > 0 {
		l.printf("%s\n", s)
	}
}

// note logs what only log level 2 has.
func (l *logger) note(format string, args ...any) {
	if l.level > 1 {
		l.printf(format+"\n", args...)
	}
}

func (l *logger) touch(r int) { l.touched |= 1 << r }

// touchSlot notes that a stack slot was written (mark_stack_slot_scratched). The kernel keeps one
// set for all frames, so that the slots of the same numbers are printed of the frame that is
// current then.
func (l *logger) touchSlot(spi int) {
	if spi >= 0 && spi < 64 {
		l.slots |= 1 << spi
	}
}

func (l *logger) touchAll() { l.all = true }

// begin begins the log of a function: its first state is not that of a branch.
func (l *logger) begin()    { l.fresh, l.all = false, true }
func (l *logger) branch()   { l.fresh, l.all = true, true }
func (l *logger) returned() { l.fresh = true }

// called logs the frames at the entry of a function.
func (l *logger) called(e *position) {
	if l.level > 0 {
		l.printf("caller:\n %s\ncallee:\n %s\n", stateText(e, e.cur, e.cur.curFrame-1), stateText(e, e.cur, e.cur.curFrame))
	}
}

// returns logs the frames at the return from a function to instruction to.
func (l *logger) returns(e *position, to int) {
	if l.level > 0 {
		l.printf("returning from callee:\n %s\nto caller at %d:\n %s\n", stateText(e, e.cur, e.cur.curFrame), to, stateText(e, e.cur, e.cur.curFrame-1))
	}
}

// states logs the two states of an endless loop (print_verifier_state).
func (l *logger) states(e *position, cur, old *state) {
	if l.level > 0 {
		l.printf("cur state: %s\nold state: %s\n", stateText(e, cur, cur.curFrame), stateText(e, old, cur.curFrame))
	}
}

// safeFunc logs that a global function is safe.
func (l *logger) safeFunc(e *position, sub int) {
	switch {
	case l.level == 0:
	case !e.has(since.FuncNameWords):
		l.printf("Func#%d is safe for any args that match its prototype\n", sub)
	default:
		l.printf("Func#%d ('%s') is safe for any args that match its prototype\n", sub, e.subs[sub].name)
	}
}

// functions logs where functions begin.
func (l *logger) functions(subs []subprog) {
	for i := range max(0, len(subs)-1) {
		l.note("func#%d @%d", i, subs[i].start)
	}
}

// order logs in which order functions are analysed.
func (l *logger) order(subs []subprog, order []int) {
	for i, sub := range order {
		l.note("topo_order[%d] = %s", i, subs[sub].name)
	}
}

// liveRegisters logs the instructions with the registers that are live after each, and with their
// loops.
func (l *logger) liveRegisters(e *position) {
	if l.level < 2 {
		return
	}
	l.note("Live regs before insn:")
	for i := 0; i < len(e.insns); i++ {
		a := &e.aux[i]
		loop := "    "
		if a.scc != 0 {
			loop = fmt.Sprintf("%3d ", a.scc)
		}
		if !e.r.scc {
			loop = ""
		}
		var regs [10]byte
		for r := range regs {
			regs[r] = '.'
			if a.live>>r&1 != 0 {
				regs[r] = '0' + byte(r)
			}
		}
		l.note("%s%3d: %s (%02x) %s", loop, i, regs[:], e.insns[i].Code, insnText(e, i))
		if isLdImm64(&e.insns[i]) {
			i++
		}
	}
}

// loop logs that exploration enters, leaves or repeats a loop.
func (l *logger) loop(what string, c *callchain) {
	if l.level > 1 {
		l.printf("SCC %s %s\n", what, c)
	}
}

// markPrecise logs what is followed back over an instruction (backtrack_insn).
func (l *logger) markPrecise(e *position, b *backtrack, i int) {
	if l.level < 2 {
		return
	}
	l.printf("mark_precise: frame%d: regs=%s stack=%s before %d: (%02x) %s\n", b.frame, regMask(b.regs[b.frame]), stackMask(b.stacks[b.frame]), i, e.insns[i].Code, insnText(e, i))
}

// markFrom logs the range of instructions that is followed back.
func (l *logger) markFrom(frame, last, first, subseq int) {
	if l.level > 1 {
		l.note("mark_precise: frame%d: last_idx %d first_idx %d subseq_idx %d ", frame, last, first, subseq)
	}
}

// markParent logs the registers and slots that are looked for in a checkpoint.
func (l *logger) markParent(e *position, b *backtrack, s *state, fr int) {
	if l.level > 1 {
		l.printf("mark_precise: frame%d: parent state regs=%s stack=%s:  %s\n", fr, regMask(b.regs[fr]), stackMask(b.stacks[fr]), stateText(e, s, fr))
	}
}

// propagates logs the registers and slots of a frame that must be precise because they were in a
// state that covers this one.
func (l *logger) propagates(b *backtrack, fr int) {
	if l.level < 2 || b.regs[fr] == 0 && b.stacks[fr] == 0 {
		return
	}
	var names []string
	for i := 0; i < 10; i++ {
		if b.regs[fr]>>i&1 != 0 {
			names = append(names, fmt.Sprintf("r%d", i))
		}
	}
	for i := 0; i < 64; i++ {
		if b.stacks[fr]>>i&1 != 0 {
			names = append(names, fmt.Sprintf("fp%d", -(i+1)*8))
		}
	}
	l.note("frame %d: propagating %s", fr, strings.Join(names, ","))
}

// iterations logs how often the instructions of a function were processed by the liveness analysis.
func (l *logger) iterations(in *instance, n int) {
	l.note("%s live stack update done in %d iterations", in.chain(), n)
}

// marks logs which slots of a frame an instruction is now known to need (live) or to have written
// (written).
func (l *logger) marks(in *instance, frame, insn int, what string, before, after uint64) {
	if before == after {
		return
	}
	line := fmt.Sprintf("%s frame %d insn %d ", in.chain(), frame, insn)
	if on := after &^ before; on != 0 {
		line += fmt.Sprintf("+%s %s ", what, stackMask(on))
	}
	if off := before &^ after; off != 0 {
		line += fmt.Sprintf("-%s %s", what, stackMask(off))
	}
	l.note("%s", line)
}

// regMask and stackMask are sets as the log has them (fmt_reg_mask, bpf_fmt_stack_mask).
func regMask(m uint32) string {
	var out []string
	for i := 0; i < 11; i++ {
		if m>>i&1 != 0 {
			out = append(out, fmt.Sprintf("r%d", i))
		}
	}
	return strings.Join(out, ",")
}

func stackMask(m uint64) string {
	var out []string
	for i := 0; i < 64; i++ {
		if m>>i&1 != 0 {
			out = append(out, fmt.Sprint(-(i+1)*8))
		}
	}
	return strings.Join(out, ",")
}

// safe logs that the path ends at a state already proved safe.
func (l *logger) safe(e *position) {
	if l.level == 0 {
		return
	}
	if l.fresh {
		l.printf("\nfrom %d to %d: safe\n", e.prev, e.insn)
	} else {
		l.printf("%d: safe\n", e.insn)
	}
}

// insn logs the state and the next instruction.
func (l *logger) insn(e *position) {
	if l.level == 0 {
		l.touched, l.all = 0, false
		return
	}
	if !e.has(since.StateLines) && l.level > 1 {
		l.printf("%d: %s\n", e.insn, stateText(e, e.cur, e.cur.curFrame))
		l.fresh = false
		l.touched, l.all, l.slots = 0, false, 0
	} else {
		if l.fresh && (l.level > 1 || !e.has(since.StateLines)) {
			l.printf("\nfrom %d to %d: %s\n", e.prev, e.insn, stateText(e, e.cur, e.cur.curFrame))
			l.fresh = false
		}
		l.changes(e)
	}
	l.sourceLine(e)
	l.endLine()
	n := len(l.buf)
	l.buf = fmt.Appendf(l.buf, "%d: (%02x) %s", e.insn, e.insns[e.insn].Code, insnText(e, e.insn))
	l.open = len(l.buf) - n
}

// changes logs what was read and written since the last output (print_insn_state).
func (l *logger) changes(e *position) {
	if l.level == 0 || !l.all && l.touched == 0 && l.slots == 0 {
		return
	}
	l.insnState(e.insn, changedText(e, e.cur, l.touched, l.slots, l.all))
	l.touched, l.all, l.slots = 0, false, 0
}

// sourceLine logs the source line of the instruction if it differs from the previous one. Up to 6.8
// there is no file and line number.
func (l *logger) sourceLine(e *position) {
	ln := e.lineAt(e.insn)
	if ln == nil || ln == l.lastLine {
		return
	}
	last := l.lastLine
	l.lastLine = ln
	switch {
	case !e.has(since.SourcePositions):
		l.printf("; %s\n", strings.TrimSpace(ln.Text))
	case last == nil || last.File != ln.File || last.Line != ln.Line:
		l.printf("; %s @ %s:%d\n", strings.TrimSpace(ln.Text), base(ln.File), ln.Line)
	}
}

// insnState logs what an instruction changed, on the same line if nothing was written since.
func (l *logger) insnState(insn int, text string) {
	if text != "" {
		text = " " + text
	}
	if l.open == 0 {
		l.printf("%d:%s\n", insn, text)
		return
	}
	pad := aligned(l.open + 1)
	l.open = 0
	l.buf = append(append(append(l.buf, pad...), text...), '\n')
}

// aligned is what stands between a line's text of a length and what follows in a column of its own
// (vlog_alignment).
func aligned(length int) string {
	return fmt.Sprintf("%*c;", (max(length+4, 40)+7)/8*8-length-1, ' ')
}

// end logs the last lines (print_verification_stats).
func (l *logger) end(v *Verdict, e *explorer) {
	if l.level == 0 && !l.stats {
		return
	}
	l.endLine()
	if l.stats {
		l.buf = fmt.Appendf(l.buf, "verification time %d usec\nstack depth %s", time.Since(l.began).Microseconds(), sumText(v.StackDepth))
		if e.has(since.TotalsLogged) {
			l.buf = fmt.Appendf(l.buf, " max %d\ninsns processed %s", e.limits.deepest, sumText(e.processedByRoot(v.Outcome == Accepted)))
		}
		l.buf = append(l.buf, '\n')
	}
	l.buf = fmt.Appendf(l.buf, "processed %d insns (limit %d) max_states_per_insn %d total_states %d peak_states %d mark_read %d\n", v.ProcessedInsns, maxInsns, v.MaxStatesPerInsn, v.TotalStates, v.PeakStates, e.liveness.longest)
	_, _ = l.w.Write(l.buf)
	l.buf = nil
}

// processedByRoot returns how many instructions were processed from the program's beginning on, and
// from that of each global function that the kernel keeps.
func (e *explorer) processedByRoot(accepted bool) (out []int) {
	for n := 0; n < e.nsubsOr0(); n++ {
		s := &e.subs[n]
		if n == 0 || s.linkage == funcGlobal && (s.processed > 0 || !accepted) {
			out = append(out, s.processed)
		}
	}
	return out
}

func sumText(numbers []int) string {
	var out []string
	for _, n := range numbers {
		out = append(out, strconv.Itoa(n))
	}
	return strings.Join(out, "+")
}

func base(f string) string { return f[strings.LastIndexByte(f, '/')+1:] }
