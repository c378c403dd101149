package verifier

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unsafe"
)

// text is what the kernel's log prints of a value (verbose_arg_track).
func (a argTrack) text() string {
	switch {
	case a.frame == trackNone:
		return "_"
	case a.frame == trackSeveral:
		return fmt.Sprintf("IMP%x", a.mask)
	case a.n == 0:
		return fmt.Sprintf("fp%d ?", a.frame)
	}
	var out []string
	for _, off := range a.off[:a.n] {
		out = append(out, fmt.Sprintf("fp%d%+d", a.frame, off))
	}
	return strings.Join(out, "|")
}

func slotName(s int) string { return fmt.Sprintf("fp%d", -(s+1)*8) }

// trackLogged is trackFunction for a log of level 2. The kernel keeps what it knows before every
// instruction, not only where blocks begin, and its log has each step.
func (w *flowAnalysis) trackLogged(first *keptTrack, in *flowInstance, parents func(frame int) *[trackedSlots]argTrack, calls map[int]*trackRegs) {
	kept := make([]*trackState, in.count)
	keep := func(i int, t *trackState) {
		w.took(int64(unsafe.Sizeof(*t)))
		c := *t
		kept[i] = &c
	}
	keep(0, &trackState{regs: first.regs, slots: *first.slots})
	w.log.note("subprog#%d: analyzing (depth %d)...", in.sub, in.depth)
	order := w.postorder[w.subs[in.sub].postorder:w.subs[in.sub+1].postorder]
	var buf [2]int
	for changed := true; changed; {
		changed = false
		for _, at := range slices.Backward(order) {
			before := kept[at-in.start]
			if before == nil {
				continue
			}
			t := *before
			t.step(&w.insns[at], in.depth, parents)
			w.log.tracked(w.position, at, before, &t)
			for _, s := range w.succ(buf[:0], at) {
				switch i := s - in.start; {
				case i < 0 || i >= in.count:
				case kept[i] == nil:
					keep(i, &t)
					changed = true
				case w.joinLogged(kept[i], &t, at, s):
					changed = true
				}
			}
		}
	}
	for _, at := range slices.Backward(order) {
		if t := kept[at-in.start]; t != nil {
			w.flowInsn(in, t, at, calls)
		}
	}
	w.log.trackedFunction(w.position, in, kept)
}

// joinLogged merges the state of another path into one, and logs what that changes.
func (w *flowAnalysis) joinLogged(k, t *trackState, at, target int) (changed bool) {
	join := func(old *argTrack, other argTrack, name func() string) {
		n := joinTracks(*old, other)
		if n == *old {
			return
		}
		w.log.note("arg JOIN insn %d -> %d %s: %s + %s => %s", at, target, name(), old.text(), other.text(), n.text())
		*old, changed = n, true
	}
	for r := range k.regs {
		join(&k.regs[r], t.regs[r], func() string { return fmt.Sprintf("r%d", r) })
	}
	for s := range k.slots {
		join(&k.slots[s], t.slots[s], func() string { return slotName(s) })
	}
	return changed
}

// tracked logs what an instruction changes of what is known of registers and slots.
func (l *logger) tracked(e *position, at int, before, after *trackState) {
	var changes strings.Builder
	for r := range after.regs {
		if x, y := before.regs[r], after.regs[r]; x != y {
			fmt.Fprintf(&changes, "\tr%d: %s -> %s", r, x.text(), y.text())
		}
	}
	for s := range after.slots {
		if x, y := before.slots[s], after.slots[s]; x != y {
			fmt.Fprintf(&changes, "\t%s: %s -> %s", slotName(s), x.text(), y.text())
		}
	}
	if changes.Len() > 0 {
		l.note("%s%s", numberedInsn(e, at), changes.String())
	}
}

func numberedInsn(e *position, at int) string {
	return fmt.Sprintf("%3d: (%02x) %s", at, e.insns[at].Code, insnText(e, at))
}

// eachInsn calls f for the instructions of a function.
func (in *flowInstance) eachInsn(e *position, f func(at int)) {
	for at := in.start; at < in.start+in.count; at++ {
		f(at)
		if isLdImm64(&e.insns[at]) {
			at++
		}
	}
}

// trackedFunction logs a function with the pointers to stacks that its accesses and calls find
// (print_subprog_arg_access).
func (l *logger) trackedFunction(e *position, in *flowInstance, kept []*trackState) {
	l.note("%s:", in.name(e))
	in.eachInsn(e, func(at int) {
		line := numberedInsn(e, at)
		t, insn := kept[at-in.start], &e.insns[at]
		if c := class(insn); t != nil && (c == clsLDX || c == clsSTX || insn.Code == codeCall) {
			var found strings.Builder
			for r, a := range t.regs[:10] {
				if a.isPointer() {
					fmt.Fprintf(&found, " r%d=%s", r, a.text())
				}
			}
			for s, a := range t.slots {
				if a.isPointer() {
					fmt.Fprintf(&found, " %s=%s", slotName(s), a.text())
				}
			}
			if found.Len() > 0 {
				line += " //" + found.String()
			}
		}
		l.note("%s", line)
	})
}

func (in *flowInstance) name(e *position) string {
	return strings.TrimSuffix(fmt.Sprintf("subprog#%d %s", in.sub, e.subs[in.sub].name), " ")
}

// stackUses logs which stack slots each instruction may read (use) and surely writes (def), for each
// call that passes pointers to a stack (print_instances).
func (l *logger) stackUses(e *position, f *stackFlow) {
	if l.level < 2 {
		return
	}
	for _, k := range slices.SortedFunc(maps.Keys(f.instances), func(a, b flowKey) int {
		return cmp.Or(cmp.Compare(a.site, b.site), cmp.Compare(a.depth, b.depth))
	}) {
		in := f.instances[k]
		l.note("stack use/def %s (d%d,cs%d):", in.name(e), in.depth, in.site)
		in.eachInsn(e, func(at int) {
			line := numberedInsn(e, at)
			uses := in.slotsAt(at, func(m *halfMasks) halves { return m.read })
			defs := in.slotsAt(at, func(m *halfMasks) halves { return m.write })
			if uses != "" || defs != "" {
				line += aligned(len(line))
			}
			if uses != "" {
				line += " use: " + uses
			}
			if defs != "" {
				line += " def: " + defs
			}
			l.note("%s", line)
		})
	}
}

// slotsAt lists the slots of all frames in a set that an instruction has.
func (in *flowInstance) slotsAt(at int, set func(*halfMasks) halves) string {
	var out []string
	for fr := in.depth; fr >= 0; fr-- {
		if masks := in.masks[fr]; masks != nil {
			out = append(out, set(&masks[at-in.start]).names(fr)...)
		}
	}
	return strings.Join(out, " ")
}

// names lists slots as the kernel's log does: whole ones by their offset, a half with an h, and three
// or more in a row as a range (fmt_spis_mask).
func (h halves) names(frame int) (out []string) {
	whole := func(spi int) bool { return h.has(spi*2) && h.has(spi*2+1) }
	for spi := 0; spi < trackedSlots; spi++ {
		off := -(spi + 1) * 8
		switch low, high := h.has(spi*2), h.has(spi*2+1); {
		case !low && !high:
		case low && !high:
			out = append(out, fmt.Sprintf("fp%d%dh", frame, off+4))
		case !low:
			out = append(out, fmt.Sprintf("fp%d%dh", frame, off))
		case whole(spi+1) && whole(spi+2):
			for whole(spi + 1) {
				spi++
			}
			out = append(out, fmt.Sprintf("fp%d%d..%d", frame, off, -(spi+1)*8))
		default:
			out = append(out, fmt.Sprintf("fp%d%d", frame, off))
		}
	}
	return out
}
