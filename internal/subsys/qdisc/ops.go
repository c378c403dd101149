package qdisc

import "context"

// Op is an operation of a discipline: a member of struct Qdisc_ops.
type Op string

// Operations.
const (
	OpEnqueue Op = "enqueue"
	OpDequeue Op = "dequeue"
	OpInit    Op = "init"
	OpReset   Op = "reset"
	OpDestroy Op = "destroy"
)

// Operations lists all of them, as struct Qdisc_ops does. A discipline must implement each
// (bpf_qdisc_validate).
var Operations = []Op{OpEnqueue, OpDequeue, OpInit, OpReset, OpDestroy}

// Field is a number of struct Qdisc that programs and the kernel share.
type Field uint8

// The fields.
const (
	FieldQlen Field = iota // q.qlen
	FieldLimit
	FieldBacklog // of qstats
	FieldDrops
	FieldRequeues
	FieldOverlimits
	FieldBytes // of bstats
	FieldPackets
	Fields // their number
)

// Results of enqueue (NET_XMIT_*).
const (
	XmitSuccess = 0
	XmitDrop    = 1
	XmitCN      = 2 // congestion: another packet was dropped
)

// Ops is the discipline: it runs programs. An error ends the simulation.
type Ops interface {
	// Load and Store access a field of struct Qdisc.
	Load(Field) uint64
	Store(Field, uint64)
	// Make creates the sk_buff of a packet that arrives, Free frees it.
	Make(*Packet) error
	Free(*Packet)
	// Enqueue calls the operation and returns its result, and the packets in the list to free, in
	// its order.
	Enqueue(*Packet) (int64, []*Packet, error)
	// Dequeue returns the packet to send; nil for none.
	Dequeue() (*Packet, error)
	// Init, Reset and Destroy call the operations.
	Init() (int64, error)
	Reset() error
	Destroy() error
	// Pass lets time pass until a point of simulated time, or until something of the machine's own
	// is due, such as a timer, whose callback it runs. It returns the time that is reached.
	Pass(ctx context.Context, now, until uint64) (uint64, error)
}

// during runs an operation.
func (s *Sim) during(op Op, do func() error) {
	if s.events.Err() != nil {
		return
	}
	s.in = op
	s.result.Calls[op]++
	s.events.Fail(do())
	s.in = ""
	s.sample()
}

// enqueue is __dev_xmit_skb.
func (s *Sim) enqueue(p *Packet) {
	s.arrived(p)
	if err := s.ops.Make(p); err != nil {
		s.events.Fail(err)
		return
	}
	var free []*Packet
	s.enter(p)
	s.during(OpEnqueue, func() (err error) {
		p.Ret, free, err = s.ops.Enqueue(p)
		return err
	})
	s.qdiscRun()
	for _, d := range free {
		s.dropped(d, d.By)
	}
}

// dequeue calls the operation; nil means that there is nothing to send, now.
func (s *Sim) dequeue() (p *Packet) {
	if !s.events.Happens() {
		return nil
	}
	s.during(OpDequeue, func() (err error) {
		if p, err = s.ops.Dequeue(); p != nil {
			p.state, p.Dequeued = dequeued, s.Now()
			s.held(-1, -p.Size)
		}
		return err
	})
	return p
}

// reset is qdisc_reset.
func (s *Sim) reset() {
	s.during(OpReset, s.ops.Reset)
	s.watchdog.armed = false // bpf_qdisc_reset_destroy_epilogue
	for _, p := range s.requeued {
		s.held(-1, -p.Size)
		s.dropped(p, OpReset)
	}
	s.requeued = nil
	s.ops.Store(FieldQlen, 0)
	s.ops.Store(FieldBacklog, 0)
}
