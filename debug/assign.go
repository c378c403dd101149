package debug

import (
	"errors"
	"fmt"

	"github.com/bpfrun/bpfrun/maps"
	"github.com/bpfrun/bpfrun/uapi"
)

// assignNow makes an assignment and keeps what it changed. When it fails, nothing was changed.
func (ev *evaluator) assignNow(text string) (*Value, error) {
	n, err := parseExpr(text, ev.isType)
	if err != nil {
		return nil, err
	}
	a, ok := n.(*assignNode)
	if !ok {
		return nil, errors.New("want an assignment, as in $r0 = 1 or counters[3].n = 7")
	}
	before := ev.m.Snapshot()
	ev.changing = true
	v, err := ev.assign(a)
	ev.changing = false
	if err != nil {
		ev.m.Restore(before)
		ev.refresh()
	}
	return v, err
}

func (ev *evaluator) assign(a *assignNode) (*Value, error) {
	if r, ok := a.x.(*regNode); ok && r.name == "$pc" && a.op == "" {
		v, err := ev.eval(a.y)
		if err != nil {
			return nil, err
		}
		ev.stored = stored{}
		return ev.names.setPC(v)
	}
	dst, err := ev.eval(a.x)
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
		err = ev.encodeText(dst.Type, b.text, data)
	} else {
		var v *Value
		if v, err = ev.eval(a.y); err != nil {
			return nil, err
		}
		if a.op != "" {
			if v, err = ev.binary(a.op, dst, v); err != nil {
				return nil, err
			}
			if dst.field == nil {
				if v, err = ev.convert(v, dst.Type); err != nil { // compound assignments wrap around
					return nil, err
				}
			}
		}
		err = ev.encodeInto(v, dst, data)
	}
	if err != nil {
		return nil, err
	}
	return ev.store(dst, data)
}

// store puts bytes where a value came from, and returns it as it is then.
func (ev *evaluator) store(dst *Value, data []byte) (*Value, error) {
	out := *dst
	out.Data = data
	ev.stored = stored{addr: ev.m.Memory().Truncate(dst.Addr), size: uint64(len(data))}
	switch dst.kind {
	case inRegister:
		t := ev.m.Thread()
		if !t.SetFrameReg(dst.frame, dst.reg, ev.uint(data)) {
			return nil, fmt.Errorf("$r%d cannot be changed", dst.reg)
		}
		ev.stored = stored{isReg: true, depth: t.Depth() - dst.frame, reg: dst.reg}
	case inMemory:
		if len(data) == 0 {
			return nil, fmt.Errorf("a value of type %s cannot be assigned to", dst.Type)
		}
		if err := ev.poke(dst.Addr, data); err != nil {
			return nil, err
		}
	case aMapSlot:
		if errno := dst.m.Update(maps.AllCPUs, dst.key, ev.forAllCPUs(dst.m, data), uint64(uapi.Any)); errno != 0 {
			return nil, fmt.Errorf("%s: %v", dst.name, errno)
		}
		out.kind = computed
		if addr, errno := dst.m.Lookup(ev.m.Thread().CPU, dst.key); errno == 0 {
			ev.stored.addr = addr
		}
	}
	return &out, nil
}
