package debug

import (
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

// subject is what a session debugs. All components share it; only [Session.SwitchKernel] replaces
// its contents.
type subject struct {
	linked *loader.Linked
	m      *machine.Machine
}
