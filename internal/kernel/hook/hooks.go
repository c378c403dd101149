package hook

import (
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/endian"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
)

// structOpsContext generates the arguments of a struct_ops member, "TYPE.member": those of the
// function pointer with that name in the target's struct.
func (h *Hooks) structOpsContext(c *Context) error {
	typ, member, ok := strings.Cut(c.spec.AttachTo, ".")
	typ = btf.EssentialName(typ)
	c.Func = member
	l := h.LayoutNamed(typ)
	if !ok || l == nil {
		if h.BTF() == nil {
			c.Untyped = true
			h.untypedArguments(c, 6)
			return h.arrayContext(c)
		}
		return &object.AbsentError{Hook: c.spec.AttachTo, What: "struct " + typ, Nearest: h.nearestNames(btf.KindStruct, "", typ)}
	}
	f, rest, err := l.Place(member)
	if err != nil || rest != "" {
		return &object.AbsentError{Hook: c.spec.AttachTo, What: "member " + member + " of struct " + typ, Nearest: object.NearestMembers(l.Spec, l.Type, member)}
	}
	p := object.FollowProto(f.Spec, f.Type)
	if p == nil {
		return &object.AbsentError{Hook: c.spec.AttachTo, What: "function pointer " + member + " in struct " + typ}
	}
	if typ == "hid_bpf_ops" && c.spec.Values == nil && c.spec.Args == nil {
		if c.spec.Values, err = h.hidArguments(member); err != nil {
			return err
		}
	}
	if err := h.arguments(c, member, f.Spec, named(f.Spec, p), 0); err != nil {
		return err
	}
	return h.arrayContext(c)
}

// hidArguments returns the arguments of a program of a HID device that runs alone: those of a call
// on a default device.
func (h *Hooks) hidArguments(member string) ([]any, error) {
	w, ok, err := h.hid.DefaultCall(member)
	if !ok || w == nil || err != nil {
		return nil, err
	}
	return w.Values(), nil
}

// named gives the parameters of a function pointer, which have no names in BTF, the names that
// functions usually use for their types.
func named(spec *btf.Spec, p *btf.Type) *btf.Type {
	q := *p
	q.Params = slices.Clone(p.Params)
	seen := map[string]bool{}
	for i := range q.Params {
		to := object.Target(spec, q.Params[i].Type)
		if q.Params[i].Name != "" || to.Type == nil || to.Type.Name == "" || to.Type.Kind != btf.KindStruct {
			continue
		}
		if name := object.UsualName(to.Type.Name); !seen[name] {
			q.Params[i].Name, seen[name] = name, true
		}
	}
	return &q
}

// LIRC samples: the kind in the upper byte, microseconds below (include/uapi/linux/lirc.h).
const lircPulse = 0x01000000

// lircContext creates the sample of a remote control: one u32, by default a pulse of 900
// microseconds.
func (h *Hooks) lircContext(c *Context) error {
	c.Type = "sample"
	a := Arg{Name: "sample", Value: lircPulse | 900, slots: 1}
	if err := h.override(c, &a); err != nil {
		return err
	}
	c.Args = []Arg{a}
	data := make([]byte, 4)
	endian.PutUint(h.Order(), data, a.Value)
	return c.allocate(data, true)
}

// probeSession creates the registers at the entry of a function and, for the second call, at its
// return.
func (h *Hooks) probeSession(c *Context, r *registers) error {
	if err := c.allocate(r.data, true); err != nil {
		return err
	}
	entry := slices.Clone(r.data)
	r.set(r.abi.ret, c.Ret.Value)
	c.steps = []step{{data: entry}, {data: slices.Clone(r.data), ret: true}}
	return nil
}

// sessionContext generates the arguments of a function; at its entry the return value is 0.
func (h *Hooks) sessionContext(c *Context) error {
	if err := h.arrayContext(c); err != nil {
		return err
	}
	back := slices.Clone(h.Mem().Bytes(c.Region))
	entry := slices.Clone(back)
	clear(entry[8*c.Slots:])
	c.steps = []step{{data: entry}, {data: back, ret: true}}
	c.Step(0)
	return nil
}
