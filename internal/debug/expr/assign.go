package expr

import (
	"errors"
	"fmt"

	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// AssignNow makes an assignment and records what it changed. A failed assignment changes nothing.
func (ev *Evaluator) AssignNow(text string) (*Value, error) {
	n, err := parseExpr(text, ev.isType, ev.Added)
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
		ev.Refresh()
	}
	return v, err
}

func (ev *Evaluator) assign(a *assignNode) (*Value, error) {
	if r, ok := a.x.(*regNode); ok && r.name == "$pc" && a.op == "" {
		v, err := ev.EvalNode(a.y)
		if err != nil {
			return nil, err
		}
		ev.Stored = Stored{}
		return ev.Scope.SetPC(v)
	}
	dst, err := ev.EvalNode(a.x)
	var absent *absentError
	if errors.As(err, &absent) && absent.slot != nil && a.op == "" {
		dst, err = absent.slot, nil
		if dst.Data = make([]byte, dst.Map.Spec().ValueSize); len(dst.Data) == 0 {
			return nil, absent
		}
	}
	if err != nil {
		return nil, err
	}
	switch dst.Kind {
	case WholeMap, WholePacket:
		return nil, errors.New("a slice cannot be assigned to: assign to one element")
	case Computed:
		return nil, errors.New("the left side is a computed value, not in a register or memory")
	}
	data := append([]byte(nil), dst.Data...)
	if b, ok := a.y.(*braceNode); ok {
		if a.op != "" {
			return nil, errors.New("a value in braces can only be assigned")
		}
		err = ev.EncodeText(dst.Type, b.text, data)
	} else {
		var v *Value
		if v, err = ev.EvalNode(a.y); err != nil {
			return nil, err
		}
		if a.op != "" {
			if v, err = ev.binary(a.op, dst, v); err != nil {
				return nil, err
			}
			if dst.Field == nil {
				if v, err = ev.Convert(v, dst.Type); err != nil { // compound assignments wrap around
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

// store writes bytes to the location of a value and returns the value read back.
func (ev *Evaluator) store(dst *Value, data []byte) (*Value, error) {
	out := *dst
	out.Data = data
	ev.Stored = Stored{Addr: ev.m.Memory().Truncate(dst.Addr), Size: uint64(len(data))}
	switch dst.Kind {
	case InRegister:
		t := ev.m.Thread()
		if !t.SetFrameReg(dst.Frame, dst.Reg, ev.Uint(data)) {
			return nil, fmt.Errorf("$r%d cannot be changed", dst.Reg)
		}
		ev.Stored = Stored{IsReg: true, Depth: t.Depth() - dst.Frame, Reg: dst.Reg}
	case InMemory:
		if len(data) == 0 {
			return nil, fmt.Errorf("a value of type %s cannot be assigned to", dst.Type)
		}
		if err := ev.poke(dst.Addr, data); err != nil {
			return nil, err
		}
	case aMapSlot:
		if errno := dst.Map.Update(maps.AllCPUs, dst.key, ev.forAllCPUs(dst.Map, data), uint64(uapi.Any)); errno != 0 {
			return nil, fmt.Errorf("%s: %v", dst.Name, errno)
		}
		out.Kind = Computed
		if addr, errno := dst.Map.Lookup(ev.m.Thread().CPU, dst.key); errno == 0 {
			ev.Stored.Addr = addr
		}
	}
	return &out, nil
}

// Stored is the destination of an assignment.
type Stored struct {
	IsReg      bool
	Depth, Reg int
	Addr, Size uint64
}
