package hook

import (
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// udpWords maps the words that the kernel puts into the names of its UDP functions to the family of
// their sockets. A program that casts sk to struct udp_sock in such a hook is right.
var udpWords = map[string]uint16{
	"udp": uapi.AFInet, "udp4": uapi.AFInet, "udplite": uapi.AFInet, "udpv6": uapi.AFInet6, "udp6": uapi.AFInet6, "udplitev6": uapi.AFInet6,
}

// datagramSocket describes the socket that callers pass to a UDP function as struct sock, and that
// such a function returns: a connected one, so that programs find both addresses.
func datagramSocket(hook string, to object.Pointee) (net.SockSpec, bool) {
	if to.Type == nil || to.Type.Kind != btf.KindStruct || to.Type.Name != "sock" {
		return net.SockSpec{}, false
	}
	for word := range strings.SplitSeq(hook, "_") {
		if family, ok := udpWords[word]; ok {
			return net.SockSpec{Family: family, Protocol: net.ProtoUDP, Type: net.SockDgram, State: net.TCPEstablished}, true
		}
	}
	return net.SockSpec{}, false
}
