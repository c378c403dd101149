package progtype

import (
	"slices"
	"sync"

	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// Row describes one program type as the kernel and libbpf define it.
type Row struct {
	Type uapi.ProgType
	// Since is the release that introduced the type.
	Since uapi.Release
	// Sections are the section names that select the type.
	Sections []Section
	// Attach is the default attach type, for programs whose type is set explicitly instead of by
	// their section.
	Attach uapi.AttachType
	// Attaches lists the attach types; empty for types that have none.
	Attaches []Attach
	// Takes is the set of inputs that a run accepts.
	Takes Takes
	// Target is the kind of target that the section names.
	Target Target
	// Context describes the object that r1 points to.
	Context *Context
	// Standard marks the type that represents all types with this context; see [RunAs].
	Standard bool
	// Access lists the context fields that programs may read and write, unless the attach type
	// overrides it.
	Access Access
	// Packet determines whether programs may load from and store to the packet directly.
	Packet PacketAccess
	// FragsByFlag means that only programs loaded with BPF_F_XDP_HAS_FRAGS get multi-buffer
	// packets.
	FragsByFlag bool
	// Layer is the header at which the packet data of an sk_buff or xdp_buff starts.
	Layer Layer
	// Args is the kind of arguments that the kernel passes to the program.
	Args Args
	// Returns lists the ranges of return values by release, oldest first, unless the attach type
	// overrides them. If it is empty, any value is allowed.
	Returns []Return
	// Runs is where programs run and what can interrupt them: the first that fits counts.
	Runs []Place
	// Chain is how several programs on one hook decide together, unless the attach type overrides
	// it.
	Chain Chain
	// Vocabulary is the set of names for return values.
	Vocabulary Vocabulary
	// Sleepable is the first release that allows sleepable programs, unless the attach type
	// overrides it.
	Sleepable Sleepable
	// PrivateStack means that the functions of programs have private stacks where the JIT supports
	// them.
	PrivateStack bool
	// GPL means that only programs with a GPL-compatible licence can be loaded.
	GPL bool
	// Needs is the set of capabilities that a caller needs besides CAP_BPF.
	Needs Needs
	// TestRun means that BPF_PROG_TEST_RUN supports the type.
	TestRun bool
}

// Needs is a set of capabilities (kernel/bpf/syscall.c is_net_admin_prog_type,
// is_perfmon_prog_type).
type Needs uint8

// Capabilities that loading a program needs.
const (
	NetAdmin Needs = 1 << iota // CAP_NET_ADMIN
	Perfmon                    // CAP_PERFMON
)

// Attach describes how an attach type differs from its program type. Nil and zero fields mean no
// difference.
type Attach struct {
	Type  uapi.AttachType
	Since uapi.Release
	// Optional means that kernels that lack the attach type load the program: libbpf omits it, or
	// they do not look at it (bpf_prog_load_check_attach).
	Optional bool
	Access   *Access
	Returns  []Return
	// Sleepable overrides Row.Sleepable.
	Sleepable *Sleepable
	// Target overrides Row.Target unless it is 0.
	Target Target
	// NoPrivateStack overrides Row.PrivateStack.
	NoPrivateStack bool
	// Address describes the hook if it is one for socket addresses.
	Address *Address
	// Return means that the program runs when the function returns, and sees its return value.
	Return bool
	// Modifies means that the return value of the program replaces that of the function, unless it
	// is 0.
	Modifies bool
	// Ingress means that packets are incoming.
	Ingress bool
}

// Takes is a set of inputs of a run.
type Takes uint16

// Inputs of a run.
const (
	TakesPacket  Takes = 1 << iota // a packet
	TakesBytes                     // the raw bytes of the context (ctx_in of BPF_PROG_TEST_RUN)
	TakesSocket                    // the socket that the program runs for
	TakesCookie                    // the attach cookie
	TakesTarget                    // another function, tracepoint or hook than the one in the section name
	TakesSkb                       // the properties of an sk_buff: fragments, clones, tunnels, direction
	TakesFrags                     // fragments of the packet
	TakesXDP                       // the properties of an xdp_buff: metadata that the network card reports
	TakesSockopt                   // a socket option
	TakesSysctl                    // an access to a sysctl
	TakesDevice                    // an access to a device
	TakesSample                    // the period and address of a sample
	TakesMessage                   // the bytes that a socket sends
)

// Has reports whether the set contains all of these inputs.
func (t Takes) Has(what Takes) bool { return t&what == what }

// Target is the kind of target that a section name contains.
type Target uint8

// Kinds of targets.
const (
	NoTarget     Target = iota
	Probe               // a function or instruction by symbol, in a user program for uprobes
	Function            // a function in BTF
	Functions           // a pattern of functions
	Tracepoint          // category and name
	RawEvent            // a tracepoint, by typedef btf_trace_NAME
	LSMHook             // an LSM hook, by function bpf_lsm_NAME
	Iterator            // an iterator, by function bpf_iter_NAME
	OpsMember           // a member of a struct_ops map
	OtherProgram        // a function of another BPF program
)

// PacketAccess determines how programs may access packet data (verifier.c
// may_access_direct_pkt_data).
type PacketAccess uint8

// Kinds of packet access.
const (
	NoPacket PacketAccess = iota
	ReadsPacket
	WritesPacket // reads and writes
)

// Layer is the header at which packet data starts.
type Layer uint8

// Layers at which packet data starts.
const (
	NoLayer   Layer = iota
	Link            // at the Ethernet header
	Network         // at the network header
	Transport       // at the transport header
	Payload         // after the transport header
)

// Args is the kind of arguments that the kernel passes to a program.
type Args uint8

// Kinds of arguments.
const (
	NoArgs      Args = iota // the context is a struct
	NumberArgs              // numbers; programs read kernel memory with helpers
	PointerArgs             // pointers typed by BTF; direct loads have exception table entries and yield 0 for invalid addresses
)

// Address describes a socket address hook.
type Address struct {
	Family  uint16 // AF_UNIX 1, AF_INET 2, AF_INET6 10
	Send    bool   // a datagram is being sent, and has a source address
	Receive bool   // a datagram was received
	Local   bool   // the address is the socket's own, not the peer's
}

// rows returns the table, indexed by type. It is compiled when first asked for.
var rows = sync.OnceValue(func() []*Row {
	out := make([]*Row, len(tracingRows)+len(networkRows)+len(cgroupRows)+1)
	out[uapi.ProgTypeUnspec] = &Row{Type: uapi.ProgTypeUnspec, Context: noContext}
	for _, table := range [...][]Row{tracingRows, networkRows, cgroupRows} {
		for i := range table {
			r := &table[i]
			out[r.Type] = r
			r.Context.compile(&r.Access)
			for j := range r.Attaches {
				if a := r.Attaches[j].Access; a != nil {
					r.Context.compile(a)
				}
			}
		}
	}
	return out
})

// Of returns the row of a type. For unknown types, it returns the row of [uapi.ProgTypeUnspec],
// which allows nothing.
func Of(t uapi.ProgType) *Row {
	rows := rows()
	if int(t) < len(rows) {
		return rows[t]
	}
	return rows[uapi.ProgTypeUnspec]
}

// All returns the rows of all types, sorted by number.
func All() []*Row { return slices.Clone(rows()[1:]) }

// Attached returns the description of an attach type, or nil if it does not differ from its program
// type.
func (r *Row) Attached(a uapi.AttachType) *Attach {
	for i := range r.Attaches {
		if r.Attaches[i].Type == a {
			return &r.Attaches[i]
		}
	}
	return nil
}

// AttachSince returns the release that introduced an attach type, 0 if no row has one.
func AttachSince(a uapi.AttachType) uapi.Release {
	for _, r := range rows() {
		if at := r.Attached(a); at != nil && at.Since != 0 {
			return at.Since
		}
	}
	return 0
}

// TargetOf returns the kind of target of programs with an attach type.
func (r *Row) TargetOf(a uapi.AttachType) Target {
	if at := r.Attached(a); at != nil && at.Target != NoTarget {
		return at.Target
	}
	return r.Target
}

// AccessOf returns the rules for context accesses by programs with an attach type.
func (r *Row) AccessOf(a uapi.AttachType) *Access {
	if at := r.Attached(a); at != nil && at.Access != nil {
		return at.Access
	}
	return &r.Access
}

// privateStacks maps architectures to the rule that their JIT supports private stacks
// (bpf_jit_supports_private_stack).
var privateStacks = map[string]since.Rule{"x86": since.PrivateStack, "arm64": since.PrivateStackARM64}

// HasPrivateStack reports whether each function of a program has a private stack instead of a part
// of the 512 bytes that the functions of a call chain share (verifier.c bpf_enable_priv_stack). An
// empty architecture means x86.
func (r *Row) HasPrivateStack(has func(since.Rule) bool, arch string, a uapi.AttachType) bool {
	if at := r.Attached(a); !r.PrivateStack || at != nil && at.NoPrivateStack {
		return false
	}
	if arch == "" {
		arch = "x86"
	}
	rule, ok := privateStacks[arch]
	return ok && has(rule)
}

// RunAs returns the program type that represents all types whose programs declare the given struct
// as their context, for programs about which nothing else is known: the standard one, or else the
// first. For __sk_buff it is traffic control.
func RunAs(context string) (typ uapi.ProgType, ok bool) {
	for _, r := range All() {
		switch {
		case context == "" || r.Context.User != context:
		case r.Standard:
			return r.Type, true
		case !ok:
			typ, ok = r.Type, true
		}
	}
	return typ, ok
}
