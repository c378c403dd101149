package verifier

import (
	"fmt"
	"io"
	"strings"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/verifier/since"
)

// logger writes the text of the kernel's log. It keeps text that a path that ends well takes back, as log level 1 does.
type logger struct {
	w     io.Writer
	level int
	buf   []byte

	touched  uint32 // registers
	slots    [maxFrames]uint64
	all      bool
	fresh    bool
	lastLine *Line
	open     int // characters of an instruction whose line is not ended yet: its state follows
}

func newLogger(o Options) *logger {
	l := &logger{w: o.Log, level: o.LogLevel}
	if l.w == nil {
		l.level = 0
	}
	return l
}

func (l *logger) pos() int { return len(l.buf) }

func (l *logger) rewind(n int) {
	if l.level == 1 && n <= len(l.buf) {
		l.buf, l.open = l.buf[:n], 0
		if n > 0 && l.buf[n-1] != '\n' {
			l.buf = append(l.buf, '\n')
		}
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

func (l *logger) note(format string, args ...any) {
	if l.level > 1 {
		l.printf(format+"\n", args...)
	}
}

func (l *logger) touch(r int) { l.touched |= 1 << r }

func (l *logger) touchSlot(fr, spi int) {
	if spi >= 0 && spi < 64 {
		l.slots[fr] |= 1 << spi
	}
}

func (l *logger) touchAll() { l.all = true }
func (l *logger) branch()   { l.fresh, l.all = true, true }
func (l *logger) returned() { l.fresh = true }
func (l *logger) called(e *position) {
	if l.level > 0 {
		l.printf("caller:\n%s\ncallee:\n%s\n", stateText(e, e.cur, e.cur.curFrame-1), stateText(e, e.cur, e.cur.curFrame))
	}
}

func (l *logger) states(e *position, cur, old *state) {
	l.printf("cur state:%s\nold state:%s\n", stateText(e, cur, cur.curFrame), stateText(e, old, cur.curFrame))
}

func (l *logger) markPrecise(e *position, b *backtrack, i int) {
	if l.level < 2 {
		return
	}
	l.printf("mark_precise: frame%d: regs=%s stack=%s before %d: %s\n", b.frame, regMask(b.regs[b.frame]), stackMask(b.stacks[b.frame]), i, insnText(e, i))
}

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

// safe means that the path ends at a state that was proved before.
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

// insn writes the state and the instruction that is judged next.
func (l *logger) insn(e *position) {
	if l.level == 0 {
		l.touched, l.all = 0, false
		return
	}
	if e.rel < since.R(5, 18) && l.level > 1 {
		l.printf("%d: %s\n", e.insn, stateText(e, e.cur, e.cur.curFrame))
		l.fresh = false
	} else if l.fresh {
		l.printf("\nfrom %d to %d: %s\n", e.prev, e.insn, stateText(e, e.cur, e.cur.curFrame))
		l.fresh = false
	} else if l.all || l.touched != 0 || l.slots != ([maxFrames]uint64{}) {
		if t := changedText(e, e.cur, l.touched, l.slots[e.cur.curFrame], l.all); t != "" {
			l.insnState(e.insn, t)
		}
	}
	l.touched, l.all, l.slots = 0, false, [maxFrames]uint64{}
	if ln := e.lineAt(e.insn); ln != nil && ln != l.lastLine {
		l.lastLine = ln
		l.printf("; %s @ %s:%d\n", strings.TrimSpace(ln.Text), base(ln.File), ln.Line)
	}
	l.endLine()
	n := len(l.buf)
	l.buf = fmt.Appendf(l.buf, "%d: (%02x) %s", e.insn, e.insns[e.insn].Code, insnText(e, e.insn))
	l.open = len(l.buf) - n
}

// insnState writes what an instruction changed: beside it, when nothing was written since.
func (l *logger) insnState(insn int, text string) {
	if l.open == 0 {
		l.printf("%d: %s\n", insn, text)
		return
	}
	pos := l.open + 1
	pad := (max(pos+4, 40)+7)/8*8 - pos - 1
	l.open = 0
	l.buf = fmt.Appendf(l.buf, "%*c; %s\n", pad, ' ', text)
}

// end writes the last line of a log.
func (l *logger) end(v *Verdict) {
	if l.level > 0 {
		l.printf("processed %d insns (limit %d) max_states_per_insn %d total_states %d peak_states %d mark_read 0\n", v.ProcessedInsns, maxInsns, v.MaxStatesPerInsn, v.TotalStates, v.PeakStates)
		l.flush()
	}
}

func base(f string) string { return f[strings.LastIndexByte(f, '/')+1:] }

// insnText is an instruction with the names of what it calls.
func insnText(e *position, i int) string {
	in := &e.insns[i]
	switch {
	case isLdImm64(in) && in.Src == 0 && i+1 < len(e.insns):
		return fmt.Sprintf("r%d = %#x", in.Dst, decode.Imm64(e.insns, i))
	case isHelperCall(in):
		if h, ok := proto.Lookup(uapi.FuncID(in.Imm)); ok {
			return fmt.Sprintf("call bpf_%s#%d", strings.TrimPrefix(h.Name(), "bpf_"), in.Imm)
		}
	case isKfuncCall(in):
		if k := e.aux[i].kfunc; k != nil {
			return fmt.Sprintf("call %s#%d", k.name, in.Imm)
		}
	}
	return decode.Disassemble(e.insns, i, nil)
}

// stateText describes a frame as print_verifier_state does.
func stateText(e *position, s *state, fr int) string {
	return frameText(e, s, fr, 0x7ff, ^uint64(0), true)
}

func changedText(e *position, s *state, regs uint32, slots uint64, all bool) string {
	if all {
		return frameText(e, s, s.curFrame, 0x7ff, ^uint64(0), true)
	}
	return frameText(e, s, s.curFrame, regs, slots, false)
}

func frameText(e *position, s *state, fr int, regs uint32, slots uint64, all bool) string {
	f := s.frames[fr]
	var b strings.Builder
	if fr > 0 {
		fmt.Fprintf(&b, "frame%d:", fr)
	}
	for i := range f.regs {
		r := &f.regs[i]
		if regs>>i&1 == 0 || r.typ == notInit {
			continue
		}
		fmt.Fprintf(&b, " R%d=%s", i, regText(e, r))
	}
	for i := range f.stack {
		if slots>>i&1 != 0 {
			slotText(e, &b, &f.stack[i], i)
		}
	}
	if all {
		refsText(e, &b, s)
	}
	return strings.TrimPrefix(b.String(), " ")
}

func refsText(e *position, b *strings.Builder, s *state) {
	var ids []string
	for _, r := range *e.refList(s) {
		if r.kind == refPtr {
			ids = append(ids, fmt.Sprint(r.id))
		}
	}
	if len(ids) > 0 {
		fmt.Fprintf(b, " refs=%s", strings.Join(ids, ","))
	}
}

const slotLetters = "?rm0diffp"

func slotText(e *position, b *strings.Builder, s *slot, i int) {
	used := false
	var t [8]byte
	for j := range s.t {
		used = used || s.t[j] != slotInvalid
		t[7-j] = slotLetters[s.t[j]]
	}
	if !used {
		return
	}
	off := -(i + 1) * 8
	switch s.t[7] {
	case slotSpill:
		full := s.t[0] == slotSpill
		fmt.Fprintf(b, " fp%d=", off)
		if !full {
			n := strings.IndexFunc(string(t[:]), func(c rune) bool { return c != 'r' })
			b.WriteString(string(t[n:]))
		}
		b.WriteString(regText(e, &s.reg))
	case slotDynptr:
		if s.reg.first {
			fmt.Fprintf(b, " fp%d=dynptr_%s(dynptr_id=%d", off, dynNames[s.reg.dtype], s.reg.id)
			if s.reg.ref != 0 {
				fmt.Fprintf(b, ",ref_id=%d", s.reg.ref)
			}
			b.WriteString(")")
		}
	case slotIter:
		if s.reg.ref != 0 {
			name := strings.TrimPrefix(e.specName(s.reg.spec, s.reg.tid), "bpf_iter_")
			state := [...]string{"<invalid>", "active", "drained"}[s.reg.istate]
			fmt.Fprintf(b, " fp%d=iter_%s(ref_id=%d,state=%s,depth=%d)", off, name, s.reg.ref, state, s.reg.depth)
		}
	default:
		fmt.Fprintf(b, " fp%d=%s", off, t[:])
	}
}

// regText describes a register.
func regText(e *position, r *reg) string {
	if r.typ == scalar {
		p := ""
		if r.precise {
			p = "P"
		}
		if r.Var.IsConst() {
			return p + signedText(int64(r.Var.Value))
		}
		var a []string
		if r.id != 0 {
			if r.id&addConst != 0 {
				a = append(a, fmt.Sprintf("id=%d%+d", r.id&^addConst, r.off))
			} else {
				a = append(a, fmt.Sprintf("id=%d", r.id))
			}
		}
		a = append(a, boundsText(r)...)
		return p + e.typeName(scalar) + "(" + strings.Join(a, ",") + ")"
	}
	if r.typ == ptrStack {
		t := "fp"
		if int(r.frame) != e.cur.curFrame {
			t = fmt.Sprintf("fp[%d]", r.frame)
		}
		if r.Var.IsConst() {
			return t + fmt.Sprint(r.offset())
		}
		return t + "(" + strings.Join(append([]string{fmt.Sprintf("off=%d", r.off)}, boundsText(r)...), ",") + ")"
	}
	name := e.typeName(r.typ)
	if r.typ.base() == ptrBTF && r.spec != 0 {
		name += e.specName(r.spec, r.tid)
	}
	var a []string
	if r.id != 0 {
		a = append(a, fmt.Sprintf("id=%d", r.id))
	}
	if r.ref != 0 {
		a = append(a, fmt.Sprintf("ref_obj_id=%d", r.ref))
	}
	if r.typ.isNonOwning() {
		a = append(a, "non_own_ref")
	}
	if r.mapp != 0 {
		m := e.mapOf(r)
		if m.Name != "" {
			a = append(a, "map="+m.Name)
		}
		a = append(a, fmt.Sprintf("ks=%d,vs=%d", m.KeySize, m.ValueSize))
	}
	if r.off != 0 {
		a = append(a, fmt.Sprintf("off=%d", r.off))
	}
	if r.typ.isPacket() {
		a = append(a, fmt.Sprintf("r=%d", r.rng))
	}
	if r.typ.base() == ptrMem {
		a = append(a, fmt.Sprintf("sz=%d", r.mem))
	}
	if r.Var.IsConst() {
		if r.Var.Value != 0 {
			a = append(a, "imm="+signedText(int64(r.Var.Value)))
		}
	} else {
		a = append(a, boundsText(r)...)
	}
	return name + "(" + strings.Join(a, ",") + ")"
}

func signedText(v int64) string {
	if v > -1<<15 && v < 1<<16 {
		return fmt.Sprint(v)
	}
	return fmt.Sprintf("%#x", uint64(v))
}

func unsignedText(v uint64) string {
	if v < 1<<16 {
		return fmt.Sprint(v)
	}
	return fmt.Sprintf("%#x", v)
}

// boundsText lists the ranges that say something; equal ends are merged as print_scalar_ranges does.
func boundsText(r *reg) []string {
	type end struct {
		name string
		text string
		omit bool
	}
	ends := []end{
		{"smin", signedText(r.SMin), r.SMin == -1<<63}, {"smax", signedText(r.SMax), r.SMax == 1<<63-1},
		{"umin", unsignedText(r.UMin), r.UMin == 0}, {"umax", unsignedText(r.UMax), r.UMax == 1<<64-1},
		{"smin32", signedText(int64(r.SMin32)), int64(r.SMin32) == r.SMin || r.SMin32 == -1<<31},
		{"smax32", signedText(int64(r.SMax32)), int64(r.SMax32) == r.SMax || r.SMax32 == 1<<31-1},
		{"umin32", unsignedText(uint64(r.UMin32)), uint64(r.UMin32) == r.UMin || r.UMin32 == 0},
		{"umax32", unsignedText(uint64(r.UMax32)), uint64(r.UMax32) == r.UMax || r.UMax32 == 1<<32-1},
	}
	vals := []int64{r.SMin, r.SMax, int64(r.UMin), int64(r.UMax), int64(r.SMin32), int64(r.SMax32), int64(r.UMin32), int64(r.UMax32)}
	var out []string
	for i := range ends {
		if ends[i].omit {
			continue
		}
		t := ends[i].name + "="
		for j := i + 2; j < len(ends); j += 2 {
			if !ends[j].omit && vals[j] == vals[i] {
				t += ends[j].name + "="
				ends[j].omit = true
			}
		}
		out = append(out, t+ends[i].text)
	}
	if !r.Var.IsUnknown() {
		out = append(out, "var_off="+r.Var.String())
	}
	return out
}
