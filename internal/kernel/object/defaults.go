package object

import (
	"strings"

	"github.com/bpfrun/bpfrun/btf"
)

// defaultValue generates the value of a scalar or pointer field that was not set.
func (s *Space) defaultValue(o *Object, l *Layout, base uint64, f Field) uint64 {
	if l.Name != "" && s.zeroByDefault(l, f) {
		return 0
	}
	t := Strip(f.Spec, f.Type)
	if t == nil {
		return 0
	}
	role := o.role
	if f.Path != "" {
		role += dotted2(role, f.Path)
	}
	if o.count > 1 {
		role = o.role + Dotted(o.path(o.layout, base+f.Off, max(f.Size, 1)))
	}
	if t.Kind == btf.KindPtr {
		if self, ok := s.selfLink(o, l, base, f); ok {
			return self
		}
		return s.defaultPointer(o, role, f.Spec, f.Type)
	}
	return s.DefaultScalar(role, LastName(f.Path), f.Spec, f.Type, f.BitSize)
}

func dotted2(role, path string) string {
	if role == "" {
		return path
	}
	return Dotted(path)
}

// LastName returns the last member name of a path without indices: "val" of "cred.uid.val", "comm"
// of "comm[3]".
func LastName(path string) string {
	path = path[strings.LastIndexByte(path, '.')+1:]
	if i := strings.IndexByte(path, '['); i >= 0 {
		path = path[:i]
	}
	return path
}

// zeroTypes are types for which all zeros is a valid idle state: unlocked locks, empty trees and
// lists.
var zeroTypes = map[string]bool{
	"spinlock": true, "raw_spinlock": true, "mutex": true, "rt_mutex": true, "rt_mutex_base": true, "rw_semaphore": true, "semaphore": true,
	"rwbase_rt": true, "percpu_rw_semaphore": true, "seqcount": true, "seqcount_spinlock": true, "seqlock_t": true,
	"qspinlock": true, "qrwlock": true, "lockdep_map": true, "optimistic_spin_queue": true, "rwlock_t": true, "arch_spinlock_t": true,
	"hlist_head": true, "hlist_node": true, "hlist_bl_head": true, "hlist_bl_node": true, "hlist_nulls_head": true, "hlist_nulls_node": true,
	"rb_root": true, "rb_root_cached": true, "rb_node": true, "llist_head": true, "llist_node": true,
	"callback_head": true, "xarray": true, "maple_tree": true, "radix_tree_root": true, "idr": true, "ida": true, "plist_node": true,
	"timerqueue_node": true, "timerqueue_head": true, "swait_queue_head": true, "lockref_lock": true, "rhash_head": true,
	"completion": true, "sigset_t": true, "wait_queue_head": true, "local_lock": true, "osq_lock": true, "freelist": true,
}

// zeroByDefault reports whether a leaf lies in a type of zeroTypes.
func (s *Space) zeroByDefault(l *Layout, f Field) bool {
	if zeroTypes[l.Name] {
		return true
	}
	path := f.Path
	for {
		i := strings.LastIndexByte(path, '.')
		if i < 0 {
			return false
		}
		path = strings.TrimRight(path[:i], ".")
		g, rest, err := l.Place(path)
		if err != nil || rest != "" {
			return false
		}
		if t := Strip(g.Spec, g.Type); t != nil && zeroTypes[t.Name] {
			return true
		}
		if zeroTypes[g.Spec.Name(g.Type)] {
			return true
		}
	}
}

// selfLink returns the value of the pointers of a list_head: an empty list points to itself.
func (s *Space) selfLink(o *Object, l *Layout, base uint64, f Field) (uint64, bool) {
	t := Strip(f.Spec, f.Type)
	to := Strip(f.Spec, t.Ref)
	if to == nil || to.Kind != btf.KindStruct || to.Name != "list_head" {
		return 0, false
	}
	head := l
	off := uint64(0)
	if l.Name != "list_head" {
		i := strings.LastIndexByte(f.Path, '.')
		if i < 0 {
			return 0, false
		}
		g, rest, err := l.Place(f.Path[:i])
		if err != nil || rest != "" {
			return 0, false
		}
		if head = s.types.Of(g.Spec, g.Type); head == nil || head.Name != "list_head" {
			return 0, false
		}
		off = g.Off
	}
	return o.base + base + off, true
}

// valueRange is a range of sensible values: base + hash % n.
type valueRange struct{ base, n uint64 }

// typeRanges lists ranges by the name of the typedef or struct that a value is declared with.
var typeRanges = map[string]valueRange{
	"pid_t": {100, 32000}, "__kernel_pid_t": {100, 32000}, "uid_t": {1000, 9000}, "gid_t": {1000, 9000}, "kuid_t": {1000, 9000}, "kgid_t": {1000, 9000},
	"__kernel_uid32_t": {1000, 9000}, "__kernel_gid32_t": {1000, 9000},
	"umode_t": {0o100400, 0o200}, "size_t": {16, 1000}, "__kernel_size_t": {16, 1000}, "ssize_t": {16, 1000}, "__kernel_ssize_t": {16, 1000},
	"loff_t": {0, 1 << 16}, "__kernel_loff_t": {0, 1 << 16}, "ino_t": {1000, 1 << 20}, "__kernel_ino_t": {1000, 1 << 20},
	"sector_t": {2048, 1 << 24}, "gfp_t": {0xcc0, 1}, "fmode_t": {1, 3}, "cputime_t": {1000, 1 << 20},
	"refcount_t": {1, 7}, "refcount_struct": {1, 7}, "atomic_t": {1, 7}, "atomic64_t": {1, 7}, "atomic_long_t": {1, 7}, "kref": {1, 7},
	"sa_family_t": {2, 1}, "__kernel_sa_family_t": {2, 1},
}

// nameRanges lists ranges by field name, for names whose meaning requires one.
var nameRanges = map[string]valueRange{
	"refs": {1, 7}, "counter": {1, 7}, "refcount": {1, 7}, "refcnt": {1, 7}, "usage": {1, 7},
	"cpu": {0, 1}, "target_cpu": {0, 1}, "orig_cpu": {0, 1}, "dest_cpu": {0, 1}, "on_cpu": {1, 1}, "src_cpu": {0, 1}, "dst_cpu": {0, 1},
	"prio": {100, 40}, "static_prio": {100, 40}, "normal_prio": {100, 40}, "sig": {1, 31}, "signo": {1, 31}, "si_signo": {1, 31}, "si_code": {0, 1}, "vec": {0, 10}, "vec_nr": {0, 10}, "irq": {16, 100},
	"len": {16, 1000}, "size": {16, 1000}, "count": {16, 1000}, "length": {16, 1000}, "nbytes": {16, 1000}, "bytes": {16, 1000},
	"nr": {1, 8}, "num": {1, 8}, "n": {1, 8}, "nr_segs": {1, 1}, "vlen": {1, 4}, "level": {0, 1}, "depth": {1, 3}, "order": {0, 4},
	"major": {8, 1}, "first_minor": {0, 16}, "minors": {16, 1}, "fd": {3, 60}, "dfd": {0xffffff9c, 1}, "newdfd": {0xffffff9c, 1}, "olddfd": {0xffffff9c, 1},
	"family": {2, 1}, "protocol": {6, 1}, "mode": {0o400, 0o200}, "flags": {0, 8}, "error": {0, 1}, "err": {0, 1}, "errno": {0, 1}, "ret": {0, 1},
	"backlog": {1, 128}, "port": {1024, 30000}, "sport": {1024, 30000}, "dport": {1024, 30000}, "uid": {1000, 9000}, "gid": {1000, 9000}, "pid": {100, 32000}, "tgid": {100, 32000},
	"cap": {0, 40}, "opts": {0, 4}, "addrlen": {16, 1}, "addr_len": {16, 1}, "type": {1, 4}, "addr_type": {1, 1}, "nid": {0, 1}, "node": {0, 1},
	"group": {0, 2}, "result": {0, 1}, "migratetype": {0, 3}, "prev_state": {1, 1},
	"msec": {1, 1000}, "usec": {1, 1000}, "nsec": {1, 1000000},
}

// NamedDefault chooses a value by h for a number whose name implies a range; ok is false for other
// names.
func NamedDefault(name string, h uint64) (v uint64, ok bool) {
	r, ok := nameRanges[name]
	if !ok {
		return 0, false
	}
	return r.base + h%r.n, true
}

// DefaultScalar derives a number from seed, role and name, and fits it to its type.
func (s *Space) DefaultScalar(role, name string, spec *btf.Spec, id btf.ID, bits uint32) uint64 {
	h := s.Hash(role)
	t := Strip(spec, id)
	if t == nil {
		return 0
	}
	width := uint64(t.Size) * 8
	if bits != 0 {
		width = uint64(bits)
	}
	if width == 0 { // a type without a size, in malformed BTF
		return 0
	}
	limit := ^uint64(0)
	if width < 64 {
		limit = 1<<width - 1
	}
	switch t.Kind {
	case btf.KindEnum, btf.KindEnum64:
		var valid []uint64
		for _, v := range t.Values {
			if bits == 0 || v.Value <= limit {
				valid = append(valid, v.Value)
			}
		}
		if len(valid) == 0 {
			return 0
		}
		// An enumeration's last value is often its count.
		if n := len(valid); n > 2 && valid[n-1] == uint64(n-1) {
			valid = valid[:n-1]
		}
		return valid[h%uint64(len(valid))] & limit
	case btf.KindFloat:
		return 0
	}
	if t.Int.Encoding&btf.IntBool != 0 || width == 1 {
		return h & 1
	}
	if r, ok := rangeOf(spec, id); ok {
		return (r.base + h%r.n) & limit
	}
	if v, ok := NamedDefault(name, h); ok && v <= limit {
		return v
	}
	if v, ok := s.timeDefault(name, width, h); ok {
		return v
	}
	if t.Signed() && width < 64 {
		limit >>= 1
	}
	// Small numbers are easy to distinguish in a table, and do not look like pointers or errors.
	return 1 + h%min(limit, 99991)
}

// rangeOf looks up a range by the names that a type was declared with.
func rangeOf(spec *btf.Spec, id btf.ID) (valueRange, bool) {
	for range MaxNesting {
		t, err := spec.Type(id)
		if err != nil || t == nil {
			return valueRange{}, false
		}
		if r, ok := typeRanges[t.Name]; ok && t.Name != "" {
			return r, true
		}
		switch t.Kind {
		case btf.KindTypedef, btf.KindConst, btf.KindVolatile, btf.KindRestrict, btf.KindTypeTag:
			id = t.Ref
		default:
			return valueRange{}, false
		}
	}
	return valueRange{}, false
}

// timeDefault sets fields that contain a time to a moment within ten minutes before the run began.
func (s *Space) timeDefault(name string, width, h uint64) (uint64, bool) {
	if width != 64 {
		return 0, false
	}
	const span = 600_000_000_000
	var began uint64
	switch {
	case strings.HasSuffix(name, "boottime"):
		began = s.began.Boot()
	case strings.HasSuffix(name, "_time_ns"), strings.HasSuffix(name, "start_time"), strings.HasSuffix(name, "_ts"), strings.HasSuffix(name, "tstamp"), strings.HasSuffix(name, "timestamp"):
		began = s.began.Mono()
	default:
		return 0, false
	}
	return began - h%min(span, max(began, 1)), true
}

// Port derives a TCP port above the privileged ones.
func (s *Space) Port(role string) uint16 { return uint16(1024 + s.Hash(role, "port")%30000) }

// IPv4 derives an address in 10.0.0.0/8, bytes in network order.
func (s *Space) IPv4(role string) [4]byte {
	h := s.Hash(role, "ipv4")
	return [4]byte{10, byte(h >> 16), byte(h >> 8), byte(h%253) + 1}
}
