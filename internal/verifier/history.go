package verifier

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/lazyre"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/verifier/klog"
)

// Cause is an instruction that set a register or stack slot to what the verifier refused.
type Cause struct {
	Insn int
	// What is the register, slot or reference: "R2", "fp-8" or "reference 2".
	What string
	// State is its state after the instruction according to the log, "" if the log has none.
	State string
	Text  string // the instruction
}

// maxCauses limits the length of a history.
const maxCauses = 10

var (
	reReg       = lazyre.New(`\bR(\d+)\b`)
	reAllocInsn = lazyre.New(`id=(\d+) alloc_insn=(\d+)`)
)

// RefusalHistory verifies the program again up to the refusal and returns the instructions that led
// to the register it is about, oldest first.
func RefusalHistory(ctx context.Context, k *Kernel, p *Program, v *Verdict) ([]Cause, error) {
	if v.Outcome != Refused || v.Insn < 0 || v.Errno == uapi.E2BIG {
		return nil, nil
	}
	var b bytes.Buffer
	if _, err := Verify(ctx, k, p, Options{Log: &b, LogLevel: 1}); err != nil {
		return nil, err
	}
	logs, err := klog.Parse(&b)
	if err != nil || len(logs) == 0 {
		return nil, err
	}
	return History(p.Insns, logs[len(logs)-1]), nil
}

// History follows the register or reference that a log's message is about back through the log's
// steps, oldest first. The steps must be those of insns.
func History(insns []decode.Insn, l *klog.Log) []Cause {
	if len(l.Steps) == 0 {
		return nil
	}
	h := historian{insns: insns, steps: l.Steps}
	if m := reAllocInsn.FindStringSubmatch(strings.Join(l.Messages, "\n")); m != nil {
		at, _ := strconv.Atoi(m[2])
		for i := len(l.Steps) - 1; i >= 0; i-- {
			if l.Steps[i].Insn == at {
				h.add(i, "R0", "reference "+m[1])
				break
			}
		}
		return h.out
	}
	what, ok := h.culprit(strings.Join(l.Messages, "\n"))
	if !ok {
		return nil
	}
	h.follow(what)
	for i, j := 0, len(h.out)-1; i < j; i, j = i+1, j-1 {
		h.out[i], h.out[j] = h.out[j], h.out[i]
	}
	return h.out
}

type historian struct {
	insns []decode.Insn
	steps []klog.Step
	out   []Cause
}

// place is a register, or a stack slot if slot is not 0.
type place struct {
	reg  uint8
	slot int
}

func (p place) String() string {
	if p.slot != 0 {
		return fmt.Sprintf("fp%d", p.slot)
	}
	return fmt.Sprintf("R%d", p.reg)
}

// insn returns the instruction of a step.
func (h *historian) insn(i int) (decode.Insn, bool) {
	at := h.steps[i].Insn
	if at >= len(h.insns) {
		return decode.Insn{}, false
	}
	return h.insns[at], true
}

// culprit returns the register that messages are about: the first one they name, else the address
// register of the last instruction.
func (h *historian) culprit(messages string) (place, bool) {
	if m := reReg.FindStringSubmatch(messages); m != nil {
		n, _ := strconv.Atoi(m[1])
		return place{reg: uint8(n)}, n < 10
	}
	in, ok := h.insn(len(h.steps) - 1)
	switch {
	case !ok:
		return place{}, false
	case class(&in) == clsLDX:
		return place{reg: in.Src}, in.Src < 10
	case class(&in) == clsSTX, class(&in) == clsST, class(&in) == clsALU, class(&in) == clsALU64:
		return place{reg: in.Dst}, in.Dst < 10
	case isJump(&in) && opOf(&in) == opExit:
		return place{}, true
	}
	return place{}, false
}

// follow goes back from the last step to the origin of the value.
func (h *historian) follow(what place) {
	depth := 0 // functions entered backward, from their exit, that do not affect the value
	for i := len(h.steps) - 2; i >= 0 && len(h.out) < maxCauses; i-- {
		in, ok := h.insn(i)
		if !ok {
			return
		}
		isCall := isJump(&in) && opOf(&in) == opCall
		switch {
		case isJump(&in) && opOf(&in) == opExit && (depth > 0 || what != place{}):
			depth++
			continue
		case depth > 0:
			if isCall && in.Src == 1 {
				depth--
			}
			continue
		}
		next, written, more := origin(&in, what)
		if !written {
			continue
		}
		h.add(i, what.String(), what.String())
		if !more {
			return
		}
		what = next
	}
}

func (h *historian) add(i int, state, what string) {
	c := Cause{Insn: h.steps[i].Insn, What: what, Text: h.steps[i].Text, State: StateOf(h.steps[i].After, state)}
	if c.State == "" && i+1 < len(h.steps) {
		c.State = StateOf(h.steps[i+1].Before, state)
	}
	h.out = append(h.out, c)
}

// origin reports whether an instruction wrote or narrowed the followed place, and what to follow
// before it; more is false where the value originates.
func origin(in *decode.Insn, what place) (next place, written, more bool) {
	switch class(in) {
	case clsALU, clsALU64:
		if what.slot != 0 || in.Dst != what.reg {
			return what, false, true
		}
		if opOf(in) != opMov {
			return what, true, true
		}
		return place{reg: in.Src}, true, isX(in) && in.Src < 10
	case clsLDX:
		if what.slot != 0 || in.Dst != what.reg {
			return what, false, true
		}
		return place{slot: int(in.Off)}, true, in.Src == 10
	case clsLD:
		if mode(in) == modeIMM {
			return what, what.slot == 0 && in.Dst == what.reg, false
		}
		return what, what.slot == 0 && what.reg == 0, false
	case clsST, clsSTX:
		if what.slot == 0 || in.Dst != 10 || int(in.Off) != what.slot {
			return what, false, true
		}
		return place{reg: in.Src}, true, class(in) == clsSTX && mode(in) == modeMEM
	}
	switch {
	case opOf(in) == opCall:
		if what.slot != 0 {
			return what, false, true
		}
		if in.Src == 1 { // the arguments come from the caller
			return what, what.reg == 0, what.reg != 0
		}
		return what, what.reg <= 5, false
	case opOf(in) == opJA, opOf(in) == opExit:
		return what, false, true
	}
	tests := what.slot == 0 && (in.Dst == what.reg || isX(in) && in.Src == what.reg)
	return what, tests, true
}

// StateOf extracts the state of a register or slot: from "R1=ctx() R2_w=scalar(umax=7,var_off=(0x0;
// 0x7))" and "R2" it returns "scalar(…)".
func StateOf(state, what string) string {
	depth, start := 0, 0
	for i := 0; i <= len(state); i++ {
		if i < len(state) {
			switch state[i] {
			case '(':
				depth++
			case ')':
				depth--
			}
			if state[i] != ' ' || depth > 0 {
				continue
			}
		}
		name, value, ok := strings.Cut(state[start:i], "=")
		name, _, _ = strings.Cut(name, "_")
		if ok && name == what {
			return value
		}
		start = i + 1
	}
	return ""
}
