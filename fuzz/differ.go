package fuzz

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/machine"
	"github.com/bpfrun/bpfrun/packet"
)

// difference says in what the results of two builds or kernels differ, "" if in nothing. Addresses are no results.
func difference(a, b *machine.Result) string {
	if a.Ran != b.Ran || (a.Fault == nil) != (b.Fault == nil) {
		return fmt.Sprintf("the run ends as %s, but as %s", a.Status, b.Status)
	}
	if !a.Ran || a.Fault != nil {
		return ""
	}
	if uint32(a.Ret) != uint32(b.Ret) {
		return fmt.Sprintf("the return value is %d, but %d", int32(uint32(a.Ret)), int32(uint32(b.Ret)))
	}
	if !bytes.Equal(a.PacketOut, b.PacketOut) {
		return "the packet differs (" + packet.Summary(packet.Diff(b.PacketOut, a.PacketOut, packet.Ethernet)) + ")"
	}
	if len(a.Events) != len(b.Events) {
		return fmt.Sprintf("%d records are sent, but %d", len(a.Events), len(b.Events))
	}
	for i := range a.Events {
		if x, y := &a.Events[i], &b.Events[i]; x.Map != y.Map || !sameBytes(x.Data, y.Data) {
			return fmt.Sprintf("record %d of %s differs", i, x.Map)
		}
	}
	if x, y := changesOf(a), changesOf(b); x != y {
		return "maps differ: " + firstDifference(x, y)
	}
	if x, y := strings.Join(a.Trace, "\n"), strings.Join(b.Trace, "\n"); x != y {
		return "lines of bpf_printk differ"
	}
	return ""
}

// sameBytes compares bytes without what may be an address of the kernel.
func sameBytes(a, b []byte) bool {
	return bytes.Equal(withoutAddresses(a), withoutAddresses(b))
}

// withoutAddresses clears aligned words that look like addresses of the kernel.
func withoutAddresses(p []byte) []byte {
	out := bytes.Clone(p)
	for i := 0; i+8 <= len(out); i += 8 {
		if w := out[i : i+8]; w[7] == 0xff && w[6] == 0xff && !bytes.Equal(w, bytes.Repeat([]byte{0xff}, 8)) || w[7] == 0xff && w[6] >= 0x80 {
			clear(w)
		}
	}
	return out
}

// changesOf writes what a run changed in maps, one element a line.
func changesOf(r *machine.Result) string {
	var b strings.Builder
	for _, c := range r.Changes {
		fmt.Fprintf(&b, "%s[%x]", c.Map, withoutAddresses(c.Key))
		if c.New == nil {
			b.WriteString(" deleted\n")
			continue
		}
		fmt.Fprintf(&b, " = %x\n", withoutAddresses(c.New))
	}
	return b.String()
}

func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range max(len(x), len(y)) {
		p, q := "nothing", "nothing"
		if i < len(x) && x[i] != "" {
			p = x[i]
		}
		if i < len(y) && y[i] != "" {
			q = y[i]
		}
		if p != q {
			return p + ", but " + q
		}
	}
	return ""
}
