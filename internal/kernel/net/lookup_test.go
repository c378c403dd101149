package net

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// socketWith is an open socket without a struct sock; change sets its values.
func socketWith(h *Host, change func(s *Socket)) *Socket {
	s := &Socket{k: h, role: "socket", open: true}
	s.plain(SockSpec{Protocol: ProtoUDP, State: TCPClose})
	s.vals[SockSrcPort] = 53
	change(s)
	h.sockets = append(h.sockets, s)
	return s
}

func (s *Socket) setWords(at Value, address ...byte) {
	for i := 0; i < len(address); i += 4 {
		s.vals[at+Value(i/4)] = uint64(s.k.Order().Uint32(address[i:]))
	}
}

func v6(last ...byte) []byte { return append(make([]byte, 16-len(last)), last...) }

// TestWhichSocketAPacketGets: each thing that a socket may be bound to, with packets that fit it and
// that do not.
func TestWhichSocketAPacketGets(t *testing.T) {
	from, to := []byte{10, 0, 0, 1}, []byte{10, 0, 0, 2}
	mapped := v6(0xff, 0xff, 10, 0, 0, 2)
	port := func(h *Host, n uint16) uint64 {
		return uint64(h.Order().Uint16([]byte{byte(n >> 8), byte(n)}))
	}
	for _, tt := range []struct {
		name     string
		change   func(s *Socket)
		protocol uint16
		from, to []byte
		fromPort uint16
		device   uint32
		want     int // its score, -1 if it gets none
	}{
		{"any address", func(*Socket) {}, ProtoUDP, from, to, 99, 1, 1},
		{"the address", func(s *Socket) { s.setWords(SockSrcIP4, to...) }, ProtoUDP, from, to, 99, 1, 5},
		{"another address", func(s *Socket) { s.setWords(SockSrcIP4, from...) }, ProtoUDP, from, to, 99, 1, -1},
		{"the device", func(s *Socket) { s.vals[SockBoundDev] = 1 }, ProtoUDP, from, to, 99, 1, 5},
		{"another device", func(s *Socket) { s.vals[SockBoundDev] = 2 }, ProtoUDP, from, to, 99, 1, -1},
		{"the peer", func(s *Socket) { s.vals[SockDstPort] = port(s.k, 99); s.setWords(SockDstIP4, from...) }, ProtoUDP, from, to, 99, 1, 17},
		{"the peer's port", func(s *Socket) { s.vals[SockDstPort] = port(s.k, 99) }, ProtoUDP, from, to, 99, 1, 17},
		{"another port of it", func(s *Socket) { s.vals[SockDstPort] = port(s.k, 99) }, ProtoUDP, from, to, 98, 1, -1},
		{"another peer", func(s *Socket) { s.vals[SockDstPort] = port(s.k, 99); s.setWords(SockDstIP4, to...) }, ProtoUDP, from, to, 99, 1, -1},
		{"TCP that listens", func(s *Socket) { s.vals[SockProtocol], s.vals[SockState] = ProtoTCP, TCPListen }, ProtoTCP, from, to, 99, 1, 1},
		{"and had a peer", func(s *Socket) {
			s.vals[SockProtocol], s.vals[SockState], s.vals[SockDstPort] = ProtoTCP, TCPListen, port(s.k, 7)
		}, ProtoTCP, from, to, 99, 1, 1},
		{"TCP that does not", func(s *Socket) { s.vals[SockProtocol] = ProtoTCP }, ProtoTCP, from, to, 99, 1, -1},
		{"an established connection", func(s *Socket) {
			s.vals[SockProtocol], s.vals[SockState], s.vals[SockDstPort] = ProtoTCP, TCPEstablished, port(s.k, 99)
		}, ProtoTCP, from, to, 99, 1, 17},
		{"IPv6 for IPv4", func(s *Socket) { s.vals[SockFamily] = uapi.AFInet6 }, ProtoUDP, from, to, 99, 1, 0},
		{"IPv6 only", func(s *Socket) { s.vals[SockFamily], s.vals[sockIPv6Only] = uapi.AFInet6, 1 }, ProtoUDP, from, to, 99, 1, -1},
		{"IPv6 only for IPv6", func(s *Socket) { s.vals[SockFamily], s.vals[sockIPv6Only] = uapi.AFInet6, 1 }, ProtoUDP, v6(1), v6(2), 99, 1, 0},
		{"a mapped address", func(s *Socket) { s.vals[SockFamily] = uapi.AFInet6; s.setWords(SockSrcIP6, mapped...) }, ProtoUDP, from, to, 99, 1, 4},
		{"almost a mapped one", func(s *Socket) {
			s.vals[SockFamily] = uapi.AFInet6
			s.setWords(SockSrcIP6, v6(0xff, 0xfe, 10, 0, 0, 2)...)
		}, ProtoUDP, from, to, 99, 1, -1},
		{"almost one", func(s *Socket) {
			s.vals[SockFamily] = uapi.AFInet6
			s.setWords(SockSrcIP6, v6(0xfe, 0xff, 10, 0, 0, 2)...)
		}, ProtoUDP, from, to, 99, 1, -1},
		{"almost another", func(s *Socket) {
			s.vals[SockFamily] = uapi.AFInet6
			s.setWords(SockSrcIP6, append([]byte{1}, mapped[1:]...)...)
		}, ProtoUDP, from, to, 99, 1, -1},
		{"an IPv6 address", func(s *Socket) { s.vals[SockFamily] = uapi.AFInet6; s.setWords(SockSrcIP6, v6(2)...) }, ProtoUDP, v6(1), v6(2), 99, 1, 4},
		{"IPv4 for IPv6", func(*Socket) {}, ProtoUDP, v6(1), v6(2), 99, 1, -1},
		{"another protocol", func(*Socket) {}, ProtoTCP, from, to, 99, 1, -1},
		{"another port", func(s *Socket) { s.vals[SockSrcPort] = 54 }, ProtoUDP, from, to, 99, 1, -1},
		{"a closed one", func(s *Socket) { s.open = false }, ProtoUDP, from, to, 99, 1, -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t)
			s := socketWith(h, tt.change)
			got := h.LookupSocket(tt.protocol, tt.from, tt.fromPort, tt.to, 53, tt.device)
			assert.Equal(t, tt.want >= 0, got == s)
			if tt.want >= 0 {
				assert.Equal(t, tt.want, s.score(tt.from, tt.fromPort, tt.to, tt.device))
			}
		})
	}
	h := newHost(t)
	first := socketWith(h, func(*Socket) {})
	second := socketWith(h, func(*Socket) {})
	assert.Same(t, first, h.LookupSocket(ProtoUDP, from, 99, to, 53, 1), "of equal ones the first")
	second.setWords(SockSrcIP4, to...)
	assert.Same(t, second, h.LookupSocket(ProtoUDP, from, 99, to, 53, 1), "the more specific one")
}

// TestWhichSocketsShareAPort (reuseport_add_sock): each value in which they must be equal.
func TestWhichSocketsShareAPort(t *testing.T) {
	share := func(s *Socket) { s.vals[sockReuseport] = 1 }
	for name, tt := range map[string]struct {
		change func(s *Socket)
		want   bool
	}{
		"equal":            {func(*Socket) {}, true},
		"without the flag": {func(s *Socket) { s.vals[sockReuseport] = 0 }, false},
		"unbound":          {func(s *Socket) { s.vals[SockSrcPort] = 0 }, false},
		"another port":     {func(s *Socket) { s.vals[SockSrcPort] = 54 }, false},
		"another device":   {func(s *Socket) { s.vals[SockBoundDev] = 1 }, false},
		"another address":  {func(s *Socket) { s.setWords(SockSrcIP4, 1, 2, 3, 4) }, false},
		"another family":   {func(s *Socket) { s.vals[SockFamily] = uapi.AFInet6 }, false},
		"TCP":              {func(s *Socket) { s.vals[SockProtocol], s.vals[SockState] = ProtoTCP, TCPListen }, false},
	} {
		h := newHost(t)
		a, b := socketWith(h, share), socketWith(h, func(s *Socket) { share(s); tt.change(s) })
		assert.Equal(t, tt.want, a.SharesPort(b), name)
		assert.Equal(t, tt.want, b.SharesPort(a), name)
		assert.True(t, a.SharesPort(a), name)
	}
	h := newHost(t)
	plain := socketWith(h, func(*Socket) {})
	assert.False(t, plain.SharesPort(plain), "it is in no group")
	tcp := socketWith(h, func(s *Socket) { share(s); s.vals[SockProtocol] = ProtoTCP })
	assert.False(t, tcp.SharesPort(tcp), "it does not listen")
}

// TestBinding (__inet_bind): by state, port and family.
func TestBinding(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(s *Socket)
		addr   []byte
		want   uapi.Errno
	}{
		{"IPv4", func(*Socket) {}, []byte{1, 2, 3, 4}, 0},
		{"an established one", func(s *Socket) { s.vals[SockState] = TCPEstablished }, []byte{1, 2, 3, 4}, 0},
		{"one that listens", func(s *Socket) { s.vals[SockState] = TCPListen }, []byte{1, 2, 3, 4}, uapi.EINVAL},
		{"a bound one", func(s *Socket) { s.vals[SockSrcPort] = 1 }, []byte{1, 2, 3, 4}, uapi.EINVAL},
		{"IPv6", func(s *Socket) { s.vals[SockFamily] = uapi.AFInet6 }, v6(1), 0},
		{"IPv6 for IPv4", func(s *Socket) { s.vals[SockFamily] = uapi.AFInet6 }, []byte{1, 2, 3, 4}, uapi.EAFNOSUPPORT},
		{"IPv4 for IPv6", func(*Socket) {}, v6(1), uapi.EAFNOSUPPORT},
	} {
		for _, port := range []uint16{0, 80} {
			s := socketWith(newHost(t), func(s *Socket) { s.vals[SockSrcPort] = 0; tt.change(s) })
			had := s.vals[SockSrcPort]
			assert.Equal(t, tt.want, s.Bind(tt.addr, port), tt.name)
			if tt.want != 0 {
				continue
			}
			assert.Equal(t, had+uint64(port), s.vals[SockSrcPort], tt.name)
			got, ok := s.address(len(tt.addr) == 16, SockSrcIP4, SockSrcIP6)
			assert.True(t, ok)
			assert.Equal(t, tt.addr, got, tt.name)
		}
	}
}

// TestReferencesOfSockets: which pointers to sockets count (sk_is_refcounted).
func TestReferencesOfSockets(t *testing.T) {
	for _, tt := range []struct {
		protocol uint64
		state    uint64
		want     bool
	}{
		{ProtoTCP, TCPEstablished, true}, {ProtoTCP, TCPListen, false}, {ProtoUDP, TCPClose, false}, {ProtoTCP, TCPTimeWait, true}, {ProtoTCP, TCPNewSynRecv, true}, {ProtoUDP, TCPNewSynRecv, true},
	} {
		s := socketWith(newHost(t), func(s *Socket) { s.vals[SockProtocol], s.vals[SockState] = tt.protocol, tt.state })
		assert.Equal(t, tt.want, s.Refcounted(), "%+v", tt)
	}
	s := socketWith(newHost(t), func(*Socket) {})
	s.SetNumber("mark", 7)
	s.SetNumber("no_such_number", 8)
	v, ok := s.Number("mark")
	assert.True(t, ok)
	assert.EqualValues(t, 7, v)
	_, ok = s.Number("no_such_number")
	assert.False(t, ok)
	assert.Same(t, s, s.k.SocketAt(s.Addr()))
	assert.Nil(t, s.k.SocketAt(s.Addr()+4))
	assert.Same(t, s, s.k.SocketView(s.FullAddr()))
	assert.Nil(t, s.k.SocketView(s.FullAddr()+4))
	assert.Nil(t, s.k.SocketView(1))
	unix := &Socket{k: s.k}
	unix.plain(SockSpec{Family: uapi.AFUnix})
	assert.Zero(t, unix.Protocol())
	tcp := &Socket{k: s.k}
	tcp.plain(SockSpec{})
	assert.EqualValues(t, ProtoTCP, tcp.Protocol())
	assert.EqualValues(t, TCPEstablished, tcp.State())
}
