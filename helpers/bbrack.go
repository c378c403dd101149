package helpers

// What BBR does for an ACK: which mode it is in, and the window.
const (
	fullGrowth = bbrUnit * 5 / 4 // bbr_full_bw_thresh
	fullRounds = 3               // bbr_full_bw_cnt

	aggregationRounds = 5       // bbr_extra_acked_win_rtts
	aggregationReset  = 1 << 20 // bbr_ack_epoch_acked_reset_thresh
	aggregationMost   = 100_000 // bbr_extra_acked_max_us
)

// phaseGains is bbr_pacing_gain.
var phaseGains = [cyclePhases]uint32{bbrUnit * 5 / 4, bbrUnit * 3 / 4, bbrUnit, bbrUnit, bbrUnit, bbrUnit, bbrUnit, bbrUnit}

// product returns how many packets a path of this bandwidth holds in the shortest round trip, times
// a gain (bbr_bdp).
func (b *bbr) product(bandwidth, gain uint32) uint32 {
	rtt := b.own("min_rtt_us")
	if rtt == unknownRTT {
		return initialCwnd
	}
	return uint32((uint64(bandwidth)*uint64(rtt)*uint64(gain)/bbrUnit + bandwidthUnit - 1) / bandwidthUnit)
}

// budget adds what the hosts hold back to send or acknowledge at once (bbr_quantization_budget).
func (b *bbr) budget(cwnd uint32) uint32 {
	cwnd += 3 * b.segmentsGoal()
	cwnd = (cwnd + 1) &^ 1
	if b.mode() == modeProbeBW && b.own("cycle_idx") == 0 {
		cwnd += 2
	}
	return cwnd
}

// wanted is bbr_inflight.
func (b *bbr) wanted(bandwidth, gain uint32) uint32 { return b.budget(b.product(bandwidth, gain)) }

// inNetwork returns how many packets are in the network when the next one departs, of those in
// flight now (bbr_packets_in_net_at_edt).
func (b *bbr) inNetwork(flight uint32) uint32 {
	now := b.Get("tcp_clock_cache")
	us := (max(b.Get("tcp_wstamp_ns"), now) - now) / 1000
	delivered := uint32(uint64(b.bandwidth()) * us / bandwidthUnit)
	if b.own("pacing_gain") > bbrUnit {
		flight += b.segmentsGoal()
	}
	if delivered >= flight {
		return 0
	}
	return flight - delivered
}

// elapsed is tcp_stamp_us_delta of the last delivery.
func (b *bbr) elapsed(since string) uint64 {
	return uint64(max(int64(b.Get("delivered_mstamp")-b.Own(since)), 0))
}

// phaseOver reports whether a phase of the cycle of gains ends (bbr_is_next_cycle_phase).
func (b *bbr) phaseOver(rs *rateSample) bool {
	whole := uint32(b.elapsed("cycle_mstamp")) > b.own("min_rtt_us")
	gain := b.own("pacing_gain")
	if gain == bbrUnit {
		return whole
	}
	flight := b.inNetwork(rs.priorFlight)
	if gain > bbrUnit {
		return whole && (rs.losses != 0 || flight >= b.wanted(b.largest(), gain))
	}
	return whole || flight <= b.wanted(b.largest(), bbrUnit)
}

// nextPhase is bbr_advance_cycle_phase.
func (b *bbr) nextPhase() {
	b.setOwn("cycle_idx", (b.own("cycle_idx")+1)%cyclePhases)
	b.SetOwn("cycle_mstamp", b.Get("delivered_mstamp"))
}

// startProbeBW begins the cycle of gains at a random phase, but not at the one that drains
// (bbr_reset_probe_bw_mode).
func (b *bbr) startProbeBW() {
	b.setMode(modeProbeBW)
	b.setOwn("cycle_idx", cyclePhases-1-uint32(uint64(b.random())*cycleRandom>>32))
	b.nextPhase()
}

// updateAggregation learns by how much ACKs arrive ahead of the bandwidth
// (bbr_update_ack_aggregation).
func (b *bbr) updateAggregation(rs *rateSample) {
	if rs.acked == 0 || rs.delivered < 0 || rs.interval <= 0 {
		return
	}
	if b.own("round_start") != 0 {
		rounds := min(0x1f, b.own("extra_acked_win_rtts")+1)
		if rounds >= aggregationRounds {
			rounds = 0
			other := 1 - b.own("extra_acked_win_idx")
			b.setOwn("extra_acked_win_idx", other)
			b.setOwn(extraAcked[other&1], 0)
		}
		b.setOwn("extra_acked_win_rtts", rounds)
	}
	expected := uint32(uint64(b.bandwidth()) * uint64(uint32(b.elapsed("ack_epoch_mstamp"))) / bandwidthUnit)
	acked := b.own("ack_epoch_acked")
	if acked <= expected || acked+rs.acked >= aggregationReset {
		acked, expected = 0, 0
		b.SetOwn("ack_epoch_mstamp", b.Get("delivered_mstamp"))
	}
	acked = min(0xfffff, acked+rs.acked)
	b.setOwn("ack_epoch_acked", acked)
	extra := min(acked-expected, b.cwnd())
	if slot := extraAcked[b.own("extra_acked_win_idx")&1]; extra > b.own(slot) {
		b.setOwn(slot, extra)
	}
}

var extraAcked = [2]string{"extra_acked[0]", "extra_acked[1]"}

// aggregated returns by how much aggregation widens the window (bbr_ack_aggregation_cwnd).
func (b *bbr) aggregated() uint32 {
	if !b.pipeFull() {
		return 0
	}
	most := uint32(uint64(b.bandwidth()) * aggregationMost / bandwidthUnit)
	return min(max(b.own(extraAcked[0]), b.own(extraAcked[1])), most)
}

// checkFull finds the pipe full when the bandwidth did not grow by a quarter in three rounds
// (bbr_check_full_bw_reached).
func (b *bbr) checkFull(rs *rateSample) {
	if b.pipeFull() || b.own("round_start") == 0 || rs.appLimited {
		return
	}
	if largest := b.largest(); largest >= uint32(uint64(b.own("full_bw"))*fullGrowth/bbrUnit) {
		b.setOwn("full_bw", largest)
		b.setOwn("full_bw_cnt", 0)
		return
	}
	b.setOwn("full_bw_cnt", b.own("full_bw_cnt")+1)
	if b.own("full_bw_cnt") >= fullRounds {
		b.setOwn("full_bw_reached", 1)
	}
}

// checkDrained drains the queue that STARTUP built, and probes for bandwidth when it is empty
// (bbr_check_drain).
func (b *bbr) checkDrained() {
	if b.mode() == modeStartup && b.pipeFull() {
		b.setMode(modeDrain)
		b.Set("snd_ssthresh", uint64(b.wanted(b.largest(), bbrUnit)))
	}
	if b.mode() == modeDrain && b.inNetwork(b.inFlight()) <= b.wanted(b.largest(), bbrUnit) {
		b.startProbeBW()
	}
}

// endProbeRTT ends the measurement of the round-trip time when its time is over
// (bbr_check_probe_rtt_done).
func (b *bbr) endProbeRTT() {
	end := b.own("probe_rtt_done_stamp")
	if end == 0 || !after(b.now, end) {
		return
	}
	b.setOwn("min_rtt_stamp", b.now)
	b.setCwnd(max(b.cwnd(), b.own("prior_cwnd")))
	if b.pipeFull() {
		b.startProbeBW()
	} else {
		b.setMode(modeStartup)
	}
}

// updateMinRTT keeps the shortest round trip of ten seconds. Without one as short it empties the
// path to measure anew (bbr_update_min_rtt).
func (b *bbr) updateMinRTT(rs *rateSample) {
	expired := after(b.now, b.own("min_rtt_stamp")+minRTTSeconds*b.hz)
	if rs.rtt >= 0 && (rs.rtt < int64(b.own("min_rtt_us")) || expired && !rs.delayed) {
		b.setOwn("min_rtt_us", uint32(rs.rtt))
		b.setOwn("min_rtt_stamp", b.now)
	}
	if expired && b.own("idle_restart") == 0 && b.mode() != modeProbeRTT {
		b.setMode(modeProbeRTT)
		b.saveCwnd()
		b.setOwn("probe_rtt_done_stamp", 0)
	}
	if b.mode() == modeProbeRTT {
		b.probeRTT()
	}
	if rs.delivered > 0 {
		b.setOwn("idle_restart", 0)
	}
}

// probeRTT keeps few packets in flight for 200 ms and a round.
func (b *bbr) probeRTT() {
	flight := b.inFlight()
	b.Set("app_limited", uint64(max(uint32(b.Get("delivered"))+flight, 1)))
	switch end := b.own("probe_rtt_done_stamp"); {
	case end == 0 && flight <= minCwnd:
		b.setOwn("probe_rtt_done_stamp", b.now+(probeRTTMillis*b.hz+999)/1000)
		b.setOwn("probe_rtt_round_done", 0)
		b.SetOwn("next_rtt_delivered", b.Get("delivered"))
	case end != 0:
		if b.own("round_start") != 0 {
			b.setOwn("probe_rtt_round_done", 1)
		}
		if b.own("probe_rtt_round_done") != 0 {
			b.endProbeRTT()
		}
	}
}

// updateGains is bbr_update_gains, which leaves the gains alone in a mode that does not exist.
func (b *bbr) updateGains() {
	pacing, cwnd := uint32(bbrUnit), uint32(bbrUnit)
	switch b.mode() {
	case modeStartup:
		pacing, cwnd = highGain, highGain
	case modeDrain:
		pacing, cwnd = drainGain, highGain
	case modeProbeBW:
		cwnd = cwndGain
		if b.own("lt_use_bw") == 0 {
			pacing = phaseGains[b.own("cycle_idx")%cyclePhases]
		}
	case modeProbeRTT:
	default:
		return
	}
	b.setOwn("pacing_gain", pacing)
	b.setOwn("cwnd_gain", cwnd)
}

// recover returns the window in or after a recovery from losses; final means that nothing else
// widens it (bbr_set_cwnd_to_recover_or_restore).
func (b *bbr) recover(rs *rateSample) (cwnd uint32, final bool) {
	before, state := b.own("prev_ca_state"), uint32(b.GetOf("inet_connection_sock", "icsk_ca_state"))
	cwnd = b.cwnd()
	if rs.losses > 0 {
		cwnd = uint32(max(int32(cwnd)-rs.losses, 1))
	}
	if state == stateRecovery && before != stateRecovery {
		b.setOwn("packet_conservation", 1)
		b.SetOwn("next_rtt_delivered", b.Get("delivered"))
		cwnd = b.inFlight() + rs.acked
	} else if before >= stateRecovery && state < stateRecovery {
		cwnd = max(cwnd, b.own("prior_cwnd"))
		b.setOwn("packet_conservation", 0)
	}
	b.setOwn("prev_ca_state", state)
	if b.own("packet_conservation") != 0 {
		return max(cwnd, b.inFlight()+rs.acked), true
	}
	return cwnd, false
}

// updateCwnd is bbr_set_cwnd.
func (b *bbr) updateCwnd(rs *rateSample, bandwidth, gain uint32) {
	cwnd, final := b.cwnd(), true
	if rs.acked != 0 {
		cwnd, final = b.recover(rs)
	}
	if !final {
		target := b.budget(b.product(bandwidth, gain) + b.aggregated())
		if b.pipeFull() {
			cwnd = min(cwnd+rs.acked, target)
		} else if cwnd < target || b.Get("delivered") < initialCwnd {
			cwnd += rs.acked
		}
		cwnd = max(cwnd, minCwnd)
	}
	cwnd = min(cwnd, uint32(b.Get("snd_cwnd_clamp")))
	if b.mode() == modeProbeRTT {
		cwnd = min(cwnd, minCwnd)
	}
	b.setCwnd(cwnd)
}
