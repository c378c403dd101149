package exec

// States of sockets (include/net/tcp_states.h).
const (
	tcpEstablished = 1
	tcpSynSent     = 2
	tcpSynRecv     = 3
	tcpClose       = 7
	tcpCloseWait   = 8
	tcpListen      = 10
)

// tcpStates are their names in events.
var tcpStates = []string{"", "established", "syn_sent", "syn_recv", "fin_wait1", "fin_wait2", "time_wait", "close", "close_wait", "last_ack", "listen", "closing", "new_syn_recv"}
