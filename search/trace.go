package search

import (
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/machine"
	"github.com/bpfrun/bpfrun/maps"
	"github.com/bpfrun/bpfrun/uapi"
)

// place is an instruction of a program.
type place struct {
	p  *loader.LinkedProgram
	pc int
}

// branch is a comparison that a run made, and the side that it did not take.
type branch struct {
	other place
	op    decode.Op
	want  bool
	// sides are the operands; from is where one of them came from, nil for a constant.
	sides [2]uint64
	from  [2]*value
}

// cell is what a byte of memory holds: byte i of a value, a copy of the byte at an address, or, if neither, something unknown.
type cell struct {
	v    *value
	i    int
	copy uint64
}

// trace follows one run, and makes its changes before the program reads what they change. It is a [machine.Tracer].
type trace struct {
	m        *machine.Machine
	pending  []Override
	elements []Override
	lookups  map[uint64]int // of each map so far
	regs     [11]*value
	saved    [][11]*value
	memory   map[uint64]cell
	reached  map[place]bool
	branches []branch
}

func newTrace(m *machine.Machine, changes []Override) *trace {
	t := &trace{m: m, memory: map[uint64]cell{}, lookups: map[uint64]int{}, reached: map[place]bool{}}
	for _, o := range changes {
		if o.Kind == Element {
			t.elements = append(t.elements, o)
		} else if o.Kind == Memory && !t.poke(o) {
			t.pending = append(t.pending, o)
		}
	}
	return t
}

// insert adds the element that the program is about to look up, if that is a change. It is done this late because a new element moves
// what is allocated after it.
func (t *trace) insert(p *loader.LinkedProgram) {
	pc, regs := t.m.Thread().PC(), t.m.Thread().Regs()
	if len(t.elements) == 0 || pc < 0 || pc >= len(p.Insns) || p.Insns[pc].Op() != decode.OpCallHelper || uapi.FuncID(p.Insns[pc].Imm).String() != lookup {
		return
	}
	mp := t.mapAt(regs[1])
	if mp == nil {
		return
	}
	for _, o := range t.elements {
		if o.addr == mp.Addr() && o.nth == t.lookups[mp.Addr()] {
			key := make([]byte, mp.Spec().KeySize)
			if t.m.Memory().Read(regs[2], key) == nil {
				mp.Update(maps.AllCPUs, key, make([]byte, t.userSize(mp)), 0)
			}
		}
	}
}

// userSize is the size in bytes of a value as user space writes it.
func (t *trace) userSize(mp maps.Map) int {
	size := int(mp.Spec().ValueSize)
	if mp.Spec().Type.Has(uapi.MapPerCPU) {
		return (size + 7) / 8 * 8 * t.m.Kernel().CPUs()
	}
	return size
}

// poke writes bytes from outside of the program; false if there is no memory yet.
func (t *trace) poke(o Override) bool {
	if t.m.Kernel().Poke(o.Addr, o.Data) {
		return true
	}
	memory := t.m.Memory()
	if memory.IsUser(o.Addr) {
		return memory.WriteUser(o.Addr, o.Data) == nil
	}
	if memory.Window(o.Addr) != nil {
		return memory.Write(o.Addr, o.Data) == nil
	}
	r := memory.Find(o.Addr)
	if r == nil || r.View != nil || o.Addr+uint64(len(o.Data)) > r.Base+r.Size {
		return false
	}
	copy(memory.Bytes(r)[o.Addr-r.Base:], o.Data)
	memory.NoteWrite(o.Addr, uint64(len(o.Data)))
	return true
}

// Step implements [machine.Tracer].
func (t *trace) Step(p *loader.LinkedProgram, pc, _ int, before, after *[11]uint64) {
	t.reached[place{p, pc}] = true
	in := p.Insns[pc]
	op := in.Op()
	info := op.Info()
	switch {
	case op >= decode.OpAdd64Imm && op <= decode.OpBswap64:
		t.alu(in, op, before)
	case op >= decode.OpLdxB && op <= decode.OpLdxSW:
		t.load(in, op, int(info.Size), before, after)
	case op >= decode.OpStB && op <= decode.OpStxDW:
		var v *value
		if op >= decode.OpStxB {
			v = t.regs[in.Src]
		}
		for i := range uint64(info.Size) {
			t.memory[before[in.Dst]+uint64(int64(in.Off))+i] = cell{v: v, i: int(i)}
		}
	case op == decode.OpCallHelper:
		t.call(uapi.FuncID(in.Imm), before, after)
	case op == decode.OpCallLocal:
		t.saved = append(t.saved, t.regs)
	case op == decode.OpExit:
		if n := len(t.saved); n > 0 {
			copy(t.regs[6:], t.saved[n-1][6:])
			t.saved = t.saved[:n-1]
		}
	case op == decode.OpCallKfunc || op == decode.OpCallX:
		clear(t.regs[:6])
	default:
		t.jump(p, pc, in, op, before)
		for r := range t.regs {
			if before[r] != after[r] {
				t.regs[r] = nil
			}
		}
	}
	t.retry()
	t.insert(p)
}

// retry makes the changes whose memory exists now.
func (t *trace) retry() {
	if len(t.pending) == 0 {
		return
	}
	left := t.pending[:0]
	for _, o := range t.pending {
		if !t.poke(o) {
			left = append(left, o)
		}
	}
	t.pending = left
}

func usesSrc(op decode.Op) bool { return op.Info().Reads&decode.RegSrc != 0 }

func (t *trace) alu(in decode.Insn, op decode.Op, before *[11]uint64) {
	dst, src := t.regs[in.Dst], (*value)(nil)
	c := uint64(int64(in.Imm))
	if usesSrc(op) {
		src, c = t.regs[in.Src], before[in.Src]
	}
	readsDst := op.Info().Reads&decode.RegDst != 0
	switch {
	case src != nil && (!readsDst || dst == nil):
		t.regs[in.Dst] = src.then(step{op, before[in.Dst], true})
	case readsDst && dst != nil && src == nil:
		t.regs[in.Dst] = dst.then(step{op: op, c: c})
	default:
		t.regs[in.Dst] = nil
	}
}

// load follows bytes that are read: the program's own, copies, or an input.
func (t *trace) load(in decode.Insn, op decode.Op, size int, before, after *[11]uint64) {
	addr := before[in.Src] + uint64(int64(in.Off))
	v := t.read(addr, size, after[in.Dst])
	switch op {
	case decode.OpLdxSB:
		v = v.then(step{decode.OpMovSX8To64, 0, true})
	case decode.OpLdxSH:
		v = v.then(step{decode.OpMovSX16To64, 0, true})
	case decode.OpLdxSW:
		v = v.then(step{decode.OpMovSX32To64, 0, true})
	}
	t.regs[in.Dst] = v
}

// read returns what size bytes at an address came from; loaded is their value.
func (t *trace) read(addr uint64, size int, loaded uint64) *value {
	if size < 8 {
		loaded &= 1<<(8*size) - 1
	}
	first, known := t.memory[addr]
	for i := range size {
		c, ok := t.memory[addr+uint64(i)]
		if ok != known || ok && (c.v != first.v || c.v != nil && c.i != first.i+i || c.v == nil && (c.copy == 0 || c.copy != first.copy+uint64(i))) {
			return nil
		}
	}
	switch {
	case known && first.v != nil:
		v := first.v
		if first.i > 0 {
			v = v.then(step{op: decode.OpRsh64Imm, c: uint64(8 * first.i)})
		}
		if size < 8 {
			v = v.then(step{op: decode.OpAnd64Reg, c: 1<<(8*size) - 1})
		}
		return v
	case known:
		addr = first.copy
	}
	return &value{from: &source{kind: Memory, addr: addr, size: size}, was: loaded}
}

const lookup = "bpf_map_lookup_elem"

// copies are the helpers that copy from an address in r3, r2 bytes at most.
var copies = map[string]bool{
	"bpf_probe_read": true, "bpf_probe_read_kernel": true, "bpf_probe_read_user": true, "bpf_probe_read_str": true, "bpf_probe_read_kernel_str": true,
	"bpf_probe_read_user_str": true, "bpf_copy_from_user": true,
}

// results are the helpers whose result is an input by itself.
var results = map[string]bool{
	"bpf_get_current_pid_tgid": true, "bpf_get_current_uid_gid": true, "bpf_ktime_get_ns": true, "bpf_ktime_get_boot_ns": true, "bpf_get_prandom_u32": true,
	"bpf_get_smp_processor_id": true, "bpf_get_current_cgroup_id": true, "bpf_get_socket_cookie": true, "bpf_get_netns_cookie": true, "bpf_get_socket_uid": true,
	"bpf_get_attach_cookie": true, "bpf_skb_cgroup_id": true, "bpf_get_cgroup_classid": true, "bpf_current_task_under_cgroup": true, "bpf_fib_lookup": true,
	"bpf_map_update_elem": true, "bpf_get_current_ancestor_cgroup_id": true, "bpf_strncmp": true,
}

// maxCopied limits how many bytes of a copy are followed.
const maxCopied = 4096

func (t *trace) call(id uapi.FuncID, before, after *[11]uint64) {
	name := id.String()
	clear(t.regs[:6])
	switch {
	case copies[name]:
		for i := range min(before[2]&0xffffffff, maxCopied) {
			c, known := t.memory[before[3]+i]
			if !known {
				c = cell{copy: before[3] + i}
			}
			t.memory[before[1]+i] = c
		}
	case name == lookup:
		if mp := t.mapAt(before[1]); mp != nil && after[0] == 0 {
			key := make([]byte, mp.Spec().KeySize)
			if t.m.Memory().Read(before[2], key) == nil {
				t.regs[0] = &value{from: &source{kind: Element, mapAddr: before[1], nth: t.lookups[before[1]], key: string(key)}}
			}
		}
		t.lookups[before[1]]++
	case results[name]:
		t.regs[0] = &value{from: &source{kind: Result, helper: name}, was: after[0]}
	}
}

func (t *trace) mapAt(addr uint64) maps.Map {
	for _, def := range t.m.Linked().Maps {
		if mp, ok := t.m.Map(def); ok && mp.Addr() == addr {
			return mp
		}
	}
	return nil
}

// jump notes a comparison whose outcome depends on inputs.
func (t *trace) jump(p *loader.LinkedProgram, pc int, in decode.Insn, op decode.Op, before *[11]uint64) {
	b := branch{op: op, sides: [2]uint64{before[in.Dst], uint64(int64(in.Imm))}, from: [2]*value{t.regs[in.Dst], nil}}
	if usesSrc(op) {
		b.sides[1], b.from[1] = before[in.Src], t.regs[in.Src]
	}
	taken, ok := op.Holds(b.sides[0], b.sides[1])
	target, jumps := in.Target(pc)
	if !ok || !jumps || b.from[0] == nil && b.from[1] == nil {
		return
	}
	b.other, b.want = place{p, target}, !taken
	if taken {
		b.other.pc = pc + 1
	}
	t.branches = append(t.branches, b)
}
