package scenario

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/bpfrun/bpfrun/internal/kernel"
	"github.com/bpfrun/bpfrun/internal/machine"
	mapspkg "github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/internal/subsys/sockmap"
	"github.com/bpfrun/bpfrun/internal/subsys/sockmap/stream"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// Sockets are bytes that move through sockmaps.
type Sockets struct {
	Node   *grammar.Node
	attach []grammar.Pair
	peers  []grammar.Pair
	steps  []socketStep
	once   sync.Once
}

// socketStep is a segment that arrives at a socket, or a call of sendmsg.
type socketStep struct {
	socket *grammar.Node
	send   bool
	data   []byte
}

// decodeSockets decodes the sockets of a run.
func (f *File) decodeSockets(r *Run, run, n *grammar.Node) error {
	var wrong grammar.Mistakes
	for _, p := range run.Pairs {
		if runForm.Has(p.Key.Text) && !slices.Contains(socketsMembers, p.Key.Text) {
			wrong.Add(p.Key.Errorf("a run with sockets has no %s: the bytes call the programs", p.Key.Text))
		}
	}
	r.Sockets = &Sockets{Node: n}
	if wrong.Add(n.Fields(socketsForm)); n.Kind != grammar.Mapping {
		return wrong.Err()
	}
	s := r.Sockets
	var err error
	s.attach, err = n.Get("attach").Members("attach")
	wrong.Add(err)
	s.peers, err = n.Get("peers").Members("peers")
	wrong.Add(err)
	steps := n.Get("steps")
	if steps == nil {
		return wrong.Err()
	}
	if steps.Kind != grammar.Sequence {
		wrong.Add(steps.Errorf("steps: want a list, got %s", steps.Describe()))
		return wrong.Err()
	}
	for _, item := range steps.Items {
		if err := item.Fields(socketStepForm); !wrong.Add(err) {
			continue
		}
		to, from := item.Get("to"), item.Get("from")
		if (to == nil) == (from == nil) {
			wrong.Add(item.Errorf("want one of to (a segment arrives) and from (the socket sends)"))
			continue
		}
		data, err := someBytes(item.Get("data"), "data")
		if wrong.Add(err) && len(data) > sockmap.MaxBytes {
			wrong.Add(item.Get("data").Errorf("data: %d bytes; a step has at most %d", len(data), sockmap.MaxBytes))
		}
		step := socketStep{socket: to, data: data}
		if from != nil {
			step.socket, step.send = from, true
		}
		s.steps = append(s.steps, step)
	}
	return wrong.Err()
}

// someBytes decodes text or !hex.
func someBytes(n *grammar.Node, what string) ([]byte, error) {
	if n.Tag == "!hex" {
		return n.Hex(what)
	}
	if n.Kind != grammar.Scalar || n.Tag != "" {
		return nil, n.Errorf("%s: want text or !hex, got %s", what, n.Describe())
	}
	return []byte(n.Text), nil
}

// socketProgs are the programs that sockmaps can have.
func socketProgs(obj *loader.Object) []string {
	var names []string
	for _, p := range obj.Programs {
		if progtype.SockMapPartOf(p.Type, p.Attach) != progtype.NoPart {
			names = append(names, p.Name)
		}
	}
	return names
}

// choose names the run and its programs, once: they are the same for all kernels.
func (s *Sockets) choose(r *Run, obj *loader.Object) error {
	names := socketProgs(obj)
	if len(names) == 0 {
		return s.Node.Errorf("sockets: the object has no sk_skb and no sk_msg program")
	}
	s.once.Do(func() {
		r.Prog, r.ProgNode = names[0], s.Node
		if r.Name == "" {
			r.Name = "sockets"
		}
	})
	return nil
}

// progBit is the kind of a program that a sockmap has, 0 for one of another type.
func progBit(lp *loader.LinkedProgram) int {
	return map[progtype.SockMapPart]int{
		progtype.PartParser: sockmap.Parser, progtype.PartStreamVerdict: sockmap.StreamVerdict, progtype.PartVerdict: sockmap.Verdict, progtype.PartMessage: sockmap.Message,
	}[progtype.SockMapPartOf(lp.Type, lp.Attach)]
}

// attachedProgs returns the programs of each sockmap by kind (sock_map_prog_update).
func (r *Runner) attachedProgs(s *Sockets) (map[string]map[int]string, error) {
	var tables []string
	for _, def := range r.m.Linked().Maps {
		if def.Type == uapi.MapTypeSockmap || def.Type == uapi.MapTypeSockhash {
			tables = append(tables, def.Name)
		}
	}
	out := map[string]map[int]string{}
	add := func(at *grammar.Node, table, prog string) error {
		lp, ok := r.m.Linked().Program(prog)
		if !ok {
			return at.Unknown("program", prog, socketProgs(r.m.Linked().Object))
		}
		bit := progBit(lp)
		had := out[table]
		switch {
		case bit == 0:
			return at.Errorf("attach: program %s (%s) is no parser and no verdict of a sockmap: sk_skb/stream_parser, sk_skb/stream_verdict, sk_skb/verdict or sk_msg", prog, lp.Section)
		case had[bit] != "":
			return at.Errorf("attach: map %s has two programs of one kind, %s and %s: give attach: {MAP: [PROGRAM, ...]}", table, had[bit], prog)
		case bit == sockmap.Verdict && had[sockmap.StreamVerdict] != "", bit == sockmap.StreamVerdict && had[sockmap.Verdict] != "":
			return at.Errorf("attach: the kernel refuses a stream_verdict and a verdict program on one map (EBUSY)")
		}
		if had == nil {
			out[table] = map[int]string{}
		}
		out[table][bit] = prog
		return nil
	}
	var wrong grammar.Mistakes
	if s.attach == nil {
		if len(tables) != 1 {
			return nil, s.Node.Errorf("sockets: the object has %d sockmaps and sockhashes; say with attach: {MAP: [PROGRAM, ...]} which programs they have", len(tables))
		}
		for _, prog := range socketProgs(r.m.Linked().Object) {
			wrong.Add(add(s.Node, tables[0], prog))
		}
		return out, wrong.Err()
	}
	for _, p := range s.attach {
		if !slices.Contains(tables, p.Key.Text) {
			wrong.Add(p.Key.Unknown("sockmap", p.Key.Text, tables))
			continue
		}
		if p.Value.Kind != grammar.Sequence {
			wrong.Add(p.Value.Errorf("attach: want a list of programs, got %s", p.Value.Describe()))
			continue
		}
		for _, item := range p.Value.Items {
			wrong.Add(add(item, p.Key.Text, item.Text))
		}
	}
	return out, wrong.Err()
}

// socketRun is a run with sockets: its simulation, and the programs behind it.
type socketRun struct {
	r       *Runner
	run     *Run
	ctx     context.Context
	sim     *sockmap.Sim
	list    []sockmap.Socket
	objects map[string]*kernel.Object
	names   map[*kernel.Socket]string
	progs   map[string]map[int]string // of each socket
	sends   []int
	out     *machine.Result
}

// socketsOf collects the sockets, with the programs of the maps they are in (sock_map_link).
func (r *Runner) socketsOf(run *Run) (*socketRun, error) {
	s := run.Sockets
	progs, err := r.attachedProgs(s)
	if err != nil {
		return nil, err
	}
	x := &socketRun{r: r, run: run, objects: map[string]*kernel.Object{}, names: map[*kernel.Socket]string{}, progs: map[string]map[int]string{}}
	index := map[string]int{}
	for _, name := range r.b.names {
		o := r.b.objects[name]
		if o == nil || r.b.defs[name].Value.Tag != "!sock" {
			continue
		}
		k, err := r.m.Kernel().SocketOf(o)
		if err != nil {
			return nil, s.Node.Wrap("sockets", err)
		}
		index[name] = len(x.list)
		x.list = append(x.list, sockmap.Socket{Name: name})
		x.objects[name], x.names[k], x.progs[name] = o, name, map[int]string{}
	}
	for _, def := range r.m.Linked().Maps {
		b, ok := r.m.MapByName(def.Name)
		if !ok {
			continue
		}
		table, ok := b.(mapspkg.SockMap)
		if !ok {
			continue
		}
		for _, e := range table.Entries() {
			k, _ := e.Ref.(*kernel.Socket)
			name, known := x.names[k]
			if !known {
				continue
			}
			at := &x.list[index[name]]
			at.InMap = true
			for bit, prog := range progs[def.Name] {
				if had := x.progs[name][bit]; had != "" && had != prog {
					return nil, s.Node.Errorf("sockets: %s is in two maps with a program of one kind each, %s and %s: the kernel refuses that (EBUSY)", name, had, prog)
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

// checkSockets finds the mistakes of a run with sockets.
func (r *Runner) checkSockets(run *Run) error {
	_, err := r.socketsOf(run)
	return err
}

// notRunError means that a program did not end well.
type notRunError struct{ res *machine.Result }

// Error names the program and the status.
func (e *notRunError) Error() string {
	if e.res.Fault != nil {
		return fmt.Sprintf("program %s was stopped: %v", e.res.Program, e.res.Fault)
	}
	return fmt.Sprintf("program %s cannot run: it is %s", e.res.Program, e.res.Status)
}

// ask runs the program of a kind that a socket has.
func (x *socketRun) ask(socket string, bit int, d sockmap.Data) (*machine.Result, error) {
	net := kernel.NetSpec{Socket: x.objects[socket]}
	const page = 4096
	for rest := d.Rest; len(rest) > 0; rest = rest[min(page, len(rest)):] {
		net.Frags = append(net.Frags, rest[:min(page, len(rest))])
	}
	in := x.r.input[x.run].in
	in.Packet, in.Net = append(streamHeaders(), d.First...), net
	res, err := x.r.m.Run(x.ctx, x.progs[socket][bit], in)
	if err != nil {
		return nil, err
	}
	x.add(res)
	if !res.Ran || res.Fault != nil {
		return nil, &notRunError{res}
	}
	return res, nil
}

// add joins the result of one program with those before.
func (x *socketRun) add(res *machine.Result) {
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
func (x *socketRun) Parse(socket string, d sockmap.Data) (int32, error) {
	res, err := x.ask(socket, sockmap.Parser, d)
	if err != nil {
		return 0, err
	}
	return int32(uint32(res.Ret)), nil
}

// Verdict runs the sk_skb program that decides.
func (x *socketRun) Verdict(socket string, d sockmap.Data) (sockmap.Answer, error) {
	bit := sockmap.StreamVerdict
	if x.progs[socket][bit] == "" {
		bit = sockmap.Verdict
	}
	return x.answer(x.ask(socket, bit, d))
}

// Message runs the sk_msg program.
func (x *socketRun) Message(socket string, d sockmap.Data) (sockmap.Answer, error) {
	return x.answer(x.ask(socket, sockmap.Message, d))
}

func (x *socketRun) answer(res *machine.Result, err error) (sockmap.Answer, error) {
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

// moved moves the bytes of a run and compares what became of them with the expectations.
func (r *Runner) moved(ctx context.Context, run *Run, res *Result, start time.Time, events []machine.Event, trace []string) error {
	x, err := r.socketsOf(run)
	if err != nil {
		return err
	}
	x.ctx = ctx
	x.out = &machine.Result{Program: run.Prog, Status: machine.StatusOK, Ran: true, Helpers: map[string]int{}, Events: events, Trace: trace}
	res.Result = x.out
	for _, step := range run.Sockets.steps {
		if err = x.step(ctx, step); err != nil {
			break
		}
	}
	var bad *notRunError
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return ctx.Err()
	case asNotRun(err, &bad):
		x.out.Program, x.out.Status, x.out.Fault, x.out.Ran = bad.res.Program, bad.res.Status, bad.res.Fault, bad.res.Ran
		res.Err = err
		res.Skipped = !bad.res.Ran && bad.res.Status == machine.StatusAbsent && run.Expect.Status == nil
	default:
		return run.Sockets.Node.Wrap("sockets", err)
	}
	res.Simulation = &stream.Moved{Sockets: x.sim.Results(), Sends: x.sends}
	res.Validation = r.m.Validate(res.Result)
	j := &judge{r: r, run: run, res: res.Result, validation: &res.Validation, sockets: x}
	if !res.Skipped {
		if err := j.all(); err != nil {
			return err
		}
	}
	res.Expectations, res.Took = j.Found, time.Since(start)
	return nil
}

// step makes one step.
func (x *socketRun) step(ctx context.Context, s socketStep) error {
	if !s.send {
		return x.sim.Receive(ctx, s.socket.Text, s.data)
	}
	n, err := x.sim.Send(ctx, s.socket.Text, s.data)
	if err == nil {
		x.sends = append(x.sends, n)
	}
	return err
}
