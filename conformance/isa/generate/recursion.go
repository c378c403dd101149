package generate

import "github.com/bpfrun/bpfrun/decode"

const (
	leftSlot = -88 // how many calls are left, below the pointer that is spilled
	maxCalls = 8   // one more than there are frames for
)

// recursions makes a program of functions with loops that walk over memory, from where they call themselves and each other: the same loop is
// then in the middle of several walks, each over memory that begins elsewhere. What bounds that is a number of calls in the map value, which
// is at times more than there are frames.
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

// countCall returns from a function when there were enough calls.
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

// moveValue makes the function that is called walk elsewhere than its caller: the program lets it walk close to the end of the value, functions
// further away from there.
func (p *program) moveValue() {
	by := p.between(0, 64)
	if p.sub {
		by = p.between(-32, 8)
	}
	p.emit(decode.OpAdd64Imm, 1, 0, 0, int32(by))
}

// callInWalk calls a function in one of the turns of a walk, or in none, unless a pointer of the walk would be lost.
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
