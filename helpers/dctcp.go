package helpers

import (
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/vm"
)

// Kfuncs of the module tcp_dctcp (net/ipv4/tcp_dctcp.c) with the parameters that it has by default.
// Their state is struct dctcp of the module's BTF.
var dctcpKfuncs = []kfuncRow{
	{Name: "dctcp_init", Args: []proto.Arg{argObject}, Do: onConnection("dctcp", dctcpInit), Note: "without ECN the connection gets the operations dctcp-reno"},
	{Name: "dctcp_update_alpha", Args: []proto.Arg{argObject, argAny}, Do: onConnection("dctcp", dctcpUpdateAlpha), Note: plbOff},
	{Name: "dctcp_cwnd_event", Args: []proto.Arg{argObject, argAny}, Do: dctcpEvent, Note: "an ACK that it sends is recorded as an event; " + plbOff},
	{Name: "dctcp_cwnd_event_tx_start", Args: []proto.Arg{argObject}, Do: onConnection("dctcp", func(*Call, *connection) uint64 { return 0 }), Note: plbOff},
	{Name: "dctcp_ssthresh", Args: []proto.Arg{argObject}, Do: onConnection("dctcp", func(_ *Call, t *connection) uint64 {
		cwnd := t.cwnd()
		t.SetOwn("loss_cwnd", uint64(cwnd))
		return uint64(max(cwnd-cwnd*t.own("dctcp_alpha")>>11, 2))
	})},
	{Name: "dctcp_cwnd_undo", Args: []proto.Arg{argObject}, Do: onConnection("dctcp", func(_ *Call, t *connection) uint64 {
		return uint64(max(t.cwnd(), t.own("loss_cwnd")))
	})},
	{Name: "dctcp_state", Args: []proto.Arg{argObject, argAny}, Do: onConnection("dctcp", func(c *Call, t *connection) uint64 {
		if state := uint64(uint8(c.Args[1])); state == stateRecovery && t.GetOf("inet_connection_sock", "icsk_ca_state") != state {
			t.dctcpLoss()
		}
		return 0
	})},
}

// plbOff: tcp_plb_update_state and the functions beside it return at once.
const plbOff = "protective load balancing (net.ipv4.tcp_plb_enabled) is off, as by default"

const (
	dctcpMostAlpha = 1024 // DCTCP_MAX_ALPHA, which dctcp_alpha_on_init is too
	dctcpShift     = 4    // dctcp_shift_g

	eventLoss  = 3 // CA_EVENT_LOSS
	eventNoCE  = 4 // CA_EVENT_ECN_NO_CE
	eventIsCE  = 5 // CA_EVENT_ECN_IS_CE
	stateClose = 7 // TCP_CLOSE

	ecnRFC3168   = 1 << 0 // TCP_ECN_MODE_RFC3168, before Linux 6.15 TCP_ECN_OK
	ecnDemandCWR = 1 << 2 // TCP_ECN_DEMAND_CWR
	ecnAccurate  = 1 << 4 // TCP_ECN_MODE_ACCECN
	ecnCodepoint = 3      // INET_ECN_MASK

	ackTimer = 1 << 1 // ICSK_ACK_TIMER
	ackNow   = 1 << 4 // ICSK_ACK_NOW
)

func dctcpInit(c *Call, t *connection) uint64 {
	modes := uint64(ecnRFC3168)
	if c.has(since.AccurateECN) {
		modes |= ecnAccurate
	}
	state := t.GetOf("sock", "__sk_common.skc_state")
	if t.Get("ecn_flags")&modes == 0 && state != stateListen && state != stateClose {
		t.dctcpReno(c)
		return 0
	}
	t.SetOwn("prior_rcv_nxt", t.Get("rcv_nxt"))
	t.SetOwn("dctcp_alpha", dctcpMostAlpha)
	t.SetOwn("loss_cwnd", 0)
	t.SetOwn("ce_state", 0)
	t.dctcpRound()
	if t.HasOwn("plb") { // since Linux 6.2
		t.SetOwn("plb.consec_cong_rounds", 0)
		t.SetOwn("plb.pause_until", 0)
	}
	return 0
}

// dctcpReno gives the connection Reno's operations, and packets that do not claim to support ECN
// (INET_ECN_dontxmit).
func (t *connection) dctcpReno(c *Call) {
	ops := c.Kernel.Named("dctcp_reno", "tcp_congestion_ops")
	if ops == nil {
		t.Err = &missingType{"tcp_congestion_ops"}
		return
	}
	if err := ops.Set("name", "dctcp-reno"); err != nil {
		t.Err = err
		return
	}
	t.SetOf("inet_connection_sock", "icsk_ca_ops", ops.Addr())
	t.SetOf("inet_sock", "tos", t.GetOf("inet_sock", "tos")&^ecnCodepoint)
	if v6 := c.Kernel.ObjectAt(t.GetOf("inet_sock", "pinet6")); v6 != nil {
		class, err := v6.Uint("tclass")
		if err == nil {
			err = v6.SetUint("tclass", class&^ecnCodepoint)
		}
		if err != nil {
			t.Err = err
		}
	}
}

// missingType is a type that the target's BTF lacks.
type missingType struct{ name string }

func (e *missingType) Error() string { return "the target has no struct " + e.name }

// dctcpRound begins to count a round (dctcp_reset).
func (t *connection) dctcpRound() {
	t.SetOwn("next_seq", t.Get("snd_nxt"))
	t.SetOwn("old_delivered", t.Get("delivered"))
	t.SetOwn("old_delivered_ce", t.Get("delivered_ce"))
}

// dctcpUpdateAlpha moves the estimate of marked packets after each round by a sixteenth of the way
// to their share.
func dctcpUpdateAlpha(_ *Call, t *connection) uint64 {
	if after(t.own("next_seq"), uint32(t.Get("snd_una"))) {
		return 0
	}
	delivered := uint32(t.Get("delivered")) - t.own("old_delivered")
	marked := uint32(t.Get("delivered_ce")) - t.own("old_delivered_ce")
	alpha := t.own("dctcp_alpha")
	if step := alpha >> dctcpShift; step != 0 {
		alpha -= step
	} else {
		alpha = 0
	}
	if marked != 0 {
		alpha = min(alpha+marked<<(10-dctcpShift)/max(1, delivered), dctcpMostAlpha)
	}
	t.SetOwn("dctcp_alpha", uint64(alpha))
	t.dctcpRound()
	return 0
}

// dctcpLoss is dctcp_react_to_loss.
func (t *connection) dctcpLoss() {
	cwnd := t.cwnd()
	t.SetOwn("loss_cwnd", uint64(cwnd))
	t.Set("snd_ssthresh", uint64(max(cwnd>>1, 2)))
}

// dctcpEvent is dctcp_cwnd_event.
func dctcpEvent(c *Call) (uint64, *vm.Action) {
	var sent *Event
	ret, f := onConnection("dctcp", func(c *Call, t *connection) uint64 {
		switch event := uint32(c.Args[1]); event {
		case eventNoCE, eventIsCE:
			sent = t.dctcpMark(uint64(event - eventNoCE))
		case eventLoss:
			t.dctcpLoss()
		}
		return 0
	})(c)
	if f != nil || sent == nil {
		return ret, f
	}
	return ret, c.Run.emit(*sent)
}

// dctcpMark notes whether the last packet was marked. When that changes, a delayed ACK is sent for
// what came before, and an ACK for this packet follows at once (dctcp_ece_ack_update).
func (t *connection) dctcpMark(now uint64) (sent *Event) {
	const icsk = "inet_connection_sock"
	was, prior, next := t.Own("ce_state"), t.Own("prior_rcv_nxt"), t.Get("rcv_nxt")
	if was != now {
		pending := t.GetOf(icsk, "icsk_ack.pending")
		if pending&ackTimer != 0 {
			t.dctcpEcho(was)
			sent = &Event{Kind: TCPAck, Number: prior}
			if prior == next { // else it is no ACK of all that was received (tcp_event_ack_sent)
				pending = 0
			}
		}
		t.SetOf(icsk, "icsk_ack.pending", pending|ackNow)
	}
	t.SetOwn("prior_rcv_nxt", next)
	t.SetOwn("ce_state", now)
	t.dctcpEcho(now)
	return sent
}

// dctcpEcho has the next ACKs tell the sender of marks, or not (dctcp_ece_ack_cwr).
func (t *connection) dctcpEcho(marked uint64) {
	flags := t.Get("ecn_flags") &^ ecnDemandCWR
	if marked == 1 {
		flags |= ecnDemandCWR
	}
	t.Set("ecn_flags", flags)
}
