package maps

import (
	"bytes"
	"maps"
	"slices"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// SockMap is BPF_MAP_TYPE_SOCKMAP and BPF_MAP_TYPE_SOCKHASH: sockets by index or key. The sockets
// are Go values of the caller.
type SockMap interface {
	Map
	// Sock returns the socket of a key.
	Sock(key []byte) (any, bool)
	// SetSock stores a socket as an update does; the caller checks whether the socket may be in a
	// map.
	SetSock(key []byte, sock any, flags uint64) uapi.Errno
}

// sockMap holds sockets by the bytes of their keys (net/core/sock_map.c).
type sockMap struct {
	base
	socks map[string]any
}

const sockFlags = uapi.MapNumaNode | uapi.MapRdonly | uapi.MapWronly

func newSockMap(b base) (Map, error) {
	s := &b.spec
	hash := s.Type == uapi.MapTypeSockhash
	switch {
	case s.MaxEntries == 0 || s.ValueSize != 4 && s.ValueSize != 8 || !hash && s.KeySize != 4 || s.KeySize == 0:
		return nil, b.refuse(uapi.EINVAL, "needs max_entries, a value_size of 4 or 8, and keys (of a sockmap 4 bytes)")
	case s.Flags&^uint32(sockFlags) != 0:
		return nil, b.refuseFlags(sockFlags)
	case s.KeySize > 512:
		return nil, b.refuse(uapi.E2BIG, "keys have at most 512 bytes")
	}
	m := &sockMap{base: b, socks: map[string]any{}}
	m.self = m
	return m, nil
}

func (m *sockMap) key(key []byte) (string, bool) {
	if len(key) < int(m.spec.KeySize) {
		return "", false
	}
	key = key[:m.spec.KeySize]
	return string(key), m.spec.Type == uapi.MapTypeSockhash || m.env.u32(key) < m.spec.MaxEntries
}

// Sock returns the socket of a key.
func (m *sockMap) Sock(key []byte) (any, bool) {
	k, ok := m.key(key)
	if !ok {
		return nil, false
	}
	s, ok := m.socks[k]
	return s, ok
}

// SetSock mirrors sock_map_update_common and sock_hash_update_common.
func (m *sockMap) SetSock(key []byte, sock any, flags uint64) uapi.Errno {
	if flags > uapi.Exist {
		return uapi.EINVAL
	}
	k, ok := m.key(key)
	if !ok {
		return uapi.E2BIG
	}
	_, exists := m.socks[k]
	switch {
	case exists && flags == uapi.NoExist:
		return uapi.EEXIST
	case !exists && flags == uapi.Exist:
		return uapi.ENOENT
	case !exists && len(m.socks) >= int(m.spec.MaxEntries):
		return uapi.E2BIG
	}
	m.socks[k] = sock
	return OK
}

// Update needs the file descriptor of a socket, so it returns EBADF; see SetSock.
func (m *sockMap) Update(int, []byte, []byte, uint64) uapi.Errno { return uapi.EBADF }

func (m *sockMap) Delete(key []byte) uapi.Errno {
	k, ok := m.key(key)
	if _, exists := m.socks[k]; !ok || !exists {
		if m.spec.Type == uapi.MapTypeSockhash {
			return uapi.ENOENT
		}
		return uapi.EINVAL
	}
	delete(m.socks, k)
	return OK
}

func (m *sockMap) NextKey(key []byte) ([]byte, uapi.Errno) {
	if m.spec.Type == uapi.MapTypeSockmap {
		return nextIndex(m.env, key, m.spec.MaxEntries)
	}
	keys := m.keys()
	i := slices.IndexFunc(keys, func(k []byte) bool { return bytes.Equal(k, key) })
	if i+1 >= len(keys) {
		return nil, uapi.ENOENT
	}
	return keys[i+1], OK
}

func (m *sockMap) keys() [][]byte {
	var keys [][]byte
	for k := range m.socks {
		keys = append(keys, []byte(k))
	}
	slices.SortFunc(keys, bytes.Compare)
	return keys
}

// Entries returns elements with a Ref and no Value.
func (m *sockMap) Entries() []Entry {
	var out []Entry
	for _, k := range m.keys() {
		out = append(out, Entry{Key: k, Ref: m.socks[string(k)]})
	}
	return out
}

func (m *sockMap) Snapshot() any { return maps.Clone(m.socks) }
func (m *sockMap) Restore(v any) { restoreMap(&m.socks, v.(map[string]any)) }
