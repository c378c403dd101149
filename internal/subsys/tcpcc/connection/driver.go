package connection

import (
	"bytes"
	"context"
	"fmt"
	"math"

	"github.com/bpfrun/bpfrun/btf"

	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/subsys/drive"
	"github.com/bpfrun/bpfrun/internal/subsys/tcpcc"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// driver is the algorithm as the simulation sees it: programs on a machine.
type driver struct {
	*drive.Driver
	res   *Result
	sim   *tcpcc.Sim
	sk    *object.Object
	acked *object.Object // struct ack_sample
	rate  *object.Object // struct rate_sample
	paths [tcpcc.Fields]string
	// bare means that cong_control gets the sample as its second argument (before Linux 6.10).
	bare bool
}

// builtin are the algorithms whose names are taken in most kernels.
var builtin = []string{"reno", "cubic"}

// newDriver checks that the algorithm can be registered (bpf_tcp_ca_init_member,
// tcp_validate_congestion_control, tcp_register_congestion_control) and its programs run.
func newDriver(ctx context.Context, m *machine.Machine, res *Result) (*driver, error) {
	base, err := drive.New(ctx, m, kind(), &res.Outcome, &AbsentError{res.Ops})
	d := &driver{Driver: base, res: res}
	if err == nil {
		err = d.register()
	}
	return d, err
}

// register finds the reason why a kernel does not register it.
func (d *driver) register() error {
	spec := d.M.Linked().Target.BTF
	f, err := spec.ResolvePath(d.Ops.KernType, "name")
	if err != nil {
		return err
	}
	size, err := spec.Sizeof(f.Type)
	if off := int64(f.Offset()); err != nil || size < 0 || off+size > int64(len(d.Ops.Data)) {
		return fmt.Errorf("its name is not in its value: %w", uapi.EINVAL)
	}
	name, _, _ := bytes.Cut(d.Ops.Data[f.Offset():int64(f.Offset())+size], []byte{0})
	d.res.Name = string(name)
	switch {
	case len(name) == 0:
		return fmt.Errorf("it has no name: %w", uapi.EINVAL)
	case !d.Has(tcpcc.OpSSThresh) || !d.Has(tcpcc.OpUndoCwnd) || !d.Has(tcpcc.OpCongAvoid) && !d.Has(tcpcc.OpCongControl):
		return fmt.Errorf("it needs ssthresh, undo_cwnd, and cong_avoid or cong_control: %w", uapi.EINVAL)
	}
	for _, taken := range builtin {
		if d.res.Name == taken {
			return fmt.Errorf("its name %q is that of an algorithm of the kernel: %w", taken, uapi.EEXIST)
		}
	}
	d.bare = d.parameters(tcpcc.OpCongControl) == 2
	return nil
}

// member returns the function type of an operation, nil if the kernel's struct has none.
func (d *driver) member(op tcpcc.Op) *btf.Type {
	spec := d.M.Linked().Target.BTF
	for _, m := range spec.SkipMods(d.Ops.KernType).Members {
		if m.Name != string(op) {
			continue
		}
		if ptr := spec.SkipMods(m.Type); ptr.Kind == btf.KindPtr {
			if f := spec.SkipMods(ptr.Ref); f.Kind == btf.KindFuncProto {
				return f
			}
		}
	}
	return nil
}

func (d *driver) hasMember(op tcpcc.Op) bool { return d.member(op) != nil }

func (d *driver) parameters(op tcpcc.Op) int {
	if f := d.member(op); f != nil {
		return len(f.Params)
	}
	return 0
}

// paths are those of the fields in struct tcp_sock.
var paths = [tcpcc.Fields]string{
	tcpcc.FieldCwnd: "snd_cwnd", tcpcc.FieldSSThresh: "snd_ssthresh", tcpcc.FieldCwndCount: "snd_cwnd_cnt", tcpcc.FieldClamp: "snd_cwnd_clamp",
	tcpcc.FieldPriorCwnd: "prior_cwnd", tcpcc.FieldPriorSSThresh: "prior_ssthresh", tcpcc.FieldSndUna: "snd_una", tcpcc.FieldSndNxt: "snd_nxt",
	tcpcc.FieldHighSeq: "high_seq", tcpcc.FieldPacketsOut: "packets_out", tcpcc.FieldSackedOut: "sacked_out", tcpcc.FieldLostOut: "lost_out",
	tcpcc.FieldRetransOut: "retrans_out", tcpcc.FieldDelivered: "delivered", tcpcc.FieldLost: "lost", tcpcc.FieldTotalRetrans: "total_retrans",
	tcpcc.FieldMaxPacketsOut: "max_packets_out", tcpcc.FieldCwndLimited: "is_cwnd_limited", tcpcc.FieldSRTT: "srtt_us", tcpcc.FieldMDev: "mdev_us",
	tcpcc.FieldStamp: "tcp_mstamp", tcpcc.FieldState: "inet_conn.icsk_ca_state", tcpcc.FieldMSS: "mss_cache",
}

// Paths in struct tcp_sock, and values of the kernel's.
const (
	pathSock     = "inet_conn.icsk_inet.sk."
	pathPacing   = pathSock + "sk_pacing_rate"
	pathPaced    = pathSock + "sk_pacing_status"
	pathMost     = pathSock + "sk_max_pacing_rate"
	pathTCPState = pathSock + "__sk_common.skc_state"
	established  = 1
	noPacing     = 1<<32 - 1 // or more: sk_pacing_rate without a limit
)

// furnish creates the kernel objects of the connection. All fields of the socket are set, most of
// them to 0.
func (d *driver) furnish() error {
	k := d.M.Kernel()
	var err error
	made := func(role, typ string) *object.Object {
		o, e := k.NewObjectNamed(role, typ)
		if e != nil {
			if err == nil {
				err = e
			}
			return nil
		}
		o.Poke(0, make([]byte, o.StorageSize()), object.Given)
		return o
	}
	d.sk = made("connection", "tcp_sock")
	if d.Has(tcpcc.OpPktsAcked) {
		d.acked = made("ack_sample", "ack_sample")
	}
	if d.Has(tcpcc.OpCongControl) {
		d.rate = made("rate_sample", "rate_sample")
	}
	if err != nil {
		return err
	}
	for f, path := range paths {
		if d.sk.Has(path) {
			d.paths[f] = path
		}
	}
	for _, f := range []tcpcc.Field{tcpcc.FieldCwnd, tcpcc.FieldSSThresh} {
		if d.paths[f] == "" {
			return fmt.Errorf("the kernel's struct tcp_sock has no %s", paths[f])
		}
	}
	for path, v := range map[string]uint64{pathTCPState: established, pathPacing: math.MaxUint64, pathMost: math.MaxUint64} {
		if !d.sk.Has(path) {
			continue
		}
		if d.sk.SetUint(path, v) != nil { // an unsigned long of 32 bits
			if err := d.sk.SetUint(path, v&noPacing); err != nil {
				return err
			}
		}
	}
	return k.Err()
}

// Has implements [tcpcc.Ops].
func (d *driver) Has(op tcpcc.Op) bool { return d.Driver.Has(string(op)) }

// Load reads a field of the socket.
func (d *driver) Load(f tcpcc.Field) uint64 {
	if p := d.paths[f]; p != "" {
		return d.sk.Num(p)
	}
	return 0
}

// Store writes one.
func (d *driver) Store(f tcpcc.Field, v uint64) {
	if p := d.paths[f]; p != "" {
		if err := d.sk.SetUint(p, v); err != nil {
			d.M.Kernel().Fail(err)
		}
	}
}

// Call runs an operation's program on the socket.
func (d *driver) Call(op tcpcc.Op, args ...uint64) (uint64, error) {
	values := []any{d.sk}
	for _, a := range args {
		values = append(values, a)
	}
	return d.run(op, values)
}

func (d *driver) run(op tcpcc.Op, values []any) (uint64, error) {
	res, err := d.Run(string(op), d.sim.Now(), machine.Input{Values: values})
	if err != nil {
		return 0, err
	}
	d.res.last[res.Program] = res
	return res.Ret, nil
}

// set sets members of a sample that the kernel has.
func set(o *object.Object, members map[string]int64) error {
	for path, v := range members {
		if o.Has(path) {
			if err := o.SetUint(path, uint64(v)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Acked runs pkts_acked.
func (d *driver) Acked(segments uint32, rtt int64, inFlight uint32) error {
	err := set(d.acked, map[string]int64{"pkts_acked": int64(segments), "rtt_us": int64(uint32(rtt)), "in_flight": int64(inFlight)})
	if err == nil {
		_, err = d.run(tcpcc.OpPktsAcked, []any{d.sk, d.acked})
	}
	return err
}

// Control runs cong_control.
func (d *driver) Control(ack, flags uint32, s *tcpcc.Sample) error {
	err := set(d.rate, map[string]int64{
		"delivered": int64(s.Delivered), "losses": int64(s.Losses), "acked_sacked": int64(s.AckedSacked), "prior_delivered": int64(s.PriorDelivered),
		"prior_in_flight": int64(s.PriorInFlight), "interval_us": s.Interval, "rtt_us": s.RTT, "prior_mstamp": int64(s.Prior),
	})
	if err != nil {
		return err
	}
	values := []any{d.sk, uint64(ack), uint64(flags), d.rate}
	if d.bare {
		values = []any{d.sk, d.rate}
	}
	_, err = d.run(tcpcc.OpCongControl, values)
	return err
}

// PacingRate is what the algorithm set, if it asked for pacing.
func (d *driver) PacingRate() uint64 {
	if !d.sk.Has(pathPaced) || d.sk.Num(pathPaced) == 0 {
		return 0
	}
	if rate := d.sk.Num(pathPacing); rate < noPacing {
		return rate
	}
	return 0
}
