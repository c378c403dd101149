package object

import (
	"strings"

	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// writable lists the fields of kernel types that struct_ops programs may store to, by type and path
// (net/ipv4/bpf_tcp_ca.c bpf_tcp_ca_btf_struct_access, kernel/sched/ext.c
// bpf_scx_btf_struct_access, net/bpf/bpf_dummy_struct_ops.c bpf_dummy_ops_btf_struct_access,
// net/sched/bpf_qdisc.c bpf_qdisc_btf_struct_access, drivers/hid/bpf
// hid_bpf_ops_btf_struct_access).
var writable = map[string][]string{
	"task_struct":          {"scx.slice", "scx.dsq_vtime", "scx.disallow"},
	"sock":                 {"sk_pacing_rate", "sk_pacing_status"},
	"inet_connection_sock": {"icsk_ca_priv", "icsk_ack.pending"},
	"tcp_sock":             {"snd_cwnd", "snd_cwnd_cnt", "snd_cwnd_stamp", "snd_ssthresh", "ecn_flags", "app_limited"},
	"sk_buff":              {"tstamp", "cb"},
	"Qdisc":                {"limit", "q.qlen", "qstats"},
	"bpf_dummy_ops_state":  {"val"},
	"hid_bpf_ctx":          {"retval"},
	"hid_device":           {"name", "uniq", "phys"},
}

// SetProgType sets the type of the running program, which determines the kernel fields that stores
// may change.
func (s *Space) SetProgType(t uapi.ProgType) { s.prog = t }

// ProgType returns the type of the program that runs.
func (s *Space) ProgType() uapi.ProgType { return s.prog }

// ForbidLoads makes direct loads from kernel memory fault until the event of the most recent
// context ends: its program has no pointer that the verifier would accept. Helpers that copy memory
// are not affected.
func (s *Space) ForbidLoads() { s.noLoads = true }

// AllowLoads reverts ForbidLoads.
func (s *Space) AllowLoads() { s.noLoads = false }

// LoadsForbidden reports whether ForbidLoads holds.
func (s *Space) LoadsForbidden() bool { return s.noLoads }

// mayWrite reports whether the running program may store to storage bytes [off, off+size) of o.
func (s *Space) mayWrite(o *Object, off, size uint64) bool {
	r := progtype.Of(s.prog)
	if r.Target != progtype.OpsMember {
		return r.Packet == progtype.WritesPacket && r.Layer == progtype.Link && o.marksConnection(off, size)
	}
	for typ, paths := range writable {
		l := s.LayoutNamed(typ)
		if l == nil {
			continue
		}
		// Each type here is the first part of its container, so offsets from the storage's start
		// are the same.
		if o.layout != l && (o.face != l) && !(o.layout != nil && strings.HasSuffix(o.layout.Name, "_sock") && strings.HasSuffix(typ, "sock")) {
			continue
		}
		for _, p := range paths {
			f, rest, err := l.Place(p)
			if err == nil && rest == "" && off >= f.Off && off+size <= f.Off+f.Size {
				return true
			}
		}
	}
	return false
}

// marksConnection reports whether [off, off+size) is in the mark of a tracked connection, which
// programs of tc and XDP may set (net/netfilter/nf_conntrack_bpf.c
// _nf_conntrack_btf_struct_access).
func (o *Object) marksConnection(off, size uint64) bool {
	if o.layout == nil || o.layout.Name != "nf_conn" || o.count != 1 {
		return false
	}
	f, rest, err := o.layout.Place("mark")
	return err == nil && rest == "" && off >= f.Off && off+size <= f.Off+f.Size
}
