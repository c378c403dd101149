package helpers

import (
	"fmt"

	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/vm"
)

var redirectHelpers = []row{
	{ID: uapi.FuncRedirect, Do: redirect, Note: "recorded as an event"},
	{ID: uapi.FuncRedirectNeigh, Do: redirectNeigh, Note: "recorded as an event"},
	{ID: uapi.FuncRedirectPeer, Do: redirectPeer, Note: "recorded as an event"},
	{ID: uapi.FuncRedirectMap, Do: redirectMap, Note: "recorded as an event"},
	{ID: uapi.FuncCloneRedirect, Do: onSkb(cloneRedirect), Note: "recorded as an event with a copy of the packet"},
}

// Verdicts that redirect helpers return.
const (
	xdpAborted    = 0
	xdpTX         = 3
	xdpRedirect   = 4
	tcActShot     = 2
	tcActRedirect = 7
	neighSize     = 20 // struct bpf_redir_neigh
)

// redirect is bpf_xdp_redirect or bpf_redirect, by program type.
func redirect(c *Call) (uint64, *vm.Action) {
	r := c.Run
	refused, done, known := uint64(tcActShot), uint64(tcActRedirect), uint64(uapi.RedirectIngress)
	if r.onXDP() {
		refused, done, known = xdpAborted, xdpRedirect, 0
	}
	if c.Args[1]&^known != 0 {
		return refused, nil
	}
	text := ""
	if c.Args[1]&uapi.RedirectIngress != 0 {
		text = "ingress"
	}
	r.redirect(Event{Kind: Redirect, Number: c.Args[0] & 0xffffffff, Detail: text})
	return done, nil
}

func redirectNeigh(c *Call) (uint64, *vm.Action) {
	n := c.Args[2] & 0xffffffff
	if n != 0 && n < neighSize || c.Args[3] != 0 {
		return tcActShot, nil
	}
	data := c.In(1)
	c.Run.redirect(Event{Kind: Redirect, Number: c.Args[0] & 0xffffffff, Detail: "neighbour", Data: append([]byte(nil), data...)})
	return tcActRedirect, nil
}

func redirectPeer(c *Call) (uint64, *vm.Action) {
	r := c.Run
	if c.Args[1] != 0 {
		return tcActShot, nil
	}
	r.redirect(Event{Kind: Redirect, Number: c.Args[0] & 0xffffffff, Detail: "peer"})
	return tcActRedirect, nil
}

// redirectMap implements bpf_xdp_redirect_map (__bpf_xdp_redirect_map, include/linux/filter.h). The
// low bits of the flags are the verdict for an empty slot.
func redirectMap(c *Call) (uint64, *vm.Action) {
	m := c.ref.m
	index, flags := uint32(c.Args[1]), c.Args[2]
	key := make([]byte, 4)
	c.guest.Order().PutUint32(key, index)
	found, known := false, uint64(xdpTX)
	switch m.Spec().Type {
	case uapi.MapTypeDevmap, uapi.MapTypeDevmapHash:
		if c.has(since.RedirectBroadcast) {
			known |= uapi.RedirectBroadcast | uapi.RedirectExcludeIngress
		}
		_, errno := m.Lookup(c.Thread.CPU, key)
		found = errno == 0
	case uapi.MapTypeCpumap:
		_, errno := m.Lookup(c.Thread.CPU, key)
		found = errno == 0
	case uapi.MapTypeXskmap:
		if r, ok := m.(maps.RefArray); ok {
			_, found = r.Ref(index)
		}
	default:
		return 0, wrongMap(m)
	}
	if flags&^known != 0 {
		return xdpAborted, nil
	}
	broadcast := flags&uapi.RedirectBroadcast != 0
	if !found && !broadcast {
		c.Run.forget()
		return flags & xdpTX, nil
	}
	text := fmt.Sprintf("map %s[%d]", m.Spec().Name, index)
	if broadcast {
		text = fmt.Sprintf("map %s, every entry", m.Spec().Name)
		if flags&uapi.RedirectExcludeIngress != 0 {
			text += " but the ingress"
		}
	}
	c.Run.redirect(Event{Kind: Redirect, Number: uint64(index), Detail: text})
	return xdpRedirect, nil
}

func cloneRedirect(c *Call, s *skb) (uint64, *vm.Action) {
	index := uint32(c.Args[1])
	if _, ok := c.Kernel.Device(index); !ok || c.Args[2]&^uint64(uapi.RedirectIngress) != 0 {
		return errnoRet(uapi.EINVAL), nil
	}
	text := ""
	if c.Args[2]&uapi.RedirectIngress != 0 {
		text = "ingress"
	}
	ev := Event{Kind: CloneRedirect, Number: uint64(index), Detail: text, Data: append([]byte(nil), s.p.Whole()...)}
	return 0, c.Run.emit(ev)
}
