package net

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Bits of nf_conn.status (enum ip_conntrack_status).
const (
	ConnExpected     = 1 << 0
	ConnSeenReply    = 1 << 1
	ConnAssured      = 1 << 2
	ConnConfirmed    = 1 << 3
	ConnDying        = 1 << 9
	ConnFixedTimeout = 1 << 10
	// ConnUnchangeable are the bits that ctnetlink and programs cannot change
	// (IPS_UNCHANGEABLE_MASK).
	ConnUnchangeable = ConnExpected | ConnConfirmed | 1<<4 | 1<<5 | 1<<6 | 1<<7 | 1<<8 | ConnDying | 1<<11 | 1<<12 | 1<<14 | 1<<15
	connEstablished  = ConnSeenReply | ConnAssured | ConnConfirmed
)

// maxConnections is nf_conntrack_max of a machine with up to 4 GiB (nf_conntrack_init_start).
const maxConnections = 65536

// allocatedRole is the name of connections that programs make.
const allocatedRole = "connection of a program"

// ZoneBothDirs is the direction of a zone that applies to both (NF_CT_DEFAULT_ZONE_DIR).
const ZoneBothDirs = 3

// ErrTracked means that the table already has a connection with one of the two tuples.
var ErrTracked = errors.New("another connection of the table has the same addresses, ports and zone")

// ErrTableFull means that there are as many connections as nf_conntrack_max.
var ErrTableFull = errors.New("the table of connections is full")

// ConnTuple is one direction of a connection: a struct nf_conntrack_tuple without its direction.
type ConnTuple struct {
	Protocol     uint8
	Source, Dest netip.AddrPort
}

// Reply returns the tuple of the other direction, as it is without address translation.
func (t ConnTuple) Reply() ConnTuple {
	t.Source, t.Dest = t.Dest, t.Source
	return t
}

// ConnZone is a struct nf_conntrack_zone: an id and the directions to which it applies (bit 0
// original, bit 1 reply).
type ConnZone struct {
	ID  uint16
	Dir uint8
}

// in returns the zone's id in a direction (nf_ct_zone_id).
func (z ConnZone) in(dir uint8) uint16 {
	if z.Dir>>dir&1 != 0 {
		return z.ID
	}
	return 0
}

// connKey is how the table finds one direction of a connection.
type connKey struct {
	ConnTuple
	dir  uint8
	zone uint16
}

// AllocConnection makes a connection for a program (nf_conntrack_alloc); the error is
// [ErrTableFull] or a type's. timeout is in ticks.
func (h *Host) AllocConnection(t ConnTuple, z ConnZone, timeout uint32) (o *object.Object, err error) {
	if h.conns.Len() >= 2*maxConnections {
		return nil, ErrTableFull
	}
	if n := len(h.freed); n > 0 {
		o, h.freed = h.freed[n-1], h.freed[:n-1]
	} else if o, err = h.NewObjectNamed(allocatedRole, "nf_conn"); err != nil {
		return nil, err
	}
	return o, h.describe(o, t, z, timeout)
}

// NewConnection makes a connection that has seen packets in both directions; expires is the tick at
// which its time is over. Lookups find it after [Host.OpenConnection].
func (h *Host) NewConnection(role string, t ConnTuple, z ConnZone, expires uint32) (*object.Object, error) {
	o, err := h.NewObjectNamed(role, "nf_conn")
	if err != nil {
		return nil, err
	}
	err = h.describe(o, t, z, expires)
	object.Build(o).Num("status", connEstablished)
	return o, err
}

// describe sets the fields of a new connection; all others are zero.
func (h *Host) describe(o *object.Object, t ConnTuple, z ConnZone, timeout uint32) error {
	o.MarkBuiltin()
	b := object.Build(o)
	b.All(make([]byte, o.Size()))
	for dir, t := range [...]ConnTuple{t, t.Reply()} {
		setTuple(b, uint8(dir), t)
	}
	b.Num("zone.id", uint64(z.ID))
	b.Num("zone.dir", uint64(z.Dir))
	b.Num("timeout", uint64(timeout))
	b.Ptr("ct_net.net", h.Singleton("net"))
	return h.Err()
}

// setTuple sets the tuple of a connection's direction.
func setTuple(b object.Builder, dir uint8, t ConnTuple) {
	at := tuplePath(dir)
	family := uint64(uapi.AFInet)
	if t.Source.Addr().Is6() {
		family = uapi.AFInet6
	}
	b.Num(at+"src.l3num", family)
	b.Num(at+"dst.protonum", uint64(t.Protocol))
	b.Num(at+"dst.dir", uint64(dir))
	for _, end := range [...]struct {
		name string
		of   netip.AddrPort
	}{{"src", t.Source}, {"dst", t.Dest}} {
		b.Bytes(at+end.name+".u3.all", end.of.Addr().AsSlice())
		b.Bytes(at+end.name+".u.all", []byte{byte(end.of.Port() >> 8), byte(end.of.Port())})
	}
}

// ErrTranslated means that a connection's address was translated before (nf_nat_initialized).
var ErrTranslated = errors.New("the connection's address of that side is translated already")

// ErrPortInUse means that another connection of the table has the port that a translation keeps.
var ErrPortInUse = errors.New("a connection of the table has the port, and no other is chosen")

// Translate changes the source or the destination of a connection that is not yet in the table, as
// packets leave with it: the tuple of the reply is the reverse of that (nf_nat_setup_info). Port 0
// keeps the port. Connections of the table stay as they are.
func (h *Host) Translate(o *object.Object, addr netip.Addr, port uint16, dest bool, now uint32) error {
	const sourceNAT, destNAT, sourceDone, destDone = 1 << 4, 1 << 5, 1 << 7, 1 << 8
	status := o.Num("status")
	if status&ConnConfirmed != 0 {
		return nil
	}
	bit, done := uint64(sourceNAT), uint64(sourceDone)
	if dest {
		bit, done = destNAT, destDone
	}
	if status&done != 0 {
		return ErrTranslated
	}
	reply, err := tupleOf(o, 1)
	if err != nil {
		return err
	}
	sent := reply.Reply()
	end := &sent.Source
	if dest {
		end = &sent.Dest
	}
	keep := port == 0
	if keep {
		port = end.Port()
	}
	*end = netip.AddrPortFrom(addr, port)
	b := object.Build(o)
	if sent != reply.Reply() {
		if other, _ := h.Tracked(sent.Reply(), zoneOf(o), now); keep && other != nil {
			return ErrPortInUse
		}
		setTuple(b, 1, sent.Reply())
		status |= bit
	}
	b.Num("status", status|done)
	return nil
}

func tuplePath(dir uint8) string {
	if dir == 0 {
		return "tuplehash[0].tuple."
	}
	return "tuplehash[1].tuple."
}

// tupleOf reads a tuple of a connection.
func tupleOf(o *object.Object, dir uint8) (t ConnTuple, err error) {
	at := tuplePath(dir)
	protocol, err := o.Uint(at + "dst.protonum")
	family, err2 := o.Uint(at + "src.l3num")
	if err = errors.Join(err, err2); err != nil {
		return t, err
	}
	t.Protocol = uint8(protocol)
	for end, to := range [...]*netip.AddrPort{&t.Source, &t.Dest} {
		path := at + [...]string{"src", "dst"}[end]
		addr, err := o.GetBytes(path + ".u3.all")
		port, err2 := o.GetBytes(path + ".u.all")
		if err = errors.Join(err, err2); err != nil {
			return t, err
		}
		if family == uapi.AFInet {
			addr = addr[:4]
		}
		a, _ := netip.AddrFromSlice(addr)
		*to = netip.AddrPortFrom(a, uint16(port[0])<<8|uint16(port[1]))
	}
	return t, nil
}

// zoneOf reads the zone of a connection; kernels without CONFIG_NF_CONNTRACK_ZONES have none.
func zoneOf(o *object.Object) ConnZone {
	if !o.Has("zone.id") {
		return ConnZone{Dir: ZoneBothDirs}
	}
	return ConnZone{ID: uint16(o.Num("zone.id")), Dir: uint8(o.Num("zone.dir"))}
}

// keysOf returns the keys of both directions of a connection.
func keysOf(o *object.Object) (keys [2]connKey, err error) {
	z := zoneOf(o)
	for dir := range uint8(2) {
		t, err := tupleOf(o, dir)
		if err != nil {
			return keys, err
		}
		keys[dir] = connKey{ConnTuple: t, dir: dir, zone: z.in(dir)}
	}
	return keys, nil
}

// OpenConnection enters a connection into the table, which then holds a reference to it, unless one
// with the same tuples is there ([ErrTracked]): nf_conntrack_hash_check_insert. now is the kernel's
// tick count.
func (h *Host) OpenConnection(o *object.Object, now uint32) error {
	if l := o.Storage(); l == nil || l.Name != "nf_conn" {
		return &object.TypeError{Type: o.TypeName(), Role: o.Role(), Why: "is not a tracked connection"}
	}
	keys, err := keysOf(o)
	if err != nil {
		return err
	}
	z := zoneOf(o)
	for _, k := range keys {
		if other, _ := h.Tracked(k.ConnTuple, z, now); other != nil {
			return fmt.Errorf("connection %s: %w", o.Role(), ErrTracked)
		}
	}
	for _, k := range keys {
		h.conns.Set(k, o)
	}
	h.HoldConnection(o)
	return nil
}

// Tracked returns the connection of the table with a tuple, and which direction of it the tuple is;
// nil if there is none (nf_conntrack_find_get). Connections whose time is over leave the table.
func (h *Host) Tracked(t ConnTuple, z ConnZone, now uint32) (o *object.Object, dir uint8) {
	for dir := range uint8(2) {
		k := connKey{ConnTuple: t, dir: dir, zone: z.in(dir)}
		o := h.conns.Get(k)
		switch {
		case o == nil:
		case int32(uint32(o.Num("timeout"))-now) <= 0:
			h.untrack(o)
		default:
			return o, dir
		}
	}
	return nil, 0
}

func (h *Host) untrack(o *object.Object) {
	keys, err := keysOf(o)
	if err != nil {
		return
	}
	for _, k := range keys {
		h.conns.Delete(k)
	}
	object.Build(o).Num("status", o.Num("status")|ConnDying)
	h.PutConnection(o)
}

const connRefs = "ct_general.use.refs.counter|ct_general.use.counter"

// HoldConnection takes a reference to a connection.
func (h *Host) HoldConnection(o *object.Object) { object.Build(o).Num(connRefs, o.Num(connRefs)+1) }

// PutConnection drops a reference (nf_ct_put). Without any left, a program's connection is freed.
func (h *Host) PutConnection(o *object.Object) {
	n := o.Num(connRefs)
	object.Build(o).Num(connRefs, max(n, 1)-1)
	if n <= 1 && o.Role() == allocatedRole {
		h.freed = append(h.freed, o)
	}
}
