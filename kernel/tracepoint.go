package kernel

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/bpfrun/bpfrun/btf"
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

// maxRecordSize bounds trace records, whose offsets have 16 bits.
const maxRecordSize = 1 << 16

const eventPrefix = "trace_event_raw_"

// eventLayout finds the structure of an event's record: of its own name, of its class by the table, or of the class
// whose recording function has the event's prototype and the most similar name.
func (h *Hooks) eventLayout(name string) *layout {
	if l := h.layoutNamed(eventPrefix + name); l != nil {
		return l
	}
	for _, class := range eventClasses()[name] {
		if l := h.layoutNamed(eventPrefix + class); l != nil {
			return l
		}
	}
	spec, p := h.eventProto(name)
	if p == nil || spec != h.btf {
		return nil
	}
	best, score, unique := "", 0, false
	for _, class := range h.types.classes(h.btf, h.functions(), signature(p)) {
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
	return h.layoutNamed(eventPrefix + best)
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// tracepointContext makes the record of a tracepoint, as the program of a perf event on it sees it.
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
		return h.syscallRecord(c, name, "openat")
	}
	var l *layout
	if t := btf.EssentialName(c.spec.ContextType); strings.HasPrefix(t, eventPrefix) {
		l = h.layoutNamed(t)
	}
	if l == nil {
		l = h.eventLayout(name)
	}
	if l == nil {
		if c.unlisted() {
			c.Type, c.Untyped = eventPrefix+name, true
			return c.allocate(make([]byte, 256), true)
		}
		return &AbsentError{Hook: c.spec.AttachTo, What: "structure " + eventPrefix + name + " or of its event class", Nearest: h.nearestNames(btf.KindTypedef, "btf_trace_", name)}
	}
	r := &record{k: h, c: c, event: name, l: l}
	return r.build()
}

// record is a trace record being made.
type record struct {
	k     *Hooks
	c     *Context
	event string
	l     *layout
	o     *Object
	b     builder
	args  map[string]*Arg // the event's arguments by name
	data  []byte          // dynamic part, after the structure
}

// newRecord makes an object outside of guest memory to collect a record's bytes. The error is a [*TypeError].
func (h *Hooks) newRecord(name string, l *layout) (*Object, error) {
	if l.size > maxRecordSize {
		return nil, &TypeError{Type: l.name, Role: name, Why: fmt.Sprintf("has %d bytes, a trace record has at most %d", l.size, maxRecordSize)}
	}
	return h.detached(name, l), nil
}

func (r *record) build() error {
	k := r.k
	o, err := k.newRecord(r.event, r.l)
	if err != nil {
		return err
	}
	r.o = o
	r.b = fill(r.o)
	r.args = make(map[string]*Arg)
	if spec, p := k.eventProto(r.event); p != nil {
		probe := &Context{k: k, spec: ContextSpec{}}
		if err := k.arguments(probe, r.event, spec, p, 1); err != nil {
			return err
		}
		for i := range probe.Args {
			r.args[probe.Args[i].Name] = &probe.Args[i]
		}
	}
	r.common()
	size := (r.l.size + 7) &^ 7
	for i := range r.l.typ.Members {
		m := &r.l.typ.Members[i]
		switch {
		case m.Name == "" || m.Name == "ent" || m.Name == "__data":
		case strings.HasPrefix(m.Name, "__data_loc_"):
			r.dynamic(m.Name, r.text(strings.TrimPrefix(m.Name, "__data_loc_")), size)
		case strings.HasPrefix(m.Name, "__rel_loc_"):
			text := r.text(strings.TrimPrefix(m.Name, "__rel_loc_"))
			if f, ok := r.b.field(m.Name); ok {
				at := r.append(text, size) - (f.Off + f.Size)
				r.b.num(m.Name, uint64(len(text)+1)<<16|at&0xffff)
			}
		default:
			r.member(m)
		}
	}
	for name, v := range r.c.spec.Args {
		if _, dynamic := r.b.field("__data_loc_" + name + "|__rel_loc_" + name); dynamic {
			continue
		}
		if err := r.o.Set(name, v); err != nil {
			return err
		}
	}
	saved := k.mode
	k.mode = ModeDefault // what no rule knows still gets a value by name; only objects follow the mode
	fixed := append([]byte(nil), r.o.present(0, r.l.size)...)
	k.mode = saved
	bytes := append(append(fixed, make([]byte, size-r.l.size)...), r.data...)
	r.c.Type, r.c.Record = r.l.name, r.o
	return r.c.allocate(bytes, true)
}

// common fills trace_entry.
func (r *record) common() {
	pid, _ := r.k.PidTgid()
	r.b.num("ent.type", 100+r.k.hash("event", r.event)%1500)
	r.b.num("ent.flags", 0)
	r.b.num("ent.preempt_count", 0)
	r.b.num("ent.preempt_lazy_count", 0)
	r.b.num("ent.pid", uint64(pid))
}

// append adds a NUL-terminated string to the dynamic part and returns its offset in the record.
func (r *record) append(text string, size uint64) uint64 {
	at := size + uint64(len(r.data))
	r.data = append(append(r.data, text...), 0)
	for len(r.data)%8 != 0 {
		r.data = append(r.data, 0)
	}
	return at
}

// dynamic sets a __data_loc: length in the upper, offset from the record's start in the lower 16 bits.
func (r *record) dynamic(field, text string, size uint64) {
	at := r.append(text, size)
	r.b.num(field, uint64(len(text)+1)<<16|at&0xffff)
}

// task returns the task the fields with a prefix speak of ("prev_", "parent_", ""): an argument of the event, else current.
func (r *record) task(prefix string) *Object {
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

// object returns the argument of a type, nil when the event has none.
func (r *record) object(typ string) *Object {
	for _, a := range r.args {
		if a.Object != nil && a.Object.TypeName() == typ {
			return a.Object
		}
	}
	return nil
}

// text is the content of a dynamic field.
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
		return "/" + strings.Join(cgroupNames[1:], "/")
	}
	return r.k.word(r.event+"."+name, name)
}

func (r *record) taskComm(prefix string) (string, error) {
	if t := r.task(prefix); t != nil {
		return t.String("comm")
	}
	return r.k.Comm(), nil
}

// member gives a field of the record its value, where a rule knows it; what remains gets a default by its name.
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
				b.text(name, s)
			}
			return
		case "pid", "prio", "tgid":
			if t := r.task(prefix); t != nil {
				b.num(name, t.uint(what))
				return
			}
		case "state":
			if prefix == "prev_" {
				b.num(name, k.prevState())
				return
			}
		}
	}
	if a := r.args[name]; a != nil {
		b.num(name, a.Value)
		return
	}
	if r.network(name) || r.block(name) {
		return
	}
	switch name {
	case "old_pid":
		b.num(name, r.k.Current().uint("pid"))
	case "target_cpu", "cpu":
		b.num(name, uint64(k.cpu))
	case "success":
		b.num(name, 1)
	case "call_site", "ip", "caller_ip", "parent_ip":
		b.num(name, k.sampleIP())
	case "gfp_flags":
		b.num(name, 0xcc0)
	case "node":
		b.num(name, ^uint64(0))
	case "errno", "code", "error", "result", "err":
		b.num(name, 0)
	case "irq":
		b.num(name, 16+k.hash("irq")%100)
	case "ret":
		b.num(name, 1)
	case "vec":
		if a := r.args["vec_nr"]; a != nil {
			b.num(name, a.Value)
		}
	}
}

// network fills the fields of socket and packet events from the event's objects, so that they agree with what
// a program reads from those.
func (r *record) network(name string) bool {
	b := r.b
	sk, skb := r.object("sock"), r.object("sk_buff")
	switch name {
	case "skaddr", "sk":
		if sk != nil {
			b.num(name, sk.Addr())
			return true
		}
	case "skbaddr":
		if skb != nil {
			b.num(name, skb.Addr())
			return true
		}
	case "len":
		if skb != nil {
			b.num(name, skb.uint("len"))
			return true
		}
	case "rc":
		b.num(name, 0)
		return true
	case "protocol":
		if skb != nil && !strings.HasPrefix(r.event, "tcp") {
			b.num(name, etherIPv4)
			return true
		}
	}
	if sk == nil {
		return false
	}
	raw := func(path string) []byte { v, _ := sk.GetBytes("__sk_common." + path); return v }
	switch name {
	case "sport":
		b.num(name, sk.uint("__sk_common.skc_num"))
	case "dport":
		if p := raw("skc_dport"); len(p) == 2 {
			b.num(name, uint64(p[0])<<8|uint64(p[1]))
		}
	case "family":
		b.num(name, sk.uint("__sk_common.skc_family"))
	case "state":
		b.num(name, sk.uint("__sk_common.skc_state"))
	case "protocol":
		b.num(name, sk.uint("sk_protocol"))
	case "saddr":
		b.bytes(name, raw("skc_rcv_saddr"))
	case "daddr":
		b.bytes(name, raw("skc_daddr"))
	case "saddr_v6":
		b.bytes(name, raw("skc_v6_rcv_saddr"))
	case "daddr_v6":
		b.bytes(name, raw("skc_v6_daddr"))
	case "sock_cookie":
		b.num(name, sk.uint("__sk_common.skc_cookie.counter"))
	default:
		return false
	}
	return true
}

// block fills the fields of block events from the request or bio.
func (r *record) block(name string) bool {
	if !strings.HasPrefix(r.event, "block_") {
		return false
	}
	b := r.b
	rq, bio := r.object("request"), r.object("bio")
	bytes, sector, op := uint64(4096), uint64(2048), uint64(0)
	switch {
	case rq != nil:
		bytes, sector, op = rq.uint("__data_len"), rq.uint("__sector"), rq.uint("cmd_flags")
	case bio != nil:
		bytes, sector, op = bio.uint("bi_iter.bi_size"), bio.uint("bi_iter.bi_sector"), bio.uint("bi_opf")
	}
	switch name {
	case "dev", "old_dev":
		b.num(name, kernelDev(diskMajor, 0))
	case "sector", "old_sector", "new_sector":
		b.num(name, sector)
	case "nr_sector":
		b.num(name, bytes/512)
	case "bytes":
		b.num(name, bytes)
	case "rwbs":
		b.text(name, [...]string{"R", "W"}[op&1])
	case "ioprio":
		b.num(name, 0)
	default:
		return false
	}
	return true
}

// syscallRecord makes the record of syscalls:sys_enter_CALL and sys_exit_CALL.
func (h *Hooks) syscallRecord(c *Context, event, call string) error {
	l := h.layoutNamed(eventPrefix + event)
	if l == nil {
		return &AbsentError{Hook: c.spec.AttachTo, What: "structure " + eventPrefix + event}
	}
	if chosen, ok := c.spec.Args["call"].(string); ok {
		call = chosen
	}
	if err := h.syscallArguments(c, call); err != nil {
		return err
	}
	o, err := h.newRecord(event+"_"+call, l)
	if err != nil {
		return err
	}
	r := &record{k: h, c: c, event: event, l: l, o: o}
	r.b = build(r.o)
	r.common()
	nr, known := h.SyscallNumber(call)
	if !known {
		nr = int(h.hash("syscall", call) % 400)
	}
	r.b.num("id", uint64(nr))
	if event == "sys_enter" {
		for i := range 6 {
			v := uint64(0)
			if i < len(c.Args) {
				v = c.Args[i].Value
			}
			r.b.num("args["+strconv.FormatUint(uint64(i), 10)+"]", v)
		}
	} else {
		if err := h.syscallReturn(c, call); err != nil {
			return err
		}
		r.b.num("ret", c.Ret.Value)
	}
	c.Type, c.Record = l.name, r.o
	return c.allocate(r.o.Bytes(), true)
}
