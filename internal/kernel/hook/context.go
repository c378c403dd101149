package hook

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// ContextSpec describes the context to create.
type ContextSpec struct {
	ProgType uapi.ProgType
	Attach   uapi.AttachType
	// AttachTo is the function, the tracepoint as "category/name" or name, or the hook's name.
	AttachTo string
	// Section is the ELF section ("kretprobe/vfs_read"); it tells entry from return probes and
	// system call wrappers.
	Section string
	// Proto is the FUNC or FUNC_PROTO (for raw tracepoints, the btf_trace_ typedef) of the hook in
	// ProtoSpec; 0 = look it up by AttachTo.
	Proto     btf.ID
	ProtoSpec *btf.Spec // nil = vmlinux
	// Unlisted means that the BTF is reduced and lists no hooks: hooks that it lacks are not
	// absent, but untyped.
	Unlisted bool
	// ContextType is the struct that a tracepoint program declares for its context, such as
	// trace_event_raw_sched_switch.
	ContextType string
	// Iter describes what an iterator visits.
	Iter *IterSpec
	// Packet is the packet of a networking program; nil = the default one.
	Packet []byte
	// Bytes is the initial context of a syscall program, or the ctx_in of BPF_PROG_TEST_RUN: for
	// flow dissectors a bpf_flow_keys, for netfilter programs an nf_hook_state, for other programs
	// with packets and for socket lookups their context.
	Bytes []byte
	// NetSpec is the environment of a networking program.
	NetSpec
	// Args overrides arguments, or fields of a tracepoint record, by name; "ret" is the return
	// value.
	Args map[string]any
	// Values overrides arguments by position; it has precedence.
	Values []any
	// Current is the task that the program runs in; nil = the CPU's current task.
	Current *object.Object
	// Passed is the call of a program's function that a tracing program sees; nil if it traces the
	// kernel.
	Passed *Passed
	// Nth is the number of earlier events of the hook. In default mode a repeated event is the next
	// one: a task is switched back, an established connection is closed.
	Nth int
}

// NetSpec is what a networking or cgroup program gets besides its packet. The zero value gives
// defaults.
type NetSpec struct {
	// TestRun makes the context as BPF_PROG_TEST_RUN makes it, and refuses what that refuses. It
	// matters for packets that are too short or too long, and for netfilter programs, which see an
	// outgoing packet in a test run and else an incoming one.
	TestRun bool
	// Socket is the struct sock that a networking program runs for; nil = a default one. NoSocket:
	// there is none.
	Socket   *object.Object
	NoSocket bool
	// Message are the bytes that a socket sends; nil = the payload of the packet.
	Message []byte
	// Frags are fragments after the packet, which is then the linear part. Cloned: another sk_buff
	// shares the bytes.
	Frags  [][]byte
	Cloned bool
	// Ingress means that a tc program sees incoming packets.
	Ingress bool
	// Summed is skb->ip_summed: the network card's contribution to the packet's checksums.
	Summed Summed
	// Tunnel is the tunnel that a packet came through; nil = none.
	Tunnel *Tunnel
	// Xfrm is the metadata of the IPsec interface that a packet came through; nil = none. A packet
	// has that of a tunnel or this.
	Xfrm *Xfrm
	// Received is what the network card reports about an XDP packet; nil = nothing.
	Received *Received
	// Sockopt and Sysctl are what a cgroup program filters; nil = a default.
	Sockopt *Sockopt
	Sysctl  *Sysctl
	// Fields are values of fields of a user ABI context by name, set when the context is created.
	Fields map[string]uint64
}

// Summed is skb->ip_summed.
type Summed uint8

// The values of skb->ip_summed (include/linux/skbuff.h): the card did nothing, verified a checksum,
// summed the whole packet, or will complete the checksum of an outgoing packet.
const (
	SummedNone Summed = iota
	SummedUnnecessary
	SummedComplete
	SummedPartial
)

// Context is the object that r1 of a program points to.
type Context struct {
	Addr   uint64 // value of r1
	Region *mem.Region
	Size   int
	// Type names the context: "pt_regs", "trace_event_raw_sched_switch", "xdp_md", "args" (u64
	// array).
	Type string
	// Func is the traced function's name and FuncAddr its address; "" and 0 if there is none.
	Func     string
	FuncAddr uint64
	// Args are the arguments by name, in order. Returns means that Ret is valid.
	Args    []Arg
	Ret     Arg
	Returns bool
	// Slots is the number of u64 slots for the arguments in a context of type "args"; the return
	// value follows them.
	Slots int
	// inner are the arguments of the system call below a hook that only gets its registers; calls
	// means that Args "call" chooses it.
	inner []Arg
	calls bool
	// Untyped means that the hook's prototype is not in BTF: arguments are untyped numbers.
	Untyped bool
	// Record is the typed content of a tracepoint's context, else nil.
	Record *object.Object
	// Packet is the packet of a networking program, else nil.
	Packet *net.Packet

	k    *Hooks    `snapshot:"fixed"`
	view *net.View `snapshot:"part"`
	spec ContextSpec
	more []*mem.Region // further memory of the context
	// steps are the calls of a program that is called several times; meta is the struct
	// bpf_iter_meta of an iterator.
	steps []step
	meta  *object.Object
	own   *net.Socket // created only for this context
	// flow is the socket of the last packet, skb where fields of __sk_buff are in the view.
	flow *net.Socket `snapshot:"fixed"`
	skb  []int       `snapshot:"fixed"`
	// header is the TCP header of a sockops program, optval the value of a socket option.
	header, optval *mem.Region
	keys           *mem.Region // the struct bpf_flow_keys that a dissector fills and a test run returns
	sysctl         *Sysctl     // what a cgroup/sysctl program filters
	room           int         // bytes for TCP options, of a sockops program
	passed         *registers  `snapshot:"fixed"` // of a probe of a kernel function: where its arguments are
	regs           *registers  `snapshot:"fixed"` // of a probe in user space: which registers the context has, and where
}

// Arg is an argument of the hook.
type Arg struct {
	Name   string
	Spec   *btf.Spec // nil when untyped
	Type   btf.ID
	Value  uint64
	High   uint64         // second register of a struct of 9 to 16 bytes
	Object *object.Object // pointee, if it is a kernel object
	slots  int
}

// NotSimulated is a program type for which no contexts are simulated.
type NotSimulated struct{ ProgType uapi.ProgType }

// Error names the program type.
func (e *NotSimulated) Error() string {
	return fmt.Sprintf("program type %v is not simulated", e.ProgType)
}

// unlisted reports whether the kernel's hooks are unknown.
func (c *Context) unlisted() bool { return c.k.BTF() == nil || c.spec.Unlisted }

// FieldError is a context field that does not exist or has no value of its own.
type FieldError struct{ Type, Field string }

// Error names the context and the field.
func (e *FieldError) Error() string {
	return fmt.Sprintf("struct %s has no field %s whose value can be given: it does not exist, or comes from the packet or the socket", e.Type, e.Field)
}

// Simulates reports whether [Hooks.NewContext] supports a program type.
func (h *Hooks) Simulates(t uapi.ProgType) bool { return h.contextMaker(t) != nil }

// contextMaker returns the function that creates contexts for a program type.
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

// newView creates the view of a program's context.
func (h *Hooks) newView(c *Context, fields func() []net.Field, who string) *net.View {
	row := progtype.Of(c.spec.ProgType)
	return &net.View{Host: h.Host, Who: who, Layout: row.Context, Rules: row.AccessOf(c.spec.Attach), Fields: fields()}
}

// fieldsOf binds the fields of a program type's context to their values when they are first asked
// for.
func fieldsOf(t uapi.ProgType, sources func() map[string]net.Source) func() []net.Field {
	return sync.OnceValue(func() []net.Field {
		var m map[string]net.Source
		if sources != nil {
			m = sources()
		}
		return net.Bind(progtype.Of(t).Context, m)
	})
}

// NewContext creates the context of a program. Errors: [*NotSimulated], [*AbsentError] for hooks
// that must be in BTF but are not, [*PathError] and [*ValueError] for Args.
func (h *Hooks) NewContext(spec ContextSpec) (*Context, error) {
	makeContext := h.contextMaker(spec.ProgType)
	if makeContext == nil {
		return nil, &NotSimulated{spec.ProgType}
	}
	if err := h.testRunIn(&spec); err != nil {
		return nil, err
	}
	h.SetProgType(spec.ProgType)
	if spec.Current != nil {
		h.SetCurrent(spec.Current)
	}
	c := &Context{k: h, spec: spec}
	c.Resume()
	if spec.Iter != nil {
		c.more = slices.Clone(spec.Iter.Regions)
	}
	if err := makeContext(c); err != nil {
		h.leave()
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(spec.Fields)) {
		if !c.SetField(name, spec.Fields[name]) {
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

// SocketIn returns the socket whose struct bpf_sock the context is; nil for other contexts, and for
// other regions of it.
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

// Out returns a copy of the packet as BPF_PROG_TEST_RUN returns it (data_out): from the start of
// the packet to its end, preceded by 14 zero bytes for program types that start at the network
// header. It returns nil if there is no packet.
func (c *Context) Out() []byte {
	switch {
	case c.keys != nil:
		return c.flowOut(len(c.k.packetBytes(c)))
	case c.Packet == nil || c.outgoing():
		return nil
	}
	return c.Packet.Out()
}

// CtxOut returns the context as BPF_PROG_TEST_RUN returns it (ctx_out).
func (c *Context) CtxOut() []byte {
	if c.view != nil {
		return c.view.CtxOut()
	}
	return append([]byte(nil), c.k.Mem().Bytes(c.Region)...)
}

// Arg returns an argument by name, or nil. "ret" is the return value.
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

// Resume begins the event that the context was created for, again after Leave: the hook's next
// program runs on the same context.
func (c *Context) Resume() {
	_, hook := tracepointName(c.spec.AttachTo)
	hook, _, _ = strings.Cut(hook, "+")
	c.k.enter(hook, c.spec.Nth, c.spec.Current == nil)
}

// Leave ends the event that the context was created for: the CPU runs its previous task again.
// After a run it must be called before the next context is created.
func (c *Context) Leave() { c.k.leave() }

// Keep adds a region to the context: it is freed with it.
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

// section returns what the section name implies besides the types.
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

// Field returns the value of a field of a user ABI context by name, as the kernel sees it; ok is
// false if there is no such field.
func (c *Context) Field(name string) (v uint64, ok bool) {
	if c.view == nil || c.view.Index(name) < 0 {
		return 0, false
	}
	return c.view.Get(name), true
}

// SetField changes a field of a user ABI context (mark, cb, hash), whatever the program may do; it
// reports whether there is such a field with a value of its own.
func (c *Context) SetField(name string, v uint64) bool {
	if c.view == nil {
		return false
	}
	i := c.view.Index(name)
	if i < 0 {
		return false
	}
	f := &c.view.Fields[i]
	if !settable(f) {
		return false
	}
	c.view.SetValue(f, v)
	return true
}

// settable reports whether a field has a value of its own.
func settable(f *net.Field) bool {
	return (f.From == nil || f.To != nil) && (f.Kind == net.PlainField || f.Kind == net.WideField)
}
