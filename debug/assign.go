package debug

import (
	"errors"
	"fmt"

	"github.com/bpfrun/bpfrun/maps"
	"github.com/bpfrun/bpfrun/uapi"
)

// assignNow makes an assignment and keeps what it changed. When it fails, nothing was changed.
func (s *Session) assignNow(text string) (*Value, error) {
	n, err := parseExpr(text, s.isType)
	if err != nil {
		return nil, err
	}
	a, ok := n.(*assignNode)
	if !ok {
		return nil, errors.New("want an assignment, as in $r0 = 1 or counters[3].n = 7")
	}
	before := s.m.Snapshot()
	s.changing = true
	v, err := s.assign(a)
	s.changing = false
	if err != nil {
		s.m.Restore(before)
		s.rewatch()
	}
	return v, err
}

func (s *Session) assign(a *assignNode) (*Value, error) {
	if r, ok := a.x.(*regNode); ok && r.name == "$pc" && a.op == "" {
		v, err := s.eval(a.y)
		if err != nil {
			return nil, err
		}
		return s.setPC(v)
	}
	dst, err := s.eval(a.x)
	var absent *absentError
	if errors.As(err, &absent) && absent.slot != nil && a.op == "" {
		dst, err = absent.slot, nil
		if dst.Data = make([]byte, dst.m.Spec().ValueSize); len(dst.Data) == 0 {
			return nil, absent
		}
	}
	if err != nil {
		return nil, err
	}
	switch dst.kind {
	case aMap, aPacket:
		return nil, errors.New("only elements can be assigned to")
	case computed:
		return nil, errors.New("the left side is a computed value: it lies in no register or memory")
	}
	data := append([]byte(nil), dst.Data...)
	if b, ok := a.y.(*braceNode); ok {
		if a.op != "" {
			return nil, errors.New("a value in braces can only be assigned")
		}
		err = s.encodeText(dst.Type, b.text, data)
	} else {
		var v *Value
		if v, err = s.eval(a.y); err != nil {
			return nil, err
		}
		if a.op != "" {
			if v, err = s.binary(a.op, dst, v); err != nil {
				return nil, err
			}
			if dst.field == nil {
				if v, err = s.convert(v, dst.Type); err != nil { // compound assignments wrap around
					return nil, err
				}
			}
		}
		err = s.encodeInto(v, dst, data)
	}
	if err != nil {
		return nil, err
	}
	return s.store(dst, data)
}

// encodeInto writes v over the bytes of dst, of a bitfield only its bits.
func (s *Session) encodeInto(v, dst *Value, data []byte) error {
	if dst.field != nil {
		return s.encodeField(v, *dst.field, data)
	}
	if dst.bitSize == 0 {
		return s.encode(v, dst.Type, data)
	}
	n, _, err := s.asInt(v)
	if err != nil {
		return err
	}
	if w := dst.bitSize; w < 64 && n>>w != 0 && int64(n)>>(w-1) != -1 {
		return fmt.Errorf("%d does not fit in %d bits", int64(n), w)
	}
	big := s.m.Memory().ByteOrder().Uint16([]byte{1, 0}) != 1
	for i := range dst.bitSize {
		bit := byte(n >> i & 1)
		at := dst.bitOff + i
		pos := at % 8
		if big {
			at = dst.bitOff + dst.bitSize - 1 - i
			pos = 7 - at%8
		}
		data[at/8] = data[at/8]&^(1<<pos) | bit<<pos
	}
	return nil
}

// store puts bytes where a value came from, and returns it as it is then.
func (s *Session) store(dst *Value, data []byte) (*Value, error) {
	out := *dst
	out.Data = data
	s.stored = stored{addr: s.m.Memory().Truncate(dst.Addr), size: uint64(len(data))}
	switch dst.kind {
	case inRegister:
		t := s.m.Thread()
		if !t.SetFrameReg(dst.frame, dst.reg, s.uint(data)) {
			return nil, fmt.Errorf("$r%d cannot be changed", dst.reg)
		}
		s.stored = stored{isReg: true, depth: t.Depth() - dst.frame, reg: dst.reg}
	case inMemory:
		if len(data) == 0 {
			return nil, fmt.Errorf("a value of type %s cannot be assigned to", dst.Type)
		}
		if err := s.poke(dst.Addr, data); err != nil {
			return nil, err
		}
	case aMapSlot:
		if errno := dst.m.Update(maps.AllCPUs, dst.key, s.forAllCPUs(dst.m, data), uint64(uapi.Any)); errno != 0 {
			return nil, fmt.Errorf("%s: %v", dst.name, errno)
		}
		out.kind = computed
		if addr, errno := dst.m.Lookup(s.m.Thread().CPU, dst.key); errno == 0 {
			s.stored.addr = addr
		}
	}
	return &out, nil
}

// forAllCPUs is a value as user space gives it: of per-CPU maps one for each CPU, rounded up to 8 bytes.
func (s *Session) forAllCPUs(m maps.Map, data []byte) []byte {
	if !m.Spec().Type.PerCPU() {
		return data
	}
	stride := (len(data) + 7) &^ 7
	out := make([]byte, 0, stride*s.m.Kernel().CPUs())
	for range s.m.Kernel().CPUs() {
		out = append(out, data...)
		out = append(out, make([]byte, stride-len(data))...)
	}
	return out
}
