package machine

import (
	"fmt"

	"github.com/bpfrun/bpfrun/internal/machine/finding"
	"github.com/bpfrun/bpfrun/internal/packet"
	"github.com/bpfrun/bpfrun/internal/progtype"
)

// brokenPacket lists what the program broke in a packet that goes on. A dropped packet may be in
// any state.
func brokenPacket(p *program, res *Result) []finding.Finding {
	row := progtype.Of(p.lp.Type)
	if row.Packet == progtype.ReadsPacket || row.Layer != progtype.Link && row.Layer != progtype.Network {
		return nil // it cannot change a packet, or gets what is in several
	}
	if res.Fault != nil || res.PacketIn == nil || !progtype.GoesOn(p.lp.Type, int32(res.Ret)) {
		return nil
	}
	var out []finding.Finding
	for _, d := range packet.Damages(res.PacketIn, res.PacketOut, packet.Ethernet) {
		text := fmt.Sprintf("%s is wrong in the packet that goes on: %s, right is %s", d.Path, d.Got, d.Want)
		if name := progtype.VerdictName(p.lp.Type, int32(res.Ret)); name != "" {
			text = fmt.Sprintf("%s is wrong after %s: %s, right is %s", d.Path, name, d.Got, d.Want)
		}
		out = append(out, finding.Finding{Kind: finding.Packet, Program: res.Program, Insn: -1, Text: text})
	}
	return out
}
