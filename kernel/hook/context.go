package hook

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/kernel/net"
	"github.com/bpfrun/bpfrun/kernel/object"
	"github.com/bpfrun/bpfrun/mem"
	"github.com/bpfrun/bpfrun/progtype"
	"github.com/bpfrun/bpfrun/uapi"
)

// ContextSpec describes what a program's context is for.
type ContextSpec struct {
	ProgType uapi.ProgType
	Attach   uapi.AttachType
	// AttachTo is the function, the tracepoint as "category/name" or name, or the hook's name.
	AttachTo string
	// Section is the ELF section ("kretprobe/vfs_read"); it tells entry from return probes and system call wrappers.
	Section string
	// Proto is the FUNC or FUNC_PROTO (or, of raw tracepoints, the btf_trace_ typedef) of the hook in ProtoSpec; 0 = found by AttachTo.
	Proto     btf.ID
	ProtoSpec *btf.Spec // nil = vmlinux
	// Unlisted means that the BTF lists no hooks, as a reduced one: what it does not have is not absent, but has no types.
	Unlisted bool
	// ContextType is the struct a tracepoint program declares its context with, such as trace_event_raw_sched_switch.
	ContextType string
	// Iter describes what an iterator visits.
	Iter *IterSpec
	// Packet is the packet of a networking program; nil = the default one.
	Packet []byte
	// Bytes is the initial context of a syscall program, and the ctx_in of BPF_PROG_TEST_RUN of packet programs.
	Bytes []byte
	// NetSpec is what surrounds a program of the networking stack.
	NetSpec
	// Args overrides arguments, or fields of a tracepoint record, by name; "ret" is the return value.
	Args map[string]any
	// Current is the task the program runs in; nil = the CPU's current task as it is.
	Current *object.Object
	// Nth is how many events of the hook went before this one. In default mode an event that repeats is the next one: a
	// switch goes back, an established connection is closed.
	Nth int
}

// NetSpec is what a program of the networking stack or a cgroup finds besides its packet. The zero value gives defaults.
type NetSpec struct {
	// Socket is the struct sock that a program of the networking stack runs for; nil = a default one. NoSocket: there is none.
	Socket   *object.Object
	NoSocket bool
	// Frags are fragments after the packet, which is the linear part then. Cloned: another sk_buff has the same bytes.
	Frags  [][]byte
	Cloned bool
	// Ingress means that a tc program sees packets that come in.
	Ingress bool
	// Summed is skb->ip_summed: the network card's part in the packet's checksums.
	Summed Summed
	// Tunnel is the tunnel a packet came through; nil = none.
	Tunnel *Tunnel
	// Received is what the network card says of an XDP packet; nil = nothing.
	Received *Received
	// Sockopt and Sysctl are what a cgroup program filters; nil = a default.
	Sockopt *Sockopt
	Sysctl  *Sysctl
	// Fields are values of fields of a user ABI context by name, set when the context is made.
	Fields map[string]uint64
}

// Summed is skb->ip_summed.
type Summed uint8

// The values of skb->ip_summed (include/linux/skbuff.h): the card did nothing, found a checksum valid, summed the whole packet, or will
// finish the checksum of a packet that goes out.
const (
	SummedNone Summed = iota
	SummedUnnecessary
	SummedComplete
	SummedPartial
)

// Context is what r1 of a program points to.
type Context struct {
	Addr   uint64 // the value of r1
	Region *mem.Region
	Size   int
	// Type names the context: "pt_regs", "trace_event_raw_sched_switch", "xdp_md", "args" (u64 array).
	Type string
	// Func is the traced function's name and FuncAddr its address; empty and 0 where there is none.
	Func     string
	FuncAddr uint64
	// Args are the arguments by name, in order; Returns means that Ret is meaningful.
	Args    []Arg
	Ret     Arg
	Returns bool
	// Slots is the number of u64 slots the arguments take in a context of type "args"; the return value follows them.
	Slots int
	// inner are the arguments of the system call below a hook that only gets its registers; calls says that Args "call" chooses it.
	inner []Arg
	calls bool
	// Untyped means that the hook's prototype is not in BTF: arguments are numbers without types.
	Untyped bool
	// Record is the typed content of a tracepoint's context; nil elsewhere.
	Record *object.Object
	// Packet is the packet of a networking program; nil elsewhere.
	Packet *net.Packet

	k    *Hooks    `snapshot:"fixed"`
	view *net.View `snapshot:"part"`
	spec ContextSpec
	more []*mem.Region // further memory of the context
	// steps are the calls the program gets, when it gets several; meta is the struct bpf_iter_meta of an iterator.
	steps []step
	meta  *object.Object
	own   *net.Socket // made for this context alone
	// header is the TCP header of a sockops program, optval the value of a socket option.
	header, optval *mem.Region
	keys           *mem.Region // the struct bpf_flow_keys a dissector fills, which is what a test run gives back
	sysctl         *Sysctl     // what a cgroup/sysctl program filters
	room           int         // for TCP options, of a sockops program
}

// Arg is an argument of the hook.
type Arg struct {
	Name   string
	Spec   *btf.Spec // nil when untyped
	Type   btf.ID
	Value  uint64
	High   uint64         // second register of a struct of 9 to 16 bytes
	Object *object.Object // what a pointer points to, if it is a kernel object
	slots  int
}

// NotSimulated is a program type the kernel makes no contexts for.
type NotSimulated struct{ ProgType uapi.ProgType }

// Error names the program type.
func (e *NotSimulated) Error() string {
	return fmt.Sprintf("program type %v is not simulated", e.ProgType)
}

// unlisted reports whether nothing is known of the kernel's hooks.
func (c *Context) unlisted() bool { return c.k.BTF() == nil || c.spec.Unlisted }

// FieldError is a field of a context that does not exist or has no value of its own.
type FieldError struct{ Type, Field string }

// Error names the context and the field.
func (e *FieldError) Error() string {
	return fmt.Sprintf("struct %s has no field %s whose value can be given: it does not exist, or comes from the packet or the socket", e.Type, e.Field)
}

// Simulates reports whether [Hooks.NewContext] can make contexts for a program type.
func (h *Hooks) Simulates(t uapi.ProgType) bool { return h.contextMaker(t) != nil }

// contextMaker returns the table of program types.
func (h *Hooks) contextMaker(t uapi.ProgType) func(*Context) error {
	switch t {
	case uapi.ProgTypeKprobe:
		return h.probeContext
	case uapi.ProgTypeTracepoint:
		return h.tracepointContext
	case uapi.ProgTypeRawTracepoint, uapi.ProgTypeRawTracepointWritable:
		return h.rawTracepointContext
	case uapi.ProgTypeTracing:
		return h.tracingContext
	case uapi.ProgTypeLSM:
		return h.lsmContext
	case uapi.ProgTypePerfEvent:
		return h.perfEventContext
	case uapi.ProgTypeStructOps:
		return h.structOpsContext
	case uapi.ProgTypeLircMode2:
		return h.lircContext
	case uapi.ProgTypeSyscall:
		return h.syscallContext
	case uapi.ProgTypeXDP:
		return h.xdpContext
	case uapi.ProgTypeSkLookup:
		return h.skLookupContext
	case uapi.ProgTypeSkSkb:
		return h.streamContext
	case uapi.ProgTypeSkMsg:
		return h.messageContext
	case uapi.ProgTypeSkReuseport:
		return h.reuseportContext
	case uapi.ProgTypeFlowDissector:
		return h.dissectorContext
	case uapi.ProgTypeNetfilter:
		return h.netfilterContext
	case uapi.ProgTypeSockOps:
		return h.sockOpsContext
	case uapi.ProgTypeCgroupSockAddr:
		return h.sockAddrContext
	case uapi.ProgTypeCgroupSock:
		return h.cgroupSockContext
	case uapi.ProgTypeCgroupSockopt:
		return h.sockoptContext
	case uapi.ProgTypeCgroupSysctl:
		return h.sysctlContext
	case uapi.ProgTypeCgroupDevice:
		return h.deviceContext
	}
	if r := progtype.Of(t); r.Takes.Has(progtype.TakesSkb) && (r.Layer == progtype.Link || r.Layer == progtype.Network) {
		return h.skbContext
	}
	return nil
}

// newView makes the view of a program's context.
func (h *Hooks) newView(c *Context, fields []net.Field, who string) *net.View {
	row := progtype.Of(c.spec.ProgType)
	return &net.View{Host: h.Host, Who: who, Layout: row.Context, Rules: row.AccessOf(c.spec.Attach), Fields: fields}
}

// NewContext makes the context of a program. Errors: [*NotSimulated], [*AbsentError] for hooks that must be in BTF and are
// not, [*PathError] and [*ValueError] for Args.
func (h *Hooks) NewContext(spec ContextSpec) (*Context, error) {
	makeContext := h.contextMaker(spec.ProgType)
	if makeContext == nil {
		return nil, &NotSimulated{spec.ProgType}
	}
	h.SetProgType(spec.ProgType)
	if spec.Current != nil {
		h.SetCurrent(spec.Current)
	}
	_, hook := tracepointName(spec.AttachTo)
	hook, _, _ = strings.Cut(hook, "+")
	h.enter(hook, spec.Nth, spec.Current == nil)
	c := &Context{k: h, spec: spec}
	if spec.Iter != nil {
		c.more = slices.Clone(spec.Iter.Regions)
	}
	if err := makeContext(c); err != nil {
		h.leave()
		return nil, err
	}
	for name, v := range spec.Fields {
		if !c.SetField(name, v) {
			c.Leave()
			c.Free()
			return nil, &FieldError{Type: c.Type, Field: name}
		}
	}
	h.settle(c)
	h.traced = c.FuncAddr
	h.live = append(h.live, c)
	return c, nil
}

// SocketIn returns the socket whose struct bpf_sock the context is; nil for other contexts, and other regions of it.
func (c *Context) SocketIn(r *mem.Region) *net.Socket {
	if c.view == nil || c.view.Layout != progtype.Sock || c.Region != r {
		return nil
	}
	return c.view.Socket
}

// allocate makes the context plain memory with the given bytes.
func (c *Context) allocate(data []byte, readOnly bool) error {
	r, err := c.k.Mem().Alloc(uint64(len(data)), mem.Region{Kind: mem.Context, Name: c.Type, ReadOnly: readOnly, Owner: c})
	if err != nil {
		return fmt.Errorf("kernel: context: %w", err)
	}
	copy(c.k.Mem().Bytes(r), data)
	c.Region, c.Addr, c.Size = r, r.Base, len(data)
	return nil
}

// Out returns a copy of the packet as BPF_PROG_TEST_RUN gives it back (data_out): from the start of
// the packet to its end, preceded by 14 zero bytes for program types that start at the network header. Nil
// without packet.
func (c *Context) Out() []byte {
	switch {
	case c.keys != nil:
		return append([]byte(nil), c.k.Mem().Bytes(c.keys)...)
	case c.Packet == nil:
		return nil
	}
	return c.Packet.Out()
}

// CtxOut returns the context as BPF_PROG_TEST_RUN gives it back (ctx_out).
func (c *Context) CtxOut() []byte {
	if c.view != nil {
		return c.view.CtxOut()
	}
	if c.Region == nil {
		return nil
	}
	return append([]byte(nil), c.k.Mem().Bytes(c.Region)...)
}

// Arg returns an argument by name; nil when there is none. "ret" is the return value.
func (c *Context) Arg(name string) *Arg {
	for i := range c.Args {
		if c.Args[i].Name == name {
			return &c.Args[i]
		}
	}
	if name == "ret" && c.Returns {
		return &c.Ret
	}
	return nil
}

// Leave ends the event the context was made for: the CPU runs again the task it ran before. A context whose program ran
// needs it before the next one is made.
func (c *Context) Leave() { c.k.leave() }

// Keep makes a region part of the context: it is freed with it.
func (c *Context) Keep(r *mem.Region) { c.more = append(c.more, r) }

// Free releases the context's and the packet's memory.
func (c *Context) Free() {
	k := c.k
	k.Mem().Free(c.Region)
	if c.Packet != nil {
		c.Packet.Free()
	}
	for _, r := range c.more {
		k.Mem().Free(r)
	}
	if c.own != nil {
		c.own.Free()
	}
	k.live = slices.DeleteFunc(k.live, func(l *Context) bool { return l == c })
}

// section returns what the section name says besides the types.
func (s *ContextSpec) section() progtype.SectionFlags {
	if sec, _ := progtype.ParseSection(s.Section); sec != nil {
		return sec.Flags
	}
	return 0
}

// attach makes the view the context.
func (c *Context) attach(v *net.View) error {
	v.Values = make([]uint64, len(v.Fields))
	v.Fields = append([]net.Field(nil), v.Fields...)
	for i := range v.Fields {
		v.Fields[i].ID = i
	}
	r, err := c.k.Mem().Alloc(uint64(v.Layout.Size), mem.Region{Kind: mem.Context, Name: v.Layout.User, View: v, Owner: c})
	if err != nil {
		return fmt.Errorf("kernel: context: %w", err)
	}
	c.Type, c.view, c.Region, c.Addr, c.Size = v.Layout.User, v, r, r.Base, v.Layout.Size
	return nil
}

// Field returns the value of a field of a user ABI context by name, as the kernel sees it; ok is false for
// contexts that have no such fields.
func (c *Context) Field(name string) (v uint64, ok bool) {
	if c.view == nil || c.view.Index(name) < 0 {
		return 0, false
	}
	return c.view.Get(name), true
}

// SetField changes a field of a user ABI context (mark, cb, hash), whatever the program may do; it reports whether there
// is such a field with a value of its own.
func (c *Context) SetField(name string, v uint64) bool {
	if c.view == nil {
		return false
	}
	i := c.view.Index(name)
	if i < 0 {
		return false
	}
	f := &c.view.Fields[i]
	switch {
	case f.From != nil && f.To == nil:
		return false
	case f.Kind == net.PlainField || f.Kind == net.WideField:
		c.view.SetValue(f, v)
		return true
	}
	return false
}
