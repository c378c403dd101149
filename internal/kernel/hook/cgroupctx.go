package hook

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Contexts of cgroup programs without a packet: sockets, socket options, sysctls and devices.

// cgroupSockContext creates the bpf_sock of a socket that is created, released or bound. Which
// fields may be read and written depends on the hook (__sock_filter_check_attach_type).
func (h *Hooks) cgroupSockContext(c *Context) error {
	a := c.spec.Attach
	spec := net.SockSpec{State: net.TCPClose}
	if at := progtype.Of(c.spec.ProgType).Attached(a); at != nil && at.Address != nil { // it was bound
		spec.SourcePort = 8080
		if at.Address.Family == uapi.AFInet6 {
			spec.Family = uapi.AFInet6
		}
	}
	s, err := h.contextSocket(c, spec)
	if err != nil {
		return err
	}
	v := h.newView(c, net.SockFields, a.String())
	v.Socket = s
	v.Out = func(v *net.View) []byte { return h.fieldBytes(v) }
	if err := c.attach(v); err != nil {
		return err
	}
	for name, val := range map[string]net.Value{"bound_dev_if": net.SockBoundDev, "mark": net.SockMark, "priority": net.SockPriority} {
		v.Field(name).To = func(_ *net.View, x uint64) { s.Set(val, x) }
	}
	return nil
}

// Sockopt is the system call that a cgroup program filters.
type Sockopt struct {
	Level, Name int32
	// Value is the value from user space (setsockopt) or from the kernel (getsockopt).
	Value []byte
	// Len is optlen; 0 means the length of Value.
	Len int32
	// Retval is what the kernel's getsockopt returned.
	Retval int32
}

var sockoptFields = fieldsOf(uapi.ProgTypeCgroupSockopt, func() map[string]net.Source {
	return map[string]net.Source{"sk": {Kind: net.WideField, From: net.Selected}}
})

// Socket options (asm-generic/socket.h).
const (
	solSocket   = 1
	soKeepalive = 9
)

// leastOptval is the minimum size in bytes of the buffer for a value
// (__cgroup_bpf_run_filter_setsockopt).
const leastOptval = 16

// sockoptContext creates a bpf_sockopt. The value is in memory of its own; programs may access a
// page of it.
func (h *Hooks) sockoptContext(c *Context) error {
	o := c.spec.Sockopt
	if o == nil {
		o = &Sockopt{Level: solSocket, Name: soKeepalive, Value: []byte{1, 0, 0, 0}}
		if h.BigEndian() {
			o.Value = []byte{0, 0, 0, 1}
		}
	}
	s, err := h.contextSocket(c, net.SockSpec{})
	if err != nil {
		return err
	}
	optlen := o.Len
	if optlen == 0 {
		optlen = int32(len(o.Value))
	}
	if optlen < 0 {
		return fmt.Errorf("kernel: optlen %d: %w", optlen, uapi.EINVAL)
	}
	room := min(max(int(optlen), c.OptionLeast()), uapi.PageSize)
	r, err := h.Mem().Alloc(uint64(max(room, 1)), mem.Region{Kind: mem.Packet, Name: "optval", Owner: c})
	if err != nil {
		return err
	}
	copy(h.Mem().Bytes(r)[:room], o.Value)
	c.more = append(c.more, r)
	v := h.newView(c, sockoptFields, c.spec.Attach.String())
	v.Socket = s
	v.Out = func(v *net.View) []byte { return h.fieldBytes(v) }
	if err := c.attach(v); err != nil {
		return err
	}
	v.Put("optval", r.Base)
	v.Put("optval_end", r.Base+uint64(room))
	v.Put("level", uint64(uint32(o.Level)))
	v.Put("optname", uint64(uint32(o.Name)))
	v.Put("optlen", uint64(uint32(optlen)))
	v.Put("retval", uint64(uint32(o.Retval)))
	if room == 0 {
		if err := h.Mem().SetBounds(r, r.Base, r.Base); err != nil {
			return err
		}
	}
	c.optval = r
	return nil
}

// OptionValue returns the value of a socket option as the program left it, with length optlen; nil
// if the program has none or set a length that the kernel refuses.
func (c *Context) OptionValue() []byte {
	if c.optval == nil {
		return nil
	}
	n := int32(c.view.Get("optlen"))
	b := c.k.Mem().ExtentBytes(c.optval)
	if n < 0 || int(n) > len(b) {
		return nil
	}
	return append([]byte(nil), b[:n]...)
}

// OptionLeast returns the size in bytes that the buffer for the value of a socket option has at
// least.
func (c *Context) OptionLeast() int {
	// Programs that may change the arguments are those of setsockopt.
	if slices.Contains(progtype.Of(c.spec.ProgType).AccessOf(c.spec.Attach).Written, "optname") {
		return leastOptval
	}
	return 0
}

// Sockopt returns the call that the context is of, as it is now; nil for other contexts.
func (c *Context) Sockopt() *Sockopt {
	if c.optval == nil {
		return nil
	}
	number := func(name string) int32 { return int32(uint32(c.view.Get(name))) }
	return &Sockopt{
		Level: number("level"), Name: number("optname"), Len: number("optlen"), Retval: number("retval"),
		Value: slices.Clone(c.k.Mem().ExtentBytes(c.optval)[:min(c.OptionRoom(), max(int(number("optlen")), 0))]),
	}
}

// OptionRoom returns the size in bytes of the buffer for a socket option's value.
func (c *Context) OptionRoom() int {
	return int(c.view.Get("optval_end") - c.view.Get("optval"))
}

// Sysctl is the access to a file of /proc/sys that a cgroup program filters.
type Sysctl struct {
	Name  string // "net/ipv4/ip_forward"
	Write bool
	// Value is the current value, New the one being written.
	Value, New []byte
	// Replaced means that the program substituted another new value.
	Replaced bool
}

var sysctlFields = fieldsOf(uapi.ProgTypeCgroupSysctl, nil)

// clone returns a copy that shares nothing mutable.
func (s *Sysctl) clone() *Sysctl {
	c := *s
	c.Value, c.New = slices.Clone(s.Value), slices.Clone(s.New)
	return &c
}

func (h *Hooks) sysctlContext(c *Context) error {
	s := c.spec.Sysctl
	if s == nil {
		s = &Sysctl{Name: "net/ipv4/ip_forward", Value: []byte("0\n")}
	}
	if err := s.Check(); err != nil {
		return err
	}
	v := h.newView(c, sysctlFields, c.spec.ProgType.String())
	v.Out = func(v *net.View) []byte { return h.fieldBytes(v) }
	if err := c.attach(v); err != nil {
		return err
	}
	c.setSysctl(s)
	return nil
}

// Check reports what is wrong with an access.
func (s *Sysctl) Check() error {
	if s.Name == "" || strings.HasPrefix(s.Name, "/") {
		return fmt.Errorf("kernel: sysctl %q: want a path below /proc/sys such as net/ipv4/ip_forward", s.Name)
	}
	if len(s.New) > uapi.PageSize || len(s.Value) > uapi.PageSize {
		return fmt.Errorf("kernel: sysctl %s: values have at most %d bytes", s.Name, uapi.PageSize)
	}
	return nil
}

func (c *Context) setSysctl(s *Sysctl) {
	c.sysctl = s.clone()
	write := uint64(0)
	if s.Write {
		write = 1
	}
	c.view.Put("write", write)
}

// SetSysctl makes the context that of another access; it reports whether there is such an access
// and the context is one of a sysctl program.
func (c *Context) SetSysctl(s *Sysctl) bool {
	if c.sysctl == nil || s.Check() != nil {
		return false
	}
	c.setSysctl(s)
	return true
}

// Sysctl returns the access that a cgroup/sysctl program filters, nil for other contexts.
func (c *Context) Sysctl() *Sysctl {
	return c.sysctl
}

var deviceFields = fieldsOf(uapi.ProgTypeCgroupDevice, nil)

// Device access (BPF_DEVCG_ACC_*, BPF_DEVCG_DEV_*).
const (
	devRead = 2
	devChar = 2
)

// deviceContext creates a bpf_cgroup_dev_ctx: by default /dev/null is opened for reading.
func (h *Hooks) deviceContext(c *Context) error {
	v := h.newView(c, deviceFields, c.spec.ProgType.String())
	v.Out = func(v *net.View) []byte { return h.fieldBytes(v) }
	if err := c.attach(v); err != nil {
		return err
	}
	v.Put("access_type", devRead<<16|devChar)
	v.Put("major", 1)
	v.Put("minor", 3)
	return nil
}
