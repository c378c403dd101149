package loader

import (
	"strings"

	"github.com/bpfrun/bpfrun/uapi"
)

// secFlags are properties of a section name.
type secFlags uint8

const (
	secSleepable secFlags = 1 << iota // loaded with BPF_F_SLEEPABLE
	secFrags                          // loaded with BPF_F_XDP_HAS_FRAGS
	secTarget                         // "name/target" and "name" alike
)

// Program load flags (include/uapi/linux/bpf.h).
const (
	flagSleepable = 1 << 4
	flagXDPFrags  = 1 << 5
)

// secDef is one row of the table of section names.
type secDef struct {
	name   string
	typ    uapi.ProgType
	attach uapi.AttachType
	flags  secFlags
}

// secDefs lists the section names libbpf knows (section_defs in libbpf.c; its
// "word+" is secTarget here). The first row that fits decides, so that longer
// names come before their prefixes.
var secDefs = []secDef{
	{"socket", uapi.ProgTypeSocketFilter, 0, 0},
	{"sk_reuseport/migrate", uapi.ProgTypeSkReuseport, uapi.AttachSkReuseportSelectOrMigrate, 0},
	{"sk_reuseport", uapi.ProgTypeSkReuseport, uapi.AttachSkReuseportSelect, 0},
	{"kprobe", uapi.ProgTypeKprobe, 0, secTarget},
	{"uprobe", uapi.ProgTypeKprobe, 0, secTarget},
	{"uprobe.s", uapi.ProgTypeKprobe, 0, secTarget | secSleepable},
	{"kretprobe", uapi.ProgTypeKprobe, 0, secTarget},
	{"uretprobe", uapi.ProgTypeKprobe, 0, secTarget},
	{"uretprobe.s", uapi.ProgTypeKprobe, 0, secTarget | secSleepable},
	{"kprobe.multi", uapi.ProgTypeKprobe, uapi.AttachTraceKprobeMulti, secTarget},
	{"kretprobe.multi", uapi.ProgTypeKprobe, uapi.AttachTraceKprobeMulti, secTarget},
	{"kprobe.session", uapi.ProgTypeKprobe, uapi.AttachTraceKprobeSession, secTarget},
	{"uprobe.multi", uapi.ProgTypeKprobe, uapi.AttachTraceUprobeMulti, secTarget},
	{"uretprobe.multi", uapi.ProgTypeKprobe, uapi.AttachTraceUprobeMulti, secTarget},
	{"uprobe.session", uapi.ProgTypeKprobe, uapi.AttachTraceUprobeSession, secTarget},
	{"uprobe.multi.s", uapi.ProgTypeKprobe, uapi.AttachTraceUprobeMulti, secTarget | secSleepable},
	{"uretprobe.multi.s", uapi.ProgTypeKprobe, uapi.AttachTraceUprobeMulti, secTarget | secSleepable},
	{"uprobe.session.s", uapi.ProgTypeKprobe, uapi.AttachTraceUprobeSession, secTarget | secSleepable},
	{"ksyscall", uapi.ProgTypeKprobe, 0, secTarget},
	{"kretsyscall", uapi.ProgTypeKprobe, 0, secTarget},
	{"usdt", uapi.ProgTypeKprobe, 0, secTarget},
	{"usdt.s", uapi.ProgTypeKprobe, 0, secTarget | secSleepable},
	{"tc/ingress", uapi.ProgTypeSchedCls, uapi.AttachTcxIngress, 0},
	{"tc/egress", uapi.ProgTypeSchedCls, uapi.AttachTcxEgress, 0},
	{"tcx/ingress", uapi.ProgTypeSchedCls, uapi.AttachTcxIngress, 0},
	{"tcx/egress", uapi.ProgTypeSchedCls, uapi.AttachTcxEgress, 0},
	{"tc", uapi.ProgTypeSchedCls, 0, 0},
	{"classifier", uapi.ProgTypeSchedCls, 0, 0},
	{"action", uapi.ProgTypeSchedAct, 0, 0},
	{"netkit/primary", uapi.ProgTypeSchedCls, uapi.AttachNetkitPrimary, 0},
	{"netkit/peer", uapi.ProgTypeSchedCls, uapi.AttachNetkitPeer, 0},
	{"tracepoint", uapi.ProgTypeTracepoint, 0, secTarget},
	{"tp", uapi.ProgTypeTracepoint, 0, secTarget},
	{"tracepoint.s", uapi.ProgTypeTracepoint, 0, secTarget | secSleepable},
	{"tp.s", uapi.ProgTypeTracepoint, 0, secTarget | secSleepable},
	{"raw_tracepoint", uapi.ProgTypeRawTracepoint, 0, secTarget},
	{"raw_tp", uapi.ProgTypeRawTracepoint, 0, secTarget},
	{"raw_tracepoint.s", uapi.ProgTypeRawTracepoint, 0, secTarget | secSleepable},
	{"raw_tp.s", uapi.ProgTypeRawTracepoint, 0, secTarget | secSleepable},
	{"raw_tracepoint.w", uapi.ProgTypeRawTracepointWritable, 0, secTarget},
	{"raw_tp.w", uapi.ProgTypeRawTracepointWritable, 0, secTarget},
	{"tp_btf", uapi.ProgTypeTracing, uapi.AttachTraceRawTp, secTarget},
	{"tp_btf.s", uapi.ProgTypeTracing, uapi.AttachTraceRawTp, secTarget | secSleepable},
	{"fentry", uapi.ProgTypeTracing, uapi.AttachTraceFentry, secTarget},
	{"fmod_ret", uapi.ProgTypeTracing, uapi.AttachModifyReturn, secTarget},
	{"fexit", uapi.ProgTypeTracing, uapi.AttachTraceFexit, secTarget},
	{"fentry.s", uapi.ProgTypeTracing, uapi.AttachTraceFentry, secTarget | secSleepable},
	{"fmod_ret.s", uapi.ProgTypeTracing, uapi.AttachModifyReturn, secTarget | secSleepable},
	{"fexit.s", uapi.ProgTypeTracing, uapi.AttachTraceFexit, secTarget | secSleepable},
	{"fsession", uapi.ProgTypeTracing, uapi.AttachTraceFsession, secTarget},
	{"fsession.s", uapi.ProgTypeTracing, uapi.AttachTraceFsession, secTarget | secSleepable},
	{"fsession.multi", uapi.ProgTypeTracing, uapi.AttachTraceFsessionMulti, secTarget},
	{"fsession.multi.s", uapi.ProgTypeTracing, uapi.AttachTraceFsessionMulti, secTarget | secSleepable},
	{"fentry.multi", uapi.ProgTypeTracing, uapi.AttachTraceFentryMulti, secTarget},
	{"fexit.multi", uapi.ProgTypeTracing, uapi.AttachTraceFexitMulti, secTarget},
	{"fentry.multi.s", uapi.ProgTypeTracing, uapi.AttachTraceFentryMulti, secTarget | secSleepable},
	{"fexit.multi.s", uapi.ProgTypeTracing, uapi.AttachTraceFexitMulti, secTarget | secSleepable},
	{"freplace", uapi.ProgTypeExt, 0, secTarget},
	{"lsm", uapi.ProgTypeLSM, uapi.AttachLSMMac, secTarget},
	{"lsm.s", uapi.ProgTypeLSM, uapi.AttachLSMMac, secTarget | secSleepable},
	{"lsm_cgroup", uapi.ProgTypeLSM, uapi.AttachLSMCgroup, secTarget},
	{"iter", uapi.ProgTypeTracing, uapi.AttachTraceIter, secTarget},
	{"iter.s", uapi.ProgTypeTracing, uapi.AttachTraceIter, secTarget | secSleepable},
	{"syscall", uapi.ProgTypeSyscall, 0, secSleepable},
	{"xdp.frags/devmap", uapi.ProgTypeXDP, uapi.AttachXDPDevmap, secFrags},
	{"xdp/devmap", uapi.ProgTypeXDP, uapi.AttachXDPDevmap, 0},
	{"xdp.frags/cpumap", uapi.ProgTypeXDP, uapi.AttachXDPCpumap, secFrags},
	{"xdp/cpumap", uapi.ProgTypeXDP, uapi.AttachXDPCpumap, 0},
	{"xdp.frags", uapi.ProgTypeXDP, uapi.AttachXDP, secFrags},
	{"xdp", uapi.ProgTypeXDP, uapi.AttachXDP, 0},
	{"perf_event", uapi.ProgTypePerfEvent, 0, 0},
	{"lwt_in", uapi.ProgTypeLwtIn, 0, 0},
	{"lwt_out", uapi.ProgTypeLwtOut, 0, 0},
	{"lwt_xmit", uapi.ProgTypeLwtXmit, 0, 0},
	{"lwt_seg6local", uapi.ProgTypeLwtSeg6local, 0, 0},
	{"sockops", uapi.ProgTypeSockOps, uapi.AttachCgroupSockOps, 0},
	{"sk_skb/stream_parser", uapi.ProgTypeSkSkb, uapi.AttachSkSkbStreamParser, 0},
	{"sk_skb/stream_verdict", uapi.ProgTypeSkSkb, uapi.AttachSkSkbStreamVerdict, 0},
	{"sk_skb/verdict", uapi.ProgTypeSkSkb, uapi.AttachSkSkbVerdict, 0},
	{"sk_skb", uapi.ProgTypeSkSkb, 0, 0},
	{"sk_msg", uapi.ProgTypeSkMsg, uapi.AttachSkMsgVerdict, 0},
	{"lirc_mode2", uapi.ProgTypeLircMode2, uapi.AttachLircMode2, 0},
	{"flow_dissector", uapi.ProgTypeFlowDissector, uapi.AttachFlowDissector, 0},
	{"cgroup_skb/ingress", uapi.ProgTypeCgroupSkb, uapi.AttachCgroupInetIngress, 0},
	{"cgroup_skb/egress", uapi.ProgTypeCgroupSkb, uapi.AttachCgroupInetEgress, 0},
	{"cgroup/skb", uapi.ProgTypeCgroupSkb, 0, 0},
	{"cgroup/sock_create", uapi.ProgTypeCgroupSock, uapi.AttachCgroupInetSockCreate, 0},
	{"cgroup/sock_release", uapi.ProgTypeCgroupSock, uapi.AttachCgroupInetSockRelease, 0},
	{"cgroup/sock", uapi.ProgTypeCgroupSock, uapi.AttachCgroupInetSockCreate, 0},
	{"cgroup/post_bind4", uapi.ProgTypeCgroupSock, uapi.AttachCgroupInet4PostBind, 0},
	{"cgroup/post_bind6", uapi.ProgTypeCgroupSock, uapi.AttachCgroupInet6PostBind, 0},
	{"cgroup/bind4", uapi.ProgTypeCgroupSockAddr, uapi.AttachCgroupInet4Bind, 0},
	{"cgroup/bind6", uapi.ProgTypeCgroupSockAddr, uapi.AttachCgroupInet6Bind, 0},
	{"cgroup/connect4", uapi.ProgTypeCgroupSockAddr, uapi.AttachCgroupInet4Connect, 0},
	{"cgroup/connect6", uapi.ProgTypeCgroupSockAddr, uapi.AttachCgroupInet6Connect, 0},
	{"cgroup/connect_unix", uapi.ProgTypeCgroupSockAddr, uapi.AttachCgroupUnixConnect, 0},
	{"cgroup/sendmsg4", uapi.ProgTypeCgroupSockAddr, uapi.AttachCgroupUdp4Sendmsg, 0},
	{"cgroup/sendmsg6", uapi.ProgTypeCgroupSockAddr, uapi.AttachCgroupUdp6Sendmsg, 0},
	{"cgroup/sendmsg_unix", uapi.ProgTypeCgroupSockAddr, uapi.AttachCgroupUnixSendmsg, 0},
	{"cgroup/recvmsg4", uapi.ProgTypeCgroupSockAddr, uapi.AttachCgroupUdp4Recvmsg, 0},
	{"cgroup/recvmsg6", uapi.ProgTypeCgroupSockAddr, uapi.AttachCgroupUdp6Recvmsg, 0},
	{"cgroup/recvmsg_unix", uapi.ProgTypeCgroupSockAddr, uapi.AttachCgroupUnixRecvmsg, 0},
	{"cgroup/getpeername4", uapi.ProgTypeCgroupSockAddr, uapi.AttachCgroupInet4Getpeername, 0},
	{"cgroup/getpeername6", uapi.ProgTypeCgroupSockAddr, uapi.AttachCgroupInet6Getpeername, 0},
	{"cgroup/getpeername_unix", uapi.ProgTypeCgroupSockAddr, uapi.AttachCgroupUnixGetpeername, 0},
	{"cgroup/getsockname4", uapi.ProgTypeCgroupSockAddr, uapi.AttachCgroupInet4Getsockname, 0},
	{"cgroup/getsockname6", uapi.ProgTypeCgroupSockAddr, uapi.AttachCgroupInet6Getsockname, 0},
	{"cgroup/getsockname_unix", uapi.ProgTypeCgroupSockAddr, uapi.AttachCgroupUnixGetsockname, 0},
	{"cgroup/sysctl", uapi.ProgTypeCgroupSysctl, uapi.AttachCgroupSysctl, 0},
	{"cgroup/getsockopt", uapi.ProgTypeCgroupSockopt, uapi.AttachCgroupGetsockopt, 0},
	{"cgroup/setsockopt", uapi.ProgTypeCgroupSockopt, uapi.AttachCgroupSetsockopt, 0},
	{"cgroup/dev", uapi.ProgTypeCgroupDevice, uapi.AttachCgroupDevice, 0},
	{"struct_ops", uapi.ProgTypeStructOps, 0, secTarget},
	{"struct_ops.s", uapi.ProgTypeStructOps, 0, secTarget | secSleepable},
	{"sk_lookup", uapi.ProgTypeSkLookup, uapi.AttachSkLookup, 0},
	{"netfilter", uapi.ProgTypeNetfilter, uapi.AttachNetfilter, 0},
}

// fits reports whether a section of this name is meant, and the target part.
// Names without targets may still be followed by "/anything": libbpf 0.x and
// many tools number programs that way ("xdp/syn", "classifier/ingress").
func (d *secDef) fits(sec string) (target string, ok bool) {
	if !strings.HasPrefix(sec, d.name) {
		return "", false
	}
	rest := sec[len(d.name):]
	switch {
	case rest == "":
		return "", true
	case rest[0] == '/':
		return rest[1:], true
	}
	return "", false
}

// lookupSec finds the definition of a section name. Exact names win over names
// with a tail, as "cgroup/sock" over "cgroup".
func lookupSec(sec string) (*secDef, string) {
	var best *secDef
	var target string
	for i := range secDefs {
		d := &secDefs[i]
		if t, ok := d.fits(sec); ok && (best == nil || len(d.name) > len(best.name)) {
			best, target = d, t
		}
	}
	if best != nil {
		return best, target
	}
	for _, word := range oldPrefixes {
		if strings.HasPrefix(sec, word) {
			return lookupSec(word)
		}
	}
	return nil, ""
}

// oldPrefixes are words that libbpf before 1.0 recognised at the start of any
// longer section name ("xdp_sock", "classifier_egress").
var oldPrefixes = []string{
	"xdp", "classifier", "action", "socket", "sockops", "sk_msg", "sk_skb", "perf_event", "flow_dissector",
	"lwt_in", "lwt_out", "lwt_xmit", "lwt_seg6local", "lirc_mode2", "sk_reuseport", "sk_lookup",
}

// classify fills in what the section name says about a program.
func (p *Program) classify(types map[string]uapi.ProgType) {
	sec := p.Section
	p.Autoload = true
	if strings.HasPrefix(sec, "?") {
		p.Autoload = false
		sec = sec[1:]
	}
	p.Hook = sec
	if d, target := lookupSec(sec); d != nil {
		p.Known, p.Type, p.Attach, p.Kind = true, d.typ, d.attach, d.name
		if d.flags&secTarget != 0 {
			p.AttachTo = target
		}
		if d.flags&secSleepable != 0 {
			p.Sleepable = true
			p.Flags |= flagSleepable
		}
		if d.flags&secFrags != 0 {
			p.Flags |= flagXDPFrags
		}
	}
	if t, ok := types[p.Name]; ok {
		p.override(t)
	} else if t, ok := types[p.Section]; ok {
		p.override(t)
	}
}

func (p *Program) override(t uapi.ProgType) {
	if p.Type == t {
		return
	}
	p.Type, p.Known, p.Attach, p.AttachTo = t, true, defaultAttach[t], ""
	if _, target, ok := strings.Cut(strings.TrimPrefix(p.Section, "?"), "/"); ok {
		p.AttachTo = target
	}
}

// defaultAttach is the expected attach type of program types that need one and
// have one usual.
var defaultAttach = map[uapi.ProgType]uapi.AttachType{
	uapi.ProgTypeXDP:            uapi.AttachXDP,
	uapi.ProgTypeSockOps:        uapi.AttachCgroupSockOps,
	uapi.ProgTypeSkMsg:          uapi.AttachSkMsgVerdict,
	uapi.ProgTypeLircMode2:      uapi.AttachLircMode2,
	uapi.ProgTypeFlowDissector:  uapi.AttachFlowDissector,
	uapi.ProgTypeCgroupSock:     uapi.AttachCgroupInetSockCreate,
	uapi.ProgTypeCgroupDevice:   uapi.AttachCgroupDevice,
	uapi.ProgTypeCgroupSysctl:   uapi.AttachCgroupSysctl,
	uapi.ProgTypeCgroupSockAddr: uapi.AttachCgroupInet4Connect,
	uapi.ProgTypeCgroupSockopt:  uapi.AttachCgroupGetsockopt,
	uapi.ProgTypeSkLookup:       uapi.AttachSkLookup,
	uapi.ProgTypeSkReuseport:    uapi.AttachSkReuseportSelect,
	uapi.ProgTypeNetfilter:      uapi.AttachNetfilter,
	uapi.ProgTypeLSM:            uapi.AttachLSMMac,
	uapi.ProgTypeTracing:        uapi.AttachTraceFentry,
}
