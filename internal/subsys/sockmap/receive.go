package sockmap

import "math"

// strpMsg is a message that the parser collects (struct _strp_msg): segments from the first one
// that has a part of it.
type strpMsg struct {
	Data
	off   int // where the message begins
	accum int // bytes of it so far
	full  int // its length, 0 if unknown
}

// arrive handles a segment that a socket receives. Only sockets of maps with a verdict program have
// other than the usual queue; a parser needs a stream verdict (sock_map_link).
func (s *Sim) arrive(k *sock, data []byte) error {
	switch {
	case len(data) == 0:
		return nil
	case !k.InMap || k.Progs&(StreamVerdict|Verdict) == 0:
		s.queue(k, data)
		return nil
	case k.Progs&Parser != 0 && k.Progs&StreamVerdict != 0:
		return s.parse(k, data)
	}
	return s.judge(k, Data{First: data}, nil)
}

// parse cuts messages out of segments (__strp_recv). Programs see all of the segments of a message,
// also what is before and after it.
func (s *Sim) parse(k *sock, seg []byte) error {
	if k.stopped {
		k.behind += len(seg)
		return nil
	}
	for eaten := 0; eaten < len(seg); {
		rest := len(seg) - eaten
		m := k.head
		fresh := 0 // where the new segment begins in what the program sees
		if m == nil {
			m = &strpMsg{Data: Data{First: seg}, off: eaten}
			k.head = m
			fresh = -eaten
		} else {
			fresh = len(m.First) + len(m.Rest) - m.off
			m.Rest = append(m.Rest, seg[eaten:]...)
			s.held += rest
		}
		if m.full == 0 {
			if err := s.call(); err != nil {
				return err
			}
			n, err := s.progs.Parse(k.Name, m.Data)
			if err != nil {
				return err
			}
			if n == 0 { // needs more to know the length
				m.accum += rest
				return nil
			}
			switch {
			case n > maxMessage:
				n = -eMSGSIZE
			case n > 0 && int(n) <= fresh:
				n = -ePROTO
			}
			if n < 0 { // strp_parser_err
				k.r.Err, k.stopped, k.head = int(n), true, nil
				k.r.Dropped += m.accum
				k.behind += rest
				return nil
			}
			m.full = int(n)
		}
		extra := m.accum + rest - m.full
		if extra < 0 {
			m.accum += rest
			return nil
		}
		eaten += rest - extra
		k.head = nil
		k.r.Messages = append(k.r.Messages, m.full)
		if err := s.judge(k, m.Data, m); err != nil {
			return err
		}
	}
	return nil
}

// judge runs the verdict program on a segment or a message of the parser (sk_psock_verdict_recv,
// sk_psock_strp_read), and does what it says (sk_psock_verdict_apply).
func (s *Sim) judge(k *sock, d Data, m *strpMsg) error {
	if err := s.call(); err != nil {
		return err
	}
	a, err := s.progs.Verdict(k.Name, d)
	if err != nil {
		return err
	}
	data, size := a.Data, len(d.First)+len(d.Rest)
	if m != nil {
		size = m.full
		if a.Ret == skPass { // offset and length of the message count, whatever the program did to the packet
			data = data[min(m.off, len(data)):min(m.off+m.full, len(data))]
		}
	}
	switch mapped(a) {
	case evalPass:
		if k.broken {
			k.r.Dropped += size
			return nil
		}
		s.queue(k, data)
	case evalRedirect:
		t := s.socks[a.Target]
		switch {
		case t == nil || !t.InMap || t.broken: // sk_psock_skb_redirect
			k.r.Dropped += size
		case a.Ingress: // no program of the target sees it (sk_psock_backlog)
			s.queue(t, data)
		default:
			s.pass(hop{to: t, data: data, send: true})
		}
	default:
		k.r.Dropped += size
	}
	return nil
}

// verdict is enum __sk_action.
type verdict int

const (
	evalNone verdict = iota
	evalDrop
	evalPass
	evalRedirect
)

const skPass = 1

// mapped is sk_psock_map_verd.
func mapped(a Answer) verdict {
	switch {
	case a.Ret != skPass:
		return evalDrop
	case a.Target != "":
		return evalRedirect
	}
	return evalPass
}

// msg is a message that is being sent (struct sk_msg).
type msg struct {
	data        []byte
	apply, cork uint32
}

// sendmsg is tcp_bpf_sendmsg.
func (s *Sim) sendmsg(k *sock, data []byte) (int, error) {
	if !k.InMap || k.Progs&Message == 0 {
		s.transmit(k, data)
		return len(data), nil
	}
	if len(data) == 0 {
		return 0, nil
	}
	m := k.cork
	if m == nil {
		m = &msg{}
	}
	m.data = append(m.data, data...)
	s.held += len(data)
	copied := len(data)
	if k.corkBytes > 0 {
		size := uint32(min(uint64(len(data)), math.MaxUint32))
		k.corkBytes -= min(size, k.corkBytes)
		if k.corkBytes > 0 && len(m.data) < fullMsg {
			return copied, nil
		}
		k.eval, k.corkBytes = evalNone, 0 // the program runs on all of it
	}
	errno, err := s.sendVerdict(k, m, &copied)
	switch {
	case err != nil:
		return 0, err
	case copied > 0:
		return copied, nil
	}
	return errno, nil
}

// sendVerdict is tcp_bpf_send_verdict. It returns 0 or a negative error.
func (s *Sim) sendVerdict(k *sock, m *msg, copied *int) (int, error) {
	for first := true; first || len(m.data) > 0; first = false {
		delta := 0
		if k.eval == evalNone {
			delta = len(m.data)
			if err := s.askMessage(k, m); err != nil {
				return 0, err
			}
			delta -= len(m.data)
		}
		if m.cork > 0 && uint64(m.cork) > uint64(len(m.data)) && len(m.data) < fullMsg {
			k.corkBytes, k.cork = m.cork-uint32(len(m.data)), m
			return 0, nil
		}
		n := len(m.data)
		if k.apply > 0 && uint64(k.apply) < uint64(n) {
			n = int(k.apply)
		}
		now := m.data[:n:n]
		m.data = m.data[n:]
		k.apply -= min(k.apply, uint32(n)) // sk_msg_apply_bytes
		corked := false
		switch k.eval {
		case evalPass:
			s.transmit(k, now)
		case evalRedirect:
			corked = k.cork != nil
			k.cork = nil
			if !s.forward(k, now) {
				free := n + len(m.data)
				k.r.Dropped += free
				if m.data = nil; !corked {
					if k.apply == 0 { // before the bytes go, and however that ends
						k.eval, k.redirect = evalNone, ""
					}
					*copied -= free
					return -ePIPE, nil
				}
			}
		default: // all of it is freed, and the verdict stays
			k.r.Dropped += n + len(m.data)
			*m = msg{}
			*copied -= n + delta
			return -eACCES, nil
		}
		if k.apply == 0 {
			k.eval, k.redirect = evalNone, ""
		}
		if corked { // what is left of it goes with it
			k.r.Dropped += len(m.data)
			m.data = nil
		}
	}
	return 0, nil
}

// askMessage is sk_psock_msg_verdict.
func (s *Sim) askMessage(k *sock, m *msg) error {
	if err := s.call(); err != nil {
		return err
	}
	a, err := s.progs.Message(k.Name, Data{First: m.data})
	if err != nil {
		return err
	}
	s.held += max(len(a.Data)-len(m.data), 0)
	m.data = a.Data
	if a.Apply != nil {
		m.apply = *a.Apply
	}
	if a.Cork != nil {
		m.cork = *a.Cork
	}
	k.apply = m.apply
	if k.eval = mapped(a); k.eval == evalRedirect {
		k.redirect, k.ingress = a.Target, a.Ingress
	}
	return nil
}

// forward is tcp_bpf_sendmsg_redir: no program of the target sees what another socket's message
// program redirects. It returns false if the target is in no map any more.
func (s *Sim) forward(k *sock, data []byte) bool {
	t := s.socks[k.redirect]
	if t == nil || !t.InMap {
		return false
	}
	if k.ingress {
		s.queue(t, data)
	} else {
		s.transmit(t, data)
	}
	return true
}
