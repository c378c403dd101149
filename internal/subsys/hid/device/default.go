package device

import (
	"context"
	"slices"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/subsys/drive"
	"github.com/bpfrun/bpfrun/internal/subsys/hid"
	"github.com/bpfrun/bpfrun/loader"
)

// configSection is where udev-hid-bpf's objects name the devices they are for, by types alone.
const configSection = ".hid_bpf_config"

// Match is a device that an object is for (HID_DEVICE); 0 means any.
type Match struct {
	Bus, Group      uint16
	Vendor, Product uint32
}

// Matches lists the devices that an object names.
func Matches(obj *loader.Object) []Match {
	spec := obj.BTF
	if spec == nil {
		return nil
	}
	sec, ok := spec.Find(btf.KindDatasec, configSection)
	if !ok {
		return nil
	}
	var out []Match
	for _, v := range sec.Vars {
		t, err := spec.Type(v.Type)
		if err != nil {
			continue
		}
		u := spec.SkipMods(t.Ref)
		if u == nil || u.Kind != btf.KindUnion {
			continue
		}
		for _, e := range u.Members {
			if s := spec.SkipMods(e.Type); s != nil && s.Kind == btf.KindStruct {
				n := numbers(spec, s)
				out = append(out, Match{Bus: uint16(n["bus"]), Group: uint16(n["group"]), Vendor: n["vid"], Product: n["pid"]})
			}
		}
	}
	return out
}

// numbers reads members that are pointers to arrays: the array's length is the number.
func numbers(spec *btf.Spec, s *btf.Type) map[string]uint32 {
	out := map[string]uint32{}
	for _, f := range s.Members {
		if p := spec.SkipMods(f.Type); p != nil && p.Kind == btf.KindPtr {
			if a := spec.SkipMods(p.Ref); a != nil && a.Kind == btf.KindArray {
				out[f.Name] = a.Array.Nelems
			}
		}
	}
	return out
}

// Info returns a default device that fits what the object names first.
func Info(obj *loader.Object) hid.Info {
	info := hid.DefaultInfo()
	if all := Matches(obj); len(all) > 0 {
		m := all[0]
		set := func(to *uint32, v uint32) {
			if v != 0 {
				*to = v
			}
		}
		set(&info.Vendor, m.Vendor)
		set(&info.Product, m.Product)
		if m.Bus != 0 {
			info.Bus = m.Bus
		}
		if m.Group != 0 {
			info.Group = m.Group
		}
	}
	return info
}

// maxTries limits the descriptors that a probe program is asked about.
const maxTries = 64

// Default connects a device that the object's probe program accepts, if one is found: probes
// compare the length of the descriptor, so those lengths are tried that are constants of the
// program. It makes one event of each kind and report happen. A device that is not accepted gets
// the programs all the same, so that they run; Accepted tells.
func Default(ctx context.Context, m *machine.Machine) (*HID, error) {
	info := Info(m.Linked().Object)
	for _, size := range append([]int{0}, sizes(m.Linked())...) {
		desc := hid.DefaultDescriptor(size)
		if desc == nil {
			continue
		}
		was := m.Snapshot()
		try := info
		try.Descriptor = desc
		d, err := m.Kernel().HID.Add(try)
		if err != nil {
			return nil, err
		}
		h := &HID{Device: d, Accepted: true, m: m}
		err = h.probe(ctx)
		m.Restore(was)
		if err != nil {
			return nil, err
		}
		if h.Accepted {
			info = try
			break
		}
	}
	h, err := New(ctx, m, info, true, nil)
	if err == nil {
		err = h.Do(ctx, h.events()...)
	}
	if IsFault(err) {
		err = nil // part of the results
	}
	return h, err
}

// sizes lists constants of the probe program that may be the length of a descriptor.
func sizes(l *loader.Linked) []int {
	lp, ok := l.Program(probeProgram(l))
	if !ok {
		return nil
	}
	var out []int
	for _, in := range lp.Insns {
		if in.Op().Info().Form == decode.FormJumpImm && in.Imm > 0 && in.Imm <= hid.MaxDescriptor && !slices.Contains(out, int(in.Imm)) && len(out) < maxTries {
			out = append(out, int(in.Imm))
		}
	}
	return out
}

// events makes one event of each kind for each report that the device has: an input report of zeros
// and one of other values, and so on.
func (h *HID) events() []Event {
	if h.Parsed == nil {
		return nil
	}
	var out []Event
	for _, r := range h.Parsed.Reports {
		report := make([]byte, r.Len())
		start := 0
		if r.ID != 0 {
			report[0], start = r.ID, 1
		}
		other := slices.Clone(report)
		for i := start; i < len(other); i++ {
			other[i] = byte(i)
		}
		request := report
		if r.ID == 0 {
			request = append([]byte{0}, report...)
		}
		switch r.Type {
		case hid.InputReport:
			out = append(out, Event{Kind: Input, Data: report}, Event{Kind: Input, Data: other})
		case hid.OutputReport:
			out = append(out, Event{Kind: Output, Data: request})
		case hid.FeatureReport:
			out = append(out, Event{Kind: Get, Type: r.Type, Data: request}, Event{Kind: Set, Type: r.Type, Data: request})
		}
	}
	return out
}

// What names a simulation.
const What = "programs of a HID device"

// RunDefault runs all programs for HID devices on [Default].
func RunDefault(ctx context.Context, m *machine.Machine, _ string) (drive.Simulation, error) {
	return Default(ctx, m)
}
