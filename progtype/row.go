package progtype

import (
	"slices"

	"github.com/bpfrun/bpfrun/uapi"
)

// Row is what the kernel and libbpf define for one program type.
type Row struct {
	Type uapi.ProgType
	// Since is the release that brought the type.
	Since uapi.Release
	// Sections are the section names that choose the type.
	Sections []Section
	// Attach is the attach type of a program whose type is chosen by hand, not by its section.
	Attach uapi.AttachType
	// Attaches are the attach types; empty for types that have none.
	Attaches []Attach
	// Takes is what a run of a program is given.
	Takes Takes
	// Target is what the name in the section names.
	Target Target
	// Context is what r1 points to.
	Context *Context
	// Standard marks the type that stands for all that have this context, see [RunAs].
	Standard bool
	// Access tells which fields of the context programs may read and write, unless the attach type does.
	Access Access
	// Packet tells whether programs may load from the packet directly, and store to it.
	Packet PacketAccess
	// FragsByFlag means that only programs loaded with BPF_F_XDP_HAS_FRAGS get packets of several buffers.
	FragsByFlag bool
	// Layer is where the packets of programs on an sk_buff or xdp_buff begin.
	Layer Layer
	// Args is what the kernel passes as arguments of the hook.
	Args Args
	// Returns are the ranges of return values by release, oldest first, unless the attach type has its own; empty for any value.
	Returns []Return
	// Vocabulary names return values.
	Vocabulary Vocabulary
	// Sleepable tells from which release on programs may be loaded as sleepable, unless the attach type does.
	Sleepable Sleepable
	// PrivateStack means that the functions of programs have stacks of their own where the JIT supports that.
	PrivateStack bool
	// GPL means that only programs under a licence compatible with the GPL are loaded.
	GPL bool
	// TestRun means that BPF_PROG_TEST_RUN runs programs of the type on inputs of their own.
	TestRun bool
}

// Attach is what is particular to one attach type. Nil and zero fields mean that the row of the program type holds.
type Attach struct {
	Type  uapi.AttachType
	Since uapi.Release
	// Optional means that libbpf leaves the attach type out on kernels that do not know it.
	Optional bool
	Access   *Access
	Returns  []Return
	// Sleepable overrides the row's.
	Sleepable *Sleepable
	// Target overrides the row's unless it is 0.
	Target Target
	// NoPrivateStack takes back what the row says.
	NoPrivateStack bool
	// Address is what a hook of socket addresses is about.
	Address *Address
	// Return means that the program runs when the hook returns, and sees the return value.
	Return bool
	// Modifies means that the return value of the program, unless it is 0, becomes that of the function.
	Modifies bool
	// Ingress means that the packets come in.
	Ingress bool
}

// Takes is a set of what runs are given.
type Takes uint16

// What a run may be given.
const (
	TakesPacket  Takes = 1 << iota // a packet
	TakesBytes                     // bytes the context is made of (ctx_in of BPF_PROG_TEST_RUN)
	TakesSocket                    // the socket the program runs for
	TakesCookie                    // a cookie of its link
	TakesTarget                    // another function, tracepoint or hook than that in the section
	TakesSkb                       // the properties of an sk_buff: fragments, clones, tunnels, direction
	TakesFrags                     // fragments of the packet
	TakesXDP                       // the properties of an xdp_buff: what the network card tells of a packet
	TakesSockopt                   // a socket option
	TakesSysctl                    // an access to a sysctl
	TakesDevice                    // an access to a device
	TakesSample                    // the period and address of a sample
)

// Has reports whether runs are given all of what.
func (t Takes) Has(what Takes) bool { return t&what == what }

// Target is what the name in a section name stands for.
type Target uint8

// Targets.
const (
	NoTarget     Target = iota
	Probe               // a function or instruction by symbol; uprobes: one of a user program
	Function            // a function in BTF
	Functions           // a pattern of functions
	Tracepoint          // category and name
	RawEvent            // a tracepoint by typedef btf_trace_NAME
	LSMHook             // a function bpf_lsm_NAME
	Iterator            // a function bpf_iter_NAME
	OpsMember           // a member of a struct_ops map
	OtherProgram        // a function of another BPF program
)

// PacketAccess tells how programs reach packet data (verifier.c may_access_direct_pkt_data).
type PacketAccess uint8

// Kinds of access.
const (
	NoPacket PacketAccess = iota
	ReadsPacket
	WritesPacket // reads and writes
)

// Layer is where packet data starts.
type Layer uint8

// Layers.
const (
	NoLayer   Layer = iota
	Link            // at the Ethernet header
	Network         // at the network header
	Transport       // at the transport header
	Payload         // after the transport header
)

// Args is what the kernel passes as the arguments of the hook.
type Args uint8

// Kinds of arguments.
const (
	NoArgs      Args = iota // the context is a struct of its own
	NumberArgs              // numbers: kernel memory is read with helpers
	PointerArgs             // pointers typed by BTF: direct loads through them have exception table entries and yield 0 where there is nothing
)

// Address is what a hook of socket addresses is about.
type Address struct {
	Family  uint16 // AF_UNIX 1, AF_INET 2, AF_INET6 10
	Send    bool   // a datagram is being sent, and has a source address
	Receive bool   // a datagram was received
	Local   bool   // the address is the socket's own, not the peer's
}

// rows is the table by type.
var rows = func() []*Row {
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
}()

// Of returns the row of a type. A type no known kernel has gets the row of [uapi.ProgTypeUnspec], which permits nothing.
func Of(t uapi.ProgType) *Row {
	if int(t) < len(rows) {
		return rows[t]
	}
	return rows[uapi.ProgTypeUnspec]
}

// All returns the rows of all types, by number.
func All() []*Row { return slices.Clone(rows[1:]) }

// Attached returns what is particular to an attach type; nil when nothing is.
func (r *Row) Attached(a uapi.AttachType) *Attach {
	for i := range r.Attaches {
		if r.Attaches[i].Type == a {
			return &r.Attaches[i]
		}
	}
	return nil
}

// TargetOf returns what a program of that attach type attaches to.
func (r *Row) TargetOf(a uapi.AttachType) Target {
	if at := r.Attached(a); at != nil && at.Target != NoTarget {
		return at.Target
	}
	return r.Target
}

// AccessOf returns the rules for the context of a program of that attach type.
func (r *Row) AccessOf(a uapi.AttachType) *Access {
	if at := r.Attached(a); at != nil && at.Access != nil {
		return at.Access
	}
	return &r.Access
}

// The first releases in which a JIT gives functions stacks of their own (bpf_jit_supports_private_stack), by architecture.
var privateStacks = map[string]uapi.Release{"x86": uapi.R(6, 13), "arm64": uapi.R(6, 17)}

// HasPrivateStack reports whether each function of a program has a stack of its own instead of a part of the 512 bytes that
// all functions of a call chain share (verifier.c bpf_enable_priv_stack). An empty architecture is x86.
func (r *Row) HasPrivateStack(release uapi.Release, arch string, a uapi.AttachType) bool {
	if at := r.Attached(a); !r.PrivateStack || at != nil && at.NoPrivateStack {
		return false
	}
	if arch == "" {
		arch = "x86"
	}
	since, ok := privateStacks[arch]
	return ok && release.Has(since)
}

// RunAs returns the program type that stands for all those whose programs declare a struct as their context, for programs of
// which no more is known: traffic control for struct __sk_buff.
func RunAs(context string) (uapi.ProgType, bool) {
	for _, r := range All() {
		if r.Standard && r.Context.User == context {
			return r.Type, true
		}
	}
	return 0, false
}
