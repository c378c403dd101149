package machine

import (
	"path"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/progtype"
)

// refusedOps are struct_ops types whose programs make sense only within what they implement: a scheduler, a queueing
// discipline. Runs on made-up arguments would only look like answers.
var refusedOps = map[string]string{
	schedExtOps: "sched_ext outside of a schedule", "sched_ext_ops_cid": "sched_ext by cid", "Qdisc_ops": "queueing disciplines",
}

// schedExtOps is the type of sched_ext schedulers, whose programs a schedule calls (see [Config.Schedules]).
const schedExtOps = "sched_ext_ops"

// hidFuncs are the functions that programs of HID devices modified before struct hid_bpf_ops (Linux 6.3 to 6.10); hid_bpf_attach_prog
// attached them to a device.
var hidFuncs = []string{"hid_bpf_device_event", "hid_bpf_rdesc_fixup"}

// hookNotSimulated names the part of a program's hook that is not simulated, although its type is.
func hookNotSimulated(lp *loader.LinkedProgram, schedules bool) (what string, ok bool) {
	if progtype.Of(lp.Type).Target == progtype.OpsMember {
		typ, _, _ := strings.Cut(lp.AttachTo, ".")
		typ = btf.EssentialName(typ)
		if name := refusedOps[typ]; name != "" && !(schedules && typ == schedExtOps) {
			return "struct_ops of " + name + " (" + lp.AttachTo + ")", true
		}
		if lp.AttachTo == "" {
			return "a struct_ops program that no struct_ops map uses", true
		}
	}
	if slices.Contains(hidFuncs, lp.AttachTo) {
		return "HID programs that hid_bpf_attach_prog attaches (" + lp.AttachTo + ")", true
	}
	return "", false
}

// matching returns the function that a multi probe runs for: the one with the shortest name among those its pattern
// matches.
func (cs *contexts) matching(pattern string) string {
	spec := cs.reg.linked.Target.BTF
	if spec == nil || !strings.ContainsAny(pattern, "*?") {
		return pattern
	}
	best := ""
	for id := btf.ID(1); int(id) < spec.NumTypes(); id++ {
		if spec.Kind(id) != btf.KindFunc {
			continue
		}
		name := spec.Name(id)
		if best != "" && (len(name) > len(best) || len(name) == len(best) && name >= best) {
			continue
		}
		if ok, err := path.Match(pattern, name); err == nil && ok {
			best = name
		}
	}
	if best == "" {
		return pattern
	}
	return best
}

// OfScheduler reports whether a program is an operation of a sched_ext scheduler.
func OfScheduler(lp *loader.LinkedProgram) bool {
	typ, _, _ := strings.Cut(lp.AttachTo, ".")
	return progtype.Of(lp.Type).Target == progtype.OpsMember && btf.EssentialName(typ) == schedExtOps
}
