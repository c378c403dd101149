package traffic

import (
	"fmt"
	"time"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/subsys/qdisc"
	"github.com/bpfrun/bpfrun/internal/subsys/show"
)

// Traffic is what a queueing discipline did with packets. Times are in nanoseconds since it was put
// on the device.
type Traffic struct {
	// Run is the name of the scenario's run, "" for the default traffic.
	Run string `json:"run,omitempty"`
	// Ops is the struct_ops variable, Qdisc the id in it.
	Ops    string      `json:"ops"`
	Qdisc  string      `json:"qdisc"`
	Status string      `json:"status"`
	Error  *show.Error `json:"error,omitempty"`
	// Rate is that of the link in bits per second, Duration the time of the last packet, Busy how
	// long the link was sending.
	Rate     uint64 `json:"rate"`
	Duration uint64 `json:"duration_ns"`
	Busy     uint64 `json:"busy_ns"`
	// Stats are the fields of struct Qdisc when traffic ended, before the discipline was reset.
	Stats TrafficStats `json:"stats"`
	// Held is what the queue had then, MostHeld and MeanHeld what it had at most and in the mean
	// over time.
	Held          int     `json:"held"`
	MostHeld      int     `json:"most_held"`
	MostHeldBytes int     `json:"most_held_bytes"`
	MeanHeld      float64 `json:"mean_held"`
	// Stalled means that nothing makes the kernel ask for the packets that are left.
	Stalled   bool `json:"stalled"`
	Watchdogs int  `json:"watchdogs"`
	// Fairness is Jain's index of the bytes that flows sent, 1 if they are equal.
	Fairness float64         `json:"fairness"`
	Flows    []TrafficFlow   `json:"flows"`
	Packets  []TrafficPacket `json:"packets"`
	// Queue is the length of the queue over time; DroppedSamples counts those beyond the limit.
	Queue          []TrafficSample `json:"queue"`
	DroppedSamples int             `json:"dropped_samples,omitempty"`
	// Calls counts the calls of the operations.
	Calls map[string]int `json:"calls"`
	// Progs are the programs by operation.
	Progs map[string]string `json:"progs"`
	Insns uint64            `json:"insns"`
	Trace []string          `json:"trace,omitempty"`
}

// TrafficStats are statistics as struct Qdisc has them.
type TrafficStats struct {
	Qlen       uint64 `json:"qlen"`
	Backlog    uint64 `json:"backlog"`
	Drops      uint64 `json:"drops"`
	Requeues   uint64 `json:"requeues"`
	Overlimits uint64 `json:"overlimits"`
	Bytes      uint64 `json:"bytes"`
	Packets    uint64 `json:"packets"`
}

// TrafficFlow sums up a flow. Waits are the times from arrival until the discipline gave a packet
// to the kernel.
type TrafficFlow struct {
	Name    string `json:"name"`
	Arrived int    `json:"arrived"`
	Sent    int    `json:"sent"`
	Dropped int    `json:"dropped"`
	Purged  int    `json:"purged"`
	Leaked  int    `json:"leaked"`
	Bytes   uint64 `json:"bytes"`
	Rate    uint64 `json:"rate"`
	Mean    uint64 `json:"mean_wait_ns"`
	P50     uint64 `json:"p50_wait_ns"`
	P99     uint64 `json:"p99_wait_ns"`
	Max     uint64 `json:"max_wait_ns"`
}

// TrafficPacket is a packet. Dequeued, Sent and Dropped are 0 if that did not happen.
type TrafficPacket struct {
	Name     string `json:"name"`
	Size     int    `json:"size"`
	Fate     string `json:"fate"`
	By       string `json:"by,omitempty"`
	Ret      int64  `json:"ret"`
	Arrival  uint64 `json:"arrival_ns"`
	Dequeued uint64 `json:"dequeued_ns,omitempty"`
	Sent     uint64 `json:"sent_ns,omitempty"`
	Dropped  uint64 `json:"dropped_ns,omitempty"`
	Requeues int    `json:"requeues,omitempty"`
}

// TrafficSample is the length of the queue from a point of time on.
type TrafficSample struct {
	At      uint64 `json:"at_ns"`
	Qlen    uint64 `json:"qlen"`
	Backlog uint64 `json:"backlog"`
	Held    int    `json:"held"`
}

// Document returns the traffic for a report.
func (r *Result) Document(run string, failure func(error) *show.Error) show.Document {
	f := r.Fields
	out := &Traffic{
		Run: run, Ops: r.Ops, Qdisc: r.Name, Status: string(r.Status), Rate: r.Rate, Duration: r.End, Busy: r.Busy,
		Stats: TrafficStats{f[qdisc.FieldQlen], f[qdisc.FieldBacklog], f[qdisc.FieldDrops], f[qdisc.FieldRequeues], f[qdisc.FieldOverlimits], f[qdisc.FieldBytes], f[qdisc.FieldPackets]},
		Held:  r.Held, MostHeld: r.MostHeld, MostHeldBytes: r.MostHeldBytes, MeanHeld: r.MeanHeld, Stalled: r.Stalled, Watchdogs: r.Watchdogs,
		Flows: []TrafficFlow{}, Packets: []TrafficPacket{}, Queue: []TrafficSample{}, DroppedSamples: r.Dropped,
		Calls: map[string]int{}, Progs: r.Progs, Insns: r.Insns, Trace: r.Trace,
	}
	if out.Progs == nil {
		out.Progs = map[string]string{}
	}
	if r.Err != nil {
		out.Error = failure(r.Err)
	}
	flows := r.Flows()
	out.Fairness = qdisc.Fairness(flows)
	for _, x := range flows {
		out.Flows = append(out.Flows, TrafficFlow{
			x.Flow.Name, x.Arrived, x.Sent, x.Dropped, x.Purged, x.Leaked, x.SentBytes, uint64(x.Throughput(r.End)), x.MeanWait(), x.Wait(50), x.Wait(99), x.Wait(100),
		})
	}
	for _, p := range r.Packets {
		out.Packets = append(out.Packets, TrafficPacket{p.Name(), p.Size, string(p.Fate()), string(p.By), p.Ret, p.Arrival, p.Dequeued, p.Sent, p.Dropped, p.Requeues})
	}
	for _, s := range r.Samples {
		out.Queue = append(out.Queue, TrafficSample{s.At, s.Qlen, s.Backlog, s.Held})
	}
	for op, n := range r.Calls {
		out.Calls[string(op)] = n
	}
	return out
}

// Program implements [show.Document].
func (t *Traffic) Program(name string) (ran, known bool) {
	return show.Program(t.Progs, name, t.Status == string(machine.StatusRefused))
}

// Text writes traffic as a table of its flows.
func (t *Traffic) Text(w show.Text) {
	w.Printf("\n%s\n", w.Bold(show.Title(t.Run, What, t.Ops)))
	if t.Error != nil {
		w.Printf("%s %s\n", w.Red(t.Status+":"), t.Error.Message)
	}
	if len(t.Flows) == 0 {
		return
	}
	rows := [][]string{{"FLOW", "ARRIVED", "SENT", "DROPPED", "RATE", "MEAN WAIT", "P99 WAIT", "MAX WAIT"}}
	leaked := 0
	for i := range t.Flows {
		f := &t.Flows[i]
		leaked += f.Leaked
		span := func(ns uint64) string { return time.Duration(ns).Round(time.Microsecond).String() }
		rows = append(rows, []string{f.Name, fmt.Sprint(f.Arrived), fmt.Sprint(f.Sent), fmt.Sprint(f.Dropped), rateText(f.Rate), span(f.Mean), span(f.P99), span(f.Max)})
	}
	w.Table(rows)
	w.Printf("  link of %s busy %.1f %% of %v; fairness %.3f; queue of at most %d packets (%d bytes), %.1f in the mean\n",
		rateText(t.Rate), float64(t.Busy)*100/float64(max(t.Duration, 1)), time.Duration(t.Duration).Round(time.Microsecond), t.Fairness, t.MostHeld, t.MostHeldBytes, t.MeanHeld)
	if t.Stats.Qlen != uint64(t.Held) {
		w.Printf("  %s q.qlen is %d when traffic ends, but the discipline has %d packets\n", w.Yellow("wrong:"), t.Stats.Qlen, t.Held)
	}
	if t.Stalled {
		w.Printf("  %s nothing makes the kernel ask for the last %d packets: the link is idle and the watchdog not set\n", w.Red("stalled:"), t.Held)
	}
	if leaked > 0 {
		w.Printf("  %s %d packets exist after the discipline was destroyed\n", w.Red("leaked:"), leaked)
	}
}

// rateText shows bits per second as tc(8) does.
func rateText(bits uint64) string {
	switch {
	case bits >= 1e9:
		return fmt.Sprintf("%.4gGbit", float64(bits)/1e9)
	case bits >= 1e6:
		return fmt.Sprintf("%.4gMbit", float64(bits)/1e6)
	case bits >= 1e3:
		return fmt.Sprintf("%.4gKbit", float64(bits)/1e3)
	}
	return fmt.Sprintf("%dbit", bits)
}
