package kernel

import (
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/mem"
	"github.com/bpfrun/bpfrun/uapi"
)

// Contexts of cgroup programs that have no packet: sockets, socket options, sysctls and devices.

// cgroupSockContext makes the bpf_sock of a socket that is created, released or was bound. What of it may be read and
// written depends on the hook (__sock_filter_check_attach_type).
func (h *Hooks) cgroupSockContext(c *Context) error {
	a := c.spec.Attach
	spec := SockSpec{State: tcpClose}
	if a == uapi.AttachCgroupInet6PostBind {
		spec.Family = uapi.AFInet6
	}
	bound := a == uapi.AttachCgroupInet4PostBind || a == uapi.AttachCgroupInet6PostBind
	if bound {
		spec.SourcePort = 8080
	}
	s, err := h.contextSocket(c, spec)
	if err != nil {
		return err
	}
	v := &uapiView{k: h.Host, typ: "bpf_sock", who: a.String(), size: bpfSockSize, fields: bpfSockFields, sock: s}
	v.may = func(f *uapiField, write bool) bool {
		switch skbGroup(f.name) {
		case "bound_dev_if", "mark", "priority":
			return !bound
		case "src_ip4":
			return a == uapi.AttachCgroupInet4PostBind && !write
		case "src_ip6":
			return a == uapi.AttachCgroupInet6PostBind && !write
		case "src_port":
			return bound && !write
		}
		return !write
	}
	v.out = func(v *uapiView) []byte { return h.fieldBytes(v) }
	if err := c.attach(v); err != nil {
		return err
	}
	for name, val := range map[string]sockVal{"bound_dev_if": sockBoundDev, "mark": sockMark, "priority": sockPriority} {
		v.field(name).to = func(_ *uapiView, x uint64) { s.set(val, x) }
	}
	return nil
}

// Sockopt is the system call a cgroup program filters.
type Sockopt struct {
	Level, Name int32
	// Value is what user space gave (setsockopt), or the kernel returned (getsockopt).
	Value []byte
	// Len is optlen; 0 is the length of Value.
	Len int32
	// Retval is what the kernel's getsockopt returned.
	Retval int32
}

// sockoptSize is sizeof(struct bpf_sockopt).
const sockoptSize = 40

var sockoptFields = []uapiField{
	{name: "sk", off: 0, size: 8, kind: wideField, from: selectedSocket},
	{name: "optval", off: 8, size: 8, kind: wideField}, {name: "optval_end", off: 16, size: 8, kind: wideField},
	{name: "level", off: 24, size: 4}, {name: "optname", off: 28, size: 4}, {name: "optlen", off: 32, size: 4}, {name: "retval", off: 36, size: 4},
}

// Socket options (asm-generic/socket.h).
const (
	solSocket   = 1
	soKeepalive = 9
)

// leastOptval is the room a program gets for a value at least (__cgroup_bpf_run_filter_setsockopt).
const leastOptval = 16

// sockoptContext makes a bpf_sockopt. The value is memory of its own; a page of it is what programs may reach.
func (h *Hooks) sockoptContext(c *Context) error {
	set := c.spec.Attach == uapi.AttachCgroupSetsockopt
	o := c.spec.Sockopt
	if o == nil {
		o = &Sockopt{Level: solSocket, Name: soKeepalive, Value: []byte{1, 0, 0, 0}}
		if h.BigEndian() {
			o.Value = []byte{0, 0, 0, 1}
		}
	}
	s, err := h.contextSocket(c, SockSpec{})
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
	room := int(optlen)
	if set {
		room = max(room, leastOptval)
	}
	room = min(room, uapi.PageSize)
	r, err := h.Mem().Alloc(uint64(max(room, 1)), mem.Region{Kind: mem.Packet, Name: "optval", Owner: c})
	if err != nil {
		return err
	}
	copy(h.Mem().Bytes(r)[:room], o.Value)
	c.more = append(c.more, r)
	v := &uapiView{k: h.Host, typ: "bpf_sockopt", who: c.spec.Attach.String(), size: sockoptSize, fields: sockoptFields, sock: s}
	v.may = func(f *uapiField, write bool) bool {
		switch f.name {
		case "retval":
			return !set
		case "level", "optname":
			return !write || set
		case "optlen":
			return true
		}
		return !write
	}
	v.out = func(v *uapiView) []byte { return h.fieldBytes(v) }
	if err := c.attach(v); err != nil {
		return err
	}
	v.put("optval", r.Base)
	v.put("optval_end", r.Base+uint64(room))
	v.put("level", uint64(uint32(o.Level)))
	v.put("optname", uint64(uint32(o.Name)))
	v.put("optlen", uint64(uint32(optlen)))
	v.put("retval", uint64(uint32(o.Retval)))
	if room == 0 {
		if err := h.Mem().SetBounds(r, r.Base, r.Base); err != nil {
			return err
		}
	}
	c.optval = r
	return nil
}

// OptionValue returns the value of a socket option as the program left it, as long as optlen says; nil when the program
// has none or made its length one the kernel refuses.
func (c *Context) OptionValue() []byte {
	if c.optval == nil {
		return nil
	}
	n := int32(c.view.get("optlen"))
	b := c.k.Mem().ExtentBytes(c.optval)
	if n < 0 || int(n) > len(b) {
		return nil
	}
	return append([]byte(nil), b[:n]...)
}

// OptionRoom is the number of bytes there are for the value of a socket option.
func (c *Context) OptionRoom() int {
	return int(c.view.get("optval_end") - c.view.get("optval"))
}

// Sysctl is the access to a file of /proc/sys a cgroup program filters.
type Sysctl struct {
	Name  string // "net/ipv4/ip_forward"
	Write bool
	// Value is the current value, New the one being written.
	Value, New []byte
	// Replaced says that the program put another new value in place.
	Replaced bool
}

var sysctlFields = []uapiField{{name: "write", off: 0, size: 4, narrow: true}, {name: "file_pos", off: 4, size: 4, narrow: true}}

func (h *Hooks) sysctlContext(c *Context) error {
	s := Sysctl{Name: "net/ipv4/ip_forward", Value: []byte("0\n")}
	if c.spec.Sysctl != nil {
		s = *c.spec.Sysctl
		s.Value, s.New = append([]byte(nil), s.Value...), append([]byte(nil), s.New...)
	}
	if s.Name == "" || strings.HasPrefix(s.Name, "/") {
		return fmt.Errorf("kernel: sysctl %q: want a path below /proc/sys such as net/ipv4/ip_forward", s.Name)
	}
	if len(s.New) > uapi.PageSize || len(s.Value) > uapi.PageSize {
		return fmt.Errorf("kernel: sysctl %s: values have at most %d bytes", s.Name, uapi.PageSize)
	}
	v := &uapiView{k: h.Host, typ: "bpf_sysctl", who: c.spec.ProgType.String(), size: 8, fields: sysctlFields}
	v.may = func(f *uapiField, write bool) bool { return !write || f.name == "file_pos" }
	v.out = func(v *uapiView) []byte { return h.fieldBytes(v) }
	if err := c.attach(v); err != nil {
		return err
	}
	if s.Write {
		v.put("write", 1)
	}
	c.sysctl = &s
	return nil
}

// Sysctl returns the access a cgroup/sysctl program filters, nil for other contexts.
func (c *Context) Sysctl() *Sysctl {
	return c.sysctl
}

var deviceFields = []uapiField{{name: "access_type", off: 0, size: 4, narrow: true}, {name: "major", off: 4, size: 4}, {name: "minor", off: 8, size: 4}}

// Device access (BPF_DEVCG_ACC_*, BPF_DEVCG_DEV_*).
const (
	devRead = 2
	devChar = 2
)

// deviceContext makes a bpf_cgroup_dev_ctx: by default /dev/null is opened for reading.
func (h *Hooks) deviceContext(c *Context) error {
	v := &uapiView{k: h.Host, typ: "bpf_cgroup_dev_ctx", who: c.spec.ProgType.String(), size: 12, fields: deviceFields, may: readsOnly}
	v.out = func(v *uapiView) []byte { return h.fieldBytes(v) }
	if err := c.attach(v); err != nil {
		return err
	}
	v.put("access_type", devRead<<16|devChar)
	v.put("major", 1)
	v.put("minor", 3)
	return nil
}
