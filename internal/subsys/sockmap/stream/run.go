package stream

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	knet "github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/machine"
	mapspkg "github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/internal/subsys/drive"
	"github.com/bpfrun/bpfrun/internal/subsys/scene"
	"github.com/bpfrun/bpfrun/internal/subsys/sockmap"
)

// run is a run with sockets: its simulation, and the programs behind it.
type run struct {
	set     *scene.Setting
	ctx     context.Context
	sim     *sockmap.Sim
	list    []sockmap.Socket
	objects map[string]*object.Object
	names   map[*knet.Socket]string
	progs   map[string]map[int]string // of each socket
	sends   []int
	nth     int // of the step, from 1
	out     *machine.Result
}

// collect collects the sockets, with the programs of the maps they are in (sock_map_link).
func (s *planned) collect(set *scene.Setting) (*run, error) {
	progs, err := s.attachedProgs(set)
	if err != nil {
		return nil, err
	}
	x := &run{set: set, objects: map[string]*object.Object{}, names: map[*knet.Socket]string{}, progs: map[string]map[int]string{}}
	index := map[string]int{}
	for _, named := range set.Objects {
		o, name := named.Object, named.Name
		if o == nil || named.Tag != tagSock {
			continue
		}
		k, err := set.Machine.Kernel().SocketOf(o)
		if err != nil {
			return nil, set.Node.Wrap("sockets", err)
		}
		index[name] = len(x.list)
		x.list = append(x.list, sockmap.Socket{Name: name})
		x.objects[name], x.names[k], x.progs[name] = o, name, map[int]string{}
	}
	for _, def := range set.Machine.Linked().Maps {
		b, ok := set.Machine.MapByName(def.Name)
		if !ok {
			continue
		}
		table, ok := b.(mapspkg.SockMap)
		if !ok {
			continue
		}
		for _, e := range table.Entries() {
			k, _ := e.Ref.(*knet.Socket)
			name, known := x.names[k]
			if !known {
				continue
			}
			at := &x.list[index[name]]
			at.InMap = true
			for bit, prog := range progs[def.Name] {
				if had := x.progs[name][bit]; had != "" && had != prog {
					return nil, set.Node.Errorf("sockets: %s is in two maps with a program of one kind each, %s and %s: the kernel refuses that (EBUSY)", name, had, prog)
				}
				x.progs[name][bit], at.Progs = prog, at.Progs|bit
			}
		}
	}
	names := slices.Sorted(maps.Keys(index))
	var wrong grammar.Mistakes
	for _, p := range s.peers {
		for _, n := range []*grammar.Node{p.Key, p.Value} {
			if _, ok := index[n.Text]; !ok {
				wrong.Add(n.Unknown("socket", n.Text, names))
			}
		}
		if wrong.Err() == nil {
			x.list[index[p.Key.Text]].Peer, x.list[index[p.Value.Text]].Peer = p.Value.Text, p.Key.Text
		}
	}
	for _, step := range s.steps {
		if _, ok := index[step.socket.Text]; !ok {
			wrong.Add(step.socket.Unknown("socket", step.socket.Text, names))
		}
	}
	if err := wrong.Err(); err != nil {
		return nil, err
	}
	x.sim, err = sockmap.New(x.list, x)
	return x, err
}

// Check implements [scene.Run].
func (s *planned) Check(set *scene.Setting) error {
	_, err := s.collect(set)
	return err
}

// notRunError means that a program did not end well.
type notRunError struct {
	res *machine.Result
	err error // why, if that is known
}

// Error names the program and the status.
func (e *notRunError) Error() string {
	if e.res.Fault != nil {
		return fmt.Sprintf("program %s was stopped: %v", e.res.Program, e.res.Fault)
	}
	if e.err != nil {
		return e.err.Error()
	}
	return fmt.Sprintf("program %s cannot run: it is %s", e.res.Program, e.res.Status)
}

// ask runs the program of a kind that a socket has.
func (x *run) ask(socket string, bit int, d sockmap.Data) (*machine.Result, error) {
	net := hook.NetSpec{Socket: x.objects[socket]}
	const page = 4096
	for rest := d.Rest; len(rest) > 0; rest = rest[min(page, len(rest)):] {
		net.Frags = append(net.Frags, rest[:min(page, len(rest))])
	}
	in := x.set.Input
	if bit == sockmap.Message {
		net.Message = d.First
	} else {
		in.Packet = append(streamHeaders(), d.First...)
	}
	in.Net = net
	if err := x.before(socket, x.progs[socket][bit], in); err != nil {
		return nil, err
	}
	res, err := x.set.Machine.Run(x.ctx, x.progs[socket][bit], in)
	if err != nil {
		return nil, err
	}
	x.add(res)
	if !res.Ran || res.Fault != nil {
		return nil, &notRunError{res, x.set.Machine.ProgramError(res.Program)}
	}
	return res, nil
}

// before tells [scene.Setting.Calls] of a program that is about to run. It holds the socket's lock:
// tcp_v4_rcv, release_sock or strp_work took it for what arrives (sk_psock_verdict_recv,
// sk_psock_strp_read), tcp_bpf_sendmsg for what is sent, also by sk_psock_backlog for another
// socket. What a step causes comes after its cause.
func (x *run) before(socket, prog string, in machine.Input) error {
	if x.set.Calls == nil {
		return nil
	}
	return x.set.Calls(&drive.Call{Name: prog + " of " + socket, Program: prog, Input: in, About: []uint64{x.objects[socket].Addr()}, Step: x.nth})
}

// add joins the result of one program with those before.
func (x *run) add(res *machine.Result) {
	o := x.out
	o.Ret, o.Insns = res.Ret, o.Insns+res.Insns
	for name, n := range res.Helpers {
		o.Helpers[name] += n
	}
	o.Trace, o.Events, o.Effects = append(o.Trace, res.Trace...), append(o.Events, res.Events...), append(o.Effects, res.Effects...)
	o.Changes, o.Reads, o.Writes = append(o.Changes, res.Changes...), append(o.Reads, res.Reads...), append(o.Writes, res.Writes...)
	o.Warnings, o.StackReads = append(o.Warnings, res.Warnings...), append(o.StackReads, res.StackReads...)
}

// streamHeaders are headers of TCP over IPv4, which programs of sockmaps do not see.
func streamHeaders() []byte {
	const eth, ip, tcp = 14, 20, 20
	b := make([]byte, eth+ip+tcp)
	b[12], b[eth], b[eth+8], b[eth+9], b[eth+ip+12] = 8, 0x45, 64, 6, tcp/4<<4
	return b
}

// linkHeader is the length of the bytes that DataOut has before a stream's.
const linkHeader = 14

// Parse runs the stream parser.
func (x *run) Parse(socket string, d sockmap.Data) (int32, error) {
	res, err := x.ask(socket, sockmap.Parser, d)
	if err != nil {
		return 0, err
	}
	return int32(uint32(res.Ret)), nil
}

// Verdict runs the sk_skb program that decides.
func (x *run) Verdict(socket string, d sockmap.Data) (sockmap.Answer, error) {
	bit := sockmap.StreamVerdict
	if x.progs[socket][bit] == "" {
		bit = sockmap.Verdict
	}
	return x.answer(x.ask(socket, bit, d))
}

// Message runs the sk_msg program.
func (x *run) Message(socket string, d sockmap.Data) (sockmap.Answer, error) {
	return x.answer(x.ask(socket, sockmap.Message, d))
}

func (x *run) answer(res *machine.Result, err error) (sockmap.Answer, error) {
	if err != nil {
		return sockmap.Answer{}, err
	}
	a := sockmap.Answer{Ret: int32(uint32(res.Ret)), Data: res.DataOut[min(linkHeader, len(res.DataOut)):]}
	if v := res.Socket; v != nil {
		a.Ingress, a.Apply, a.Cork = v.Ingress, v.Apply, v.Cork
		if v.Target != nil {
			if a.Target = x.names[v.Target]; a.Target == "" {
				return a, fmt.Errorf("program %s redirects to a socket that is no object of the scenario", res.Program)
			}
		}
	}
	return a, nil
}

// Simulate implements [scene.Run].
func (s *planned) Simulate(ctx context.Context, set *scene.Setting) (*scene.Outcome, error) {
	x, err := s.collect(set)
	if err != nil {
		return nil, err
	}
	x.ctx = ctx
	x.out = &machine.Result{Program: set.Prog, Status: machine.StatusOK, Ran: true, Helpers: map[string]int{}}
	for i, step := range s.steps {
		x.nth = i + 1
		if err = x.step(ctx, step); err != nil {
			break
		}
	}
	var bad *notRunError
	switch {
	case err == nil:
	case errors.As(err, &bad):
		x.out.Program, x.out.Status, x.out.Fault, x.out.Ran = bad.res.Program, bad.res.Status, bad.res.Fault, bad.res.Ran
	default:
		return nil, err
	}
	return &scene.Outcome{Result: x.out, Simulation: &Moved{Sockets: x.sim.Results(), Sends: x.sends}, Err: err}, nil
}

// step makes one step.
func (x *run) step(ctx context.Context, s step) error {
	if !s.send {
		return x.sim.Receive(ctx, s.socket.Text, s.data)
	}
	n, err := x.sim.Send(ctx, s.socket.Text, s.data)
	if err == nil {
		x.sends = append(x.sends, n)
	}
	return err
}
