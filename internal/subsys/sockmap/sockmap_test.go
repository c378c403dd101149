package sockmap

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fake are programs as Go functions; seen collects what they saw.
type fake struct {
	parse   func(d []byte) int32
	verdict func(d []byte) Answer
	message func(d []byte) Answer
	seen    []string
}

func (f *fake) Parse(_ string, d Data) (int32, error) { return f.parse(d.All()), nil }

func (f *fake) Verdict(name string, d Data) (Answer, error) {
	f.seen = append(f.seen, name+" "+string(d.All()))
	a := f.verdict(d.All())
	a.Data = d.All()
	return a, nil
}

func (f *fake) Message(name string, d Data) (Answer, error) {
	f.seen = append(f.seen, name+" "+string(d.All()))
	a := f.message(d.All())
	if a.Data == nil {
		a.Data = d.All()
	}
	return a, nil
}

func n32(v uint32) *uint32 { return &v }

func simulate(t *testing.T, f *fake, sockets ...Socket) *Sim {
	t.Helper()
	s, err := New(sockets, f)
	require.NoError(t, err)
	return s
}

func (s *Sim) result(name string) Result {
	for _, r := range s.Results() {
		if r.Name == name {
			return r
		}
	}
	return Result{}
}

// lengthFirst is a parser of messages that begin with their length.
func lengthFirst(d []byte) int32 {
	if len(d) < 2 {
		return 0
	}
	return int32(d[0]-'0')*10 + int32(d[1]-'0')
}

// TestParser: messages over several segments, and several in one, of which the program sees all
// (__strp_recv).
func TestParser(t *testing.T) {
	pass := func([]byte) Answer { return Answer{Ret: skPass} }
	for _, c := range []struct {
		name     string
		parse    func([]byte) int32
		segments []string
		received string
		messages []int
		waiting  int
		dropped  int
		err      int
		seen     []string
	}{
		{"one segment", lengthFirst, []string{"05abc"}, "05abc", []int{5}, 0, 0, 0, []string{"a 05abc"}},
		{"two segments", lengthFirst, []string{"06a", "bcd"}, "06abcd", []int{6}, 0, 0, 0, []string{"a 06abcd"}},
		{"the length is split", lengthFirst, []string{"0", "4ab"}, "04ab", []int{4}, 0, 0, 0, []string{"a 04ab"}},
		{"incomplete", lengthFirst, []string{"08ab"}, "", nil, 4, 0, 0, nil},
		{"two in one segment", func([]byte) int32 { return 3 }, []string{"03a03b"}, "03a03b", []int{3, 3}, 0, 0, 0, []string{"a 03a03b", "a 03a03b"}},
		{"the rest begins the next", func([]byte) int32 { return 4 }, []string{"aaaabb", "bb"}, "aaaabbbb", []int{4, 4}, 0, 0, 0, []string{"a aaaabb", "a aaaabbbb"}},
		{"the parser fails", func([]byte) int32 { return -22 }, []string{"ab", "cd"}, "", nil, 4, 0, -22, nil},
		{"too long", func([]byte) int32 { return maxMessage + 1 }, []string{"ab"}, "", nil, 2, 0, -eMSGSIZE, nil},
		{"within earlier segments", func(d []byte) int32 { return int32(len(d)/4) * 2 }, []string{"ab", "cd"}, "", nil, 2, 2, -ePROTO, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &fake{parse: c.parse, verdict: pass}
			s := simulate(t, f, Socket{Name: "a", InMap: true, Progs: Parser | StreamVerdict})
			for _, seg := range c.segments {
				require.NoError(t, s.Receive(t.Context(), "a", []byte(seg)))
			}
			r := s.result("a")
			assert.Equal(t, c.received, string(r.Received))
			assert.Equal(t, c.messages, r.Messages)
			assert.Equal(t, []int{c.waiting, c.dropped, c.err}, []int{r.Waiting, r.Dropped, r.Err})
			assert.Equal(t, c.seen, f.seen)
		})
	}
}

// TestRedirects: ingress reaches the target's queue without a program, egress of an sk_skb program
// passes the target's message program, and what leaves a socket arrives at its peer, where programs
// run.
func TestRedirects(t *testing.T) {
	for _, c := range []struct {
		name           string
		a              Answer
		received, sent string // of the target
		seen           []string
		dropped        int
	}{
		{"pass", Answer{Ret: skPass}, "", "", []string{"a x"}, 0},
		{"drop", Answer{Ret: 0, Target: "b"}, "", "", []string{"a x"}, 1},
		{"another value", Answer{Ret: 7}, "", "", []string{"a x"}, 1},
		{"ingress", Answer{Ret: skPass, Target: "b", Ingress: true}, "x", "", []string{"a x"}, 0},
		{"egress", Answer{Ret: skPass, Target: "b"}, "", "x", []string{"a x", "b x", "c x"}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &fake{message: func([]byte) Answer { return Answer{Ret: skPass} }}
			f.verdict = func([]byte) Answer {
				if len(f.seen) == 1 {
					return c.a
				}
				return Answer{Ret: skPass}
			}
			s := simulate(t, f, Socket{Name: "a", InMap: true, Progs: Verdict}, Socket{Name: "b", InMap: true, Progs: Verdict | Message, Peer: "c"}, Socket{Name: "c", InMap: true, Progs: Verdict})
			require.NoError(t, s.Receive(t.Context(), "a", []byte("x")))
			assert.Equal(t, c.seen, f.seen)
			assert.Equal(t, c.received, string(s.result("b").Received))
			assert.Equal(t, c.sent, string(s.result("b").Sent))
			assert.Equal(t, c.sent, string(s.result("c").Received))
			assert.Equal(t, c.dropped, s.result("a").Dropped)
		})
	}
}

// TestOutsideOfMaps: no program sees the bytes of a socket that is in no map.
func TestOutsideOfMaps(t *testing.T) {
	f := &fake{}
	s := simulate(t, f, Socket{Name: "a", Progs: Verdict | Message, Peer: "b"}, Socket{Name: "b"})
	n, err := s.Send(t.Context(), "a", []byte("hi"))
	require.NoError(t, err)
	assert.Equal(t, 2, n)
	assert.Equal(t, "hi", string(s.result("b").Received))
	assert.Empty(t, f.seen)
}

// TestMessages: verdicts of sk_msg programs over several calls of sendmsg (tcp_bpf_send_verdict).
func TestMessages(t *testing.T) {
	for _, c := range []struct {
		name    string
		answers []Answer // of the calls of the program, the last one of all further ones
		sends   []string
		rets    []int
		sent    string // by a
		got     string // by b
		dropped int
		waiting int
		seen    []string
	}{
		{"pass", []Answer{{Ret: skPass}}, []string{"ab", "c"}, []int{2, 1}, "abc", "", 0, 0, []string{"a ab", "a c"}},
		{"a drop stays", []Answer{{}, {Ret: skPass}}, []string{"ab", "c"}, []int{-13, -13}, "", "", 3, 0, []string{"a ab"}},
		{"apply over calls", []Answer{{Ret: skPass, Apply: n32(5)}, {}}, []string{"abc", "de", "f"}, []int{3, 2, -13}, "abcde", "", 1, 0, []string{"a abc", "a f"}},
		{"apply within a call", []Answer{{Ret: skPass, Apply: n32(2)}, {Ret: skPass, Target: "b", Ingress: true}}, []string{"abcd"}, []int{4}, "ab", "cd", 0, 0, []string{"a abcd", "a cd"}},
		{"cork", []Answer{{Ret: skPass, Cork: n32(4)}}, []string{"a", "bc", "d"}, []int{1, 2, 1}, "abcd", "", 0, 0, []string{"a a", "a abcd"}},
		{"cork waits", []Answer{{Ret: skPass, Cork: n32(4)}}, []string{"a", "bc"}, []int{1, 2}, "", "", 0, 3, []string{"a a"}},
		{"corked and redirected", []Answer{{Ret: skPass, Cork: n32(3)}, {Ret: skPass, Target: "b", Ingress: true}}, []string{"ab", "cd"}, []int{2, 2}, "", "abcd", 0, 0, []string{"a ab", "a abcd"}},
		{"data pushed", []Answer{{Ret: skPass, Data: []byte("xab")}}, []string{"ab"}, []int{2}, "xab", "", 0, 0, []string{"a ab"}},
		{"data popped and dropped", []Answer{{Data: []byte("a")}}, []string{"abc"}, []int{-13}, "", "", 1, 0, []string{"a abc"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &fake{}
			f.message = func([]byte) Answer { return c.answers[min(len(f.seen), len(c.answers))-1] }
			s := simulate(t, f, Socket{Name: "a", InMap: true, Progs: Message}, Socket{Name: "b", InMap: true, Progs: Message | Verdict})
			var rets []int
			for _, data := range c.sends {
				n, err := s.Send(t.Context(), "a", []byte(data))
				require.NoError(t, err)
				rets = append(rets, n)
			}
			a := s.result("a")
			assert.Equal(t, c.rets, rets)
			assert.Equal(t, []string{c.sent, c.got}, []string{string(a.Sent), string(s.result("b").Received)})
			assert.Equal(t, []int{c.dropped, c.waiting}, []int{a.Dropped, a.Waiting})
			assert.Equal(t, c.seen, f.seen)
		})
	}
}

// TestLoopEnds: two sockets that send everything back are stopped.
func TestLoopEnds(t *testing.T) {
	f := &fake{verdict: func([]byte) Answer { return Answer{Ret: skPass, Target: "a"} }}
	s := simulate(t, f, Socket{Name: "a", InMap: true, Progs: Verdict, Peer: "b"}, Socket{Name: "b", InMap: true, Progs: Verdict, Peer: "a"})
	assert.ErrorIs(t, s.Receive(t.Context(), "a", bytes.Repeat([]byte("x"), 3)), ErrLoop)
	assert.ErrorIs(t, s.Receive(t.Context(), "a", make([]byte, MaxBytes)), ErrLoop)
	assert.Less(t, len(s.Results()[0].Sent), maxMoved, "long segments end it earlier")
	_, err := New([]Socket{{Name: "a", Peer: "b"}}, f)
	assert.Error(t, err)
}

// TestManyMessagesAreNoLoop: each of many messages of one segment is passed on once.
func TestManyMessagesAreNoLoop(t *testing.T) {
	f := &fake{parse: func([]byte) int32 { return 1 }}
	f.verdict = func([]byte) Answer { return Answer{Ret: skPass, Target: "b"} }
	s := simulate(t, f, Socket{Name: "a", InMap: true, Progs: Parser | StreamVerdict}, Socket{Name: "b", InMap: true, Peer: "c"}, Socket{Name: "c"})
	data := bytes.Repeat([]byte("x"), maxHops+1)
	require.NoError(t, s.Receive(t.Context(), "a", data))
	assert.Equal(t, len(data), len(s.result("c").Received))
}

// TestStepsTogetherHaveALimit: however many steps, the bytes that sockets hold and the calls of
// programs end.
func TestStepsTogetherHaveALimit(t *testing.T) {
	pass := func([]byte) Answer { return Answer{Ret: skPass} }
	for _, c := range []struct {
		name string
		f    *fake
		a    Socket
		send bool
	}{
		{"received", &fake{}, Socket{Name: "a"}, false},
		{"sent", &fake{message: pass}, Socket{Name: "a"}, true},
		{"a parser that never knows the length", &fake{parse: func([]byte) int32 { return 0 }}, Socket{Name: "a", InMap: true, Progs: Parser | StreamVerdict}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := simulate(t, c.f, c.a)
			s.held = maxHeld - 3*MaxBytes
			data, err := make([]byte, MaxBytes), error(nil)
			for n := 0; err == nil; n++ {
				require.Less(t, n, 8)
				if c.send {
					_, err = s.Send(t.Context(), "a", data)
				} else {
					err = s.Receive(t.Context(), "a", data)
				}
				if err == nil && c.send {
					err = s.call() // what the next message asks first
				}
			}
			assert.ErrorIs(t, err, ErrMuch)
		})
	}
	t.Run("calls", func(t *testing.T) {
		f := &fake{verdict: func([]byte) Answer { return Answer{} }}
		s := simulate(t, f, Socket{Name: "a", InMap: true, Progs: Verdict})
		s.calls = maxCalls - 1
		require.NoError(t, s.Receive(t.Context(), "a", []byte("x")))
		assert.ErrorIs(t, s.Receive(t.Context(), "a", []byte("x")), ErrMuch)
	})
}

// TestCorkedMessagesAreFull: a message that has all the pieces of a sk_msg is judged, however many
// bytes the program waits for (sk_msg_full).
func TestCorkedMessagesAreFull(t *testing.T) {
	f := &fake{message: func([]byte) Answer { return Answer{Ret: skPass, Cork: n32(1<<32 - 1)} }}
	s := simulate(t, f, Socket{Name: "a", InMap: true, Progs: Message})
	data := make([]byte, MaxBytes)
	for range fullMsg / MaxBytes {
		n, err := s.Send(t.Context(), "a", data)
		require.NoError(t, err)
		assert.Equal(t, MaxBytes, n)
	}
	assert.Len(t, f.seen, 2, "the first piece and all of them")
	assert.Len(t, s.result("a").Sent, fullMsg)
	assert.Zero(t, s.result("a").Waiting)
	_, err := s.Send(t.Context(), "a", []byte("more"))
	require.NoError(t, err)
	assert.Equal(t, 4, s.result("a").Waiting, "it waits again")
}

// TestSmallAndLargeCounts: bpf_msg_apply_bytes and bpf_msg_cork_bytes at their limits.
func TestSmallAndLargeCounts(t *testing.T) {
	for _, c := range []struct {
		name           string
		a              Answer
		sends          []string
		sent           string
		calls, waiting int
	}{
		{"apply 0 is no limit", Answer{Ret: skPass, Apply: n32(0)}, []string{"ab", "c"}, "abc", 2, 0},
		{"apply the most", Answer{Ret: skPass, Apply: n32(1<<32 - 1)}, []string{"ab", "c"}, "abc", 1, 0},
		{"apply 1", Answer{Ret: skPass, Apply: n32(1)}, []string{"ab"}, "ab", 2, 0},
		{"cork 0 waits for nothing", Answer{Ret: skPass, Cork: n32(0)}, []string{"ab"}, "ab", 1, 0},
		{"cork as much as there is", Answer{Ret: skPass, Cork: n32(2)}, []string{"ab"}, "ab", 1, 0},
		{"cork the most", Answer{Ret: skPass, Cork: n32(1<<32 - 1)}, []string{"ab", "", "c"}, "", 1, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &fake{message: func([]byte) Answer { return c.a }}
			s := simulate(t, f, Socket{Name: "a", InMap: true, Progs: Message})
			for _, data := range c.sends {
				n, err := s.Send(t.Context(), "a", []byte(data))
				require.NoError(t, err)
				assert.Equal(t, len(data), n)
			}
			assert.Equal(t, c.sent, string(s.result("a").Sent))
			assert.Equal(t, []int{c.calls, c.waiting}, []int{len(f.seen), s.result("a").Waiting})
		})
	}
}

// TestTargets: a socket may be its own target, and one that is in no map any more takes nothing;
// the program is asked again then.
func TestTargets(t *testing.T) {
	to := Answer{Ret: skPass, Target: "b"}
	own, in := Answer{Ret: skPass, Target: "a"}, Answer{Ret: skPass, Target: "a", Ingress: true}
	for _, c := range []struct {
		name           string
		a              Answer
		rets           []int
		sent, received string
		dropped, calls int
	}{
		{"itself", own, []int{2, 1}, "abc", "", 0, 2},
		{"its own queue", in, []int{2, 1}, "", "abc", 0, 2},
		{"in no map", to, []int{-ePIPE, -ePIPE}, "", "", 3, 2},
		{"in no map, for longer", Answer{Ret: skPass, Target: "b", Apply: n32(9)}, []int{-ePIPE, -ePIPE}, "", "", 3, 1},
		{"unknown", Answer{Ret: skPass, Target: "z"}, []int{-ePIPE, -ePIPE}, "", "", 3, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &fake{message: func([]byte) Answer { return c.a }}
			s := simulate(t, f, Socket{Name: "a", InMap: true, Progs: Message}, Socket{Name: "b"})
			var rets []int
			for _, data := range []string{"ab", "c"} {
				n, err := s.Send(t.Context(), "a", []byte(data))
				require.NoError(t, err)
				rets = append(rets, n)
			}
			a := s.result("a")
			assert.Equal(t, c.rets, rets)
			assert.Equal(t, []string{c.sent, c.received}, []string{string(a.Sent), string(a.Received)})
			assert.Equal(t, []int{c.dropped, c.calls}, []int{a.Dropped, len(f.seen)})
		})
	}
}

// TestFailedStepsLeaveNothingDue: what a step that failed would have delivered does not arrive in
// the next.
func TestFailedStepsLeaveNothingDue(t *testing.T) {
	f := &fake{verdict: func([]byte) Answer { return Answer{Ret: skPass, Target: "a"} }}
	s := simulate(t, f, Socket{Name: "a", InMap: true, Progs: Verdict, Peer: "b"}, Socket{Name: "b", InMap: true, Progs: Verdict, Peer: "a"})
	require.ErrorIs(t, s.Receive(t.Context(), "a", []byte("x")), ErrLoop)
	assert.Empty(t, s.due)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.Receive(ended, "a", []byte("x")), context.Canceled)
	assert.Empty(t, s.due)
}
