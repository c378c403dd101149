package kernel

import (
	"github.com/bpfrun/bpfrun/internal/kernel/clock"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/model"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Names of the parts, so that users of a whole kernel need to import only this package.
type (
	// Clock is simulated time.
	Clock = clock.Clock
	// ClockConfig sets a clock.
	ClockConfig = clock.Config
	// Object is kernel memory of one type.
	Object = object.Object
	// Access is one guest access to an object.
	Access = object.Access
	// Lazy is what a kernel makes only when it is read.
	Lazy = object.Lazy
	// Types caches what objects need of a target's BTF; several kernels may share it.
	Types = object.Types
	// Field is a place in an object.
	Field = object.Field
	// Pointer is an address as the value of a field.
	Pointer = object.Pointer
	// Mode selects the values of fields that were never set.
	Mode = object.Mode
	// PathError is a path that does not lead to a field.
	PathError = object.PathError
	// ValueError is a value that does not fit a field.
	ValueError = object.ValueError
	// TypeError is a type that no object can have.
	TypeError = object.TypeError
	// AbsentError is a hook or variable that the target's BTF lacks.
	AbsentError = object.AbsentError
	// Context is the object that r1 of a program points to.
	Context = hook.Context
	// Passed is a call of a function of a program, for programs that trace it.
	Passed = hook.Passed
	// ContextSpec describes a context to create.
	ContextSpec = hook.ContextSpec
	// Summed is the network card's contribution to a packet's checksums.
	Summed = hook.Summed
	// NetSpec describes the environment of a networking program.
	NetSpec = hook.NetSpec
	// Arg is an argument of a hook.
	Arg = hook.Arg
	// IterSpec describes what an iterator visits, with MapInfo, MapElement and ProgInfo.
	IterSpec   = hook.IterSpec
	MapInfo    = hook.MapInfo
	MapElement = hook.MapElement
	ProgInfo   = hook.ProgInfo
	// NotSimulated is a program type without simulated contexts.
	NotSimulated = hook.NotSimulated
	// FieldError is a context field that does not exist or has no value of its own.
	FieldError = hook.FieldError
	// Refill puts one packet after another into a context.
	Refill = hook.Refill
	// RegsSpec names registers by purpose.
	RegsSpec = hook.RegsSpec
	// Sockopt and Sysctl are what cgroup programs filter; Tunnel and Received describe a packet
	// besides its bytes.
	Sockopt  = hook.Sockopt
	Sysctl   = hook.Sysctl
	Tunnel   = hook.Tunnel
	Xfrm     = hook.Xfrm
	Received = hook.Received
	// Packet is packet data in simulated memory.
	Packet = net.Packet
	// Socket is a socket as programs see it, Connection a TCP socket as congestion control
	// algorithms see it, SockOption a socket option, SockSpec a socket to build.
	Socket     = net.Socket
	Connection = net.Connection
	SockOption = net.SockOption
	SockSpec   = net.SockSpec
	// ConnTuple is one direction of a tracked connection, ConnZone its zone.
	ConnTuple = net.ConnTuple
	// FlowTuple is one direction of a flow of a flow table.
	FlowTuple = net.FlowTuple
	ConnZone  = net.ConnZone
	// Network holds interfaces, routes and neighbours.
	Network   = net.Network
	Device    = net.Device
	Route     = net.Route
	RouteType = net.RouteType
	Neighbour = net.Neighbour
	// FileSpec describes a file to build, MMSpec and AreaSpec an address space.
	FileSpec = model.FileSpec
	XattrKey = model.XattrKey
	MMSpec   = model.MMSpec
	AreaSpec = model.AreaSpec
)

// The values of skb->ip_summed.
const (
	SummedNone        = hook.SummedNone
	SummedUnnecessary = hook.SummedUnnecessary
	SummedComplete    = hook.SummedComplete
	SummedPartial     = hook.SummedPartial
)

// Modes of package object.
const (
	ModeDefault  = object.ModeDefault
	ModeScenario = object.ModeScenario
	ModeStrict   = object.ModeStrict
)

// NewTypes returns an empty cache.
func NewTypes() *Types { return object.NewTypes() }

// Bits of the status of a tracked connection; ConnUnchangeable are those that no program can
// change.
const (
	ConnExpected     = net.ConnExpected
	ConnSeenReply    = net.ConnSeenReply
	ConnAssured      = net.ConnAssured
	ConnConfirmed    = net.ConnConfirmed
	ConnDying        = net.ConnDying
	ConnFixedTimeout = net.ConnFixedTimeout
	ConnUnchangeable = net.ConnUnchangeable
	// ConnBothDirs is the direction of a zone that applies to both.
	ConnBothDirs = net.ZoneBothDirs
)

// Errors of the table of connections.
var (
	ErrTracked   = net.ErrTracked
	ErrTableFull = net.ErrTableFull
	// ErrTranslated is [net.ErrTranslated].
	ErrTranslated = net.ErrTranslated
)

// Kinds of errors of package object.
var (
	ErrNoField  = object.ErrNoField
	ErrBadPath  = object.ErrBadPath
	ErrValue    = object.ErrValue
	ErrNoMemory = object.ErrNoMemory
)

// Outcomes for packets on a route.
const (
	RouteUnicast     = net.RouteUnicast
	RouteLocal       = net.RouteLocal
	RouteBlackhole   = net.RouteBlackhole
	RouteUnreachable = net.RouteUnreachable
	RouteProhibit    = net.RouteProhibit
)

// DefaultPacket returns the packet that programs get by default.
func DefaultPacket() []byte { return net.DefaultPacket() }

// FrameLimits returns the minimum and maximum length in bytes of a packet for programs of a type.
func FrameLimits(t uapi.ProgType, frags bool) (least, most int) { return hook.FrameLimits(t, frags) }

// MostTestPacket is [hook.MostTestPacket].
const MostTestPacket = hook.MostTestPacket
