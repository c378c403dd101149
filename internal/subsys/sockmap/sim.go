package sockmap

import (
	"context"
	"errors"
	"fmt"
)

// Kinds of programs that a map can have, as bits of [Socket.Progs].
const (
	Parser        = 1 << iota // sk_skb/stream_parser
	StreamVerdict             // sk_skb/stream_verdict
	Verdict                   // sk_skb/verdict
	Message                   // sk_msg
)

// Socket is a socket of the simulation. Progs are the programs of the maps it is in, InMap says
// whether it is in one. Peer is the socket at the other end of its connection; "" for one that is
// not simulated.
type Socket struct {
	Name  string
	InMap bool
	Progs int
	Peer  string
}

// Data are the bytes that a program sees: those of the first segment, and those of later ones.
type Data struct{ First, Rest []byte }

// All returns the bytes together.
func (d Data) All() []byte { return append(append([]byte(nil), d.First...), d.Rest...) }

// Answer is what a program decided: its return value, the socket of a redirect ("" for none), and
// for messages how many bytes the verdict is about and how many it waits for, nil if it did not
// say.
type Answer struct {
	Ret         int32
	Target      string
	Ingress     bool
	Apply, Cork *uint32
	Data        []byte // the bytes after the program
}

// Programs runs programs for a socket.
type Programs interface {
	Parse(socket string, d Data) (int32, error)
	Verdict(socket string, d Data) (Answer, error)
	Message(socket string, d Data) (Answer, error)
}

// Result is what became of a socket's bytes.
type Result struct {
	Name string
	// Received are the bytes that user space can read from the socket, Sent those that left it.
	Received, Sent []byte
	// Dropped counts bytes that programs dropped. Waiting counts those of an incomplete message, of
	// a corked one, or behind a parser that failed.
	Dropped, Waiting int
	// Messages are the lengths of the messages that the parser cut.
	Messages []int
	// Err is the error that the parser's result caused (-EPROTO, -EMSGSIZE, its own), 0 for none:
	// the socket is broken.
	Err int
}

// Limits of a simulation.
const (
	MaxBytes   = 32 << 10      // of one step: a struct sk_msg holds it
	maxHops    = 10_000        // times that the bytes of one step are passed on, one after the other
	maxMoved   = 64 << 20      // bytes that one step moves
	maxHeld    = 128 << 20     // bytes that all sockets have received, sent and keep
	maxCalls   = 1 << 20       // programs that run in the whole simulation
	maxMessage = 131072        // sk_rcvbuf of a new TCP socket (tcp_rmem[1]), the parser's limit
	fullMsg    = 17 * MaxBytes // of a corked message: MAX_MSG_FRAGS pieces of memory, the largest that sk_page_frag_refill gives
)

// Errors of a simulation that has no end or is too large.
var (
	// ErrLoop means that sockets send the same bytes to each other without an end.
	ErrLoop = errors.New("sockets pass the bytes on to each other without an end")
	// ErrMuch means that the steps are too many for one run.
	ErrMuch = fmt.Errorf("the sockets of a run hold at most %d MiB, and programs run for them at most %d times: make it several runs", maxHeld>>20, maxCalls)
)

// Errors that system calls return.
const (
	eACCES   = 13
	ePIPE    = 32
	eMSGSIZE = 90
	ePROTO   = 71
)

// sock is the state of a socket: of its struct sk_psock, its parser and its queues.
type sock struct {
	Socket
	r       Result
	head    *strpMsg
	stopped bool
	behind  int  // bytes that arrived after the parser failed
	broken  bool // a send for another socket failed, and nothing is queued any more (SK_PSOCK_TX_ENABLED)

	eval      verdict
	apply     uint32
	corkBytes uint32
	cork      *msg
	redirect  string
	ingress   bool
}

// hop is a delivery that is due.
type hop struct {
	to   *sock
	data []byte
	// send: data is sent by the socket (skb_send_sock), otherwise it arrives.
	send bool
	// passed is how often the bytes were passed on before.
	passed int
}

// Sim is a simulation.
type Sim struct {
	progs Programs
	socks map[string]*sock
	order []*sock
	due   []hop
	now   int // of the delivery that is being made, hop.passed
	held  int
	calls int
}

// New returns a simulation of sockets. Their names must differ, and peers be among them.
func New(sockets []Socket, p Programs) (*Sim, error) {
	s := &Sim{progs: p, socks: map[string]*sock{}}
	for _, x := range sockets {
		if s.socks[x.Name] != nil {
			return nil, fmt.Errorf("socket %s is defined twice", x.Name)
		}
		k := &sock{Socket: x, r: Result{Name: x.Name}}
		s.socks[x.Name], s.order = k, append(s.order, k)
	}
	for _, x := range sockets {
		if x.Peer != "" && s.socks[x.Peer] == nil {
			return nil, fmt.Errorf("socket %s has peer %s, which is not defined", x.Name, x.Peer)
		}
	}
	return s, nil
}

// Results returns what became of the bytes, by socket in the order of [New].
func (s *Sim) Results() []Result {
	var out []Result
	for _, k := range s.order {
		r := k.r
		r.Waiting = k.behind
		if k.head != nil {
			r.Waiting += len(k.head.All()) - k.head.off
		}
		if k.cork != nil {
			r.Waiting += len(k.cork.data)
		}
		out = append(out, r)
	}
	return out
}

// Receive lets a segment arrive at a socket.
func (s *Sim) Receive(ctx context.Context, name string, data []byte) error {
	s.now = -1
	s.pass(hop{to: s.socks[name], data: data})
	return s.settle(ctx)
}

// Send calls sendmsg on a socket, and returns the call's result: the number of bytes, or a negative
// error.
func (s *Sim) Send(ctx context.Context, name string, data []byte) (int, error) {
	s.now = -1
	n, err := s.sendmsg(s.socks[name], data)
	if err != nil {
		s.due = nil
		return 0, err
	}
	return n, s.settle(ctx)
}

// settle makes the deliveries that are due, and those that they cause.
func (s *Sim) settle(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			s.due = nil // of a step that failed
		}
	}()
	for moved := 0; len(s.due) > 0; {
		if err := ctx.Err(); err != nil {
			return err
		}
		h := s.due[0]
		moved += len(h.data)
		if h.passed == maxHops || moved > maxMoved {
			return ErrLoop
		}
		s.due, s.now = s.due[1:], h.passed
		if h.send {
			n, err := s.sendmsg(h.to, h.data)
			if err != nil {
				return err
			}
			h.to.broken = h.to.broken || n <= 0 && len(h.data) > 0
		} else if err := s.arrive(h.to, h.data); err != nil {
			return err
		}
		if s.held > maxHeld {
			return ErrMuch
		}
	}
	return nil
}

// pass makes a delivery due, after those that are.
func (s *Sim) pass(h hop) {
	h.passed = s.now + 1
	s.due = append(s.due, h)
}

// call counts a call of a program.
func (s *Sim) call() error {
	if s.calls++; s.calls > maxCalls || s.held > maxHeld {
		return ErrMuch
	}
	return nil
}

// queue makes bytes readable for user space.
func (s *Sim) queue(k *sock, data []byte) {
	s.held += len(data)
	k.r.Received = append(k.r.Received, data...)
}

// transmit lets bytes leave a socket. They arrive at its peer.
func (s *Sim) transmit(k *sock, data []byte) {
	s.held += len(data)
	k.r.Sent = append(k.r.Sent, data...)
	if p := s.socks[k.Peer]; p != nil {
		s.pass(hop{to: p, data: data})
	}
}
