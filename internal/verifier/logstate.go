package verifier

import (
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// stateText describes a frame as print_verifier_state does, in the log.
func stateText(e *position, s *state, fr int) string {
	return frameText(e, s, fr, 0x7ff, ^uint64(0), true)
}

// contentText is stateText without marks of use, which are about the past of a state and not about
// what it contains.
func contentText(e *position, s *state, fr int) string {
	return frameText(e, s, fr, 0x7ff, ^uint64(0), false)
}

// changedText describes what an instruction changed (print_insn_state): all after a branch or call,
// else the registers and slots that were touched (mark_reg_scratched).
func changedText(e *position, s *state, regs uint32, slots uint64, all bool) string {
	if all {
		return stateText(e, s, s.curFrame)
	}
	return frameText(e, s, s.curFrame, regs, slots, true)
}

// frameText describes a frame (print_verifier_state): the registers and slots of the sets, as those
// that changed, and what is held.
func frameText(e *position, s *state, fr int, regs uint32, slots uint64, marks bool) string {
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
		fmt.Fprintf(&b, " R%d%s=%s", i, marksText(e, r.live, marks), regText(e, r, fr))
	}
	for i := range f.stack {
		if slots>>i&1 != 0 {
			slotText(e, &b, f.stack[i], i, fr, marksText(e, f.use(i), marks))
		}
	}
	refsText(e, &b, s)
	if f.inCallback {
		b.WriteString(" cb")
	}
	if f.inAsync {
		b.WriteString(" async_cb")
	}
	return strings.TrimPrefix(b.String(), " ")
}

// marksText tells what is known of the use of a register or slot: that it was read, that it was
// written, and that the state is complete (print_liveness). Releases from 6.18 on know it from the
// program and keep no marks.
func marksText(e *position, live uint8, wanted bool) string {
	if !wanted || e.r.static || live&(liveRead|liveWritten|liveDone) == 0 {
		return ""
	}
	text := "_"
	for i, letter := range "rwD" {
		if live&(liveRead<<i) != 0 {
			text += string(letter)
		}
	}
	return text
}

// refsText lists the references that are held, which are the same for all frames.
func refsText(e *position, b *strings.Builder, s *state) {
	var ids []string
	refs := *e.refList(s)
	if len(refs) > 0 && refs[0].id == 0 {
		return // the kernel prints nothing if the first one is a lock of a global variable
	}
	for _, r := range refs {
		if r.id != 0 {
			ids = append(ids, fmt.Sprint(r.id))
		}
	}
	if len(ids) > 0 {
		fmt.Fprintf(b, " refs=%s", strings.Join(ids, ","))
	}
}

// kindText is a kind of type as the kernel's log has it (btf_type_str).
func kindText(k btf.Kind) string {
	if k == btf.KindVoid {
		return "UNKNOWN"
	}
	return strings.ToUpper(k.String())
}

const slotLetters = "?rm0difp"

// slotText describes a slot: by a letter for each byte, or by what is spilled there. Objects are
// described once, at their first slot.
func slotText(e *position, b *strings.Builder, s *slot, i, fr int, marks string) {
	used := false
	var t [8]byte
	for j := range s.t {
		used = used || s.t[j] != slotInvalid && s.t[j] != slotPoison
		t[j] = slotLetters[s.t[j]]
	}
	if !used {
		return
	}
	off := -(i + 1) * 8
	switch s.t[7] {
	case slotSpill:
		// Bytes below the spilled ones.
		fmt.Fprintf(b, " fp%d%s=%s%s", off, marks, t[:strings.IndexByte(string(t[:]), 'r')], regText(e, &s.reg, fr))
	case slotDynptr:
		if s.reg.first {
			var a []string
			if s.reg.id != 0 {
				a = append(a, fmt.Sprintf("id=%d", s.reg.id))
			}
			switch {
			case s.reg.ref == 0:
			case e.has(since.ParentIDs):
				a = append(a, fmt.Sprintf("parent_id=%d", s.reg.ref))
			default:
				a = append(a, fmt.Sprintf("ref_id=%d", s.reg.ref))
			}
			if !e.has(since.ParentIDs) { // the mark of the first of two slots, which shares its memory
				a = append(a, "dynptr_id=1")
			}
			fmt.Fprintf(b, " fp%d%s=dynptr_%s(%s)", off, marks, dynNames[s.reg.dtype], strings.Join(a, ","))
		}
	case slotIter:
		if s.reg.ref != 0 {
			name := strings.TrimPrefix(e.specName(s.reg.spec, s.reg.tid), "bpf_iter_")
			state := [...]string{"<invalid>", "active", "drained"}[s.reg.istate]
			id := "ref_id"
			if e.has(since.ParentIDs) {
				id = "id"
			}
			fmt.Fprintf(b, " fp%d%s=iter_%s(%s=%d,state=%s,depth=%d)", off, marks, name, id, s.reg.ref, state, s.reg.depth)
		}
	default:
		fmt.Fprintf(b, " fp%d%s=%s", off, marks, t[:])
	}
}

// regText describes a register of a frame (print_reg_state).
func regText(e *position, r *reg, frame int) string {
	name := e.typeName(r.typ)
	switch {
	case r.typ == scalar:
		if r.precise {
			name = "P" + name
		}
		if r.Var.IsConst() {
			return strings.TrimSuffix(name, e.typeName(scalar)) + signedText(int64(r.Var.Value))
		}
	case r.typ == ptrArena:
		return name
	case r.typ == ptrStack:
		name = "fp"
		if int(r.frame) != frame {
			name = fmt.Sprintf("fp[%d]", r.frame)
		}
		if r.Var.IsConst() {
			return name + signedText(r.offset())
		}
	case r.typ.base() == ptrBTF && r.spec != 0:
		name += e.specName(r.spec, r.tid)
	}
	return name + "(" + strings.Join(regParts(e, r), ",") + ")"
}

// regParts returns what is known of a register besides its kind.
func regParts(e *position, r *reg) []string {
	var a []string
	add := func(format string, args ...any) { a = append(a, fmt.Sprintf(format, args...)) }
	byParent := e.has(since.ParentIDs)
	switch {
	case r.id == 0 && byParent && r.ref != 0:
		add("id=%d", r.ref)
	case r.id == 0:
	case r.typ == scalar && r.id&addConst != 0:
		add("id=%d%+d", r.id&^addConst, r.off)
	default:
		add("id=%d", r.id)
	}
	switch {
	case byParent && r.dyn != 0:
		add("parent_id=%d", r.dyn)
	case r.ref == 0:
	case !byParent:
		add("ref_obj_id=%d", r.ref)
	case r.id != 0 && r.ref != r.id:
		add("parent_id=%d", r.ref)
	}
	if r.typ.isNonOwning() {
		add("non_own_ref")
	}
	if r.typ.base() == constMap || r.typ.base() == ptrMapKey || r.typ.base() == ptrMapValue {
		m := e.mapOf(r)
		if m.Name != "" {
			add("map=%s", mapName(m.Name))
		}
		add("ks=%d,vs=%d", m.KeySize, m.ValueSize)
	}
	if r.typ != scalar && r.off != 0 && e.rules.Arcs {
		r = &reg{value: value{typ: r.typ, rng: r.rng, mem: r.mem, dtype: r.dtype, Bounds: r.place()}}
		r.Sync(e.rules)
	} else if r.typ != scalar && r.off != 0 {
		add("off=%s", signedText(int64(r.off)))
	}
	if r.typ.isPacket() {
		add("r=%s", unsignedText(uint64(int64(r.rng))))
	}
	if r.typ.base() == ptrMem {
		add("sz=%s", unsignedText(uint64(r.mem)))
	}
	if r.typ == constDynptr {
		add("type=%s", dynNames[r.dtype])
	}
	if !r.Var.IsConst() {
		a = append(a, rangesText(r)...)
		if !r.Var.IsUnknown() {
			add("var_off=%s", r.Var)
		}
	} else if r.Var.Value != 0 {
		add("imm=%s", signedText(int64(r.Var.Value)))
	}
	return a
}

// mapName returns a map's name as the kernel keeps it: 15 characters.
func mapName(name string) string { return name[:min(len(name), 15)] }

// signedText and unsignedText print small numbers in decimal, large ones in hex (verbose_snum,
// verbose_unum).
func signedText(v int64) string {
	if v >= -1<<15 && v < 1<<15 {
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

// rangesText lists the bounds that carry information; equal ones are printed together
// (print_scalar_ranges).
func rangesText(r *reg) []string {
	type end struct {
		name   string
		val    uint64
		signed bool
		omit   bool
	}
	// A 32-bit bound written in hex is not extended.
	half := func(v int32) uint64 {
		if v >= -1<<15 && v < 1<<15 {
			return uint64(int64(v))
		}
		return uint64(uint32(v))
	}
	ends := []end{
		{"smin", uint64(r.SMin), true, r.SMin == -1<<63}, {"smax", uint64(r.SMax), true, r.SMax == 1<<63-1},
		{"umin", r.UMin, false, r.UMin == 0}, {"umax", r.UMax, false, r.UMax == 1<<64-1},
		{"smin32", half(r.Low.SMin), true, r.Low.SMin == -1<<31}, {"smax32", half(r.Low.SMax), true, r.Low.SMax == 1<<31-1},
		{"umin32", uint64(r.Low.UMin), false, r.Low.UMin == 0}, {"umax32", uint64(r.Low.UMax), false, r.Low.UMax == 1<<32-1},
	}
	negative := func(x *end) bool { return x.signed && int64(x.val) < 0 }
	var out []string
	for i := range ends {
		x := &ends[i]
		if x.omit {
			continue
		}
		t := x.name + "="
		for j := i + 2; j < len(ends); j += 2 {
			if y := &ends[j]; !y.omit && y.val == x.val && negative(x) == negative(y) {
				t += y.name + "="
				y.omit = true
			}
		}
		if x.signed {
			t += signedText(int64(x.val))
		} else {
			t += unsignedText(x.val)
		}
		out = append(out, t)
	}
	return out
}
