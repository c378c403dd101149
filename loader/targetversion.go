package loader

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/lazyre"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

var (
	releaseRE = lazyre.New(`(?:^|[^0-9.])([2-9]|[1-9][0-9])\.([0-9]{1,3})(?:\.([0-9]{1,5}))?((?:[-_+~.][0-9A-Za-z_+~.]+)*)`)
	endingRE  = lazyre.New(`(?i)\.(xz|gz|zst|tar|btf|elf|ko|o|img)$`)
)

// ParseRelease finds a kernel release in a file name: "6.12.107-amd64" in
// "linux-6.12.107-amd64.btf.xz". The version is a<<16 | b<<8 | min(c, 255), as
// LINUX_KERNEL_VERSION has it.
func ParseRelease(name string) (release string, version uint32, ok bool) {
	base := filepath.Base(strings.ReplaceAll(name, `\`, "/"))
	for endingRE.MatchString(base) {
		base = endingRE.ReplaceAllString(base, "")
	}
	m := releaseRE.FindStringSubmatch(base)
	if m == nil {
		return "", 0, false
	}
	a, _ := strconv.Atoi(m[1])
	b, _ := strconv.Atoi(m[2])
	c, _ := strconv.Atoi(m[3])
	if b > 255 {
		return "", 0, false
	}
	release = m[1] + "." + m[2]
	if m[3] != "" {
		release += "." + m[3]
	}
	return release + m[4], uint32(a)<<16 | uint32(b)<<8 | uint32(min(c, 255)), true
}

// vendors are distributions that bring BPF of later releases to their kernels as a whole, and what
// the releases of these have in common. Oracle's kernels (el9uek) follow the stable releases.
var vendors = []struct {
	name    string
	release *lazyre.Regexp
}{
	{"Red Hat Enterprise Linux", lazyre.New(`\.el[0-9]+(_[0-9]+)?(\.|$)`)},
	{"SUSE Linux Enterprise", lazyre.New(`-150[1-7]00\.`)},
}

// Vendor names the distribution whose kernel it is, if that kernel's rules are not those of its
// release; "" for others, and if the version was given.
func (t *Target) Vendor() string {
	if t.VersionKnown == "name" {
		for _, v := range vendors {
			if v.release.MatchString(t.Release) {
				return v.name
			}
		}
	}
	return ""
}

// hidesUpdates matches releases that a distribution keeps through all updates of a kernel, such as
// 6.8.0-151-generic of Ubuntu and 6.1.0-57-amd64 of Debian.
var hidesUpdates = lazyre.New(`^[0-9]+\.[0-9]+\.0-[0-9]`)

// UpdatesUnknown reports whether the name does not tell which updates the kernel has. Its rules are
// then those of the release without any, or with those up to RulesUpdate.
func (t *Target) UpdatesUnknown() bool {
	return t.VersionKnown == "name" && t.Vendor() == "" && hidesUpdates.MatchString(t.Release)
}

// RulesUpdate returns which update the rules are of where the name tells none; 0 for a kernel without
// updates, and where the updates are known.
func (t *Target) RulesUpdate() int {
	if !t.UpdatesUnknown() {
		return 0
	}
	return since.Of(t.Version).Patch
}

func kernelVersion(a, b uint32) uint32 { return a<<16 | b<<8 }

// milestone is an enumerator of uapi/linux/bpf.h and the release that introduced it.
type milestone struct {
	enumerator string
	major      uint32
	minor      uint32
}

// milestones are in the order of releases. Those of enum bpf_func_id were the last helper added in
// their release, so a BTF that ends with one is from that release.
var milestones = []milestone{
	{"BPF_FUNC_setsockopt", 4, 13}, {"BPF_FUNC_sock_map_update", 4, 14}, {"BPF_FUNC_getsockopt", 4, 15},
	{"BPF_FUNC_sock_ops_cb_flags_set", 4, 16}, {"BPF_FUNC_bind", 4, 17}, {"BPF_FUNC_get_current_cgroup_id", 4, 18},
	{"BPF_FUNC_skb_ancestor_cgroup_id", 4, 19}, {"BPF_FUNC_msg_push_data", 4, 20}, {"BPF_FUNC_rc_pointer_rel", 5, 0},
	{"BPF_FUNC_get_listener_sock", 5, 1}, {"BPF_FUNC_sk_storage_delete", 5, 2}, {"BPF_FUNC_send_signal", 5, 3},
	{"BPF_MAP_TYPE_DEVMAP_HASH", 5, 4}, {"BPF_FUNC_probe_read_kernel_str", 5, 5}, {"BPF_FUNC_jiffies64", 5, 6},
	{"BPF_FUNC_sk_assign", 5, 7}, {"BPF_FUNC_csum_level", 5, 8}, {"BPF_FUNC_get_task_stack", 5, 9},
	{"BPF_FUNC_redirect_peer", 5, 10}, {"BPF_FUNC_sock_from_file", 5, 11}, {"BPF_FUNC_check_mtu", 5, 12},
	{"BPF_FUNC_snprintf", 5, 13}, {"BPF_FUNC_sys_close", 5, 14}, {"BPF_FUNC_task_pt_regs", 5, 15},
	{"BPF_FUNC_kallsyms_lookup_name", 5, 16}, {"BPF_FUNC_get_func_arg_cnt", 5, 17}, {"BPF_FUNC_ima_file_hash", 5, 18},
	{"BPF_FUNC_dynptr_data", 5, 19}, {"BPF_FUNC_tcp_raw_check_syncookie_ipv6", 6, 0}, {"BPF_FUNC_user_ringbuf_drain", 6, 1},
	{"BPF_FUNC_cgrp_storage_delete", 6, 2}, {"BPF_PROG_TYPE_NETFILTER", 6, 4}, {"BPF_TCX_INGRESS", 6, 6},
	{"BPF_NETKIT_PRIMARY", 6, 7}, {"BPF_MAP_TYPE_ARENA", 6, 9}, {"BPF_TRACE_KPROBE_SESSION", 6, 10},
	{"BPF_TRACE_UPROBE_SESSION", 6, 13}, {"BPF_PROG_STREAM_READ_BY_FD", 6, 17}, {"BPF_MAP_TYPE_INSN_ARRAY", 6, 19},
	{"BPF_TRACE_FSESSION", 7, 0}, {"BPF_MAP_TYPE_RHASH", 7, 2},
}

// inferVersion limits the version by the newest enumerator that the BTF has and the oldest newer
// one that it lacks. The upper end is used.
func (t *Target) inferVersion() {
	newest := len(milestones) - 1
	for has := milestoneEnums(t.BTF); newest >= 0 && !has(milestones[newest].enumerator); {
		newest--
	}
	if newest < 0 {
		return
	}
	low := kernelVersion(milestones[newest].major, milestones[newest].minor)
	high := low
	if newest+1 < len(milestones) {
		next := milestones[newest+1]
		if next.minor > 0 {
			high = kernelVersion(next.major, next.minor-1)
		} else {
			high = max(low, lastMinor(next.major-1))
		}
	}
	t.Version, t.VersionLow = high, low
	t.VersionKnown = "enumerators (" + majorMinor(low) + ")"
	if high != low {
		t.VersionKnown = fmt.Sprintf("enumerators (%s-%s)", majorMinor(low), majorMinor(high))
	}
}

// milestoneEnums returns a function that reports whether a kernel has an enumerator of milestones. It
// looks into the enums that have them, if the kernel names these: an index of all enumerators takes
// as long as all else that a short command does with a kernel.
func milestoneEnums(spec *btf.Spec) func(enumerator string) bool {
	names := map[string]bool{}
	for _, enum := range [...]string{enumHelpers, enumMaps, enumProgs, enumAttach, "bpf_cmd"} {
		t, ok := spec.Find(btf.KindEnum, enum)
		if !ok {
			return func(enumerator string) bool {
				_, ok := spec.EnumValue("", enumerator)
				return ok
			}
		}
		for _, v := range t.Values {
			names[v.Name] = true
		}
	}
	return func(enumerator string) bool { return names[enumerator] }
}

// lastMinor returns the last release of a major version.
func lastMinor(major uint32) uint32 {
	switch major {
	case 3, 6:
		return kernelVersion(major, 19)
	case 4:
		return kernelVersion(major, 20)
	case 5:
		return kernelVersion(major, 19)
	}
	return kernelVersion(major, 255)
}
