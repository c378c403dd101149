package uapi

// RouteMessage is the type of a message of NETLINK_ROUTE (RTM_* in include/uapi/linux/rtnetlink.h).
type RouteMessage uint16

// String returns the kernel's name of the message ("RTM_NEWTFILTER"), or "RouteMessage(N)" for a
// number that no known kernel defines.
func (m RouteMessage) String() string {
	if int(m) < len(routeMessageNames) && routeMessageNames[m] != "" {
		return routeMessageNames[m]
	}
	return unknown("RouteMessage", int64(m))
}

// RouteMessages returns all messages.
func RouteMessages() []RouteMessage {
	var out []RouteMessage
	for i, n := range routeMessageNames {
		if n != "" {
			out = append(out, RouteMessage(i))
		}
	}
	return out
}
