package scenario

import (
	"context"
	"fmt"

	khook "github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// decodeTruncate decodes truncate: all, or a list of lengths in bytes.
func (r *Run) decodeTruncate(n *grammar.Node) error {
	if n == nil {
		return nil
	}
	r.TruncateNode = n
	switch {
	case n.Kind == grammar.Scalar && n.Text == "all":
		return nil
	case n.Kind != grammar.Sequence || len(n.Items) == 0:
		return n.Errorf("truncate: want all, or a list of lengths in bytes, got %s", n.Describe())
	}
	var wrong grammar.Mistakes
	for _, item := range n.Items {
		v, err := item.Int("truncate", 0, 1<<20)
		wrong.Add(err)
		r.Truncate = append(r.Truncate, v)
	}
	return wrong.Err()
}

// lengths returns the lengths in bytes to truncate a run's packet to, shortest first for all. The
// error is a mistake in the file.
func (r *Runner) lengths(run *Run) (packet []byte, lengths []int, err error) {
	n := run.TruncateNode
	if n == nil {
		return nil, nil, nil
	}
	lp, _ := r.m.Linked().Program(run.Prog)
	least, most := khook.FrameLimits(lp.Type, lp.Flags&uapi.ProgXDPHasFrags != 0)
	if most == 0 {
		return nil, nil, n.Errorf("truncate: %v programs take no packet", lp.Type)
	}
	packet = run.Packet
	if packet == nil {
		packet = net.DefaultPacket()
	}
	for i, length := range run.Truncate {
		if length < least || length >= len(packet) {
			return nil, nil, n.Items[i].Errorf("truncate: %d bytes; the packet has %d, and the kernel passes at least %d", length, len(packet), least)
		}
	}
	if run.Truncate != nil {
		return packet, run.Truncate, nil
	}
	for length := least; length < len(packet); length++ {
		lengths = append(lengths, length)
	}
	return packet, lengths, nil
}

// cut runs the program on its packet truncated to each length, each time from the current state,
// and restores that state afterwards. faults lists the faults by length.
func (r *Runner) cut(ctx context.Context, run *Run, p *prepared, res *Result) (faults []cutFault, err error) {
	packet, lengths, err := r.lengths(run)
	if err != nil || len(lengths) == 0 {
		return nil, err
	}
	base := r.m.Snapshot()
	defer r.m.Restore(base)
	res.Truncated = map[int32]int{}
	short := *p
	for _, length := range lengths {
		short.in.Packet = packet[:length]
		out, err := r.execute(ctx, run, &short)
		if err != nil {
			return nil, err
		}
		r.m.Restore(base)
		switch {
		case !out.Ran:
			return nil, nil // the run itself reports the reason
		case out.Fault != nil:
			faults = append(faults, cutFault{length, out.Fault})
		default:
			res.Truncated[int32(uint32(out.Ret))]++
		}
	}
	return faults, nil
}

// cutFault is a fault on a packet truncated to a length.
type cutFault struct {
	length int
	*machine.Fault
}

// truncated checks the runs on truncated packets: none may fault, and their verdicts must match the
// file's counts, if any.
func (j *judge) truncated(faults []cutFault, verdicts map[int32]int) error {
	for i, f := range faults {
		if i == 3 && len(faults) > 4 {
			j.Expect(j.run.TruncateNode.Pos, "truncate", false, "no fault", fmt.Sprintf("faults at %d more lengths", len(faults)-3))
			break
		}
		j.Expect(j.run.TruncateNode.Pos, fmt.Sprintf("truncated to %d bytes", f.length), false, "no fault", faultKind(f.Fault)+": "+grammar.FirstLine(f.Error())+place(f.Fault))
	}
	if len(faults) == 0 && !j.Checking {
		j.Expect(j.run.TruncateNode.Pos, "truncate", true, "", "")
	}
	n := j.run.Expect.Truncated
	if n == nil {
		return nil
	}
	full := j.verdicts
	j.verdicts = verdicts
	defer func() { j.verdicts = full }()
	return j.counts(n, "truncated", "length")
}
