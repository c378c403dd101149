package connection

import (
	"fmt"
	"time"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/subsys/show"
	"github.com/bpfrun/bpfrun/internal/subsys/tcpcc"
)

// TCPConnection is what a congestion control did with a connection. Times are in nanoseconds since
// it began, windows in segments.
type TCPConnection struct {
	// Run is the name of the scenario's run, "" for the default connection.
	Run string `json:"run,omitempty"`
	// Ops is the struct_ops variable, Algorithm the name in it.
	Ops       string      `json:"ops"`
	Algorithm string      `json:"algorithm"`
	Status    string      `json:"status"`
	Error     *show.Error `json:"error,omitempty"`
	Duration  uint64      `json:"duration_ns"`
	// Sent counts segments with those that were sent again, which Retransmitted counts.
	Sent          int `json:"sent"`
	Retransmitted int `json:"retransmitted"`
	Acked         int `json:"acked"`
	Lost          int `json:"lost"`
	// Throughput are the bits per second that were acknowledged.
	Throughput uint64 `json:"throughput"`
	Recoveries int    `json:"recoveries"`
	Timeouts   int    `json:"timeouts"`
	Undone     int    `json:"undone"`
	Cwnd       uint32 `json:"cwnd"`
	SSThresh   uint32 `json:"ssthresh"`
	LeastCwnd  uint32 `json:"least_cwnd"`
	MostCwnd   uint32 `json:"most_cwnd"`
	MinRTT     uint64 `json:"min_rtt_ns"`
	MeanRTT    uint64 `json:"mean_rtt_ns"`
	MaxRTT     uint64 `json:"max_rtt_ns"`
	// MostQueue is how many segments waited for the link at most.
	MostQueue int `json:"most_queue"`
	// Windows are the window and the threshold as they change; DroppedWindows counts those beyond
	// the limit.
	Windows        []TCPWindow `json:"windows"`
	DroppedWindows int         `json:"dropped_windows,omitempty"`
	// Calls counts the calls of the operations.
	Calls map[string]int `json:"calls"`
	// Progs are the programs by operation.
	Progs map[string]string `json:"progs"`
	Insns uint64            `json:"insns"`
	Trace []string          `json:"trace,omitempty"`
}

// TCPWindow is the window at a point of time.
type TCPWindow struct {
	At       uint64 `json:"at_ns"`
	Cwnd     uint32 `json:"cwnd"`
	SSThresh uint32 `json:"ssthresh"`
	InFlight uint32 `json:"in_flight"`
	State    string `json:"state"`
}

// mean is the mean RTT.
func mean(r *tcpcc.Result) uint64 {
	if r.RTTs == 0 {
		return 0
	}
	return r.SumRTT / uint64(r.RTTs)
}

// Document returns the connection for a report.
func (r *Result) Document(run string, failure func(error) *show.Error) show.Document {
	out := &TCPConnection{
		Run: run, Ops: r.Ops, Algorithm: r.Name, Status: string(r.Status), Duration: r.End, Sent: r.Sent, Retransmitted: r.Retransmitted, Acked: r.Acked, Lost: r.Lost,
		Throughput: uint64(r.Throughput()), Recoveries: r.Recoveries, Timeouts: r.Timeouts, Undone: r.Undone, Cwnd: r.Cwnd, SSThresh: r.SSThresh,
		MostCwnd: r.MostCwnd, MinRTT: r.MinRTT, MeanRTT: mean(r.Result), MaxRTT: r.MaxRTT, MostQueue: r.MostQueue,
		Windows: []TCPWindow{}, DroppedWindows: r.Dropped, Calls: map[string]int{}, Progs: map[string]string{}, Insns: r.Insns, Trace: r.Trace,
	}
	if len(r.Points) > 0 {
		out.LeastCwnd = r.LeastCwnd
	}
	if r.Err != nil {
		out.Error = failure(r.Err)
	}
	for op, prog := range r.Progs {
		out.Progs[op] = prog
	}
	for op, n := range r.Calls {
		out.Calls[string(op)] = n
	}
	for _, p := range r.Points {
		out.Windows = append(out.Windows, TCPWindow{p.At, p.Cwnd, p.SSThresh, p.InFlight, p.State.String()})
	}
	return out
}

// Program implements [show.Document]: the programs are listed like others.
func (c *TCPConnection) Program(string) (ran, known bool) { return false, false }

// Page implements [show.Document].
func (c *TCPConnection) Page() func(show.Page) { return nil }

// Text writes the connection as a table of one row, and what happened to its window.
func (c *TCPConnection) Text(t show.Text) {
	t.Printf("\n%s\n", t.Bold(show.Title(c.Run, What, c.Ops)))
	if c.Error != nil {
		t.Printf("%s %s\n", t.Red(c.Status+":"), c.Error.Message)
	}
	if c.Sent == 0 || c.Status == string(machine.StatusRefused) {
		return
	}
	span := func(ns uint64) string { return time.Duration(ns).Round(10 * time.Microsecond).String() }
	t.Table([][]string{
		{"SEGMENTS", "SENT AGAIN", "LOST", "RATE", "CWND", "MIN", "MAX", "SSTHRESH", "RTT MIN", "MEAN", "MAX"},
		{
			fmt.Sprint(c.Acked), fmt.Sprint(c.Retransmitted), fmt.Sprint(c.Lost), fmt.Sprintf("%.3gMbit", float64(c.Throughput)/1e6), fmt.Sprint(c.Cwnd), fmt.Sprint(c.LeastCwnd),
			fmt.Sprint(c.MostCwnd), threshold(c.SSThresh), span(c.MinRTT), span(c.MeanRTT), span(c.MaxRTT),
		},
	})
	t.Printf("  %v; reduced %d times, %d timeouts, %d undone; at most %d segments waited for the link\n",
		time.Duration(c.Duration).Round(time.Millisecond), c.Recoveries, c.Timeouts, c.Undone, c.MostQueue)
}

// threshold shows a slow start threshold, which has none before the first loss.
func threshold(n uint32) string {
	if n >= tcpcc.Infinite {
		return "-"
	}
	return fmt.Sprint(n)
}
