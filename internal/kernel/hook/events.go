package hook

import (
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
)

// Sequences of events: a repeated event is the next one of its kind, not the same one again. A task
// that was switched in is switched out, a connection that was established is closed.
// ContextSpec.Nth counts; everything follows from it and from the hook's name, never from the
// programs.

// Events in which a task ends. The threads of a process end before its leader.
var exitEvents = map[string]bool{"sched_process_exit": true, "do_exit": true, "do_group_exit": true, "acct_process": true, "taskstats_exit": true, "exit_signals": true, "profile_task_exit": true}

// taskOf returns the task in which the nth event of a hook happens, or nil for the CPU's current
// task.
func (h *Hooks) taskOf(hook string, nth int) *object.Object {
	cur := h.Current()
	if cur == nil || nth%2 == 0 || h.Mode() != object.ModeDefault {
		return nil
	}
	switch {
	case hook == "sched_switch":
		return h.otherTask()
	case exitEvents[hook]:
		if t, err := cur.Pointee("group_leader"); err == nil && t != cur {
			return t
		}
	}
	return nil
}

// otherTask returns the task that shares the CPU with the current one: it is woken up, switched to
// and switched from.
func (h *Hooks) otherTask() *object.Object {
	if l := h.LayoutNamed("task_struct"); l != nil {
		return h.Shared("p", l)
	}
	return nil
}

// nextTask returns the task a switch away from the current one goes to.
func (h *Hooks) nextTask() *object.Object {
	if h.event.before != nil {
		return h.event.before
	}
	return h.otherTask()
}

// event is the state of the event that a context is created for.
type event struct {
	hook   string
	nth    int
	before *object.Object // the task that ran before taskOf changed it, or nil
	asleep *object.Object // the task that goes to sleep in the event
	regs   *object.Object // the user registers of the system call the event is about
	call   *enteredCall   // that call, until regs are needed
}

// enter begins an event. With free, the user did not choose the task: the event's task becomes the
// current one until leave.
func (h *Hooks) enter(hook string, nth int, free bool) {
	h.leave()
	h.event = event{hook: hook, nth: nth}
	if t := h.taskOf(hook, nth); t != nil && free {
		h.event.before = h.Current()
		h.SetCurrent(t)
	}
	if t := h.Current(); hook == "sched_switch" && t != nil && h.prevState() != 0 && h.Mode() == object.ModeDefault {
		h.event.asleep = t
		h.setState(t, h.prevState())
	}
}

// prevState returns the state of the task that is switched from: it goes to sleep the first time
// and is preempted the next.
func (h *Hooks) prevState() uint64 {
	if h.event.nth%2 == 0 {
		return taskInterruptible
	}
	return 0
}

func (h *Hooks) setState(t *object.Object, state uint64) {
	t.Populate()
	object.Fill(t).Num("__state|state", state)
}

// leave ends the event.
func (h *Hooks) leave() {
	if h.event.asleep != nil {
		h.setState(h.event.asleep, 0)
	}
	if h.event.before != nil {
		h.SetCurrent(h.event.before)
	}
	if h.event.regs != nil {
		h.event.regs.Forget() // the task continues to another call
	}
	h.event = event{}
	h.AllowLoads()
}

// tcpTransitions are the state changes of a connection, in sequence: the handshake completes, the
// peer resets.
var tcpTransitions = [...]struct{ from, to uint64 }{{net.TCPSynSent, net.TCPEstablished}, {net.TCPEstablished, net.TCPClose}}

// transition returns the state change of the event.
func (h *Hooks) transition() (from, to uint64) {
	t := tcpTransitions[h.event.nth%len(tcpTransitions)]
	return t.from, t.to
}

// sockStates is the state that a socket has when a function is called; for other functions it is
// connected.
var sockStates = map[string]uint64{
	"tcp_v4_connect": net.TCPClose, "tcp_v6_connect": net.TCPClose, "__inet_stream_connect": net.TCPClose, "inet_bind": net.TCPClose, "inet6_bind": net.TCPClose,
	"__inet_bind": net.TCPClose, "__inet6_bind": net.TCPClose, "inet_csk_get_port": net.TCPClose, "inet_csk_listen_start": net.TCPClose,
	"tcp_connect": net.TCPSynSent, "tcp_finish_connect": net.TCPSynSent, "tcp_rcv_synsent_state_process": net.TCPSynSent, "security_inet_conn_established": net.TCPSynSent,
	// tcp_v4_do_rcv receives the packets of all sockets that are not connected.
	"tcp_rcv_state_process": net.TCPSynSent,
	"tcp_conn_request":      net.TCPListen, "tcp_v4_conn_request": net.TCPListen, "tcp_v6_conn_request": net.TCPListen, "tcp_v4_syn_recv_sock": net.TCPListen, "tcp_v6_syn_recv_sock": net.TCPListen,
	"inet_csk_reqsk_queue_add": net.TCPListen, "inet_csk_complete_hashdance": net.TCPListen, "security_inet_conn_request": net.TCPListen,
	"tcp_time_wait": net.TCPFinWait2, "tcp_rtx_synack": net.TCPSynRecv,
}

// settle puts the sockets among the arguments into the state that the event implies.
func (h *Hooks) settle(c *Context) {
	if h.Mode() != object.ModeDefault {
		return
	}
	state, known := sockStates[h.event.hook]
	switch h.event.hook {
	case "inet_sock_set_state", "tcp_set_state":
		state, _ = h.transition()
	default:
		if !known {
			state = net.TCPEstablished
		}
	}
	for i := range c.Args {
		o := c.Args[i].Object
		if o == nil || o.TypeName() != "sock" {
			continue
		}
		o.Populate()
		b := object.Fill(o)
		b.Num("__sk_common.skc_state", state)
	}
}
