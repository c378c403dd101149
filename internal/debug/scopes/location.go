package scopes

import (
	"errors"

	"github.com/bpfrun/bpfrun/internal/dwarfloc"
)

// StackSlotSize is the number of bytes of a stack slot.
const StackSlotSize = 8

const framePointer = 10

// WhereKind is the kind of location.
type WhereKind uint8

const (
	Computed WhereKind = iota
	InMemory
	InRegister
)

// Where is the result of a location expression: an address in memory, a register, or the value
// itself.
type Where struct {
	Kind  WhereKind
	Addr  uint64
	Reg   int
	Value uint64
	Bytes []byte // an implicit value of any size
	From  *int   // the register that a computed value comes from
}

// State provides the registers and memory that location expressions refer to.
type State struct {
	Reg   func(n int) (uint64, error)
	Frame func() (uint64, error) // returns the address of the lowest byte of the stack frame
	Read  func(addr uint64, size int) (uint64, error)
}

// errOptimizedOut: the variable has no location at this address.
var errOptimizedOut = errors.New("optimized out here")

// ErrUnreadable means that the location is malformed or uses an unknown operation.
var ErrUnreadable = errors.New("its location is malformed")

// Location returns the location expression of a variable at an address. Errors include
// [ErrUnreadable].
func (d *Info) Location(v *Variable, addr uint64) ([]byte, error) {
	switch {
	case v.expr != nil:
		return v.expr, nil
	case v.section == nil:
		return nil, errOptimizedOut
	}
	var found, fallback []byte
	u := v.unit.Unit
	u.Version = v.version
	_, err := u.List(v.section, v.list, func(e dwarfloc.Entry) bool {
		switch {
		case e.Default:
			fallback = e.Expr
		case addr >= e.Low && addr < e.High:
			found = e.Expr
		}
		return found == nil
	})
	switch {
	case err != nil:
		return nil, ErrUnreadable
	case found != nil:
		return found, nil
	case fallback != nil:
		return fallback, nil
	}
	return nil, errOptimizedOut
}

// InRegister calls f for the variables that are in a register at an address, the innermost first,
// until it returns false.
func (d *Info) InRegister(addr uint64, reg int, f func(v *Variable) bool) {
	visible := d.Visible(addr)
	for i := len(visible) - 1; i >= 0; i-- {
		for _, v := range visible[i].Vars {
			expr, err := d.Location(v, addr)
			if err != nil || len(expr) != 1 {
				continue
			}
			where, err := Locate(expr, d.order, State{})
			if err == nil && where.Kind == InRegister && where.Reg == reg && !f(v) {
				return
			}
		}
	}
}
