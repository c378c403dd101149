package subsys

import (
	"github.com/bpfrun/bpfrun/internal/subsys/hid/device"
	"github.com/bpfrun/bpfrun/internal/subsys/qdisc/traffic"
	"github.com/bpfrun/bpfrun/internal/subsys/sched/schedule"
	"github.com/bpfrun/bpfrun/internal/subsys/show"
	"github.com/bpfrun/bpfrun/internal/subsys/sockmap/stream"
	"github.com/bpfrun/bpfrun/internal/subsys/tcpcc/connection"
)

// Simulations are the documents of all subsystems, as part of a JSON document.
type Simulations struct {
	// Schedules are what sched_ext schedulers did.
	Schedules []schedule.Schedule `json:"schedules,omitempty"`
	// Traffic is what queueing disciplines did with packets.
	Traffic []traffic.Traffic `json:"traffic,omitempty"`
	// Sockets are what became of bytes that moved through sockmaps.
	Sockets []stream.Sockets `json:"sockets,omitempty"`
	// Connections are what congestion controls did with TCP connections.
	Connections []connection.TCPConnection `json:"connections,omitempty"`
	// HID are the HID devices whose programs ran.
	HID []device.HIDDevice `json:"hid,omitempty"`
}

// AddSimulation adds a document to those of its subsystem.
func (s *Simulations) AddSimulation(doc show.Document) {
	switch d := doc.(type) {
	case *schedule.Schedule:
		s.Schedules = append(s.Schedules, *d)
	case *traffic.Traffic:
		s.Traffic = append(s.Traffic, *d)
	case *stream.Sockets:
		s.Sockets = append(s.Sockets, *d)
	case *connection.TCPConnection:
		s.Connections = append(s.Connections, *d)
	case *device.HIDDevice:
		s.HID = append(s.HID, *d)
	default:
		panic("subsys: a document without a place")
	}
}

// All returns the documents in the order of JSON.
func (s *Simulations) All() (docs []show.Document) {
	for i := range s.Schedules {
		docs = append(docs, &s.Schedules[i])
	}
	for i := range s.Traffic {
		docs = append(docs, &s.Traffic[i])
	}
	for i := range s.Sockets {
		docs = append(docs, &s.Sockets[i])
	}
	for i := range s.Connections {
		docs = append(docs, &s.Connections[i])
	}
	for i := range s.HID {
		docs = append(docs, &s.HID[i])
	}
	return docs
}
