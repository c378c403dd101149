package race

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// TestWhichProgramsInterruptWhich by type and release.
func TestWhichProgramsInterruptWhich(t *testing.T) {
	prog := func(name string, typ uapi.ProgType, attach uapi.AttachType, section string) *loader.LinkedProgram {
		return &loader.LinkedProgram{Program: &loader.Program{Name: name, Type: typ, Attach: attach, Section: section, AttachTo: section[strings.IndexByte(section, '/')+1:]}}
	}
	xdp := prog("xdp", uapi.ProgTypeXDP, 0, "xdp")
	kprobe := prog("kprobe", uapi.ProgTypeKprobe, 0, "kprobe/f")
	uprobe := prog("uprobe", uapi.ProgTypeKprobe, 0, "uprobe//bin/sh:f")
	perf := prog("perf", uapi.ProgTypePerfEvent, 0, "perf_event")
	raw := prog("raw", uapi.ProgTypeRawTracepoint, 0, "raw_tp/kfree_skb")
	tpbtf := prog("tp_btf", uapi.ProgTypeTracing, uapi.AttachTraceRawTp, "tp_btf/sched_switch")
	fentry := prog("fentry", uapi.ProgTypeTracing, uapi.AttachTraceFentry, "fentry/f")
	lsm := prog("lsm", uapi.ProgTypeLSM, uapi.AttachLSMMac, "lsm/file_open")
	sock := prog("connect", uapi.ProgTypeCgroupSockAddr, uapi.AttachCgroupInet4Connect, "cgroup/connect4")
	fork := prog("fork", uapi.ProgTypeTracing, uapi.AttachTraceRawTp, "tp_btf/sched_process_fork")
	unlink := prog("unlink", uapi.ProgTypeTracing, uapi.AttachTraceFentry, "fentry/do_unlinkat")
	rcv := prog("rcv", uapi.ProgTypeLSM, uapi.AttachLSMMac, "lsm/socket_sock_rcv_skb")
	signal := prog("signal", uapi.ProgTypeLSM, uapi.AttachLSMMac, "lsm/file_send_sigiotask")
	freed := prog("freed", uapi.ProgTypeTracing, uapi.AttachTraceFentry, "fentry/security_sk_free")
	kfault := prog("kfault", uapi.ProgTypeTracing, uapi.AttachTraceFentry, "fentry/do_user_addr_fault")
	parser := prog("parser", uapi.ProgTypeSkSkb, uapi.AttachSkSkbStreamParser, "sk_skb/stream_parser")
	verdict := prog("verdict", uapi.ProgTypeSkSkb, uapi.AttachSkSkbVerdict, "sk_skb/verdict")
	msg := prog("msg", uapi.ProgTypeSkMsg, uapi.AttachSkMsgVerdict, "sk_msg")
	cgroupLSM := prog("cgroupLSM", uapi.ProgTypeLSM, uapi.AttachLSMCgroup, "lsm_cgroup/socket_bind")
	enter := prog("enter", uapi.ProgTypeRawTracepoint, 0, "raw_tp/sys_enter")
	openat := prog("openat", uapi.ProgTypeTracepoint, 0, "tracepoint/syscalls/sys_enter_openat")
	filter := prog("filter", uapi.ProgTypeSocketFilter, 0, "socket")
	netfilter := prog("netfilter", uapi.ProgTypeNetfilter, uapi.AttachNetfilter, "netfilter")
	ops := prog("ops", uapi.ProgTypeStructOps, 0, "struct_ops")
	sleeper := prog("sleeper", uapi.ProgTypeLSM, uapi.AttachLSMMac, "lsm.s/file_open")
	sleeper.Sleepable = true
	for _, tt := range []struct {
		over, by    *loader.LinkedProgram
		release     uapi.Release
		preemptible bool
		want        string
	}{
		{xdp, xdp, uapi.R(6, 12), true, ""},
		{xdp, fentry, uapi.R(6, 12), false, "in an interrupt"},
		{xdp, perf, uapi.R(6, 12), false, "in an NMI"},
		{fentry, xdp, uapi.R(6, 12), false, "in an interrupt"},
		{fentry, fentry, uapi.R(6, 12), true, ""},
		{fentry, fentry, uapi.R(5, 11), true, "in an interrupt"},
		{fentry, fentry, uapi.R(5, 12), true, ""},
		{fentry, tpbtf, uapi.R(6, 12), true, "by another task"},
		{fentry, raw, uapi.R(6, 12), true, "in an interrupt"},
		{kprobe, kprobe, uapi.R(6, 12), true, ""},
		{kprobe, perf, uapi.R(6, 12), true, ""},
		{perf, kprobe, uapi.R(6, 12), true, ""},
		{perf, fentry, uapi.R(6, 12), true, ""},
		{raw, raw, uapi.R(6, 0), true, "in an interrupt"},
		{raw, raw, uapi.R(6, 1), true, ""},
		{lsm, lsm, uapi.R(6, 1), true, ""},
		{lsm, lsm, uapi.R(6, 2), true, "by another task"},
		{cgroupLSM, cgroupLSM, uapi.R(6, 1), true, "by another task"},
		{lsm, lsm, uapi.R(6, 12), false, ""},
		{sock, sock, uapi.R(5, 10), true, ""},
		{sock, sock, uapi.R(5, 11), true, "by another task"},
		{sock, sock, uapi.R(5, 11), false, ""},
		{uprobe, uprobe, uapi.R(5, 19), true, ""},
		{uprobe, uprobe, uapi.R(6, 0), true, "by another task"},
		{fentry, fork, uapi.R(6, 19), false, ""},
		{fork, unlink, uapi.R(6, 19), true, ""},
		{fork, unlink, uapi.R(7, 0), true, "by another task"},
		{enter, unlink, uapi.R(7, 1), true, ""},
		{enter, unlink, uapi.R(7, 2), true, "by another task"},
		{enter, enter, uapi.R(7, 2), true, ""},
		{openat, unlink, uapi.R(7, 1), true, ""},
		{openat, unlink, uapi.R(7, 2), true, "by another task"},
		{openat, openat, uapi.R(7, 2), true, ""},
		{openat, kprobe, uapi.R(7, 1), true, ""},
		{openat, kprobe, uapi.R(7, 2), true, "in an interrupt"},
		{fentry, fork, uapi.R(7, 0), true, "by another task"},
		{fork, fentry, uapi.R(6, 12), false, "in an interrupt"},
		{fork, unlink, uapi.R(6, 12), false, ""},
		{unlink, fentry, uapi.R(6, 12), false, "in an interrupt"},
		{tpbtf, fentry, uapi.R(6, 12), true, ""},
		{tpbtf, perf, uapi.R(6, 12), true, "in an NMI"},
		{lsm, rcv, uapi.R(6, 12), false, "in an interrupt"},
		{rcv, lsm, uapi.R(6, 12), true, "by another task"},
		{rcv, signal, uapi.R(6, 12), false, "in an interrupt"},
		{signal, rcv, uapi.R(6, 12), true, ""},
		{unlink, freed, uapi.R(6, 12), false, "in an interrupt"},
		{unlink, kfault, uapi.R(6, 12), false, "in an interrupt"},
		{ops, fentry, uapi.R(6, 12), true, ""},
		{msg, verdict, uapi.R(6, 12), false, "in an interrupt"},
		{verdict, verdict, uapi.R(6, 12), false, "in an interrupt"},
		{parser, verdict, uapi.R(6, 12), false, "in an interrupt"},
		{verdict, msg, uapi.R(6, 12), false, ""},
		{verdict, msg, uapi.R(6, 12), true, "by another task"},
		{parser, msg, uapi.R(5, 10), true, ""},
		{xdp, filter, uapi.R(6, 12), true, ""},
		{filter, filter, uapi.R(6, 12), false, "in an interrupt"},
		{netfilter, sock, uapi.R(6, 12), true, "by another task"},
		{filter, sock, uapi.R(5, 10), true, ""},
		{lsm, unlink, uapi.R(5, 10), true, ""},
		{sleeper, unlink, uapi.R(5, 10), true, "by another task"},
		{sleeper, unlink, uapi.R(5, 10), false, ""},
	} {
		entry, ok := interrupted(role{lp: tt.over}, role{lp: tt.by}, Kernel{Version: uint32(tt.release) << 8, Preemptible: tt.preemptible})
		got := ""
		if ok {
			got = entry.String()
		}
		assert.Equal(t, tt.want, got, "%s in the middle of %s on Linux %v", tt.by.Name, tt.over.Name, tt.release)
	}
	for _, word := range EntryWords() {
		entry, ok := ParseEntry(word)
		require.True(t, ok)
		assert.Equal(t, word, entry.Word())
	}
	for p, want := range map[*loader.LinkedProgram]string{
		lsm: "", rcv: "", unlink: "", fork: "", xdp: "", uprobe: "",
		fentry: "where the kernel reaches f is not known: taken to be tasks, softirqs, interrupts",
		prog("p", uapi.ProgTypeLSM, uapi.AttachLSMMac, "lsm/new_hook"):                           "where the kernel reaches new_hook is not known: taken to be tasks",
		prog("p", uapi.ProgTypeTracing, uapi.AttachTraceFentry, "fentry/do_something"):           "where the kernel reaches do_something is not known: taken to be tasks",
		prog("p", uapi.ProgTypeTracing, uapi.AttachTraceFentry, "fentry/security_something_new"): "where the kernel reaches security_something_new is not known: taken to be tasks",
	} {
		assert.Equal(t, want, role{lp: p}.assumed())
	}
	_, ok := ParseEntry("soon")
	assert.False(t, ok)
}
