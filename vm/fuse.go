package vm

import "github.com/bpfrun/bpfrun/decode"

// Superinstructions. A sequence of instructions is executed by the handler of one op, which stands in
// the first slot; all other fields and slots stay as they are. Jumps into the middle work, because every slot
// keeps an op that stands for the rest of the program from there. fuse_gen.go lists them; gen writes it.

// fuseCond identifies which registers of a sequence must be equal or must differ.
type fuseCond uint8

const (
	sameDst       fuseCond = 1 << iota // the second writes the first's register
	otherSrc                           // the second's source is not the first's register
	srcIsDst                           // the second's source is the first's register
	otherDst                           // the second's register is not the first's
	thirdSrcIsDst                      // the third's address is the first's register
	thirdDstIsDst                      // the third's base is the first's register, its source is not
	thirdSameDst                       // the third writes the first's register
)

// fuseRule is one sequence.
type fuseRule struct {
	op   uint16
	seq  [3]decode.Op // the third is OpInvalid for pairs
	cond fuseCond
}

// fuseIndex finds rules by the first two ops.
var fuseIndex = func() map[[2]decode.Op][]*fuseRule {
	m := make(map[[2]decode.Op][]*fuseRule, len(fuseRules))
	for i := range fuseRules {
		r := &fuseRules[i]
		k := [2]decode.Op{r.seq[0], r.seq[1]}
		m[k] = append(m[k], r)
	}
	return m
}()

// matches reports whether the rule fits the code at its start. c holds at least three slots.
func (r *fuseRule) matches(c []inst) bool {
	a, b, d := &c[0], &c[1], &c[2]
	if r.seq[2] != decode.OpInvalid && d.op != uint16(r.seq[2]) {
		return false
	}
	return (r.cond&sameDst == 0 || b.dst == a.dst) &&
		(r.cond&otherSrc == 0 || b.src != a.dst) &&
		(r.cond&srcIsDst == 0 || b.src == a.dst) &&
		(r.cond&otherDst == 0 || b.dst != a.dst) &&
		(r.cond&thirdSrcIsDst == 0 || d.src == a.dst) &&
		(r.cond&thirdSameDst == 0 || d.dst == a.dst) &&
		(r.cond&thirdDstIsDst == 0 || (d.dst == a.dst && d.src != a.dst))
}

// fuse returns the code with superinstructions. plain ends with two end markers.
func fuse(plain []inst) []inst {
	code := append([]inst(nil), plain...)
	for i := 0; i+2 < len(plain); i++ {
		if plain[i].op >= uint16(decode.NumOps) || plain[i+1].op >= uint16(decode.NumOps) {
			continue
		}
		for _, r := range fuseIndex[[2]decode.Op{decode.Op(plain[i].op), decode.Op(plain[i+1].op)}] {
			if r.matches(plain[i : i+3]) {
				code[i].op = r.op
				break
			}
		}
	}
	return code
}
