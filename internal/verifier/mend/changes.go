package mend

import (
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/verifier"
)

// nullCheck checks the result of the call that the pointer comes from.
func (c *problem) nullCheck() []candidate {
	var out []candidate
	value, text := c.returns()
	for i := len(c.history) - 1; i >= 0; i-- {
		h := &c.history[i]
		if !strings.HasPrefix(h.Text, "call ") {
			continue
		}
		next := c.inserted(h.Insn+1, assembled(fmt.Sprintf("if r0 != 0 goto +2\nr0 = %d\nexit", value)), never, 0)
		if next == nil {
			continue
		}
		at := c.place("after", h.Insn)
		at.Code = fmt.Sprintf("if (!%s) return %s;", c.name(h.Insn+1, 0, first(reAssign, at.Source, "result")), text)
		out = append(out, candidate{next, at, false})
	}
	return out
}

func never(int) bool { return false }

// limited is code that leaves the program if a register is above a limit.
func limited(reg int, limit int, value int32) []insn {
	return assembled(fmt.Sprintf("if r%d <= %d goto +2\nr0 = %d\nexit", reg, limit, value))
}

// maxOffset is what variable parts of pointers are below (BPF_MAX_VAR_OFF of the kernel).
const maxOffset = 1 << 29

// boundsCheck checks an index or size before its use.
func (c *problem) boundsCheck(reg int) []candidate {
	if reg < 0 {
		return nil
	}
	value, text := c.returns()
	state := c.state(reg)
	if strings.HasPrefix(state, "scalar") || strings.HasPrefix(state, "Pscalar") {
		return c.sizeCheck(reg, value, text)
	}
	m := reSize.FindStringSubmatch(state)
	if m == nil {
		return nil
	}
	in := c.p.Insns[c.v.Insn]
	room := number(m[1]) - int(in.Info().Size) - int(in.Off)
	if o := reOff.FindStringSubmatch(state); o != nil {
		room -= number(o[1])
	}
	if room < 0 || room >= maxOffset {
		return nil // no index is right, or a check would not help
	}
	var out []candidate
	for i := len(c.history) - 1; i >= 0; i-- {
		h := &c.history[i]
		add := c.p.Insns[h.Insn]
		if add.Op() != decode.OpAdd64Reg {
			continue
		}
		index := int(add.Src)
		at, limit := h.Insn, room
		// An index of larger elements is shifted first; the check belongs before that.
		for back := h.Insn - 1; back >= 0 && back >= h.Insn-8; back-- {
			if x := c.p.Insns[back]; x.Op() == decode.OpLsh64Imm && int(x.Dst) == index && x.Imm > 0 && x.Imm < 12 {
				at, limit = back, room>>x.Imm
				break
			}
		}
		change := c.place("before", at)
		name := c.name(at, index, first(reIndex, change.Source, ""))
		if name == "" {
			name = fmt.Sprintf("index /* in R%d */", index)
		}
		change.Code = fmt.Sprintf("if (%s > %d) return %s;", name, limit, text)
		if next := c.inserted(at, limited(index, limit, value), nil, 0); next != nil {
			out = append(out, candidate{next, change, false})
		}
	}
	return out
}

// sizeArgument returns the argument of a call that is the size of the memory before it, or -1.
func (c *problem) sizeArgument() int {
	for reg := 5; reg >= 2; reg-- {
		if s, m := c.state(reg), c.state(reg-1); strings.HasPrefix(s, "scalar") && (strings.HasPrefix(m, "fp-") || reSize.MatchString(m)) {
			return reg
		}
	}
	return -1
}

// sizeCheck checks the size of the memory that the argument before it points to.
func (c *problem) sizeCheck(reg int, value int32, text string) []candidate {
	memory := c.state(reg - 1)
	limit := 0
	if m := reSize.FindStringSubmatch(memory); m != nil {
		limit = number(m[1])
	} else if off, ok := strings.CutPrefix(memory, "fp-"); ok {
		limit = number(off)
	}
	if limit == 0 || c.p.Insns[c.v.Insn].Op() != decode.OpCallHelper {
		return nil
	}
	code, zero := limited(reg, limit, value), ""
	name := c.name(c.v.Insn, reg, fmt.Sprintf("size /* in R%d */", reg))
	if strings.Contains(c.v.Message, "zero-sized") {
		code, zero = append(assembled(fmt.Sprintf("if r%d == 0 goto +1", reg)), code...), name+" == 0 || "
	}
	next := c.inserted(c.v.Insn, code, nil, 0)
	if next == nil {
		return nil
	}
	at := c.place("before", c.v.Insn)
	at.Code = fmt.Sprintf("if (%s%s > %d) return %s;", zero, name, limit, text)
	return []candidate{{next, at, false}}
}

// packetEnds are the offsets of data_end in contexts.
var packetEnds = map[uapi.ProgType]int{uapi.ProgTypeXDP: 4, uapi.ProgTypeSchedCls: 80, uapi.ProgTypeSchedAct: 80, uapi.ProgTypeCgroupSkb: 80, uapi.ProgTypeSkSkb: 80, uapi.ProgTypeLwtXmit: 80}

// packetCheck compares the end of an access with the end of the packet.
func (c *problem) packetCheck(reg int) []candidate {
	end, ok := packetEnds[c.p.Type]
	if !ok || reg < 0 {
		return nil
	}
	in := c.p.Insns[c.v.Insn]
	length := int(in.Off) + int(in.Info().Size)
	if in.Info().Size == 0 || length <= 0 {
		return nil
	}
	var free []int
	limit, ctx := -1, -1
	for r := range 10 {
		switch s := c.state(r); {
		case s == "":
			free = append(free, r)
		case strings.HasPrefix(s, "pkt_end("):
			limit = r
		case s == "ctx()":
			ctx = r
		}
	}
	work, at := c.work, c.v.Insn
	if limit < 0 && ctx < 0 && c.function(at) == 0 {
		if ctx = c.spare(0); ctx < 0 {
			return nil
		}
		if work = c.inserted(0, assembled(fmt.Sprintf("r%d = r1", ctx)), never, 0); work == nil {
			return nil
		}
		at++
		free = remove(free, ctx)
	}
	if len(free) < 2 || limit < 0 && ctx < 0 {
		return nil
	}
	value, text := c.returns()
	code := fmt.Sprintf("r%d = r%d\nr%d += %d\n", free[0], reg, free[0], length)
	if limit < 0 {
		limit = free[1]
		code += fmt.Sprintf("r%d = *(u32 *)(r%d + %d)\n", limit, ctx, end)
	}
	code += fmt.Sprintf("if r%d <= r%d goto +2\nr0 = %d\nexit", free[0], limit, value)
	next := work.inserted(at, assembled(code), nil, 0)
	if next == nil {
		return nil
	}
	change := c.place("before", c.v.Insn)
	change.Code = fmt.Sprintf("if ((void *)%s + %d > (void *)(long)ctx->data_end) return %s;", c.name(c.v.Insn, reg, "data"), length, text)
	return []candidate{{next, change, false}}
}

func remove(list []int, x int) []int {
	var out []int
	for _, y := range list {
		if y != x {
			out = append(out, y)
		}
	}
	return out
}

// unsetRegister gives a register a value at the start of its function.
func (c *problem) unsetRegister(reg int) []candidate {
	if reg < 0 || reg > 9 {
		return nil
	}
	start := c.function(c.v.Insn)
	change := c.place("before", c.v.Insn)
	at := start
	if reg == 0 && c.p.Insns[c.v.Insn].Op() == decode.OpExit {
		at = c.v.Insn
		change.Code = "return 0;"
	} else {
		change.Code = c.name(c.v.Insn, reg, fmt.Sprintf("the variable in R%d", reg)) + " = 0;"
		change.Where = ""
	}
	next := c.inserted(at, assembled(fmt.Sprintf("r%d = 0", reg)), nil, 0)
	if next == nil {
		return nil
	}
	return []candidate{{next, change, false}}
}

// unsetStack clears the bytes of the stack that a call reads, at the start of the function.
func (c *problem) unsetStack(text string) []candidate {
	m := reStack.FindStringSubmatch(text)
	off, size := number(m[1]), number(m[2])
	if off >= 0 || off < -512 || size <= 0 || off+size > 0 {
		return nil
	}
	var code []string
	for at := off &^ 7; at < off+size; at += 8 {
		code = append(code, fmt.Sprintf("*(u64 *)(r10 - %d) = 0", -at))
	}
	next := c.inserted(c.function(c.v.Insn), assembled(strings.Join(code, "\n")), nil, 0)
	if next == nil {
		return nil
	}
	change := c.place("before", c.v.Insn)
	change.Code = fmt.Sprintf("__builtin_memset(&object, 0, sizeof(object)); /* the %d bytes that are passed, padding too */", size)
	return []candidate{{next, change, false}}
}

// releases are the functions that release what others acquire.
var releases = map[uapi.FuncID]struct {
	id   uapi.FuncID
	text string
}{
	uapi.FuncRingbufReserve: {uapi.FuncRingbufDiscard, "bpf_ringbuf_discard(%s, 0);"},
	uapi.FuncSkLookupTcp:    {uapi.FuncSkRelease, "bpf_sk_release(%s);"},
	uapi.FuncSkLookupUdp:    {uapi.FuncSkRelease, "bpf_sk_release(%s);"},
	uapi.FuncSkcLookupTcp:   {uapi.FuncSkRelease, "bpf_sk_release(%s);"},
}

// release releases a reference on a branch of the path that leaks it.
func (c *problem) release(alloc int) []candidate {
	if alloc >= len(c.p.Insns) || c.p.Insns[alloc].Op() != decode.OpCallHelper {
		return nil
	}
	how, ok := releases[uapi.FuncID(c.p.Insns[alloc].Imm)]
	start := c.function(alloc)
	keep := c.spare(start)
	if !ok || keep < 0 || c.function(c.v.Insn) != start {
		return nil
	}
	kept := c.inserted(alloc+1, assembled(fmt.Sprintf("r%d = r0", keep)), never, 0)
	if kept == nil {
		return nil
	}
	moved := func(i int) int {
		if i > alloc {
			return i + 1
		}
		return i
	}
	source := c.place("after", alloc)
	name := c.name(alloc+1, 0, first(reAssign, source.Source, "it"))
	code := fmt.Sprintf(how.text, name)
	// Other paths may meet this one before its end, so the branches on it come first, the last one
	// at first.
	call := fmt.Sprintf("r1 = r%d\nr2 = 0\ncall %d", keep, how.id)
	bodies := [][]insn{assembled(call)}
	if r0 := c.spare(start, keep); r0 >= 0 { // where the result is set already
		bodies = append(bodies, assembled(fmt.Sprintf("r%d = r0\n%s\nr0 = r%d", r0, call, r0)))
	}
	const most = 6
	var out []candidate
	for i := len(c.v.Path) - 1; i >= 0 && len(out) < most; i-- {
		b := c.v.Path[i]
		if b.Insn <= alloc {
			break
		}
		from := moved(b.Insn)
		to, _ := kept.p.Insns[from].Target(from)
		change := c.place("in the branch of", b.Insn)
		if b.Taken {
			change.Where = "before leaving at"
		}
		change.Code = code
		for _, body := range bodies {
			var next *work
			if b.Taken {
				put, skip := body, 0
				if to == 0 || kept.p.Insns[to-1].Info().Flags&(decode.FlagJump|decode.FlagExit) == 0 { // what falls into it goes around
					put, skip = append(assembled(fmt.Sprintf("goto +%d", len(body))), body...), 1
				}
				next = kept.inserted(to, put, func(at int) bool { return at == from }, skip)
			} else {
				next = kept.inserted(from+1, body, never, 0)
			}
			if next != nil {
				out = append(out, candidate{next, change, true})
			}
		}
	}
	if r0 := c.state(0); c.p.Insns[c.v.Insn].Op() == decode.OpExit && isNumber(r0) {
		change := c.place("before", c.v.Insn)
		change.Code = fmt.Sprintf("if (%s) %s", name, code)
		// A path that acquired nothing may end here, too.
		body := append(assembled(fmt.Sprintf("if r%d == 0 goto +%d", keep, len(bodies[0])+1)), bodies[0]...)
		if next := kept.inserted(moved(c.v.Insn), append(body, assembled("r0 = "+r0)...), nil, 0); next != nil {
			out = append(out, candidate{next, change, true})
		}
	}
	return out
}

func isNumber(s string) bool {
	return s != "" && strings.Trim(s, "-0123456789") == "" && len(s) < 10
}

// writable makes the map that is written to one that programs may write.
func (c *problem) writable(reg int) []candidate {
	in := c.p.Insns[c.v.Insn]
	if reg < 0 {
		reg = int(in.Dst)
	}
	name := first(reMap, c.state(reg), "")
	next := c.copied()
	next.p.Refs = map[int]verifier.Ref{}
	done := map[*verifier.Map]*verifier.Map{}
	for i, r := range c.p.Refs {
		if m := r.Map; m != nil && m.Frozen != nil && m.Name == name {
			if done[m] == nil {
				own := *m
				own.Frozen = nil
				own.Flags &^= uapi.MapRdonlyProg
				done[m] = &own
			}
			r.Map = done[m]
		}
		next.p.Refs[i] = r
	}
	if len(done) == 0 {
		return nil
	}
	change := c.place("", c.v.Insn)
	change = Change{Text: fmt.Sprintf("no `const` in the definition of the variable that %s:%d writes", base(change.File), change.Line)}
	return []candidate{{next, change, false}}
}
