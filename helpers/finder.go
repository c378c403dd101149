package helpers

import (
	"fmt"

	"github.com/bpfrun/bpfrun/internal/kernel"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// finder finds the kernel objects at the addresses that a program passes. It has no state of its
// own.
type finder struct {
	mem    *mem.Memory
	kernel *kernel.Kernel
}

// contextAt returns the context that starts at an address, or nil.
func (at *finder) contextAt(addr uint64) *hook.Context {
	if r := at.mem.Find(addr); r != nil && r.Base == at.mem.Truncate(addr) {
		if c, ok := r.Owner.(*hook.Context); ok && c.Region == r {
			return c
		}
	}
	return at.kernel.ContextOfKernel(addr) // the program may pass the kernel's struct instead
}

// socketAt returns the socket at an address.
func (at *finder) socketAt(addr uint64) (*net.Socket, *vm.Action) {
	if s := at.kernel.SocketAt(addr); s != nil {
		return s, nil
	}
	return nil, badArg("%#x is not a socket", addr)
}

// contextSocket returns the socket of a context, or the one at addr for helpers that take either.
func (at *finder) contextSocket(addr uint64) (*net.Socket, *vm.Action) {
	if c := at.contextAt(addr); c != nil {
		if s := c.Socket(); s != nil {
			return s, nil
		}
	}
	return at.socketAt(addr)
}

// optionSocket finds the socket of bpf_setsockopt and bpf_getsockopt, nil for a context without a
// full one.
func (at *finder) optionSocket(addr uint64) (*net.Socket, *vm.Action) {
	if c := at.contextAt(addr); c != nil && c.Socket() == nil {
		return nil, nil
	}
	return at.contextSocket(addr)
}

// packetOf returns the context at addr, which must be one with a packet.
func (at *finder) packetOf(addr uint64) (*hook.Context, *vm.Action) {
	if r := at.mem.Find(addr); r != nil && r.Base == at.mem.Truncate(addr) {
		if c, ok := r.Owner.(*hook.Context); ok && c.Packet != nil && c.Region == r {
			return c, nil
		}
	}
	if c := at.kernel.ContextOfKernel(addr); c != nil && c.Packet != nil {
		return c, nil // the program may pass the kernel's struct instead
	}
	if o := at.kernel.ObjectAt(addr); o != nil && (o.TypeName() == "sk_buff" || o.TypeName() == "xdp_buff") {
		return nil, notSimulated(fmt.Sprintf("the bytes of a struct %s that is not the program's own packet are not simulated", o.TypeName()))
	}
	return nil, badArg("%#x is not the context of a program with a packet", addr)
}

// foreignSkb returns the struct sk_buff at addr, nil if there is none or if it is the program's own
// packet.
func (at *finder) foreignSkb(addr uint64) *object.Object {
	if at.contextAt(addr) != nil {
		return nil
	}
	if o := at.kernel.ObjectAt(addr); o != nil && o.TypeName() == "sk_buff" {
		return o
	}
	return nil
}

// storageOwner returns the address that identifies an owner: a socket has several.
func (at *finder) storageOwner(m maps.LocalStorage, addr uint64) uint64 {
	if m.Spec().Type == uapi.MapTypeSkStorage && addr != 0 {
		if s := at.kernel.SocketAt(addr); s != nil {
			return s.Key()
		}
	}
	return addr
}
