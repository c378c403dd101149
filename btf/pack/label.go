package pack

import (
	"github.com/bpfrun/bpfrun/btf"
)

// labels tell the types of a kernel apart without ids, so that types of several kernels that refer
// to types of the same labels are equal. Labels may collide: where several types share one, a
// reference also has the number of the type among them.
type labels struct {
	types *types
	table *stringTable
	known []uint64 // by index; 0: not yet
	busy  []bool
}

const (
	// maxDepth limits the nesting of what a label describes.
	maxDepth = 64
	// labelLoop is that of a type that refers to itself without a name.
	labelLoop = 0x6c6f6f70
)

func newLabels(t *types, table *stringTable) *labels {
	return &labels{types: t, table: table, known: make([]uint64, len(t.at)), busy: make([]bool, len(t.at))}
}

// name returns the string at an offset.
func (l *labels) name(off uint32) string { return l.table.list[l.table.index[off]] }

func mix(h, v uint64) uint64 {
	h = (h ^ v) * 0x9e3779b97f4a7c15
	return h ^ h>>29
}

func mixString(h uint64, s string) uint64 {
	h = mix(h, uint64(len(s)))
	for i := 0; i < len(s); i++ {
		h = (h ^ uint64(s[i])) * 0x100000001b3
	}
	return mix(h, 0)
}

// of returns the label of a type as a hash, which is not 0; 0 for void and for types that do not
// exist.
func (l *labels) of(id uint32, depth int) uint64 {
	if id == 0 || int(id) > len(l.types.at) {
		return 0
	}
	i := int(id) - 1
	switch {
	case l.known[i] != 0:
		return l.known[i]
	case l.busy[i] || depth > maxDepth:
		return labelLoop
	}
	l.busy[i] = true
	w := l.types.of(i)
	kind := btf.Info(w[1]).Kind()
	h := mixString(mix(1, uint64(kind)), l.name(w[0]))
	// What has a name is that, whatever it is made of. A declaration tag has the name of what it
	// says, and belongs to a type.
	if w[0] == 0 || kind == btf.KindTypeTag || kind == btf.KindDeclTag {
		h = mix(h, uint64(w[1]))
		s, _ := shapeOf(w[1])
		s.each(func(i int, word btf.Word) {
			switch word {
			case btf.WordName:
				h = mixString(h, l.name(w[i]))
			case btf.WordID:
				h = mix(h, l.of(w[i], depth+1))
			default:
				h = mix(h, uint64(w[i]))
			}
		})
	}
	l.busy[i] = false
	l.known[i] = max(h, 1)
	return l.known[i]
}
