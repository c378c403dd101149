package helpers

import (
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// changesPacket invalidates the program's pointers into the packet after a call of a helper that
// may change the packet, as the verifier does whatever the call returns. A helper that moved the
// packet itself has already done so.
func changesPacket(h *proto.Helper, do Impl) Impl {
	why := h.Name() + " moved"
	return func(c *Call) (uint64, *vm.Action) {
		if c.Run == nil || c.Run.Context == nil || c.Run.Context.Packet == nil || !h.Has(proto.ChangesPacket, uapi.ReleaseOf(c.Version)) {
			return do(c)
		}
		p := c.Run.Context.Packet
		at := p.Region()
		r0, action := do(c)
		if p.Region() == at && action == nil { // neither a fault nor the end of the program by a tail call
			if err := p.Move(why); err != nil {
				return 0, notSimulated(err.Error())
			}
		}
		return r0, action
	}
}
