package search

import (
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// copies are the helpers that copy to the address in r1 from that in r3, r2 bytes at most.
var copies = map[uapi.FuncID]bool{
	uapi.FuncProbeRead: true, uapi.FuncProbeReadKernel: true, uapi.FuncProbeReadUser: true, uapi.FuncProbeReadStr: true,
	uapi.FuncProbeReadKernelStr: true, uapi.FuncProbeReadUserStr: true, uapi.FuncCopyFromUser: true,
}

// loads are the helpers that copy from the packet at the offset in r2 to the address in r3, r4
// bytes.
var loads = map[uapi.FuncID]bool{uapi.FuncSkbLoadBytes: true, uapi.FuncXDPLoadBytes: true}

// results are the helpers whose result is an input by itself: they write nothing, and nothing else
// that a program sees depends on it.
var results = map[uapi.FuncID]bool{
	uapi.FuncGetCurrentPidTgid: true, uapi.FuncGetCurrentUidGid: true, uapi.FuncKtimeGetNs: true, uapi.FuncKtimeGetBootNs: true,
	uapi.FuncKtimeGetCoarseNs: true, uapi.FuncKtimeGetTaiNs: true, uapi.FuncJiffies64: true, uapi.FuncGetPrandomU32: true,
	uapi.FuncGetSmpProcessorId: true, uapi.FuncGetNumaNodeId: true, uapi.FuncGetCurrentCgroupId: true, uapi.FuncGetCurrentAncestorCgroupId: true,
	uapi.FuncGetSocketCookie: true, uapi.FuncGetSocketUid: true, uapi.FuncGetNetnsCookie: true, uapi.FuncGetAttachCookie: true,
	uapi.FuncSkbCgroupId: true, uapi.FuncSkbAncestorCgroupId: true, uapi.FuncGetCgroupClassid: true, uapi.FuncGetRouteRealm: true,
	uapi.FuncGetHashRecalc: true, uapi.FuncCurrentTaskUnderCgroup: true, uapi.FuncSkbUnderCgroup: true, uapi.FuncFibLookup: true,
	uapi.FuncMapUpdateElem: true, uapi.FuncStrncmp: true, uapi.FuncGetRetval: true, uapi.FuncCheckMtu: true,
}

// owned are the helpers that find a value by its owner, which the flag in r4 creates.
var owned = map[uapi.FuncID]bool{
	uapi.FuncTaskStorageGet: true, uapi.FuncSkStorageGet: true, uapi.FuncInodeStorageGet: true, uapi.FuncCgrpStorageGet: true,
}

// createFlag is BPF_LOCAL_STORAGE_GET_F_CREATE.
const createFlag = 1

// finds reports whether a helper looks for an element of a map.
func finds(id uapi.FuncID) bool {
	return id == uapi.FuncMapLookupElem || id == uapi.FuncMapLookupPercpuElem || owned[id]
}

// maxCopied limits how many bytes of a copy are followed.
const maxCopied = 4096

// call follows what a helper copied and returned.
func (t *Trace) call(in decode.Insn, before, after *[11]uint64) {
	id := uapi.FuncID(in.Imm)
	clear(t.regs[:6])
	switch {
	case copies[id]:
		t.copied(before[1], before[3], before[2]&0xffffffff)
	case loads[id] && t.packet != nil && after[0] == 0:
		t.copied(before[3], t.data+uint64(uint32(before[2])), before[4]&0xffffffff)
	case finds(id):
		t.missed(id, before, after)
	case id == uapi.FuncStrncmp:
		t.regs[0] = &Value{From: &Source{Kind: Result, Helper: id.String(), matches: t.strings(before)}, Was: after[0]}
	case results[id]:
		t.regs[0] = &Value{From: &Source{Kind: Result, Helper: id.String()}, Was: after[0]}
	}
}

// strings lists the changes with which bpf_strncmp finds a string equal to its constant one.
func (t *Trace) strings(before *[11]uint64) [][]Wish {
	const most = 256
	n := before[2] & 0xffffffff
	if !t.matching || n == 0 || n > most {
		return nil
	}
	have, want := make([]byte, n), make([]byte, n)
	if t.m.Memory().Read(before[1], have) != nil {
		return nil
	}
	for i := range want {
		c := want[i : i+1]
		if t.m.Memory().Read(before[3]+uint64(i), c) != nil {
			return nil
		}
		if c[0] == 0 { // what is after it is not compared
			want, have = want[:i+1], have[:i+1]
			break
		}
	}
	if list, ok := t.match(before[1], have, want); ok && len(list) > 0 {
		return [][]Wish{list}
	}
	return nil
}

func (t *Trace) copied(to, from, n uint64) {
	for i := range min(n, maxCopied) {
		c, known := t.memory[from+i]
		if !known {
			c = cell{copy: from + i}
		}
		t.memory[to+i] = c
	}
}

// missed notes a lookup that found nothing.
func (t *Trace) missed(id uapi.FuncID, before, after *[11]uint64) {
	mp, _ := mapAt(t.m, before[1])
	if mp == nil {
		return
	}
	if after[0] == 0 {
		key := make([]byte, 8)
		if owned[id] {
			t.m.Memory().ByteOrder().PutUint64(key, before[2])
		} else {
			key = make([]byte, mp.Spec().KeySize)
		}
		if owned[id] || t.m.Memory().Read(before[2], key) == nil {
			s := &Source{Kind: Element, Map: before[1], Nth: t.lookups[before[1]], Key: string(key)}
			if t.matching && !owned[id] {
				s.matches = t.matches(mp, before[2], key)
			}
			t.regs[0] = &Value{From: s}
		}
	}
	t.lookups[before[1]]++
}

// insert adds the element that the program is about to look up, if that is a change. It is done
// this late because a new element moves what is allocated after it.
func (t *Trace) insert(p *loader.LinkedProgram) {
	if len(t.elements) == 0 || p == nil {
		return
	}
	thread := t.m.Thread()
	pc, regs := thread.PC(), thread.Regs()
	if pc < 0 || pc >= len(p.Insns) || p.Insns[pc].Op() != decode.OpCallHelper || !finds(uapi.FuncID(p.Insns[pc].Imm)) {
		return
	}
	mp, def := mapAt(t.m, regs[1])
	if mp == nil {
		return
	}
	for _, o := range t.elements {
		if o.addr != mp.Addr() || o.nth != t.lookups[mp.Addr()] {
			continue
		}
		if owned[uapi.FuncID(p.Insns[pc].Imm)] {
			thread.SetReg(4, regs[4]|createFlag)
			continue
		}
		key := make([]byte, mp.Spec().KeySize)
		if t.m.Memory().Read(regs[2], key) == nil {
			Insert(t.m, mp, def, key, o.Like)
		}
	}
}

// Insert adds an element as user space does: with a value, or if that is nil with one of zeros, with
// the first device or the smallest queue where a map takes only those, or with an empty map. What
// the map does not take is left out.
func Insert(m *machine.Machine, mp maps.Map, def *loader.Map, key, value []byte) {
	if _, ok := mp.(maps.OuterMap); ok {
		_ = m.FillOuter(def, key)
		return
	}
	if value == nil {
		value = fresh(mp)
	}
	mp.Update(maps.AllCPUs, key, value, 0)
}

// fresh is the value of a new element: zeros, or the first device or the smallest queue where a map
// takes only those.
func fresh(mp maps.Map) []byte {
	value := make([]byte, maps.UserValueSize(mp))
	switch mp.Spec().Type {
	case uapi.MapTypeDevmap, uapi.MapTypeDevmapHash, uapi.MapTypeCpumap:
		value[0] = 1
	}
	return value
}
