package debug

import (
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/machine"
)

// subject is what a session debugs. All components share it; only [Session.SwitchKernel] replaces its contents.
type subject struct {
	linked *loader.Linked
	m      *machine.Machine
}
