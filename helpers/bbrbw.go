package helpers

import "github.com/bpfrun/bpfrun/vm"

// The bandwidth that BBR estimates: the largest of the last rounds, unless losses at a steady rate
// tell of a policer in the network; then the rate over a longer time.
const (
	bandwidthRounds = cyclePhases + 2 // bbr_bw_rtts

	longTermRounds    = 4           // bbr_lt_intvl_min_rtts
	longTermMaxRounds = 48          // bbr_lt_bw_max_rtts
	longTermLoss      = 50          // bbr_lt_loss_thresh: of 256 packets
	longTermRatio     = bbrUnit / 8 // bbr_lt_bw_ratio
	longTermDiff      = 4000 / 8    // bbr_lt_bw_diff, in bytes per second
)

// rateSample is a struct rate_sample: what was delivered between two ACKs.
type rateSample struct {
	priorDelivered      uint32
	delivered           int32
	interval, rtt       int64 // us
	losses              int32
	acked, priorFlight  uint32
	appLimited, delayed bool
}

// rateSample reads a struct rate_sample, which is the kernel's or the program's own.
func (c *Call) rateSample(addr uint64) (*rateSample, *vm.Action) {
	l := c.Kernel.LayoutNamed("rate_sample")
	if l == nil {
		return nil, notSimulated("the kernel's types have no rate_sample")
	}
	var failed *vm.Action
	get := func(path string) int64 {
		if failed != nil {
			return 0
		}
		f, rest, err := l.Place(path)
		if err != nil || rest != "" {
			failed = notSimulated("struct rate_sample has no field " + path)
			return 0
		}
		v, act := c.guest.ReadInt(addr+f.Off, int(f.Size))
		failed = act
		shift := 64 - 8*min(f.Size, 8)
		return int64(v<<shift) >> shift
	}
	rs := &rateSample{
		priorDelivered: uint32(get("prior_delivered")), delivered: int32(get("delivered")), interval: get("interval_us"), rtt: get("rtt_us"),
		losses: int32(get("losses")), acked: uint32(get("acked_sacked")), priorFlight: uint32(get("prior_in_flight")),
		appLimited: get("is_app_limited") != 0, delayed: get("is_ack_delayed") != 0,
	}
	return rs, failed
}

func (b *bbr) largest() uint32 { return b.own("bw.s[0].v") }

// bandwidth is bbr_bw.
func (b *bbr) bandwidth() uint32 {
	if b.own("lt_use_bw") != 0 {
		return b.own("lt_bw")
	}
	return b.largest()
}

// bandwidthSample is a sample of the filter for the largest bandwidth, and when it was taken: the
// count of rounds.
type bandwidthSample struct{ t, v uint32 }

var samplePaths = [3][2]string{{"bw.s[0].t", "bw.s[0].v"}, {"bw.s[1].t", "bw.s[1].v"}, {"bw.s[2].t", "bw.s[2].v"}}

func (b *bbr) setSamples(s [3]bandwidthSample) {
	for i, p := range samplePaths {
		b.setOwn(p[0], s[i].t)
		b.setOwn(p[1], s[i].v)
	}
}

// resetMax is minmax_reset.
func (b *bbr) resetMax(t, v uint32) {
	one := bandwidthSample{t, v}
	b.setSamples([3]bandwidthSample{one, one, one})
}

// addSample puts a sample into the filter, which keeps the three largest of parts of its window
// (lib/win_minmax.c minmax_running_max).
func (b *bbr) addSample(t, v uint32) {
	one := bandwidthSample{t, v}
	var s [3]bandwidthSample
	for i, p := range samplePaths {
		s[i] = bandwidthSample{b.own(p[0]), b.own(p[1])}
	}
	if v >= s[0].v || t-s[2].t > bandwidthRounds {
		b.resetMax(t, v)
		return
	}
	if v >= s[1].v {
		s[1], s[2] = one, one
	} else if v >= s[2].v {
		s[2] = one
	}
	switch age := t - s[0].t; {
	case age > bandwidthRounds:
		s = [3]bandwidthSample{s[1], s[2], one}
		if t-s[0].t > bandwidthRounds {
			s = [3]bandwidthSample{s[1], s[2], one}
		}
	case s[1].t == s[0].t && age > bandwidthRounds/4:
		s[1], s[2] = one, one
	case s[2].t == s[1].t && age > bandwidthRounds/2:
		s[2] = one
	}
	b.setSamples(s)
}

// updateBandwidth is bbr_update_bw.
func (b *bbr) updateBandwidth(rs *rateSample) {
	b.setOwn("round_start", 0)
	if rs.delivered < 0 || rs.interval <= 0 {
		return
	}
	if !after(b.own("next_rtt_delivered"), rs.priorDelivered) {
		b.SetOwn("next_rtt_delivered", b.Get("delivered"))
		b.setOwn("rtt_cnt", b.own("rtt_cnt")+1)
		b.setOwn("round_start", 1)
		b.setOwn("packet_conservation", 0)
	}
	b.sampleLongTerm(rs)
	bandwidth := uint64(rs.delivered) * bandwidthUnit / uint64(rs.interval)
	if !rs.appLimited || bandwidth >= uint64(b.largest()) {
		b.addSample(b.own("rtt_cnt"), uint32(bandwidth))
	}
}

// milliseconds is the time of the last delivery.
func (b *bbr) milliseconds() uint32 { return uint32(b.Get("delivered_mstamp") / 1000) }

// startInterval is bbr_reset_lt_bw_sampling_interval.
func (b *bbr) startInterval() {
	b.setOwn("lt_last_stamp", b.milliseconds())
	b.SetOwn("lt_last_delivered", b.Get("delivered"))
	b.SetOwn("lt_last_lost", b.Get("lost"))
	b.setOwn("lt_rtt_cnt", 0)
}

// resetLongTerm is bbr_reset_lt_bw_sampling.
func (b *bbr) resetLongTerm() {
	b.setOwn("lt_bw", 0)
	b.setOwn("lt_use_bw", 0)
	b.setOwn("lt_is_sampling", 0)
	b.startInterval()
}

// sampleLongTerm looks for intervals that begin and end with a loss, in which a fifth of the
// packets is lost (bbr_lt_bw_sampling).
func (b *bbr) sampleLongTerm(rs *rateSample) {
	if b.own("lt_use_bw") != 0 {
		if b.mode() != modeProbeBW || b.own("round_start") == 0 {
			return
		}
		b.setOwn("lt_rtt_cnt", b.own("lt_rtt_cnt")+1)
		if b.own("lt_rtt_cnt") >= longTermMaxRounds {
			b.resetLongTerm()
			b.startProbeBW()
		}
		return
	}
	if b.own("lt_is_sampling") == 0 {
		if rs.losses == 0 {
			return
		}
		b.startInterval()
		b.setOwn("lt_is_sampling", 1)
	}
	if rs.appLimited {
		b.resetLongTerm()
		return
	}
	if b.own("round_start") != 0 {
		b.setOwn("lt_rtt_cnt", b.own("lt_rtt_cnt")+1)
	}
	switch rounds := b.own("lt_rtt_cnt"); {
	case rounds < longTermRounds:
		return
	case rounds > 4*longTermRounds:
		b.resetLongTerm()
		return
	case rs.losses == 0:
		return
	}
	lost := uint32(b.Get("lost")) - b.own("lt_last_lost")
	delivered := uint32(b.Get("delivered")) - b.own("lt_last_delivered")
	if delivered == 0 || lost*bbrUnit < longTermLoss*delivered {
		return
	}
	ms := b.milliseconds() - b.own("lt_last_stamp")
	switch {
	case int32(ms) < 1:
	case ms >= ^uint32(0)/1000:
		b.resetLongTerm()
	default:
		b.endInterval(uint32(uint64(delivered) * bandwidthUnit / uint64(ms*1000)))
	}
}

// endInterval compares the bandwidth of an interval with that of the one before
// (bbr_lt_bw_interval_done).
func (b *bbr) endInterval(bandwidth uint32) {
	if before := b.own("lt_bw"); before != 0 {
		diff := bandwidth - before
		if int32(diff) < 0 {
			diff = -diff
		}
		if diff*bbrUnit <= longTermRatio*before || b.bytesPerSecond(diff, bbrUnit) <= longTermDiff {
			b.setOwn("lt_bw", (bandwidth+before)>>1)
			b.setOwn("lt_use_bw", 1)
			b.setOwn("pacing_gain", bbrUnit)
			b.setOwn("lt_rtt_cnt", 0)
			return
		}
	}
	b.setOwn("lt_bw", bandwidth)
	b.startInterval()
}
