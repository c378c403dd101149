package machine

import (
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/loader"
)

// refusedOps are struct_ops types whose programs make sense only within what they implement: a
// scheduler, a queueing discipline. Runs on made-up arguments would only look like answers.
var refusedOps = map[string]string{
	"sched_ext_ops": outsideSchedule, "sched_ext_ops_cid": outsideSchedule, qdiscOps: "queueing disciplines without traffic",
}

// Programs of sched_ext schedulers are called by a schedule (see [Config.Schedules]), those of
// queueing disciplines by traffic (see [Config.Traffic]).
const (
	outsideSchedule = "sched_ext outside of a schedule"
	qdiscOps        = "Qdisc_ops"
)

// hidFuncs are the functions that programs of HID devices modified before struct hid_bpf_ops (Linux
// 6.3 to 6.10); hid_bpf_attach_prog attached them to a device.
var hidFuncs = []string{"hid_bpf_device_event", "hid_bpf_rdesc_fixup"}

// hookNotSimulated names the part of a program's hook that is not simulated, although its type is.
func hookNotSimulated(lp *loader.LinkedProgram, cfg *Config) (what string, ok bool) {
	if progtype.Of(lp.Type).Target == progtype.OpsMember {
		typ := opsType(lp)
		if name := refusedOps[typ]; name != "" && !(cfg.Schedules && proto.IsSchedOps(typ)) && !(cfg.Traffic && typ == qdiscOps) {
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

// OfScheduler reports whether a program is an operation of a sched_ext scheduler.
func OfScheduler(lp *loader.LinkedProgram) bool { return proto.IsSchedOps(opsType(lp)) }

// OfQdisc reports whether a program is an operation of a queueing discipline.
func OfQdisc(lp *loader.LinkedProgram) bool { return opsType(lp) == qdiscOps }

// opsType returns the struct whose member a struct_ops program implements, "" for other programs.
func opsType(lp *loader.LinkedProgram) string {
	if progtype.Of(lp.Type).Target != progtype.OpsMember {
		return ""
	}
	typ, _, _ := strings.Cut(lp.AttachTo, ".")
	return btf.EssentialName(typ)
}
