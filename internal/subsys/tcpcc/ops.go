// Package tcpcc simulates a TCP connection whose congestion window an algorithm controls (struct
// tcp_congestion_ops): segments that leave, a path with a link and a queue, ACKs, losses, and the
// order in which the kernel calls the algorithm. Start from [Config], [New] and [Ops]. It does not
// know programs and memory: the algorithm and the fields of its socket are behind an interface.
package tcpcc

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Op is an operation of an algorithm: a member of struct tcp_congestion_ops.
type Op string

// Operations, as struct tcp_congestion_ops has them.
const (
	OpSSThresh    Op = "ssthresh"
	OpCongAvoid   Op = "cong_avoid"
	OpSetState    Op = "set_state"
	OpCwndEvent   Op = "cwnd_event"
	OpTxStart     Op = "cwnd_event_tx_start"
	OpInAckEvent  Op = "in_ack_event"
	OpPktsAcked   Op = "pkts_acked"
	OpCongControl Op = "cong_control"
	OpUndoCwnd    Op = "undo_cwnd"
	OpInit        Op = "init"
	OpRelease     Op = "release"
)

// Operations lists those that a connection calls.
var Operations = []Op{
	OpSSThresh, OpCongAvoid, OpSetState, OpCwndEvent, OpTxStart, OpInAckEvent, OpPktsAcked, OpCongControl, OpUndoCwnd, OpInit, OpRelease,
}

// Field is a number of struct tcp_sock that programs and the kernel share.
type Field uint8

// The fields.
const (
	FieldCwnd Field = iota
	FieldSSThresh
	FieldCwndCount
	FieldClamp
	FieldPriorCwnd
	FieldPriorSSThresh
	FieldSndUna
	FieldSndNxt
	FieldHighSeq
	FieldPacketsOut
	FieldSackedOut
	FieldLostOut
	FieldRetransOut
	FieldDelivered
	FieldLost
	FieldTotalRetrans
	FieldMaxPacketsOut
	FieldCwndLimited
	FieldSRTT  // in microseconds, times 8
	FieldMDev  // times 4
	FieldStamp // tcp_mstamp, in microseconds
	FieldState // icsk_ca_state
	FieldMSS
	Fields // their number
)

// State is that of the connection's congestion control (enum tcp_ca_state).
type State uint8

// The states. A connection without ECN is never in CWR, and without undo by DSACK never in Disorder
// for long.
const (
	Open State = iota
	Disorder
	CWR
	Recovery
	Loss
)

// String is its name.
func (s State) String() string {
	return [...]string{"open", "disorder", "cwr", "recovery", "loss"}[s]
}

// Events of cwnd_event (enum tcp_ca_event).
const (
	EventTxStart     = 0
	EventCompleteCWR = 2
	EventLoss        = 3
)

// ackSlowPath is CA_ACK_SLOWPATH: the ACK is not the next one that was expected.
const ackSlowPath = 1

// Sample is what is known of the ACK that cong_control is called for (struct rate_sample).
type Sample struct {
	Delivered, Losses, AckedSacked, PriorDelivered, PriorInFlight uint32
	Interval, RTT                                                 int64 // in microseconds; negative for none
	// Prior is when the segment that was acknowledged last was sent, in microseconds.
	Prior uint64
}

// Ops is the algorithm: it runs programs. An error ends the simulation.
type Ops interface {
	// Has reports whether the algorithm has an operation.
	Has(Op) bool
	// Load and Store access a field of the socket.
	Load(Field) uint64
	Store(Field, uint64)
	// Call calls an operation on the socket, with the arguments that follow it.
	Call(op Op, args ...uint64) (uint64, error)
	// Acked calls pkts_acked.
	Acked(segments uint32, rtt int64, inFlight uint32) error
	// Control calls cong_control.
	Control(ack, flags uint32, s *Sample) error
	// PacingRate is sk_pacing_rate in bytes per second, 0 if nothing is paced.
	PacingRate() uint64
	// Pass lets time pass until a point of simulated time, or until something of the machine's own
	// happens before. It returns the time that is reached.
	Pass(ctx context.Context, now, until uint64) (uint64, error)
}

// Limits and defaults of a connection.
const (
	MSS             = 1448
	wire            = MSS + 66 // with headers of Ethernet, IPv4 and TCP with timestamps
	initialWindow   = 10
	Infinite        = 0x7fffffff // TCP_INFINITE_SSTHRESH
	MaxSegments     = 200_000
	MaxQueue        = 100_000
	MaxRate         = 100_000_000_000
	LeastRate       = 10_000
	MaxDuration     = time.Hour
	MaxRTT          = 10 * time.Second
	DefaultRate     = 10_000_000
	DefaultRTT      = 40 * time.Millisecond
	DefaultQueue    = 30
	DefaultDuration = 10 * time.Second
	leastRTO        = 200 * time.Millisecond
	mostRTO         = 120 * time.Second
	firstRTO        = time.Second
	receiveWindow   = 10_000 // segments that are out at most
	duplicates      = 3      // segments beyond a hole that make it a loss
)

// Config is a connection, with its path.
type Config struct {
	// Rate is that of the link in bits per second, RTT that of the path without a queue. Queue is
	// how many segments wait for the link at most.
	Rate  uint64
	RTT   time.Duration
	Queue int
	// Segments are how many are sent; 0 means as many as fit into Duration.
	Segments int
	Duration time.Duration
	// Drops are segments, counted from 1, that get lost on the way when they are sent first.
	Drops []int
	// Late are segments that arrive so much later when they are sent first: what the sender takes
	// for a loss.
	Late map[int]time.Duration
	// TxStart means that the start of a transmission has an operation of its own (Linux 7.1), and is
	// no event of cwnd_event.
	TxStart bool
	// Events limits the events of the simulation; 0 means the default.
	Events int
}

// Check reports what makes no sense.
func Check(c Config) error {
	switch {
	case c.Rate < LeastRate || c.Rate > MaxRate:
		return fmt.Errorf("rate: want %d to %d bits per second", LeastRate, uint64(MaxRate))
	case c.RTT <= 0 || c.RTT > MaxRTT:
		return fmt.Errorf("rtt: want a time up to %v", MaxRTT)
	case c.Queue < 1 || c.Queue > MaxQueue:
		return fmt.Errorf("queue: want 1 to %d segments", MaxQueue)
	case c.Segments < 0 || c.Segments > MaxSegments:
		return fmt.Errorf("segments: want 1 to %d", MaxSegments)
	case c.Duration <= 0 || c.Duration > MaxDuration:
		return fmt.Errorf("duration: want a time up to %v", MaxDuration)
	}
	for _, d := range c.Late {
		if d < 0 || d > MaxDuration {
			return errors.New("late: want a time that is not negative, up to an hour")
		}
	}
	return nil
}
