package machine

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/internal/endian"
	"github.com/bpfrun/bpfrun/internal/kernel"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/usdt"
)

// USDTError means that the arguments of a USDT probe cannot be where its note says.
type USDTError struct{ Why string }

// Error says why.
func (e *USDTError) Error() string { return e.Why }

// markerArg is an argument of a USDT probe as the spec of libbpf's map describes it (struct
// __bpf_usdt_arg_spec).
type markerArg struct {
	usdt.Arg
	regOff, indexOff int
}

// member is a member of that struct.
type member struct {
	name string
	v    uint64
}

// members are those that the struct has for an argument. Those that are 0 may be absent in objects
// built with an older usdt.bpf.h.
func (a *markerArg) members() []member {
	signed := uint64(0)
	if a.Signed {
		signed = 1
	}
	return []member{
		{"val_off", uint64(a.Value)}, {"arg_type", uint64(a.Kind)}, {"reg_off", uint64(a.regOff)}, {"idx_reg_off", uint64(a.indexOff)},
		{"scale_bitshift", uint64(a.Shift)}, {"arg_signed", signed}, {"arg_bitshift", uint64(a.Bits())},
	}
}

// markerArgs returns the arguments of a USDT probe, after it has put their values where they are.
func (cs *contexts) markerArgs(c *hook.Context, in Input) ([]markerArg, error) {
	if in.USDT == nil {
		return constantArgs(c, in), nil
	}
	parsed, err := usdt.Parse(cs.reg.linked.Target.Arch, *in.USDT)
	if err != nil {
		return nil, &USDTError{err.Error()}
	}
	f := &marker{k: cs.kernel, c: c, held: map[string]bool{}}
	for i, a := range parsed {
		x := markerArg{Arg: a}
		for reg, to := range map[string]*int{a.Reg: &x.regOff, a.Index: &x.indexOff} {
			if reg == "" {
				continue
			}
			off, _, ok := c.Register(reg)
			if !ok {
				return nil, &USDTError{fmt.Sprintf("argument %d: the kernel's struct pt_regs has no register %s", i+1, reg)}
			}
			*to = off
		}
		f.args = append(f.args, x)
	}
	for name := range in.Args {
		if i, err := strconv.Atoi(strings.TrimPrefix(name, "arg")); err == nil && i > len(f.args) {
			return nil, &USDTError{fmt.Sprintf("argument %s: the probe has %d arguments: %q", name, len(f.args), *in.USDT)}
		}
	}
	given := func(i int) bool { _, ok := in.Args["arg"+strconv.Itoa(i+1)]; return ok }
	if err := f.place(given); err != nil {
		return nil, err
	}
	return f.args, f.check(given)
}

// constantArgs are the arguments of a run without a note.
func constantArgs(c *hook.Context, in Input) []markerArg {
	n := 0
	for name := range in.Args {
		if i, err := strconv.Atoi(strings.TrimPrefix(name, "arg")); err == nil {
			n = max(n, i)
		}
	}
	if n == 0 {
		n = min(len(c.Args), 6)
	}
	out := make([]markerArg, n)
	for i := range out {
		out[i].Size = 8
		if i < len(c.Args) {
			out[i].Value = int64(c.Args[i].Value)
		}
	}
	return out
}

// marker puts arguments where they are.
type marker struct {
	k    *kernel.Kernel
	c    *hook.Context
	args []markerArg
	held map[string]bool // registers that hold an argument of the run, or an index
}

// value is what the run has for an argument.
func (f *marker) value(i int) uint64 {
	if i < len(f.c.Args) {
		return f.c.Args[i].Value
	}
	return 0
}

// place sets the registers that are arguments, lets the others that arguments use point to memory,
// and fills that.
func (f *marker) place(given func(i int) bool) error {
	for i := range f.args {
		if a := &f.args[i]; a.Kind == usdt.Reg && (given(i) || !f.held[a.Reg]) {
			f.c.SetRegister(a.Reg, f.value(i)<<a.Bits()>>a.Bits())
			f.held[a.Reg] = given(i)
		}
	}
	var bases []string
	for i := range f.args {
		a := &f.args[i]
		if a.Kind == usdt.Index && !f.held[a.Index] {
			f.c.SetRegister(a.Index, 1)
			f.held[a.Index] = true
		}
		if (a.Kind == usdt.Deref || a.Kind == usdt.Index) && !f.held[a.Reg] && !slices.Contains(bases, a.Reg) {
			bases = append(bases, a.Reg)
		}
	}
	for _, reg := range bases {
		if f.held[reg] { // it became an index
			continue
		}
		if err := f.room(reg); err != nil {
			return err
		}
	}
	for i := range f.args {
		a := &f.args[i]
		if a.Kind != usdt.Deref && a.Kind != usdt.Index {
			continue
		}
		data := make([]byte, 8)
		endian.PutUint(f.k.Order(), data[:a.Size], f.value(i))
		addr := f.addr(a)
		if !f.k.UserMapped(addr) {
			return &USDTError{fmt.Sprintf("argument %d is in memory at %#x, and nothing is mapped there: give the argument in register %s a pointer that has room for it (!user ...)", i+1, addr, a.Reg)}
		}
		if err := f.k.UserWrite(addr, data[:a.Size]); err != nil {
			return &USDTError{fmt.Sprintf("argument %d at %#x: %v", i+1, addr, err)}
		}
	}
	return nil
}

// offset is the distance of an argument from the register.
func (f *marker) offset(a *markerArg) int64 {
	if a.Kind != usdt.Index {
		return a.Value
	}
	_, index, _ := f.c.Register(a.Index)
	return a.Value + int64(index<<a.Shift)
}

func (f *marker) addr(a *markerArg) uint64 {
	_, base, _ := f.c.Register(a.Reg)
	return base + uint64(f.offset(a))
}

// mostRoom limits the memory that arguments at one register span, in bytes.
const mostRoom = 1 << 20

// room lets a register point to memory that has all arguments at it. bpf_usdt_arg reads eight bytes
// of each.
func (f *marker) room(reg string) error {
	lo, hi := int64(math.MaxInt64), int64(math.MinInt64)
	for i := range f.args {
		if a := &f.args[i]; a.Reg == reg && (a.Kind == usdt.Deref || a.Kind == usdt.Index) {
			lo, hi = min(lo, f.offset(a)), max(hi, f.offset(a))
		}
	}
	if span := uint64(hi) - uint64(lo); span > mostRoom {
		return &USDTError{fmt.Sprintf("the arguments at register %s are %d bytes apart; the limit is %d", reg, span, mostRoom)}
	}
	addr := f.k.UserAlloc(make([]byte, hi-lo+8))
	if addr == 0 {
		return &USDTError{"user memory is full"}
	}
	f.c.SetRegister(reg, addr-uint64(lo))
	return nil
}

// check compares what a program will find with what the run gives: two arguments may be in one
// place.
func (f *marker) check(given func(i int) bool) error {
	for i := range f.args {
		a := &f.args[i]
		want := f.value(i)
		if !given(i) {
			continue
		}
		var got uint64
		switch a.Kind {
		case usdt.Const:
			got = uint64(a.Value)
		case usdt.Reg:
			_, got, _ = f.c.Register(a.Reg)
		default:
			data := make([]byte, a.Size)
			if err := f.k.UserRead(f.addr(a), data); err != nil {
				return &USDTError{fmt.Sprintf("argument %d at %#x: %v", i+1, f.addr(a), err)}
			}
			got = endian.Uint(f.k.Order(), data)
		}
		if a.Extend(got) != a.Extend(want) {
			why := "shares its place with another argument"
			if a.Kind == usdt.Const {
				why = "is a constant in the note"
			}
			return &USDTError{fmt.Sprintf("argument %d cannot be %d: it %s, and is %d", i+1, int64(want), why, int64(a.Extend(got)))}
		}
	}
	return nil
}
