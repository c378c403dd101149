package kernel

import (
	"fmt"
	"hash/fnv"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// everyHook lists a hook of each kind, and of those with many names some of them.
func everyHook(spec *btf.Spec) []hook.ContextSpec {
	var out []hook.ContextSpec
	names := func(kind btf.Kind, prefix string, most int) (list []string) {
		for id := btf.ID(1); int(id) < spec.NumTypes(); id++ {
			if t := spec.MustType(id); t.Kind == kind && strings.HasPrefix(t.Name, prefix) {
				list = append(list, strings.TrimPrefix(t.Name, prefix))
			}
		}
		slices.Sort(list)
		list = slices.Compact(list)
		step := max(len(list)/most, 1)
		for i := range list {
			if i%step == 0 {
				list[i/step] = list[i]
			}
		}
		return list[:len(list)/step]
	}
	for _, f := range append(names(btf.KindFunc, "", 40), "vfs_read", "tcp_sendmsg", "tcp_v4_connect", "udp_sendmsg", "do_unlinkat", "__x64_sys_openat", "__arm64_sys_openat", "schedule", "kfree_skb_reason") {
		out = append(out, hook.ContextSpec{ProgType: uapi.ProgTypeKprobe, AttachTo: f, Section: "kprobe/" + f}, hook.ContextSpec{ProgType: uapi.ProgTypeKprobe, AttachTo: f, Section: "kretprobe/" + f})
		for _, at := range []uapi.AttachType{uapi.AttachTraceFentry, uapi.AttachTraceFexit, uapi.AttachModifyReturn} {
			out = append(out, hook.ContextSpec{ProgType: uapi.ProgTypeTracing, Attach: at, AttachTo: f})
		}
	}
	for _, f := range append(names(btf.KindTypedef, "btf_trace_", 40), "sched_switch", "sched_process_exec", "sys_enter", "tcp_set_state", "inet_sock_set_state", "block_rq_issue") {
		out = append(out, hook.ContextSpec{ProgType: uapi.ProgTypeRawTracepoint, AttachTo: f, Section: "raw_tp/" + f}, hook.ContextSpec{ProgType: uapi.ProgTypeTracing, Attach: uapi.AttachTraceRawTp, AttachTo: f})
		for nth := range 2 {
			out = append(out, hook.ContextSpec{ProgType: uapi.ProgTypeTracepoint, AttachTo: "x/" + f, Section: "tp/x/" + f, Nth: nth})
		}
	}
	for _, f := range []string{"syscalls/sys_enter_openat", "syscalls/sys_exit_openat", "syscalls/sys_enter_execve", "raw_syscalls/sys_enter"} {
		out = append(out, hook.ContextSpec{ProgType: uapi.ProgTypeTracepoint, AttachTo: f, Section: "tp/" + f})
	}
	for _, f := range names(btf.KindFunc, "bpf_lsm_", 30) {
		out = append(out, hook.ContextSpec{ProgType: uapi.ProgTypeLSM, Attach: uapi.AttachLSMMac, AttachTo: f})
	}
	for _, f := range names(btf.KindFunc, "bpf_iter_", 60) {
		out = append(out, hook.ContextSpec{ProgType: uapi.ProgTypeTracing, Attach: uapi.AttachTraceIter, AttachTo: f})
	}
	for typ := uapi.ProgTypeSocketFilter; typ <= uapi.ProgTypeNetfilter; typ++ {
		for _, packet := range [][]byte{nil, {12: 8, 14: 0x45, 17: 40, 22: 64, 23: 6, 60: 0}} {
			out = append(out, hook.ContextSpec{ProgType: typ, Packet: packet})
		}
	}
	return out
}

// TestContextsOfEveryHook compares the arguments of hooks of all kinds, and all that the objects
// among them hold and point to.
func TestContextsOfEveryHook(t *testing.T) {
	var all rewrite.Outcomes
	for _, b := range targets()[:min(4, len(targets()))] {
		k := newKernel(t, b)
		seen := map[*object.Object]bool{}
		var text func(o *object.Object, depth int) string
		text = func(o *object.Object, depth int) string {
			if o == nil || seen[o] {
				return fmt.Sprint(o)
			}
			seen[o] = true
			o.Populate()
			h := fnv.New64a()
			_, _ = h.Write(o.Bytes())
			out := fmt.Sprintf("%v %x %d %x;", o, o.Addr(), o.Size(), h.Sum64())
			if l := o.Layout(); l != nil && depth > 0 {
				for _, name := range l.Spec.MemberNames(l.Type.ID) {
					to, err := o.Pointee(name)
					if err == nil && to != nil {
						out += name + ": " + text(to, depth-1)
					}
				}
			}
			return out
		}
		for _, s := range everyHook(b.spec) {
			name := fmt.Sprint(b.name, s.ProgType, s.Attach, s.AttachTo, s.Section, s.Nth, len(s.Packet))
			c, err := k.NewContext(s)
			if err != nil {
				all.Add(name, "refused\t"+err.Error())
				continue
			}
			out := fmt.Sprintln(c.Addr, c.Slots, c.Func, c.FuncAddr, c.ArgNames(), c.FieldNames(), c.TakesArg("ret"), c.Ingress(), c.Steps(), c.Out(), c.Bytes(), c.LinkHeader())
			for _, a := range c.Args {
				typ := ""
				if a.Spec != nil {
					typ = a.Spec.TypeString(a.Type)
				}
				v, size, ok := c.ArgValue(a.Name)
				out += fmt.Sprintln(a.Name, typ, a.Value, a.High, v, size, ok, text(a.Object, 2))
			}
			for off := range uint64(64) {
				field, in, ok := c.NameAt(off * 4)
				out += fmt.Sprintln(field, in, ok, c.LengthAt(off*4))
			}
			all.Add(name, s.ProgType.String()+"\t"+out)
			c.Free()
		}
	}
	all.Compare(t, filepath.Join("testdata", "hooks.txt"))
}

func TestEveryHookIsMany(t *testing.T) {
	require.Greater(t, len(everyHook(targets()[0].spec)), 200)
}
