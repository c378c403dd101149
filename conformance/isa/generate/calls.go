package generate

import "github.com/bpfrun/bpfrun/decode"

const (
	helperLookup = 1
	helperLoop   = 181
	maxSubs      = 3
	keySlot      = -72 // the key of map lookups, below the stack image
)

// target is a subprogram that is still to be emitted.
type target struct{ callback bool }

// subFor picks or adds a subprogram for the current function to call. Unless recursion is wanted,
// it must come after the current function. The result is false if there is none.
func (p *program) subFor(callback bool) (int, bool) {
	var fit []int
	from := p.current + 1
	if p.recursive {
		from = 0
	}
	for i := from; i < len(p.targets); i++ {
		if p.targets[i].callback == callback {
			fit = append(fit, i)
		}
	}
	if len(fit) > 0 && (len(p.targets) == maxSubs || p.chance(60)) {
		return pick(p, fit), true
	}
	if len(p.targets) == maxSubs {
		return 0, false
	}
	p.targets = append(p.targets, target{callback})
	return len(p.targets) - 1, true
}

// callLocal calls a subprogram with the map value and four numbers.
func (p *program) callLocal() {
	sub, ok := p.subFor(false)
	if !ok {
		return
	}
	p.emit(decode.OpMov64Reg, 1, regValue, 0, 0)
	if p.recursive {
		p.moveValue()
	}
	p.calls = append(p.calls, localCall{p.emit(decode.OpCallLocal, 0, 0, 0, 0), sub})
	p.clobbered()
}

// callback emits a bpf_loop that calls a subprogram a few times.
func (p *program) callback() {
	sub, ok := p.subFor(true)
	if !ok {
		return
	}
	p.emit(decode.OpMov64Imm, 1, 0, 0, int32(p.between(0, 4)))
	p.calls = append(p.calls, localCall{len(p.insns), sub})
	p.imm64(decode.OpLdFunc, 2, 0, 0)
	p.emit(decode.OpMov64Reg, 3, regValue, 0, 0)
	p.emit(decode.OpMov64Imm, 4, 0, 0, 0)
	p.emit(decode.OpCallHelper, 0, 0, 0, helperLoop)
	p.clobbered()
}

// lookup calls bpf_map_lookup_elem, sometimes with a key that does not exist, and uses the result.
func (p *program) lookup(op decode.Op) {
	if op == decode.OpCallHelper {
		op = decode.OpLdMapFD
	}
	key := int32(0)
	if p.chance(25) {
		key = int32(p.between(1, 3))
	}
	p.emit(decode.OpStW, regFrame, 0, keySlot, key)
	p.imm64(op, 1, 0, 0)
	p.emit(decode.OpMov64Reg, 2, regFrame, 0, 0)
	p.emit(decode.OpAdd64Imm, 2, 0, 0, keySlot)
	p.emit(decode.OpCallHelper, 0, 0, 0, helperLookup)
	null := p.emit(decode.OpJeq64Imm, 0, 0, 0, 0)
	if p.chance(50) {
		p.emit(decode.OpStW, 0, 0, valueScratch+4*p.rng.IntN(scratchSize/4), p.imm())
	}
	p.emit(decode.OpLdxDW, 0, 0, valueScratch+p.rng.IntN(scratchSize-7), 0)
	p.here(null)
	p.clobbered()
}

// subprograms emits the functions that are called, which may call more functions, and resolves the
// calls.
func (p *program) subprograms() {
	p.sub = true
	p.busy = [11]bool{}
	packet, usesStack := p.packet, p.usesStack
	p.packet = false // r6 is an ordinary register in subprograms
	for i := 0; i < len(p.targets); i++ {
		p.current = i
		p.callbackBody = p.targets[i].callback
		p.subs = append(p.subs, len(p.insns))
		p.enter()
		p.size = p.between(2, 8)
		if p.recursive {
			p.walk(nil)
		}
		p.block(1, p.size)
		if p.callbackBody {
			p.emit(decode.OpAnd64Imm, 0, 0, 0, 1)
		}
		for r := 6; r <= regValue; r++ {
			if p.chance(40) { // the caller gets its own values back
				p.emit(decode.OpMov64Imm, r, 0, 0, p.imm())
			}
		}
		p.emit(decode.OpExit, 0, 0, 0, 0)
	}
	p.packet, p.usesStack = packet, usesStack
	for _, c := range p.calls {
		p.insns[c.pc].Imm = int32(p.subs[c.sub] - c.pc - 1)
	}
}

// enter emits the prologue of a subprogram: it points r9 to the map value and sets all other
// registers and the stack to numbers. A callback of bpf_loop receives the index and a pointer; any
// other function receives the pointer and four numbers.
func (p *program) enter() {
	if p.recursive {
		p.countCall()
	}
	if p.callbackBody {
		p.emit(decode.OpMov64Reg, regValue, 2, 0, 0)
		for r := range 9 {
			if r != 1 {
				p.emit(decode.OpLdxDW, r, regValue, 8*r, 0)
			}
		}
	} else {
		p.emit(decode.OpMov64Reg, regValue, 1, 0, 0)
		p.emit(decode.OpMov64Reg, 0, 2, 0, 0)
		p.emit(decode.OpMov64Reg, 1, 3, 0, 0)
		p.emit(decode.OpMov64Reg, 6, 4, 0, 0)
		p.emit(decode.OpMov64Reg, 7, 5, 0, 0)
		p.emit(decode.OpLdxDW, 8, regValue, 8*p.rng.IntN(9), 0)
	}
	p.usesStack = true
	for off := -stackImage; off < 0; off += 8 {
		p.emit(decode.OpStxDW, regFrame, p.rng.IntN(9), off, 0)
	}
}
