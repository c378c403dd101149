package connection

import (
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/internal/subsys/scene"
)

// Scene is how scenario files write connections.
func Scene() *scene.Form { return &form }

var form = scene.Form{
	Member: grammar.Member{Name: "tcp", Doc: "A TCP connection whose window a congestion control sets, instead of one program.", Shape: grammar.FormOf(runForm)},
	Expect: []grammar.Member{{Name: "tcp", Doc: "What became of a TCP connection.", Shape: grammar.FormOf(expectForm)}},
	Parts:  []*grammar.Form{runForm}, Judged: []*grammar.Form{expectForm},
	Only: []string{"name", "each", "since", "arch", "tcp", "after", "expect"}, Callers: "the connection",
	Missing: "the run has no connection",
	Decode:  decode,
}

var runForm = &grammar.Form{Name: "tcp", Doc: "A TCP connection that always has something to send, over a link with a queue. A congestion control of the object (struct tcp_congestion_ops) sets its window. See tcp.md.", Members: []grammar.Member{
	{Name: "ops", Doc: "The algorithm: the name of the struct tcp_congestion_ops. The default is the only one.", Shape: grammar.Text},
	{Name: "rate", Doc: "The link's rate in bits per second: a number, or one with kbit, mbit or gbit (default: 10mbit).", Shape: grammar.Text},
	{Name: "rtt", Doc: "The time of a round trip without a queue (default: 40ms).", Shape: grammar.Duration},
	{Name: "queue", Doc: "Segments that wait for the link at most; others get lost (default: 30).", Shape: grammar.Integer},
	{Name: "segments", Doc: "Segments of 1448 bytes that are sent; the connection ends when all are acknowledged. The default is as many as there is time for.", Shape: grammar.Integer},
	{Name: "duration", Doc: "Simulated time after which it ends at the latest (default: 10s).", Shape: grammar.Duration},
	{Name: "drops", Doc: "Segments that get lost when they are sent first, counted from 1.", Shape: grammar.ListOf(grammar.Integer)},
	{Name: "late", Doc: "Segments that arrive so much later when they are sent first ({300: 30ms}): they look lost, and then turn out not to be.", Shape: grammar.MapOf(grammar.Duration)},
}}

var expectForm = &grammar.Form{Name: "expect tcp", Doc: "What is expected of a TCP connection. Windows are in segments. Values are compared as elsewhere: !le 40.", Members: []grammar.Member{
	{Name: "cwnd", Doc: "The window at the end.", Shape: grammar.Integer},
	{Name: "ssthresh", Doc: "The slow start threshold at the end; 2147483647 before the first loss.", Shape: grammar.Integer},
	{Name: "most_cwnd", Doc: "The largest window.", Shape: grammar.Integer},
	{Name: "least_cwnd", Doc: "The smallest window.", Shape: grammar.Integer},
	{Name: "acked", Doc: "Segments that were acknowledged.", Shape: grammar.Integer},
	{Name: "sent", Doc: "Segments that were sent, with those that were sent again.", Shape: grammar.Integer},
	{Name: "retransmitted", Doc: "Segments that were sent again.", Shape: grammar.Integer},
	{Name: "lost", Doc: "Segments that got lost on the way.", Shape: grammar.Integer},
	{Name: "recoveries", Doc: "How often the window was reduced after a loss.", Shape: grammar.Integer},
	{Name: "timeouts", Doc: "How often nothing was acknowledged for too long.", Shape: grammar.Integer},
	{Name: "undone", Doc: "How often a reduction was undone.", Shape: grammar.Integer},
	{Name: "rate", Doc: "Bits per second that were acknowledged.", Shape: grammar.Text},
	{Name: "mean_rtt", Doc: "The mean time of a round trip.", Shape: grammar.Duration},
	{Name: "max_rtt", Doc: "The longest time of a round trip.", Shape: grammar.Duration},
	{Name: "time", Doc: "How long the connection lasted.", Shape: grammar.Duration},
	{Name: "most_queue", Doc: "Segments that waited for the link at most.", Shape: grammar.Integer},
	{Name: "windows", Doc: "The first windows, as they change: [10, 11, 12].", Shape: grammar.ListOf(grammar.Integer)},
	{Name: "calls", Doc: "How often operations are called, by name.", Shape: grammar.MapOf(grammar.Integer)},
}}
