package progtype

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// TestHooksThatMaySleep from the release that lists them to the one that does not, for all rows.
func TestHooksThatMaySleep(t *testing.T) {
	for hook, h := range sleepableHooks() {
		assert.True(t, SleepableLSM(hook, h.from), hook)
		if h.from != since.Oldest && len(sleepableToo()[hook]) == 0 {
			assert.False(t, SleepableLSM(hook, since.Previous(h.from)), hook)
		}
		if h.until != 0 {
			assert.True(t, SleepableLSM(hook, since.Previous(h.until)), hook)
			assert.Equal(t, len(sleepableToo()[hook]) > 0 && sleepableToo()[hook][0].from == h.until, SleepableLSM(hook, h.until), hook)
		}
		assert.Equal(t, h.until == 0, SleepableLSM(hook, 0), "%s on the newest release", hook)
	}
	assert.False(t, SleepableLSM("no_such_hook", 0))
}

func TestHooksThatAreDisabled(t *testing.T) {
	type releases []uapi.Release
	r := uapi.R
	for hook, tt := range map[string]struct{ on, off releases }{
		"ismaclabel":          {releases{r(6, 1), r(6, 12), r(6, 18), r(7, 2)}, nil},
		"xfrm_decode_session": {releases{r(6, 1), r(6, 6), r(6, 12), r(7, 0), 0}, releases{r(6, 13), r(6, 18), r(6, 19)}},
		"file_alloc_security": {releases{r(6, 19), r(7, 2)}, releases{r(6, 6), r(6, 18)}},
		"file_open":           {nil, releases{r(6, 1), r(7, 2)}},
	} {
		for _, on := range tt.on {
			assert.True(t, DisabledLSM(hook, on), "%s on %v", hook, on)
		}
		for _, off := range tt.off {
			assert.False(t, DisabledLSM(hook, off), "%s on %v", hook, off)
		}
	}
}

// TestPlacesByRelease walks all places: guards and preemption change with their rules.
func TestPlacesByRelease(t *testing.T) {
	at := func(r since.Rule) since.Version { return since.Version{Release: r.From()} }
	before := func(r since.Rule) since.Version { return since.Version{Release: since.Previous(r.From())} }
	guarded, preempted := 0, 0
	for _, row := range All() {
		for _, p := range row.Runs {
			if r := p.GuardFrom; r != 0 {
				assert.Equal(t, Unguarded, p.Guards(before(r)), "%v", row.Type)
				assert.Equal(t, p.Guard, p.Guards(at(r)), "%v", row.Type)
				guarded++
			}
			if r := p.GuardUntil; r != 0 {
				assert.Equal(t, p.Guard, p.Guards(before(r)), "%v", row.Type)
				assert.Equal(t, p.Then, p.Guards(at(r)), "%v", row.Type)
				guarded++
			}
			if p.GuardFrom == 0 && p.GuardUntil == 0 {
				assert.Equal(t, p.Guard, p.Guards(since.Version{}), "%v", row.Type)
			}
			switch r := p.Preempted; {
			case p.Never:
				assert.False(t, p.Preemptible(since.Version{}), "%v", row.Type)
			case r == since.Always:
				assert.True(t, p.Preemptible(since.Version{Release: since.Oldest}), "%v", row.Type)
			default:
				assert.True(t, p.Preemptible(at(r)), "%v", row.Type)
				if r.From() != since.Oldest {
					assert.False(t, p.Preemptible(before(r)), "%v", row.Type)
				}
				preempted++
			}
		}
	}
	assert.Greater(t, guarded, 3)
	assert.Greater(t, preempted, 3)
}

// TestPlaceOfPrograms: by attach type and by section.
func TestPlaceOfPrograms(t *testing.T) {
	for _, tt := range []struct {
		typ     uapi.ProgType
		attach  uapi.AttachType
		section string
		kernel  string
	}{
		{uapi.ProgTypeKprobe, 0, "uprobe/x", "bpf_prog_run_array_uprobe"}, {uapi.ProgTypeKprobe, 0, "usdt", "bpf_prog_run_array_uprobe"}, {uapi.ProgTypeKprobe, 0, "kprobe/x", "trace_call_bpf"}, {uapi.ProgTypeKprobe, 0, "", "trace_call_bpf"},
		{uapi.ProgTypeTracing, uapi.AttachTraceRawTp, "tp_btf/x", "__bpf_trace_run"}, {uapi.ProgTypeTracing, uapi.AttachTraceIter, "iter/task", "bpf_iter_run_prog"}, {uapi.ProgTypeTracing, uapi.AttachTraceFentry, "fentry/x", "__bpf_prog_enter_recur"},
		{uapi.ProgTypeLSM, uapi.AttachLSMCgroup, "lsm_cgroup/x", "__bpf_prog_enter_lsm_cgroup"}, {uapi.ProgTypeLSM, uapi.AttachLSMMac, "lsm/x", "__bpf_prog_enter"},
		{uapi.ProgTypeSkSkb, uapi.AttachSkSkbStreamParser, "", "sk_psock_strp_parse"}, {uapi.ProgTypeSkSkb, uapi.AttachSkSkbStreamVerdict, "", "sk_psock_verdict_recv"},
	} {
		p, ok := PlaceOf(tt.typ, tt.attach, tt.section)
		assert.True(t, ok, "%+v", tt)
		assert.Equal(t, tt.kernel, p.Kernel, "%+v", tt)
	}
	_, ok := PlaceOf(9999, 0, "")
	assert.False(t, ok)
}

// TestPlacesOfHooks: what is known of a hook narrows where its programs run.
func TestPlacesOfHooks(t *testing.T) {
	for _, tt := range []struct {
		typ           uapi.ProgType
		attach        uapi.AttachType
		section, hook string
		// where has t, s and h for tasks, softirqs and hardirqs, m where interrupts are disabled, ? if
		// it is not known.
		where string
	}{
		{uapi.ProgTypeTracepoint, 0, "tp/sched/sched_switch", "sched/sched_switch", "tm"},
		{uapi.ProgTypeTracepoint, 0, "tracepoint/sched/sched_waking", "sched/sched_waking", "tshm"},
		{uapi.ProgTypeTracepoint, 0, "tp/irq/irq_handler_entry", "irq/irq_handler_entry", "hm"},
		{uapi.ProgTypeTracepoint, 0, "tp/xdp/xdp_redirect", "xdp/xdp_redirect", "s"},
		{uapi.ProgTypeTracepoint, 0, "tp/xdp/xdp", "xdp/xdp", "tsh?"},
		{uapi.ProgTypeRawTracepoint, 0, "raw_tp/task_rename", "task_rename", "t"},
		{uapi.ProgTypeRawTracepoint, 0, "raw_tracepoint.w/task_rename2", "task_rename2", "tsh?"},
		{uapi.ProgTypeTracing, uapi.AttachTraceRawTp, "tp_btf/hrtimer_expire_entry", "hrtimer_expire_entry", "sh"},
		{uapi.ProgTypeKprobe, 0, "kprobe/sched_switch", "sched_switch", "tsh?"},
		{uapi.ProgTypeKprobe, 0, "kprobe/vfs_read", "vfs_read", "t"},
		{uapi.ProgTypeKprobe, 0, "kprobe/do_exit", "do_exit", "t"},
		{uapi.ProgTypeKprobe, 0, "kprobe/do_timer", "do_timer", "hm"},
		{uapi.ProgTypeKprobe, 0, "kprobe/do_softirq_own_stack", "do_softirq_own_stack", "s"},
		{uapi.ProgTypeKprobe, 0, "kprobe/do_anything", "do_anything", "t?"},
		{uapi.ProgTypeKprobe, 0, "kprobe/tcp_cleanup_rbuf", "tcp_cleanup_rbuf", "ts"},
		{uapi.ProgTypeKprobe, 0, "kprobe/security_file_open", "security_file_open", "t"},
		{uapi.ProgTypeKprobe, 0, "kprobe/unknown", "unknown", "tsh?"},
		{uapi.ProgTypeKprobe, 0, "uprobe/x", "vfs_read", "t"},
		{uapi.ProgTypeLSM, uapi.AttachLSMMac, "lsm/file_open", "file_open", "t"},
		{uapi.ProgTypeLSM, uapi.AttachLSMMac, "lsm/task_kill", "task_kill", "tsh"},
		{uapi.ProgTypeLSM, uapi.AttachLSMMac, "lsm/cred_free", "cred_free", "ts"},
		{uapi.ProgTypeLSM, uapi.AttachLSMMac, "lsm/inode_free_security_rcu", "inode_free_security_rcu", "s"},
		{uapi.ProgTypeLSM, uapi.AttachLSMMac, "lsm/anything", "anything", "t?"},
		{uapi.ProgTypeXDP, 0, "xdp", "xdp_redirect", "s"},
	} {
		p, ok := PlaceOf(tt.typ, tt.attach, tt.section)
		require.True(t, ok, "%+v", tt)
		unsure := p.Unsure(tt.section, tt.hook)
		p, masked := p.At(tt.section, tt.hook)
		got := ""
		for _, x := range []struct {
			is   bool
			word string
		}{{p.Task, "t"}, {p.SoftIRQ, "s"}, {p.HardIRQ, "h"}, {masked, "m"}, {unsure, "?"}} {
			if x.is {
				got += x.word
			}
		}
		assert.Equal(t, tt.where, got, "%+v", tt)
	}
	p, _ := PlaceOf(uapi.ProgTypeTracepoint, 0, "tp/syscalls/sys_enter_open")
	p, _ = p.At("tp/syscalls/sys_enter_open", "syscalls/sys_enter_open")
	rule := since.SyscallTracepointPreemptible
	assert.Equal(t, rule, p.Preempted)
	assert.True(t, p.Preemptible(since.Version{Release: rule.From()}))
	assert.Equal(t, AllTracing, p.Guards(since.Version{Release: since.Previous(rule.From())}))
	assert.Equal(t, OwnGuard, p.Guards(since.Version{Release: rule.From()}))
	raw, _ := PlaceOf(uapi.ProgTypeRawTracepoint, 0, "raw_tp/sys_enter")
	raw, _ = raw.At("raw_tp/sys_enter", "sys_enter")
	assert.Equal(t, OwnGuard, raw.Guard)
	assert.Zero(t, raw.GuardUntil, "it has a guard of its own anyway")
}

// TestWordsOfContextAccesses: what was tried, and what would work.
func TestWordsOfContextAccesses(t *testing.T) {
	named, plain := &Context{User: "xdp_md"}, &Context{}
	f := &Field{Name: "data", Size: 4}
	for want, e := range map[string]AccessError{
		"xdp_md has no field of 8 bytes at offset 2":    {Reason: NoField, Context: named, Off: 2, Size: 8},
		"context has no field of 8 bytes at offset 2":   {Reason: NoField, Context: plain, Off: 2, Size: 8},
		"8 bytes at offset 2 of xdp_md are not aligned": {Reason: Unaligned, Context: named, Off: 2, Size: 8},
		"the program may not read its context":          {Reason: Forbidden, Context: named},
		"the program may not write its context":         {Reason: Forbidden, Context: named, Write: true},
		"the program may not read xdp_md.data":          {Reason: Forbidden, Context: named, Field: f},
		"xdp_md.data takes accesses of 4 bytes, not 8":  {Reason: WrongWidth, Context: named, Field: f, Size: 8},
	} {
		assert.Equal(t, want, e.Error())
	}
}

// TestWhatGoesOn: which return values let a packet go on, unknown ones among them.
func TestWhatGoesOn(t *testing.T) {
	for _, tt := range []struct {
		typ  uapi.ProgType
		ret  int32
		want bool
	}{
		{uapi.ProgTypeXDP, uapi.XDPPass, true}, {uapi.ProgTypeXDP, uapi.XDPDrop, false}, {uapi.ProgTypeXDP, uapi.XDPTx, true}, {uapi.ProgTypeXDP, 99, false},
		{uapi.ProgTypeSchedCls, uapi.TCActShot, false}, {uapi.ProgTypeSchedCls, uapi.TCActOk, true}, {uapi.ProgTypeSchedCls, 99, true},
		{uapi.ProgTypeSocketFilter, 0, false}, {uapi.ProgTypeSocketFilter, 1, true}, {uapi.ProgTypeCgroupSkb, 0, false}, {uapi.ProgTypeCgroupSkb, 1, true},
	} {
		assert.Equal(t, tt.want, GoesOn(tt.typ, tt.ret), "%+v", tt)
	}
	assert.Equal(t, "-EPERM", VerdictName(uapi.ProgTypeLSM, -1))
	assert.Equal(t, "", VerdictName(uapi.ProgTypeLSM, 0))
	assert.Equal(t, "", VerdictName(uapi.ProgTypeLSM, -4096))
}

// TestRowsByAttachType: what an attach type changes, and what it leaves.
func TestRowsByAttachType(t *testing.T) {
	tracing := Of(uapi.ProgTypeTracing)
	assert.Equal(t, tracing.Target, tracing.TargetOf(9999))
	for _, at := range tracing.Attaches {
		want := at.Target
		if want == NoTarget {
			want = tracing.Target
		}
		assert.Equal(t, want, tracing.TargetOf(at.Type), "%v", at.Type)
		assert.Equal(t, at.Target == Functions, TracesMany(at.Type), "%v", at.Type)
	}
	assert.False(t, TracesMany(9999))
	assert.Zero(t, AttachSince(9999))
	seen := map[uapi.AttachType]bool{}
	for _, row := range All() {
		for _, at := range row.Attaches {
			if at.Since != 0 && !seen[at.Type] {
				seen[at.Type] = true
				assert.Equal(t, at.Since, AttachSince(at.Type), "%v", at.Type)
			}
		}
	}
	for user, want := range map[string]uapi.ProgType{"__sk_buff": uapi.ProgTypeSchedCls, "xdp_md": uapi.ProgTypeXDP} {
		typ, ok := RunAs(user)
		assert.True(t, ok)
		assert.Equal(t, want, typ)
	}
	for _, user := range []string{"", "no_such_struct"} {
		_, ok := RunAs(user)
		assert.False(t, ok, "%q", user)
	}
	s := SectionByPrefix("?xdpfoo")
	require.NotNil(t, s)
	assert.Equal(t, "xdp", s.Name)
	assert.Nil(t, SectionByPrefix("kprobes"), "kprobe has a target")
	assert.Nil(t, SectionByPrefix("nothing"))
	assert.Nil(t, SectionByPrefix("xdp"), "it is no longer")
}
