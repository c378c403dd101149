package hook

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/kernel/model"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
)

// eventClasses maps events to their classes.
var eventClasses = sync.OnceValue(func() map[string][]string {
	out := make(map[string][]string, 700)
	for line := range strings.Lines(strings.TrimSpace(eventClassTable)) {
		class, events, _ := strings.Cut(line, ":")
		for e := range strings.FieldsSeq(events) {
			out[e] = append(out[e], class)
		}
	}
	return out
})

// maxRecordSize limits trace records, whose offsets have 16 bits.
const maxRecordSize = 1 << 16

const eventPrefix = "trace_event_raw_"

// eventLayout finds the struct of an event's record: the one named after it, that of its class by
// the table, or that of the class whose recording function has the event's prototype and the most
// similar name.
func (h *Hooks) eventLayout(name string) *object.Layout {
	if l := h.LayoutNamed(eventPrefix + name); l != nil {
		return l
	}
	for _, class := range eventClasses()[name] {
		if l := h.LayoutNamed(eventPrefix + class); l != nil {
			return l
		}
	}
	spec, p, _ := h.eventPrototype(name)
	if p == nil || spec != h.BTF() {
		return nil
	}
	best, score, unique := "", 0, false
	for _, class := range h.Types().Classes(h.BTF(), h.Functions(), object.Signature(p)) {
		switch s := commonPrefix(class, name); {
		case best == "" || s > score:
			best, score, unique = class, s, true
		case s == score:
			unique = false
		}
	}
	if !unique {
		return nil
	}
	return h.LayoutNamed(eventPrefix + best)
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// tracepointContext creates the record of a tracepoint as a program on its perf event sees it.
func (h *Hooks) tracepointContext(c *Context) error {
	category, name := tracepointName(c.spec.AttachTo)
	c.Func = name
	if category == "syscalls" {
		if call, ok := strings.CutPrefix(name, "sys_enter_"); ok {
			return h.syscallRecord(c, "sys_enter", call)
		}
		if call, ok := strings.CutPrefix(name, "sys_exit_"); ok {
			return h.syscallRecord(c, "sys_exit", call)
		}
	}
	if category == "raw_syscalls" {
		call, err := h.chosenCall(c, "openat")
		if err != nil {
			return err
		}
		return h.syscallRecord(c, name, call)
	}
	var l *object.Layout
	if t := btf.EssentialName(c.spec.ContextType); strings.HasPrefix(t, eventPrefix) {
		l = h.LayoutNamed(t)
	}
	if l == nil {
		l = h.eventLayout(name)
	}
	if l == nil {
		if c.unlisted() || name == "" { // a program of no event: a part that others tail-call, or one that its loader attaches
			c.Type, c.Untyped = eventPrefix+name, true
			return c.allocate(make([]byte, 256), true)
		}
		return &object.AbsentError{Hook: c.spec.AttachTo, What: "structure " + eventPrefix + name + " or of its event class", Nearest: h.nearestNames(btf.KindTypedef, "btf_trace_", name)}
	}
	r := &record{k: h, c: c, event: name, l: l}
	return r.build()
}

// record is a trace record under construction.
type record struct {
	k     *Hooks
	c     *Context
	event string
	l     *object.Layout
	o     *object.Object
	b     object.Builder
	args  map[string]*Arg // the event's arguments by name
	data  []byte          // dynamic part, after the structure
}

// newRecord creates an object outside guest memory that collects a record's bytes. The error is a
// [*TypeError].
func (h *Hooks) newRecord(name string, l *object.Layout) (*object.Object, error) {
	if l.Size > maxRecordSize {
		return nil, &object.TypeError{Type: l.Name, Role: name, Why: fmt.Sprintf("has %d bytes, a trace record has at most %d", l.Size, maxRecordSize)}
	}
	return h.Detached(name, l), nil
}

func (r *record) build() error {
	k := r.k
	o, err := k.newRecord(r.event, r.l)
	if err != nil {
		return err
	}
	r.o = o
	r.b = object.Fill(r.o)
	r.args = make(map[string]*Arg)
	if spec, p := k.eventProto(r.event); p != nil {
		probe := &Context{k: k, spec: ContextSpec{Args: r.given()}}
		if err := k.arguments(probe, r.event, spec, p, 1); err != nil {
			return err
		}
		for i := range probe.Args {
			r.args[probe.Args[i].Name] = &probe.Args[i]
		}
	}
	r.common()
	size := (r.l.Size + 7) &^ 7
	for i := range r.l.Type.Members {
		m := &r.l.Type.Members[i]
		switch {
		case m.Name == "" || m.Name == "ent" || m.Name == "__data":
		case strings.HasPrefix(m.Name, "__data_loc_"):
			r.dynamic(m.Name, r.text(strings.TrimPrefix(m.Name, "__data_loc_")), size)
		case strings.HasPrefix(m.Name, "__rel_loc_"):
			text := r.text(strings.TrimPrefix(m.Name, "__rel_loc_"))
			if f, ok := r.b.Field(m.Name); ok {
				at := r.append(text, size) - (f.Off + f.Size)
				r.b.Num(m.Name, uint64(len(text)+1)<<16|at&0xffff)
			}
		default:
			r.member(m)
		}
	}
	given := r.given()
	for name, v := range r.c.spec.Args {
		if _, dynamic := r.b.Field("__data_loc_" + name + "|__rel_loc_" + name); dynamic || given[name] != nil && r.args[name] != nil {
			continue
		}
		if err := r.o.Set(name, v); err != nil {
			return err
		}
	}
	saved := k.Mode()
	k.SetMode(object.ModeDefault) // fields without a rule still get a value by name; only objects follow the mode
	fixed := append([]byte(nil), r.o.Present(0, r.l.Size)...)
	k.SetMode(saved)
	bytes := append(append(fixed, make([]byte, size-r.l.Size)...), r.data...)
	r.c.Type, r.c.Record = r.l.Name, r.o
	return r.c.allocate(bytes, true)
}

// given are the kernel objects among the values that the user chose: arguments of the event, from
// which the record's fields follow.
func (r *record) given() map[string]any {
	out := map[string]any{}
	for name, v := range r.c.spec.Args {
		if o, ok := v.(*object.Object); ok {
			out[name] = o
		}
	}
	return out
}

// common fills in trace_entry.
func (r *record) common() {
	pid, _ := r.k.PidTgid()
	r.b.Num("ent.type", 100+r.k.Hash("event", r.event)%1500)
	r.b.Num("ent.flags", 0)
	r.b.Num("ent.preempt_count", 0)
	r.b.Num("ent.preempt_lazy_count", 0)
	r.b.Num("ent.pid", uint64(pid))
}

// append adds a NUL-terminated string to the dynamic part and returns its offset in the record in
// bytes.
func (r *record) append(text string, size uint64) uint64 {
	at := size + uint64(len(r.data))
	r.data = append(append(r.data, text...), 0)
	for len(r.data)%8 != 0 {
		r.data = append(r.data, 0)
	}
	return at
}

// dynamic sets a __data_loc: the length in the upper 16 bits, the offset from the start of the
// record in the lower 16.
func (r *record) dynamic(field, text string, size uint64) {
	at := r.append(text, size)
	r.b.Num(field, uint64(len(text)+1)<<16|at&0xffff)
}

// task returns the task that fields with a prefix ("prev_", "parent_", "") refer to: an argument of
// the event, else current.
func (r *record) task(prefix string) *object.Object {
	names := []string{strings.TrimSuffix(prefix, "_")}
	if prefix == "" {
		names = []string{"p", "tsk", "task", "t"}
	}
	for _, n := range names {
		if a := r.args[n]; a != nil && a.Object != nil && a.Object.TypeName() == "task_struct" {
			return a.Object
		}
	}
	return r.k.Current()
}

// object returns the argument of a type, or nil if the event has none.
func (r *record) object(typ string) *object.Object {
	for _, a := range r.args {
		if a.Object != nil && a.Object.TypeName() == typ {
			return a.Object
		}
	}
	return nil
}

// text returns the content of a dynamic field.
func (r *record) text(name string) string {
	if s, ok := r.c.spec.Args[name].(string); ok {
		return s
	}
	switch name {
	case "filename":
		return "/usr/bin/" + r.k.Comm()
	case "name", "dev_name", "dev", "devname":
		if strings.HasPrefix(r.event, "irq") {
			return "eth0-rx"
		}
		if strings.HasPrefix(r.event, "net") || r.object("sk_buff") != nil {
			return "eth0"
		}
	case "comm":
		if s, err := r.taskComm(""); err == nil {
			return s
		}
	case "cmd":
		return ""
	case "path":
		return model.DefaultCgroupPath()
	}
	return r.k.Word(r.event+"."+name, name)
}

func (r *record) taskComm(prefix string) (string, error) {
	if t := r.task(prefix); t != nil {
		return t.String("comm")
	}
	return r.k.Comm(), nil
}

// member sets a field of the record if a rule applies to it. The other fields get a default by
// name.
func (r *record) member(m *btf.Member) {
	k, b, name := r.k, r.b, m.Name
	for _, prefix := range [...]string{"prev_", "next_", "parent_", "child_", ""} {
		what, ok := strings.CutPrefix(name, prefix)
		if !ok {
			continue
		}
		switch what {
		case "comm":
			if s, err := r.taskComm(prefix); err == nil {
				b.Text(name, s)
			}
			return
		case "pid", "prio", "tgid":
			if t := r.task(prefix); t != nil {
				b.Num(name, t.Num(what))
				return
			}
		case "state":
			if prefix == "prev_" {
				b.Num(name, k.prevState())
				return
			}
		}
	}
	if a := r.args[name]; a != nil {
		b.Num(name, a.Value)
		return
	}
	if r.network(name) || r.block(name) {
		return
	}
	switch name {
	case "old_pid":
		b.Num(name, r.k.Current().Num("pid"))
	case "target_cpu", "cpu":
		b.Num(name, uint64(k.CPU()))
	case "success":
		b.Num(name, 1)
	case "call_site", "ip", "caller_ip", "parent_ip":
		b.Num(name, k.SampleIP())
	case "gfp_flags":
		b.Num(name, 0xcc0)
	case "node":
		b.Num(name, ^uint64(0))
	case "errno", "code", "error", "result", "err":
		b.Num(name, 0)
	case "irq":
		b.Num(name, 16+k.Hash("irq")%100)
	case "ret":
		b.Num(name, 1)
	case "vec":
		if a := r.args["vec_nr"]; a != nil {
			b.Num(name, a.Value)
		}
	}
}

// network fills in the fields of socket and packet events from the event's objects, so that they
// agree with what a program reads from those.
func (r *record) network(name string) bool {
	b := r.b
	sk, skb := r.object("sock"), r.object("sk_buff")
	switch name {
	case "skaddr", "sk":
		if sk != nil {
			b.Num(name, sk.Addr())
			return true
		}
	case "skbaddr":
		if skb != nil {
			b.Num(name, skb.Addr())
			return true
		}
	case "len":
		if skb != nil {
			b.Num(name, skb.Num("len"))
			return true
		}
	case "rc":
		b.Num(name, 0)
		return true
	case "protocol":
		if skb != nil && !strings.HasPrefix(r.event, "tcp") {
			b.Num(name, net.EtherIPv4)
			return true
		}
	}
	if sk == nil {
		return false
	}
	raw := func(path string) []byte { v, _ := sk.GetBytes("__sk_common." + path); return v }
	switch name {
	case "sport":
		b.Num(name, sk.Num("__sk_common.skc_num"))
	case "dport":
		if p := raw("skc_dport"); len(p) == 2 {
			b.Num(name, uint64(p[0])<<8|uint64(p[1]))
		}
	case "family":
		b.Num(name, sk.Num("__sk_common.skc_family"))
	case "state":
		b.Num(name, sk.Num("__sk_common.skc_state"))
	case "protocol":
		b.Num(name, sk.Num("sk_protocol"))
	case "saddr":
		b.Bytes(name, raw("skc_rcv_saddr"))
	case "daddr":
		b.Bytes(name, raw("skc_daddr"))
	case "saddr_v6":
		b.Bytes(name, raw("skc_v6_rcv_saddr"))
	case "daddr_v6":
		b.Bytes(name, raw("skc_v6_daddr"))
	case "sock_cookie":
		b.Num(name, sk.Num("__sk_common.skc_cookie.counter"))
	default:
		return false
	}
	return true
}

// block fills in the fields of block events from the request or bio.
func (r *record) block(name string) bool {
	if !strings.HasPrefix(r.event, "block_") {
		return false
	}
	b := r.b
	rq, bio := r.object("request"), r.object("bio")
	bytes, sector, op := uint64(4096), uint64(2048), uint64(0)
	switch {
	case rq != nil:
		bytes, sector, op = rq.Num("__data_len"), rq.Num("__sector"), rq.Num("cmd_flags")
	case bio != nil:
		bytes, sector, op = bio.Num("bi_iter.bi_size"), bio.Num("bi_iter.bi_sector"), bio.Num("bi_opf")
	}
	switch name {
	case "dev", "old_dev":
		b.Num(name, model.KernelDev(model.DiskMajor, 0))
	case "sector", "old_sector", "new_sector":
		b.Num(name, sector)
	case "nr_sector":
		b.Num(name, bytes/512)
	case "bytes":
		b.Num(name, bytes)
	case "rwbs":
		b.Text(name, [...]string{"R", "W"}[op&1])
	case "ioprio":
		b.Num(name, 0)
	default:
		return false
	}
	return true
}

// syscallRecord creates the record of syscalls:sys_enter_CALL or sys_exit_CALL.
func (h *Hooks) syscallRecord(c *Context, event, call string) error {
	l := h.LayoutNamed(eventPrefix + event)
	if l == nil {
		return &object.AbsentError{Hook: c.spec.AttachTo, What: "structure " + eventPrefix + event}
	}
	if err := h.syscallArguments(c, call); err != nil {
		return err
	}
	o, err := h.newRecord(event+"_"+call, l)
	if err != nil {
		return err
	}
	r := &record{k: h, c: c, event: event, l: l, o: o}
	r.b = object.Build(r.o)
	r.common()
	nr, known := h.SyscallNumber(call)
	if !known {
		nr = int(h.Hash("syscall", call) % 400)
	}
	r.b.Num("id", uint64(nr))
	if event == "sys_enter" {
		for i := range 6 {
			v := uint64(0)
			if i < len(c.Args) {
				v = c.Args[i].Value
			}
			r.b.Num("args["+strconv.FormatUint(uint64(i), 10)+"]", v)
		}
	} else {
		if err := h.syscallReturn(c, call); err != nil {
			return err
		}
		r.b.Num("ret", c.Ret.Value)
	}
	if known {
		var result *uint64
		if c.Returns {
			result = &c.Ret.Value
		}
		if err := h.enterCall(c, call, result); err != nil {
			return err
		}
	}
	for name, v := range c.spec.Args {
		if name != "call" && c.Arg(name) == nil {
			if err := r.o.Set(name, v); err != nil {
				return err
			}
		}
	}
	c.Type, c.Record = l.Name, r.o
	return c.allocate(r.o.Bytes(), true)
}
