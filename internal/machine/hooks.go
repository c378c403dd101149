package machine

import (
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/subsys/ops"
	"github.com/bpfrun/bpfrun/loader"
)

// hidFuncs are the functions that programs of HID devices modified before struct hid_bpf_ops (Linux
// 6.3 to 6.10); hid_bpf_attach_prog attached them to a device.
var hidFuncs = []string{"hid_bpf_device_event", "hid_bpf_rdesc_fixup"}

// hookNotSimulated names the part of a program's hook that is not simulated, although its type is.
func hookNotSimulated(lp *loader.LinkedProgram, cfg *Config) (what string, ok bool) {
	if progtype.Of(lp.Type).Target == progtype.OpsMember {
		if w, ok := ops.Of(opsType(lp)); ok && !slices.Contains(cfg.Simulates, w.Key) {
			return "struct_ops of " + w.Alone + " (" + lp.AttachTo + ")", true
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

// WholeOf returns the subsystem of which a program is a part, and which it cannot run without; ok is
// false for other programs.
func WholeOf(lp *loader.LinkedProgram) (w ops.Whole, ok bool) { return ops.Of(opsType(lp)) }

// opsType returns the struct whose member a struct_ops program implements, "" for other programs.
func opsType(lp *loader.LinkedProgram) string {
	if progtype.Of(lp.Type).Target != progtype.OpsMember {
		return ""
	}
	typ, _, _ := strings.Cut(lp.AttachTo, ".")
	return btf.EssentialName(typ)
}
