package machine

import (
	"fmt"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// again starts the next call of a program that one event calls several times: an iterator for every
// element, a session probe at the function's return. It returns false if the run is over.
func (s *Session) again() bool {
	m := s.m
	if s.step+1 >= s.ctx.Steps() {
		return false
	}
	next := s.step + 1
	switch ret := uint32(m.thread.Ret()); {
	case s.ctx.Iterates():
		var ok bool
		if next, ok = s.shown(ret); !ok {
			return false
		}
	case ret != 0:
		return false // the program does not ask to see the return
	}
	s.step = next
	s.insns += m.thread.Insns()
	s.ctx.Step(next)
	m.env.Run.SessionReturn = s.ctx.Returning(next)
	s.shownAt = len(m.env.Run.Text)
	m.thread.Start(m.attached.entry(s.p).img, s.ctx.Addr)
	m.goOn()
	return true
}

// shown emulates bpf_seq_read after the program showed an element: output that does not fit into
// the buffer is dropped, and the element is shown again in the next read; a nonzero return value
// ends the read (kernel/bpf/bpf_iter.c).
func (s *Session) shown(ret uint32) (next int, ok bool) {
	run := s.m.env.Run
	switch {
	case run.SeqFull && s.shownAt == run.SeqStart:
		run.Text = run.Text[:s.shownAt]
		s.m.run.warn("the output for one element exceeds the iterator's buffer (32 KiB): read returns E2BIG")
		return 0, false
	case run.SeqFull:
		run.Text, run.SeqFull, run.SeqStart = run.Text[:s.shownAt], false, s.shownAt
		return s.step, true
	case ret != 0:
		run.Text = run.Text[:s.shownAt]
		s.m.run.warn(fmt.Sprintf("the iterator returned %d for element %d: the read ends there and drops that element's output; user space sees EAGAIN and may read on", ret, s.step))
		return 0, false
	}
	return s.step + 1, true
}

// iteration describes what an iterator visits in this machine: its maps and programs, or the
// elements of the chosen map.
func (cs *contexts) iteration(p *program, in Input) (*hook.IterSpec, error) {
	if progtype.Of(p.lp.Type).TargetOf(p.lp.Attach) != progtype.Iterator {
		return nil, nil
	}
	it := &hook.IterSpec{Given: in.Elements}
	for b := range cs.reg.maps.All() {
		if b.m != nil {
			it.Maps = append(it.Maps, mapInfo(b.m))
		}
	}
	for q := range cs.reg.programs.All() {
		it.Programs = append(it.Programs, hook.ProgInfo{ID: q.id, Name: q.lp.Name, Type: q.lp.Type, Insns: len(q.lp.Insns)})
	}
	b, err := cs.iterMap(p, in)
	if err != nil || b == nil {
		return it, err
	}
	info := mapInfo(b)
	it.Map = &info
	if in.Elements != nil {
		return it, nil
	}
	if s, ok := b.(maps.LocalStorage); ok {
		it.Elements = cs.storageElements(s)
		return it, nil
	}
	it.Elements, it.Regions, err = cs.mapElements(b)
	return it, err
}

func mapInfo(b maps.Map) hook.MapInfo {
	s := b.Spec()
	return hook.MapInfo{ID: b.ID(), Name: s.Name, Type: s.Type, KeySize: s.KeySize, ValueSize: s.ValueSize, MaxEntries: s.MaxEntries, Flags: s.Flags}
}

// iterMap returns the map that an iterator is attached to: the chosen one, else the object's first
// suitable map.
func (cs *contexts) iterMap(p *program, in Input) (maps.Map, error) {
	var visits func(uapi.MapType) bool // bpf_iter_attach_map of the target
	switch p.lp.AttachTo {
	case "bpf_map_elem":
		visits = func(t uapi.MapType) bool { return t.Has(uapi.MapEachElem) }
	case "bpf_sk_storage_map":
		visits = func(t uapi.MapType) bool { return t == uapi.MapTypeSkStorage }
	default:
		return nil, nil
	}
	if b := cs.reg.byDef[in.MapDef]; b != nil && b.m != nil && visits(b.def.Type) {
		return b.m, nil
	}
	for b := range cs.reg.maps.All() {
		if b.m == nil || !visits(b.def.Type) || in.Map != "" && b.def.Name != in.Map || in.Map == "" && b.def.DataKind != loader.DataNone {
			continue
		}
		if in.Map == "" && p.runs == 0 {
			cs.warnf("program %s: user space chooses the map to iterate over; assuming %s", p.lp.Name, b.def.Name)
		}
		return b.m, nil
	}
	if in.Map != "" {
		return nil, fmt.Errorf("an iterator cannot visit the elements of map %s", in.Map)
	}
	return nil, nil
}

// mapAt finds the map that a program passes a pointer of: its handle, or the struct bpf_map that an
// iterator got.
func (m *Machine) mapAt(addr uint64) (maps.Map, bool) {
	if b, ok := m.mapEnv.ByAddr(addr); ok {
		return b, true
	}
	if id, ok := m.kernel.MapID(addr); ok {
		return m.mapEnv.ByID(id)
	}
	return nil, false
}

// storageElements are the values of a socket storage map. As long as no socket has one, in default
// mode a first socket gets a value of zeros.
func (cs *contexts) storageElements(s maps.LocalStorage) []hook.MapElement {
	owners := s.Owners()
	if len(owners) == 0 && cs.kernel.Mode() == object.ModeDefault {
		for _, o := range cs.kernel.Table("tcp") {
			if sock := cs.kernel.SocketAt(o.Addr()); sock != nil {
				owners = []uint64{sock.Key()}
				break
			}
		}
		cs.warnf("no socket has a value in map %s yet; assuming one with zeros", s.Spec().Name)
	}
	var out []hook.MapElement
	for _, owner := range owners {
		if v, errno := s.Get(owner, nil, true); errno == 0 {
			out = append(out, hook.MapElement{Key: owner, Value: v})
		}
	}
	return out
}

// mapElements places the elements of a map in memory, in regions: copies of keys, the map's own
// values, and for a per-CPU map a copy of all CPUs' values.
func (cs *contexts) mapElements(b maps.Map) (out []hook.MapElement, regions []*mem.Region, err error) {
	s := b.Spec()
	alloc := func(data []byte, what string) (uint64, error) {
		r, err := cs.mem.Alloc(uint64(max(len(data), 1)), mem.Region{Kind: mem.Scratch, Name: what + " of " + s.Name, ReadOnly: true})
		if err != nil {
			return 0, err
		}
		regions = append(regions, r)
		copy(cs.mem.Bytes(r), data)
		return r.Base, nil
	}
	for _, key := range mapKeys(b) {
		var e hook.MapElement
		if e.Key, err = alloc(key, "key"); err != nil {
			break
		}
		if per, ok := perCPUValues(b, key); ok {
			if e.Value, err = alloc(per, "values"); err != nil {
				break
			}
		} else {
			var errno uapi.Errno
			if e.Value, errno = b.Lookup(0, key); errno != 0 {
				continue
			}
		}
		out = append(out, e)
	}
	return out, regions, err
}

// mapKeys lists the keys of a map in the order of user space's iteration.
func mapKeys(b maps.Map) [][]byte {
	var out [][]byte
	for key, errno := b.NextKey(nil); errno == 0; key, errno = b.NextKey(key) {
		out = append(out, append([]byte(nil), key...))
		const most = 1 << 16
		if len(out) >= most {
			break
		}
	}
	return out
}

// perCPUValues concatenates the values of all CPUs, each rounded up to eight bytes.
func perCPUValues(b maps.Map, key []byte) ([]byte, bool) {
	if !b.Spec().Type.PerCPU() {
		return nil, false
	}
	size := (int(b.Spec().ValueSize) + 7) &^ 7
	out := make([]byte, maps.UserValueSize(b))
	for _, e := range b.Entries() {
		if string(e.Key) != string(key) {
			continue
		}
		for cpu, v := range e.PerCPU {
			copy(out[cpu*size:min((cpu+1)*size, len(out))], v)
		}
	}
	return out, true
}
