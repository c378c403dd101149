package helpers

import (
	"math/bits"

	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// Functions that congestion control algorithms call: those of Reno, which is the kernel's fallback,
// and those of CUBIC (net/ipv4/tcp_cong.c, net/ipv4/tcp_cubic.c). They modify the struct tcp_sock
// itself.
var congestionHelpers = []row{
	{ID: uapi.FuncTcpSendAck, Do: tcpSendAck, Note: "recorded as an event"},
}

const cubicRoot = "the cube root is exact, the kernel's within 0.2 %"

var congestionKfuncs = []kfuncRow{
	{Name: "tcp_slow_start", Args: []proto.Arg{argObject, argAny}, Do: onConnection("", func(c *Call, t *connection) uint64 { return uint64(t.slowStart(uint32(c.Args[1]))) })},
	{Name: "tcp_cong_avoid_ai", Args: []proto.Arg{argObject, argAny, argAny}, Do: tcpCongAvoidAI},
	{Name: "tcp_reno_ssthresh", Args: []proto.Arg{argObject}, Do: onConnection("", func(_ *Call, t *connection) uint64 { return uint64(max(t.cwnd()>>1, 2)) })},
	{Name: "tcp_reno_cong_avoid", Args: []proto.Arg{argObject, argAny, argAny}, Do: onConnection("", renoCongAvoid)},
	{Name: "tcp_reno_undo_cwnd", Args: []proto.Arg{argObject}, Do: onConnection("", func(_ *Call, t *connection) uint64 { return uint64(max(t.cwnd(), uint32(t.Get("prior_cwnd")))) })},
	{Name: "cubictcp_init", Args: []proto.Arg{argObject}, Do: onConnection("bictcp", func(_ *Call, t *connection) uint64 {
		t.cubicReset()
		t.hystartReset()
		return 0
	})},
	{Name: "cubictcp_recalc_ssthresh", Args: []proto.Arg{argObject}, Do: onConnection("bictcp", cubicThreshold)},
	{Name: "cubictcp_cong_avoid", Args: []proto.Arg{argObject, argAny, argAny}, Do: onConnection("bictcp", cubicCongAvoid), Note: cubicRoot},
	{Name: "cubictcp_state", Args: []proto.Arg{argObject, argAny}, Do: onConnection("bictcp", cubicState)},
	{Name: "cubictcp_cwnd_event", Args: []proto.Arg{argObject, argAny}, Do: onConnection("bictcp", func(c *Call, t *connection) uint64 {
		if uint32(c.Args[1]) == eventTxStart {
			t.cubicTxStart()
		}
		return 0
	})},
	{Name: "cubictcp_cwnd_event_tx_start", Args: []proto.Arg{argObject}, Do: onConnection("bictcp", func(_ *Call, t *connection) uint64 {
		t.cubicTxStart()
		return 0
	})},
	{Name: "cubictcp_acked", Args: []proto.Arg{argObject, argObject}, Do: cubicAcked},
}

// The kernel's default parameters of CUBIC, and values of enums.
const (
	cubicScale       = 41  // bic_scale: c, times 1024
	cubicBeta        = 717 // beta, times 1024
	cubicUnit        = 1024
	cubicTimeShift   = 10 // BICTCP_HZ: its unit of time is 1/1024 s
	hystartLowWindow = 16
	hystartAckDelta  = 2000  // us between ACKs of one train
	hystartDelayMin  = 4000  // us
	hystartDelayMax  = 16000 // us
	hystartSamples   = 8
	pacingNone       = 0 // SK_PACING_NONE
	eventTxStart     = 0 // CA_EVENT_TX_START
	stateLoss        = 4 // TCP_CA_Loss
)

// connection is a TCP socket with the current time.
type connection struct {
	*net.Connection
	now, hz uint32 // jiffies, and jiffies per second
}

// onConnection turns functions of the TCP socket in their first argument into implementations; the
// algorithm's data in it is struct priv.
func onConnection(priv string, do func(*Call, *connection) uint64) Impl {
	return func(c *Call) (uint64, *vm.Action) {
		k, err := c.Kernel.ConnectionAt(c.Args[0], priv)
		if err != nil {
			return 0, badArg("%v", err)
		}
		t := &connection{Connection: k, now: uint32(c.Kernel.Clock().Jiffies()), hz: uint32(c.Kernel.Clock().HZ)}
		ret := do(c, t)
		if t.Err != nil {
			return 0, notSimulated(t.Err.Error())
		}
		return ret, nil
	}
}

func tcpSendAck(c *Call) (uint64, *vm.Action) {
	if _, err := c.Kernel.ConnectionAt(c.Args[0], ""); err != nil {
		return 0, badArg("%v", err)
	}
	return 0, c.Run.emit(Event{Kind: TCPAck, Number: c.Args[1] & 0xffffffff})
}

func (t *connection) cwnd() uint32        { return uint32(t.Get("snd_cwnd")) }
func (t *connection) setCwnd(n uint32)    { t.Set("snd_cwnd", uint64(n)) }
func (t *connection) own(p string) uint32 { return uint32(t.Own(p)) }
func (t *connection) inSlowStart() bool   { return t.cwnd() < uint32(t.Get("snd_ssthresh")) }

// limited reports whether the window, and not the application, limits sending
// (tcp_is_cwnd_limited).
func (t *connection) limited() bool {
	if t.Get("is_cwnd_limited") != 0 {
		return true
	}
	return t.inSlowStart() && t.cwnd() < 2*uint32(t.Get("max_packets_out"))
}

// slowStart grows the window by the acknowledged segments up to the threshold, and returns the
// rest.
func (t *connection) slowStart(acked uint32) uint32 {
	was := t.cwnd()
	cwnd := min(was+acked, uint32(t.Get("snd_ssthresh")))
	t.setCwnd(min(cwnd, uint32(t.Get("snd_cwnd_clamp"))))
	return acked - (cwnd - was)
}

// additive grows the window by one segment for every w acknowledged ones. w is not 0.
func (t *connection) additive(w, acked uint32) {
	count, cwnd := uint32(t.Get("snd_cwnd_cnt")), t.cwnd()
	if count >= w {
		count = 0
		cwnd++
	}
	count += acked
	if count >= w {
		cwnd += count / w
		count %= w
	}
	t.Set("snd_cwnd_cnt", uint64(count))
	t.setCwnd(min(cwnd, uint32(t.Get("snd_cwnd_clamp"))))
}

// tcpCongAvoidAI divides by its second argument: 0 is a division by zero in the kernel.
func tcpCongAvoidAI(c *Call) (uint64, *vm.Action) {
	if uint32(c.Args[1]) == 0 {
		return 0, badArg("tcp_cong_avoid_ai with a window of 0: the kernel divides by it")
	}
	return onConnection("", func(c *Call, t *connection) uint64 {
		t.additive(uint32(c.Args[1]), uint32(c.Args[2]))
		return 0
	})(c)
}

// grow performs slow start below the threshold; if more is true, the remaining segments grow the
// window further.
func (t *connection) grow(acked uint32) (left uint32, more bool) {
	if !t.limited() {
		return 0, false
	}
	if t.inSlowStart() {
		acked = t.slowStart(acked)
		return acked, acked != 0
	}
	return acked, true
}

func renoCongAvoid(c *Call, t *connection) uint64 {
	if left, more := t.grow(uint32(c.Args[2])); more {
		t.additive(max(t.cwnd(), 1), left)
	}
	return 0
}

// cubicReset resets the epoch and what was learned about the path.
func (t *connection) cubicReset() {
	t.ClearOwn("unused")
	t.SetOwn("found", 0)
}

// hystartReset begins a round of slow start.
func (t *connection) hystartReset() {
	t.SetOwn("round_start", t.Get("tcp_mstamp"))
	t.SetOwn("last_ack", t.Get("tcp_mstamp"))
	t.SetOwn("end_seq", t.Get("snd_nxt"))
	t.SetOwn("curr_rtt", 0xffffffff)
	t.SetOwn("sample_cnt", 0)
}

// cubicThreshold ends an epoch: the window before the loss is where growth levels off, slightly
// lower if it was not reached again.
func cubicThreshold(_ *Call, t *connection) uint64 {
	t.SetOwn("epoch_start", 0)
	cwnd := t.cwnd()
	most := cwnd
	if cwnd < t.own("last_max_cwnd") {
		most = cwnd * (cubicUnit + cubicBeta) / (2 * cubicUnit)
	}
	t.SetOwn("last_max_cwnd", uint64(most))
	return uint64(max(cwnd*cubicBeta/cubicUnit, 2))
}

func cubicState(c *Call, t *connection) uint64 {
	if uint8(c.Args[1]) == stateLoss {
		t.cubicReset()
		t.hystartReset()
	}
	return 0
}

// cubicTxStart shifts the epoch by the idle time.
func (t *connection) cubicTxStart() {
	start, idle := t.own("epoch_start"), int32(t.now-uint32(t.Get("lsndtime")))
	if start == 0 || idle <= 0 {
		return
	}
	start += uint32(idle)
	if int32(t.now-start) < 0 {
		start = t.now
	}
	t.SetOwn("epoch_start", uint64(start))
}

func cubicCongAvoid(c *Call, t *connection) uint64 {
	if left, more := t.grow(uint32(c.Args[2])); more {
		t.cubicUpdate(t.cwnd(), left)
		t.additive(t.own("cnt"), left)
	}
	return 0
}

// cubicUpdate computes how many acknowledged segments grow the window by one (bictcp_update).
func (t *connection) cubicUpdate(cwnd, acked uint32) {
	t.SetOwn("ack_cnt", uint64(t.own("ack_cnt")+acked))
	if t.own("last_cwnd") == cwnd && int32(t.now-t.own("last_time")) <= int32(t.hz/32) {
		return
	}
	cnt := t.own("cnt")
	if t.own("epoch_start") == 0 || t.now != t.own("last_time") {
		cnt = t.cubicCount(cwnd, acked)
	}
	t.SetOwn("cnt", uint64(max(t.friendly(cnt, cwnd), 2)))
}

// cubicCount follows the curve: the distance between the window and the curve one round trip from
// now.
func (t *connection) cubicCount(cwnd, acked uint32) uint32 {
	t.SetOwn("last_cwnd", uint64(cwnd))
	t.SetOwn("last_time", uint64(t.now))
	most := t.own("last_max_cwnd")
	if t.own("epoch_start") == 0 {
		t.SetOwn("epoch_start", uint64(t.now))
		t.SetOwn("ack_cnt", uint64(acked))
		t.SetOwn("tcp_cwnd", uint64(cwnd))
		if most <= cwnd {
			t.SetOwn("bic_K", 0)
			t.SetOwn("bic_origin_point", uint64(cwnd))
		} else {
			const factor = uint64(1<<(10+3*cubicTimeShift)) / (cubicScale * 10)
			t.SetOwn("bic_K", uint64(cubeRoot(factor*uint64(most-cwnd))))
			t.SetOwn("bic_origin_point", uint64(most))
		}
	}
	at := uint64(int64(int32(t.now-t.own("epoch_start")))) + t.jiffies(t.own("delay_min"))
	at = at << cubicTimeShift / uint64(t.hz)
	k, origin := uint64(t.own("bic_K")), t.own("bic_origin_point")
	away := at - k
	if at < k {
		away = k - at
	}
	delta := uint32(cubicScale * 10 * away * away * away >> (10 + 3*cubicTimeShift))
	target := origin + delta
	if at < k {
		target = origin - delta
	}
	cnt := 100 * cwnd
	if target > cwnd {
		cnt = cwnd / (target - cwnd)
	}
	if most == 0 && cnt > 20 {
		cnt = 20
	}
	return cnt
}

// jiffies converts microseconds, rounding up.
func (t *connection) jiffies(us uint32) uint64 {
	const second = 1_000_000
	return (uint64(us)*uint64(t.hz) + second - 1) / second
}

// friendly keeps the window as large as Reno's would be.
func (t *connection) friendly(cnt, cwnd uint32) uint32 {
	const scale = 8 * (cubicUnit + cubicBeta) / 3 / (cubicUnit - cubicBeta)
	if step := cwnd * scale >> 3; step > 0 {
		if acks := t.own("ack_cnt"); acks > step {
			n := (acks - 1) / step
			t.SetOwn("ack_cnt", uint64(acks-n*step))
			t.SetOwn("tcp_cwnd", uint64(t.own("tcp_cwnd")+n))
		}
	}
	if reno := t.own("tcp_cwnd"); reno > cwnd {
		cnt = min(cnt, cwnd/(reno-cwnd))
	}
	return cnt
}

// cubicAcked processes the round-trip time in a struct ack_sample.
func cubicAcked(c *Call) (uint64, *vm.Action) {
	sample := c.Kernel.ObjectAt(c.Args[1])
	if sample == nil {
		return 0, badArg("cubictcp_acked of %#x, which is no ack_sample", c.Args[1])
	}
	rtt, err := sample.Uint("rtt_us")
	if err != nil {
		return 0, badArg("cubictcp_acked: %v", err)
	}
	return onConnection("bictcp", func(_ *Call, t *connection) uint64 {
		t.cubicSample(int32(rtt))
		return 0
	})(c)
}

func (t *connection) cubicSample(rtt int32) {
	start := t.own("epoch_start")
	if rtt < 0 || start != 0 && int32(t.now-start) < int32(t.hz) {
		return // a duplicate without time, or right after recovery
	}
	delay := uint32(max(rtt, 1))
	if least := t.own("delay_min"); least == 0 || least > delay {
		t.SetOwn("delay_min", uint64(delay))
	}
	if t.own("found") == 0 && t.inSlowStart() {
		t.hystart(delay)
	}
}

// hystart detects the end of slow start, by the length of a train of ACKs and by increasing delay
// (hystart_update).
func (t *connection) hystart(delay uint32) {
	if int32(t.own("end_seq")-uint32(t.Get("snd_una"))) < 0 {
		t.hystartReset()
	}
	cwnd := t.cwnd()
	if cwnd < hystartLowWindow {
		return
	}
	least := t.own("delay_min")
	if now := uint32(t.Get("tcp_mstamp")); int32(now-t.own("last_ack")) <= hystartAckDelta {
		t.SetOwn("last_ack", uint64(now))
		threshold := least + t.ackDelay()
		if t.GetOf("sock", "sk_pacing_status") == pacingNone {
			threshold >>= 1
		}
		if now-t.own("round_start") > threshold {
			t.leaveSlowStart(cwnd)
		}
	}
	if t.own("curr_rtt") > delay {
		t.SetOwn("curr_rtt", uint64(delay))
	}
	if n := t.own("sample_cnt"); n < hystartSamples {
		t.SetOwn("sample_cnt", uint64(n+1))
	} else if t.own("curr_rtt") > least+min(max(least>>3, hystartDelayMin), hystartDelayMax) {
		t.leaveSlowStart(cwnd)
	}
}

func (t *connection) leaveSlowStart(cwnd uint32) {
	t.SetOwn("found", 1)
	t.Set("snd_ssthresh", uint64(cwnd))
}

// ackDelay returns how long four full segments take at the pacing rate, in us.
func (t *connection) ackDelay() uint32 {
	const most = 1000
	rate := t.GetOf("sock", "sk_pacing_rate")
	if rate == 0 {
		return 0
	}
	return uint32(min(most, t.GetOf("sock", "sk_gso_max_size")*4*1_000_000/rate))
}

// cubeRoot returns the cube root, rounded down.
func cubeRoot(a uint64) uint32 {
	root := uint64(0)
	for bit := uint64(1) << ((bits.Len64(a) + 2) / 3); bit > 0; bit >>= 1 {
		x := root | bit
		if over, cube := bits.Mul64(x*x, x); over == 0 && cube <= a {
			root = x
		}
	}
	return uint32(root)
}
