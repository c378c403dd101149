package verifier

import (
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

// writableField reports which members of kernel structs a program may store to (btf_struct_access
// of its type).
func (k *kernelMem) writableField(r *reg, off, size int) bool {
	name := k.specName(r.spec, r.tid)
	s := k.specs[r.spec-1]
	allow := func(fields ...string) bool {
		for _, f := range fields {
			// A field that this kernel does not have cannot be written.
			x, err := s.ResolvePath(btf.ID(r.tid), f)
			if err != nil {
				continue
			}
			n, err := s.Sizeof(x.Type)
			if err != nil {
				continue
			}
			lo, hi := int(x.Offset()), int(x.Offset())+int(n)
			if x.BitSize != 0 {
				hi = lo + 1
			}
			if off >= lo && off+size <= hi {
				return true
			}
		}
		k.refuse(refusal.NoWriteSupportOff, strings.TrimSuffix(name, "___init"), off)
		return false
	}
	// Each row is the function of one program type: bpf_tcp_ca_btf_struct_access,
	// bpf_scx_btf_struct_access, hid_bpf_ops_btf_struct_access, nf_conntrack_btf_struct_access and
	// others. The kernel expects these fields to change at any time; others keep its data
	// consistent.
	switch {
	case k.prog.opsStruct == "tcp_congestion_ops":
		// Their algorithm's own state, and what it decides: window, threshold, pacing.
		switch name {
		case "sock", "tcp_sock", "inet_connection_sock":
			if !k.tcpField(r, off, size) {
				k.refuse(refusal.NoWriteSupportTcpSockOff, off)
			}
			return true
		}
	case proto.IsSchedOps(k.prog.opsStruct) && name == "task_struct":
		// What a scheduler decides about a task.
		return allow("scx.slice", "scx.dsq_vtime", "scx.disallow")
	case k.prog.opsStruct == qdiscOps:
		k.qdiscWrite(r, off, size)
		return true
	case k.prog.opsStruct == "bpf_dummy_ops" && name == "bpf_dummy_ops_state":
		return true
	case k.prog.opsStruct == "hid_bpf_ops" && name == "hid_bpf_ctx":
		return allow("retval")
	case k.prog.opsStruct == "hid_bpf_ops" && name == "hid_device":
		return allow("name", "uniq", "phys")
	case strings.HasPrefix(name, "nf_conn"):
		switch k.prog.typ {
		case uapi.ProgTypeXDP, uapi.ProgTypeSchedCls:
			return allow("mark", "ct.mark")
		}
	}
	return false
}

// tcpFields are the fields that congestion control algorithms may write, with the first release
// that allows it.
var tcpFields = []struct {
	typ, path string
	from      since.Rule
}{
	{"inet_connection_sock", "icsk_ca_priv", since.Always}, {"inet_connection_sock", "icsk_ack.pending", since.Always}, {"tcp_sock", "snd_cwnd", since.Always}, {"tcp_sock", "snd_cwnd_cnt", since.Always},
	{"tcp_sock", "snd_ssthresh", since.Always}, {"tcp_sock", "ecn_flags", since.Always}, {"sock", "sk_pacing_rate", since.PacingWrites}, {"sock", "sk_pacing_status", since.PacingWrites},
	{"tcp_sock", "app_limited", since.AppLimitedWrites}, {"tcp_sock", "snd_cwnd_stamp", since.CwndStampWrites},
}

// tcpField: in a congestion control algorithm a pointer to a sock is a pointer to a tcp_sock
// (bpf_tcp_ca_btf_struct_access).
func (k *kernelMem) tcpField(r *reg, off, size int) bool {
	for _, x := range tcpFields {
		if !k.has(x.from) {
			continue
		}
		id, ok := k.kernelType(x.typ)
		if !ok {
			continue
		}
		f, err := k.k.BTF.ResolvePath(id, x.path)
		if err != nil {
			continue
		}
		n, err := k.k.BTF.Sizeof(f.Type)
		if err != nil {
			continue
		}
		if lo := int(f.Offset()); off >= lo && off+size <= lo+int(n) {
			return true
		}
	}
	return false
}
