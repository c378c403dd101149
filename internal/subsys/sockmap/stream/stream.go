// Package stream moves the bytes of sockets through the programs of a machine's sockmaps: what became
// of them, and how reports show it. How bytes move is internal/subsys/sockmap's.
package stream

import (
	"github.com/bpfrun/bpfrun/internal/exitcode"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/subsys/drive"
	"github.com/bpfrun/bpfrun/internal/subsys/sockmap"
)

// What names bytes that move.
const What = "bytes between sockets"

// Moved is what became of the bytes of sockets.
type Moved struct {
	Sockets []sockmap.Result
	// Sends are what the calls of sendmsg returned, in order.
	Sends []int
}

// Parts implements [drive.Simulation]: programs of sockmaps also run alone.
func (m *Moved) Parts(*machine.Machine) map[string]drive.Part { return nil }

// ExitCode implements [drive.Simulation].
func (m *Moved) ExitCode() int { return exitcode.OK }

// Runs implements [drive.Simulation].
func (m *Moved) Runs() []*machine.Result { return nil }
