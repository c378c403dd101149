package traffic

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bpfrun/bpfrun/internal/markup"
	"github.com/bpfrun/bpfrun/internal/subsys/show"
)

// page collects the markup of a page.
type page struct {
	show.Page
	strings.Builder
}

func (p *page) Printf(format string, args ...any) { fmt.Fprintf(&p.Builder, format, args...) }
func (p *page) Write(text markup.HTML)            { p.WriteString(string(text)) }

// TestWaitsOfPackets: a packet has a lane with the time in the queue, if it spent any there, and on
// the link, or with when it was dropped.
func TestWaitsOfPackets(t *testing.T) {
	const waits, linked, drops = "in the queue", "on the link", "dropped"
	for _, tt := range []struct {
		name string
		x    TrafficPacket
		want []string
	}{
		{"sent at once", TrafficPacket{Arrival: 5, Dequeued: 5, Sent: 9}, []string{linked}},
		{"sent later", TrafficPacket{Arrival: 5, Dequeued: 7, Sent: 9}, []string{waits, linked}},
		{"on the link at the end", TrafficPacket{Arrival: 5, Dequeued: 7}, []string{waits}},
		{"dropped at once", TrafficPacket{Arrival: 5, Dropped: 5}, []string{drops}},
		{"dropped later", TrafficPacket{Arrival: 5, Dropped: 8}, []string{waits, drops}},
		{"in the queue at the end", TrafficPacket{Arrival: 5}, nil},
	} {
		var p page
		tt.x.Name = "x#1"
		(&Traffic{Packets: []TrafficPacket{tt.x}}).waits(&p)
		var got []string
		for _, what := range []string{waits, linked, drops} {
			if strings.Contains(p.String(), fmt.Sprintf("data-what=%q", what)) {
				got = append(got, what)
			}
		}
		assert.Equal(t, tt.want, got, "%s: %s", tt.name, p.String())
	}
}
