package helpers

import (
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/vm"
)

// Kfuncs of the module tcp_bbr (net/ipv4/tcp_bbr.c): its entry points. What an ACK does is in
// bbrack.go, the estimate of the path's bandwidth in bbrbw.go. Their state is struct bbr of the
// module's BTF.
var bbrKfuncs = []kfuncRow{
	{Name: "bbr_init", Args: []proto.Arg{argObject}, Do: onBBR(bbrInit)},
	{Name: "bbr_main", Args: []proto.Arg{argObject, argAny, argAny, argAny}, Do: bbrMain, Note: "the rate_sample is the second argument before Linux 6.10, the fourth since then; " + bbrHeaders},
	{Name: "bbr_sndbuf_expand", Args: []proto.Arg{argObject}, Do: onBBR(func(*bbr) uint32 { return 3 })},
	{Name: "bbr_undo_cwnd", Args: []proto.Arg{argObject}, Do: onBBR(bbrUndo)},
	{Name: "bbr_cwnd_event", Args: []proto.Arg{argObject, argAny}, Do: func(c *Call) (uint64, *vm.Action) {
		return onBBR(func(b *bbr) uint32 {
			if uint32(c.Args[1]) == eventTxStart {
				b.txStart()
			}
			return 0
		})(c)
	}},
	{Name: "bbr_cwnd_event_tx_start", Args: []proto.Arg{argObject}, Do: onBBR(func(b *bbr) uint32 {
		b.txStart()
		return 0
	})},
	{Name: "bbr_ssthresh", Args: []proto.Arg{argObject}, Do: onBBR(func(b *bbr) uint32 {
		b.saveCwnd()
		return uint32(b.Get("snd_ssthresh"))
	})},
	{Name: "bbr_min_tso_segs", Args: []proto.Arg{argObject}, Do: onBBR((*bbr).minSegments)},
	{Name: "bbr_set_state", Args: []proto.Arg{argObject, argAny}, Do: func(c *Call) (uint64, *vm.Action) {
		return onBBR(func(b *bbr) uint32 {
			if uint8(c.Args[1]) == stateLoss {
				b.timedOut()
			}
			return 0
		})(c)
	}},
}

const bbrHeaders = "room for headers (MAX_TCP_HEADER) is that of Debian's configuration"

// The parameters of BBR, and values of enums.
const (
	bbrUnit       = 1 << 8  // BBR_UNIT: a gain of 1
	bandwidthUnit = 1 << 24 // BW_UNIT: a packet per microsecond

	modeStartup  = 0 // enum bbr_mode
	modeDrain    = 1
	modeProbeBW  = 2
	modeProbeRTT = 3

	highGain  = bbrUnit*2885/1000 + 1 // bbr_high_gain
	drainGain = bbrUnit * 1000 / 2885 // bbr_drain_gain
	cwndGain  = bbrUnit * 2           // bbr_cwnd_gain

	cyclePhases     = 8          // CYCLE_LEN
	cycleRandom     = 7          // bbr_cycle_rand
	minCwnd         = 4          // bbr_cwnd_min_target
	minTSORate      = 150_000    // bbr_min_tso_rate, in bytes per second
	initialCwnd     = 10         // TCP_INIT_CWND
	infiniteWindow  = 0x7fffffff // TCP_INFINITE_SSTHRESH
	unknownRTT      = 0xffffffff
	minRTTSeconds   = 10  // bbr_min_rtt_win_sec
	probeRTTMillis  = 200 // bbr_probe_rtt_mode_ms
	largestSegments = 0x7f
	largestGSO      = 1<<16 - 1 // GSO_LEGACY_MAX_SIZE - 1
	tcpHeaderRoom   = 320       // MAX_TCP_HEADER
	pacingNeeded    = 1         // SK_PACING_NEEDED
	stateRecovery   = 3         // TCP_CA_Recovery
)

// bbr is a connection whose algorithm is BBR.
type bbr struct {
	*connection
	random func() uint32
	bad    *vm.Action // what the kernel could not have computed
}

// onBBR turns functions of the TCP socket in their first argument into implementations.
func onBBR(do func(*bbr) uint32) Impl {
	return func(c *Call) (uint64, *vm.Action) {
		var bad *vm.Action
		ret, f := onConnection("bbr", func(c *Call, t *connection) uint64 {
			b := &bbr{connection: t, random: c.Kernel.Random32}
			ret := do(b)
			bad = b.bad
			return uint64(ret)
		})(c)
		if f == nil {
			f = bad
		}
		return ret, f
	}
}

func (b *bbr) mode() uint32              { return b.own("mode") }
func (b *bbr) setMode(m uint32)          { b.SetOwn("mode", uint64(m)) }
func (b *bbr) pipeFull() bool            { return b.own("full_bw_reached") != 0 }
func (b *bbr) setOwn(p string, v uint32) { b.SetOwn(p, uint64(v)) }
func (b *bbr) pacingRate() uint64        { return b.GetOf("sock", "sk_pacing_rate") }
func (b *bbr) setPacingRate(rate uint64) { b.SetOf("sock", "sk_pacing_rate", rate) }

// inFlight is tcp_packets_in_flight.
func (b *bbr) inFlight() uint32 {
	return uint32(b.Get("packets_out") - b.Get("sacked_out") - b.Get("lost_out") + b.Get("retrans_out"))
}

// after reports whether a time or a sequence number is later than another one (time_after, after).
func after(a, b uint32) bool { return int32(b-a) < 0 }

func bbrInit(b *bbr) uint32 {
	b.Set("snd_ssthresh", infiniteWindow)
	for _, f := range []string{
		"prior_cwnd", "rtt_cnt", "prev_ca_state", "packet_conservation", "probe_rtt_done_stamp", "probe_rtt_round_done",
		"has_seen_rtt", "round_start", "idle_restart", "full_bw_reached", "full_bw", "full_bw_cnt", "cycle_mstamp", "cycle_idx",
		"ack_epoch_acked", "extra_acked_win_rtts", "extra_acked_win_idx", "extra_acked[0]", "extra_acked[1]",
	} {
		b.setOwn(f, 0)
	}
	b.SetOwn("next_rtt_delivered", b.Get("delivered"))
	b.SetOwn("min_rtt_us", b.Get("rtt_min.s[0].v"))
	b.setOwn("min_rtt_stamp", b.now)
	b.resetMax(0, 0)
	b.paceByRTT()
	b.resetLongTerm()
	b.setMode(modeStartup)
	b.SetOwn("ack_epoch_mstamp", b.Get("tcp_mstamp"))
	if b.GetOf("sock", "sk_pacing_status") == pacingNone {
		b.SetOf("sock", "sk_pacing_status", pacingNeeded)
	}
	return 0
}

// bbrUndo takes back a slowdown: whether the pipe is full is found out anew (bbr_undo_cwnd).
func bbrUndo(b *bbr) uint32 {
	b.setOwn("full_bw", 0)
	b.setOwn("full_bw_cnt", 0)
	b.resetLongTerm()
	return b.cwnd()
}

// saveCwnd keeps the last window that was not reduced by a loss or by PROBE_RTT (bbr_save_cwnd).
func (b *bbr) saveCwnd() {
	cwnd := b.cwnd()
	if b.own("prev_ca_state") >= stateRecovery || b.mode() == modeProbeRTT {
		cwnd = max(cwnd, b.own("prior_cwnd"))
	}
	b.setOwn("prior_cwnd", cwnd)
}

// txStart is called when sending begins again after a pause (bbr_cwnd_event_tx_start).
func (b *bbr) txStart() {
	if b.Get("app_limited") == 0 {
		return
	}
	b.setOwn("idle_restart", 1)
	b.SetOwn("ack_epoch_mstamp", b.Get("tcp_mstamp"))
	b.setOwn("ack_epoch_acked", 0)
	switch b.mode() {
	case modeProbeBW:
		b.pace(b.bandwidth(), bbrUnit)
	case modeProbeRTT:
		b.endProbeRTT()
	}
}

// timedOut is called when the retransmission timer expires: that ends a round, in which a packet
// was lost (bbr_set_state).
func (b *bbr) timedOut() {
	b.setOwn("prev_ca_state", stateLoss)
	b.setOwn("full_bw", 0)
	b.setOwn("round_start", 1)
	b.sampleLongTerm(&rateSample{losses: 1})
}

// bytesPerSecond converts a bandwidth times a gain, less a margin of 1 % (bbr_rate_bytes_per_sec).
func (b *bbr) bytesPerSecond(bandwidth, gain uint32) uint64 {
	rate := uint64(bandwidth) * uint64(uint32(b.Get("mss_cache"))) * uint64(gain) / bbrUnit
	return rate * (1_000_000 / 100 * 99) / bandwidthUnit
}

// pacing returns the rate at which to send (bbr_bw_to_pacing_rate).
func (b *bbr) pacing(bandwidth, gain uint32) uint64 {
	return min(b.bytesPerSecond(bandwidth, gain), b.GetOf("sock", "sk_max_pacing_rate"))
}

// paceByRTT sets the pacing rate from the window and the round-trip time; until one is measured, it
// assumes 1 ms (bbr_init_pacing_rate_from_rtt).
func (b *bbr) paceByRTT() {
	rtt := uint64(1000)
	if smoothed := b.Get("srtt_us"); smoothed != 0 {
		rtt = max(smoothed>>3, 1)
		b.setOwn("has_seen_rtt", 1)
	}
	b.setPacingRate(b.pacing(uint32(uint64(b.cwnd())*bandwidthUnit/rtt), highGain))
}

// pace sets the rate of sending; until the pipe is full it does not fall (bbr_set_pacing_rate).
func (b *bbr) pace(bandwidth, gain uint32) {
	rate := b.pacing(bandwidth, gain)
	if b.own("has_seen_rtt") == 0 && b.Get("srtt_us") != 0 {
		b.paceByRTT()
	}
	if b.pipeFull() || rate > b.pacingRate() {
		b.setPacingRate(rate)
	}
}

// minSegments is bbr_min_tso_segs.
func (b *bbr) minSegments() uint32 {
	if b.pacingRate() < minTSORate {
		return 1
	}
	return 2
}

// segmentsGoal returns how many segments are sent at once at the current rate (bbr_tso_segs_goal).
func (b *bbr) segmentsGoal() uint32 {
	mss := uint32(b.Get("mss_cache"))
	if mss == 0 {
		b.bad = badArg("bbr_main of a tcp_sock whose mss_cache is 0: the kernel divides by it")
		return 0
	}
	bytes := uint32(min(b.pacingRate()>>(b.GetOf("sock", "sk_pacing_shift")&63), largestGSO-tcpHeaderRoom))
	return min(max(bytes/mss, b.minSegments()), largestSegments)
}

// bbrMain processes an ACK (bbr_main).
func bbrMain(c *Call) (uint64, *vm.Action) {
	at := c.Args[1]
	if c.has(since.BBRRateSample) {
		at = c.Args[3]
	}
	rs, f := c.rateSample(at)
	if f != nil {
		return 0, f
	}
	return onBBR(func(b *bbr) uint32 {
		b.updateBandwidth(rs)
		b.updateAggregation(rs)
		if b.mode() == modeProbeBW && b.phaseOver(rs) {
			b.nextPhase()
		}
		b.checkFull(rs)
		b.checkDrained()
		b.updateMinRTT(rs)
		b.updateGains()
		bandwidth := b.bandwidth()
		b.pace(bandwidth, b.own("pacing_gain"))
		b.updateCwnd(rs, bandwidth, b.own("cwnd_gain"))
		return 0
	})(c)
}
