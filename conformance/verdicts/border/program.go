package border

import (
	"fmt"
	"math/rand/v2"

	"github.com/bpfrun/bpfrun/conformance/verdicts"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Indexes of the maps in mapDefs.
const (
	mapArray = iota
	mapHash
	mapPercpu
	mapRing
	mapProgs
	mapConst
	mapQueue
	mapGlobal
	numMaps
)

// mapDefs defines the maps that programs may use. Unused ones are omitted from a program.
var mapDefs = [numMaps]verdicts.Map{
	mapArray:  {Type: uint32(uapi.MapTypeArray), Key: 4, Value: 48, Entries: 4},
	mapHash:   {Type: uint32(uapi.MapTypeHash), Key: 8, Value: 64, Entries: 16},
	mapPercpu: {Type: uint32(uapi.MapTypePercpuArray), Key: 4, Value: 24, Entries: 2},
	mapRing:   {Type: uint32(uapi.MapTypeRingbuf), Entries: 4096},
	mapProgs:  {Type: uint32(uapi.MapTypeProgArray), Key: 4, Value: 4, Entries: 2},
	mapConst:  {Type: uint32(uapi.MapTypeArray), Key: 4, Value: 32, Entries: 1, Flags: uapi.MapRdonlyProg, Frozen: constants},
	mapGlobal: {Type: uint32(uapi.MapTypeArray), Key: 4, Value: 40, Entries: 1},
	mapQueue:  {Type: uint32(uapi.MapTypeQueue), Value: 16, Entries: 4},
}

// constants holds the contents of the read-only map.
var constants = []byte{1, 0, 0, 0, 8, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0x80, 40, 0, 16, 0, 0, 0, 0, 0, 3, 2, 1, 0, 0, 0, 0, 1}

// flavour is a program type and the properties of its context.
type flavour struct {
	typ       uapi.ProgType
	packet    bool // the context has data and data_end, at offsets data and end
	data, end int
	skb       bool // LD_ABS and the skb helpers are available
	write     bool // the packet is writable
	ctx       int  // 4-byte fields below this offset are readable
	lo, hi    int32
	sock      bool
}

var flavours = []flavour{
	{typ: uapi.ProgTypeSchedCls, packet: true, data: 76, end: 80, skb: true, write: true, ctx: 40, lo: -1, hi: 7, sock: true},
	{typ: uapi.ProgTypeXDP, packet: true, data: 0, end: 4, write: true, ctx: 0, lo: 0, hi: 4, sock: true},
	{typ: uapi.ProgTypeSocketFilter, skb: true, ctx: 40, lo: 0, hi: 100},
	{typ: uapi.ProgTypeCgroupSkb, packet: true, data: 76, end: 80, ctx: 40, lo: 0, hi: 1},
	{typ: uapi.ProgTypeRawTracepoint, ctx: 24, lo: 0, hi: 0},
	{typ: uapi.ProgTypeKprobe, ctx: 104, lo: 0, hi: 0},
}

// Program generates program number n of the series that seed determines.
func Program(seed, n uint64) *verdicts.Line {
	rng := rand.New(rand.NewPCG(seed, n))
	g := &generator{rng: rng, fl: &flavours[pick(rng, 5, 3, 1, 1, 1, 1)], wild: [...]float64{0, 0, 0.004, 0.02, 0.06}[rng.IntN(5)]}
	g.sloppy = [...]float64{0, 0.05, 0.15, 0.4}[rng.IntN(4)]
	g.main()
	l := &verdicts.Line{
		Program: fmt.Sprintf("border-%d-%d", seed, n), Generated: &verdicts.Program{}, ProgType: g.fl.typ.String(), Insns: len(g.insns),
	}
	if g.fl.typ == uapi.ProgTypeCgroupSkb {
		l.Attach = uint32(uapi.AttachCgroupInetEgress)
	}
	g.packMaps(l.Generated)
	l.Generated.SetInsns(g.insns)
	return l
}

// packMaps adds the maps that the program uses to p and renumbers the references.
func (g *generator) packMaps(p *verdicts.Program) {
	index := map[int32]int32{}
	for pc := 0; pc < len(g.insns); pc += max(g.insns[pc].Len(), 1) {
		in := &g.insns[pc]
		if !in.IsLdImm64() || in.Src != decode.PseudoMapFD && in.Src != decode.PseudoMapValue {
			continue
		}
		at, ok := index[in.Imm]
		if !ok {
			at = int32(len(p.Maps))
			index[in.Imm] = at
			p.Maps = append(p.Maps, mapDefs[in.Imm])
		}
		in.Imm = at
	}
}

// pick returns a random index with the given weights.
func pick(rng *rand.Rand, weights ...int) int {
	total := 0
	for _, w := range weights {
		total += w
	}
	n := rng.IntN(total)
	for i, w := range weights {
		if n -= w; n < 0 {
			return i
		}
	}
	return 0
}
