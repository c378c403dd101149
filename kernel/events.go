package kernel

// What follows here is the order of things: an event that repeats is the next one of its kind, not the same one again. A
// task that was switched in is switched out, a connection that was made is closed. ContextSpec.Nth counts; everything is
// derived from it and from the hook's name, never from the programs.

// Events in which a task ends. The threads of a process end before its leader.
var exitEvents = map[string]bool{"sched_process_exit": true, "do_exit": true, "do_group_exit": true, "acct_process": true, "taskstats_exit": true, "exit_signals": true, "profile_task_exit": true}

// taskOf returns the task the nth event of a hook happens in, nil for the task that runs on the CPU anyway.
func (k *Kernel) taskOf(hook string, nth int) *Object {
	cur := k.Current()
	if cur == nil || nth%2 == 0 || k.mode != ModeDefault {
		return nil
	}
	switch {
	case hook == "sched_switch":
		return k.otherTask()
	case exitEvents[hook]:
		if t, err := cur.Pointee("group_leader"); err == nil && t != cur {
			return t
		}
	}
	return nil
}

// otherTask is the task that shares the CPU with the current one: it is woken up, switched to and switched from.
func (k *Kernel) otherTask() *Object {
	if l := k.layoutNamed("task_struct"); l != nil {
		return k.sharedArg("p", l)
	}
	return nil
}

// nextTask is the task a switch away from the current one goes to.
func (k *Kernel) nextTask() *Object {
	if k.event.before != nil {
		return k.event.before
	}
	return k.otherTask()
}

// event is what is known of the event a context is made for.
type event struct {
	hook   string
	nth    int
	before *Object // the task that ran before taskOf changed it; nil when it did not
	asleep *Object // the task that goes to sleep in the event
	// noLoads: the program has no typed pointers to kernel memory.
	noLoads bool
}

// ForbidLoads makes direct loads from kernel memory fault until the event of the context made last ends: its program has no
// pointer the verifier knows to be one. Helpers that copy are not concerned.
func (k *Kernel) ForbidLoads() { k.event.noLoads = true }

// enter begins an event. With free, nobody chose the task it happens in: it becomes the current one until leave.
func (k *Kernel) enter(hook string, nth int, free bool) {
	k.leave()
	k.event = event{hook: hook, nth: nth}
	if t := k.taskOf(hook, nth); t != nil && free {
		k.event.before = k.Current()
		k.SetCurrent(t)
	}
	if t := k.Current(); hook == "sched_switch" && t != nil && k.prevState() != 0 && k.mode == ModeDefault {
		k.event.asleep = t
		k.setState(t, k.prevState())
	}
}

// prevState is the state of the task that is switched from: it goes to sleep the first time, and is preempted the next.
func (k *Kernel) prevState() uint64 {
	if k.event.nth%2 == 0 {
		return taskInterruptible
	}
	return 0
}

func (k *Kernel) setState(t *Object, state uint64) {
	t.populateOnce()
	builder{k: k, o: t, how: made}.num("__state|state", state)
}

// leave ends the event.
func (k *Kernel) leave() {
	if k.event.asleep != nil {
		k.setState(k.event.asleep, 0)
	}
	if k.event.before != nil {
		k.SetCurrent(k.event.before)
	}
	k.event = event{}
}

// tcpTransitions are the state changes of a connection, in turn: the handshake ends, the peer resets.
var tcpTransitions = [...]struct{ from, to uint64 }{{tcpSynSent, tcpEstablished}, {tcpEstablished, tcpClose}}

// transition is the state change of the event.
func (k *Kernel) transition() (from, to uint64) {
	t := tcpTransitions[k.event.nth%len(tcpTransitions)]
	return t.from, t.to
}

// sockStates says which state a socket is in when a function is called with it; in all others it is connected.
var sockStates = map[string]uint64{
	"tcp_v4_connect": tcpClose, "tcp_v6_connect": tcpClose, "__inet_stream_connect": tcpClose, "inet_bind": tcpClose, "inet6_bind": tcpClose,
	"__inet_bind": tcpClose, "__inet6_bind": tcpClose, "inet_csk_get_port": tcpClose, "inet_csk_listen_start": tcpClose,
	"tcp_connect": tcpSynSent, "tcp_finish_connect": tcpSynSent, "tcp_rcv_synsent_state_process": tcpSynSent, "security_inet_conn_established": tcpSynSent,
	// tcp_v4_do_rcv gives it the packets of all sockets that are not connected yet, or not any more.
	"tcp_rcv_state_process": tcpSynSent,
	"tcp_conn_request":      tcpListen, "tcp_v4_conn_request": tcpListen, "tcp_v6_conn_request": tcpListen, "tcp_v4_syn_recv_sock": tcpListen, "tcp_v6_syn_recv_sock": tcpListen,
	"inet_csk_reqsk_queue_add": tcpListen, "inet_csk_complete_hashdance": tcpListen, "security_inet_conn_request": tcpListen,
	"tcp_time_wait": tcpFinWait2, "tcp_rtx_synack": tcpSynRecv,
}

// settle puts the sockets among the arguments into the state the event finds them in.
func (k *Kernel) settle(c *Context) {
	if k.mode != ModeDefault {
		return
	}
	state, known := sockStates[k.event.hook]
	switch k.event.hook {
	case "inet_sock_set_state", "tcp_set_state":
		state, _ = k.transition()
	default:
		if !known {
			state = tcpEstablished
		}
	}
	for i := range c.Args {
		o := c.Args[i].Object
		if o == nil || o.TypeName() != "sock" {
			continue
		}
		o.populateOnce()
		b := builder{k: k, o: o, how: made}
		b.num("__sk_common.skc_state", state)
	}
}
