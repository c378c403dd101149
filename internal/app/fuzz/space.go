package fuzz

import (
	"slices"
	"sync"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// writers tells what programs of an object write: such maps and variables get their contents by
// events only.
type writers struct {
	maps map[string]bool
	vars map[string]bool
	// makers are the programs that make elements, by map.
	makers map[string][]string
	// deleters are the programs that delete elements, by map; deletes means that some program
	// deletes from a map that the walk does not know.
	deleters map[string][]string
	deletes  bool
	prog     string // that is walked over
}

// origin is what a register holds as far as a walk in the order of the code tells: the handle of a
// map, or an address in its values.
type origin struct {
	def    *loader.Map
	off    uint64
	value  bool
	offset bool // off is known
}

// findWriters walks over the code of all programs but those in without. It does not follow jumps: a
// register that holds a map's value on any path from the line above does, so that it finds too many
// writers rather than too few. What it misses is found by runs (see [Fuzzer.wrote]).
func findWriters(l *loader.Linked, without []string) *writers {
	w := &writers{maps: map[string]bool{}, vars: map[string]bool{}, makers: map[string][]string{}, deleters: map[string][]string{}}
	for _, lp := range l.Programs {
		if !slices.Contains(without, lp.Name) {
			w.prog = lp.Name
			w.program(lp)
		}
	}
	return w
}

func (w *writers) program(lp *loader.LinkedProgram) {
	var regs [11]origin
	for pc := 0; pc < len(lp.Insns); pc++ {
		in := lp.Insns[pc]
		if in.IsLdImm64() {
			regs[in.Dst] = origin{}
			if ref, ok := lp.Refs[pc]; ok && ref.Map != nil {
				regs[in.Dst] = origin{def: ref.Map, value: ref.Map.DataKind != loader.DataNone, off: uint64(ref.Off), offset: true}
			}
			pc++
			continue
		}
		op := in.Op()
		info := op.Info()
		switch {
		case op == decode.OpMov64Reg:
			regs[in.Dst] = regs[in.Src]
		case op == decode.OpCallHelper:
			w.call(uapi.FuncID(in.Imm), &regs)
		case op == decode.OpCallKfunc, op == decode.OpCallX, op == decode.OpCallLocal:
			for _, r := range regs[1:6] {
				w.stored(r)
			}
			clear(regs[:6])
		case info.Flags&decode.FlagStore != 0:
			r := regs[in.Dst]
			r.off += uint64(int64(in.Off))
			w.stored(r)
		case op >= decode.OpAdd64Imm && op <= decode.OpAdd64Reg:
			regs[in.Dst].offset = regs[in.Dst].offset && op == decode.OpAdd64Imm
			regs[in.Dst].off += uint64(int64(in.Imm))
		case info.Writes&decode.RegDst != 0:
			regs[in.Dst] = origin{}
		}
	}
}

// changes are the helpers that change the map in r1.
var changes = []uapi.FuncID{uapi.FuncMapUpdateElem, uapi.FuncMapDeleteElem, uapi.FuncMapPushElem, uapi.FuncMapPopElem}

func (w *writers) call(id uapi.FuncID, regs *[11]origin) {
	r1 := regs[1]
	isMap := r1.def != nil && !r1.value
	if id == uapi.FuncMapDeleteElem || id == uapi.FuncForEachMapElem { // callbacks of the latter may delete
		if !isMap {
			w.deletes = true
		} else if list := w.deleters[r1.def.Name]; !slices.Contains(list, w.prog) {
			w.deleters[r1.def.Name] = append(list, w.prog)
		}
	}
	switch {
	case isMap && slices.Contains(changes, id):
		w.maps[r1.def.Name] = true
		if list := w.makers[r1.def.Name]; id == uapi.FuncMapUpdateElem && !slices.Contains(list, w.prog) {
			w.makers[r1.def.Name] = append(list, w.prog)
		}
	case isMap && (id == uapi.FuncMapLookupElem || id == uapi.FuncMapLookupPercpuElem):
		clear(regs[:6])
		regs[0] = origin{def: r1.def, value: true}
		return
	case r1.value && r1.def.OfMaps(): // the handle of a map in a map of maps
		if slices.Contains(changes, id) {
			w.maps[r1.def.Name] = true
		}
		clear(regs[:6])
		if id == uapi.FuncMapLookupElem || id == uapi.FuncMapLookupPercpuElem {
			regs[0] = r1
		}
		return
	default:
		for _, r := range regs[1:6] {
			if !onlyReads()[id] {
				w.stored(r)
			}
		}
	}
	clear(regs[:6])
}

// onlyReads are helpers that read the memory they get.
var onlyReads = sync.OnceValue(func() map[uapi.FuncID]bool {
	return map[uapi.FuncID]bool{
		uapi.FuncTracePrintk: true, uapi.FuncTraceVprintk: true, uapi.FuncRingbufOutput: true, uapi.FuncPerfEventOutput: true, uapi.FuncSkbStoreBytes: true, uapi.FuncStrncmp: true,
		uapi.FuncCsumDiff: true, uapi.FuncXDPStoreBytes: true, uapi.FuncProbeWriteUser: true, uapi.FuncRedirectMap: true, uapi.FuncTailCall: true,
	}
})

// stored notes that memory at an origin is written.
func (w *writers) stored(r origin) {
	if !r.value || r.def.DataKind == loader.DataRodata { // no program writes constants, whom it passes them to
		return
	}
	if r.def.DataKind == loader.DataNone {
		of := r.def // whose values these are
		if of.OfMaps() {
			of = of.Inner
		}
		if of == nil || !keyed(of.Type) { // elements of others exist because user space made them, whatever programs count in them
			w.maps[r.def.Name] = true
		}
		return
	}
	for _, v := range r.def.Vars {
		if !r.offset || r.off >= uint64(v.Off) && r.off < uint64(v.Off)+uint64(v.Size) {
			w.vars[v.Name] = true
		}
	}
}

// keyed reports whether the elements of a map exist only if somebody makes them.
func keyed(t uapi.MapType) bool { return settable(t) && !isArray(t) }

// constants are the numbers that programs compare with or load, without small ones and addresses.
func constants(l *loader.Linked) []uint64 {
	seen := map[uint64]bool{}
	var out []uint64
	for _, lp := range l.Programs {
		for pc, in := range lp.Insns {
			if in.Code == 0 || in.IsLdImm64() {
				if _, ref := lp.Refs[pc]; ref || in.Code == 0 {
					continue
				}
			}
			v := uint64(uint32(in.Imm))
			if v == 0 || seen[v] {
				continue
			}
			if seen[v] = true; len(out) < 512 {
				out = append(out, v)
			}
		}
	}
	return out
}
