package generate

import "github.com/bpfrun/bpfrun/decode"

const (
	leftSlot = -88 // the number of calls left, below the spilled pointer
	maxCalls = 8   // maximum number of calls; with the main program, one frame more than allowed
)

// recursions generates a program of functions that walk over memory in loops and call themselves
// and each other from inside these loops. The same loop is then active several times, each time
// over memory that starts at a different address. The recursion is bounded by a count of calls in
// the map value, which is sometimes larger than the number of frames.
func (p *program) recursions() {
	p.recursive, p.usesStack, p.usesScratch = true, true, true
	p.prologue()
	left := int32(p.between(1, maxCalls))
	p.emit(decode.OpStDW, regValue, 0, valueMark, left)
	p.emit(decode.OpStDW, regFrame, 0, leftSlot, left)
	for range p.between(1, 3) {
		p.size = p.between(0, 3)
		p.block(3, p.size)
		p.callLocal()
		if p.chance(30) {
			p.walk(nil)
		}
	}
	p.epilogue()
	p.subprograms()
}

// countCall emits code that returns from a function if no calls are left, and else counts the call.
func (p *program) countCall() {
	p.imm64(decode.OpLdMapValue, 0, 0, 0)
	p.emit(decode.OpLdxDW, 6, 0, valueMark, 0)
	j := p.emit(decode.OpJsgt64Imm, 6, 0, 0, 0)
	p.emit(decode.OpMov64Imm, 0, 0, 0, p.imm())
	p.emit(decode.OpExit, 0, 0, 0, 0)
	p.here(j)
	p.emit(decode.OpAdd64Imm, 6, 0, 0, -1)
	p.emit(decode.OpStxDW, 0, 6, valueMark, 0)
	p.emit(decode.OpStxDW, regFrame, 6, leftSlot, 0)
}

// moveValue moves the address that a called function walks from. The main program moves it towards
// the end of the value, subprograms mostly back.
func (p *program) moveValue() {
	by := p.between(0, 64)
	if p.sub {
		by = p.between(-32, 8)
	}
	p.emit(decode.OpAdd64Imm, 1, 0, 0, int32(by))
}

// callInWalk emits a call that at most one iteration of a walk makes. It emits nothing if the call
// would clobber a pointer.
func (p *program) callInWalk(counter int) {
	for r := range 6 {
		if p.pointer[r] {
			return
		}
	}
	j := p.emit(decode.OpJne64Imm, counter, 0, 0, int32(p.between(0, maxCalls+4)))
	p.callLocal()
	p.here(j)
}
