package scenes

import (
	"encoding/binary"
	"fmt"
	"maps"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/scenario"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// objects are the kernel objects that events tell of. Those of a scenario exist before its first
// run and do not change: a task that changes (an exec gives it another name) becomes several, and a
// descriptor has what it was opened for first.
type objects struct {
	tasks   []*task
	named   map[string]*task   // by all of their fields
	byPID   map[string][]*task // in the order in which they came
	files   []*file
	fds     map[string]map[int]*file // by process and descriptor
	cwd     map[string]string        // by process
	sockets int
}

type task struct {
	name, pid, tgid string
	fields          map[string]any
}

type file struct {
	name, path string
	flags      string
	socket     *socket
}

type socket struct {
	name                   string
	family, typ, protocol  uint64
	source, dest           netip.AddrPort
	listening, established bool
}

// Limits of what is kept of a recording.
const (
	maxFiles = 4096
	maxFD    = 1024
)

func newObjects() *objects {
	return &objects{named: map[string]*task{}, byPID: map[string][]*task{}, fds: map[string]map[int]*file{}, cwd: map[string]string{}}
}

// task returns the name of the object for a task's fields.
func (o *objects) task(fields map[string]any) string { return o.taskOf(fields).name }

func (o *objects) taskOf(fields map[string]any) *task {
	key := ""
	for _, k := range slices.Sorted(maps.Keys(fields)) {
		key += fmt.Sprintf("%q=%q ", k, fmt.Sprint(fields[k]))
	}
	if t := o.named[key]; t != nil {
		return t
	}
	pid := fmt.Sprint(fields["pid"])
	t := &task{pid: pid, tgid: pid, fields: fields}
	if tgid, ok := fields["tgid"]; ok {
		t.tgid = fmt.Sprint(tgid)
	}
	t.name = "p" + strings.Map(wordRune, pid)
	if n := len(o.byPID[pid]); n > 0 {
		t.name += "_" + strconv.Itoa(n+1)
	}
	o.named[key] = t
	o.byPID[pid] = append(o.byPID[pid], t)
	o.tasks = append(o.tasks, t)
	return t
}

func wordRune(c rune) rune {
	if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
		return c
	}
	return '_'
}

// see notes what a system call tells of files and sockets.
func (o *objects) see(e bpfsys.Event) {
	call := syscallName(e)
	if call == "" || len(e.Task) == 0 {
		return
	}
	ret, ok := number(e.Args["ret"])
	if !ok || ret < 0 && call != "connect" {
		return
	}
	proc := fmt.Sprint(e.Task["pid"])
	if tgid, ok := e.Task["tgid"]; ok {
		proc = fmt.Sprint(tgid)
	}
	fd, _ := number(e.Args["fd"])
	switch call {
	case "open", "openat", "openat2", "creat":
		text, _ := cmpText(e.Args["filename"], e.Args["pathname"])
		if at, ok := number(e.Args["dfd"]); !path.IsAbs(text) && (!ok || int32(at) == atFDCWD) {
			text = path.Join(o.cwd[proc], text)
		}
		if path.IsAbs(text) {
			f := &file{path: text}
			if flags, ok := number(e.Args["flags"]); ok {
				f.flags = strconv.FormatInt(flags, 10)
			}
			o.open(proc, ret, f)
		}
	case "chdir":
		if text, ok := e.Args["filename"].(string); ok && (path.IsAbs(text) || o.cwd[proc] != "") {
			o.cwd[proc] = path.Join(o.cwd[proc], text)
			if path.IsAbs(text) {
				o.cwd[proc] = path.Clean(text)
			}
		}
	case "socket":
		s := &socket{}
		for name, to := range map[string]*uint64{"family": &s.family, "type": &s.typ, "protocol": &s.protocol} {
			v, _ := number(e.Args[name])
			*to = uint64(v)
		}
		const flags = 0o2004000 // SOCK_CLOEXEC, SOCK_NONBLOCK
		s.typ &^= flags
		o.open(proc, ret, &file{socket: s})
	case "connect", "bind":
		s := o.socket(proc, fd)
		at, ok := address(e.Args["uservaddr"], e.Args["umyaddr"])
		if s == nil || !ok {
			return
		}
		if call == "bind" {
			s.source = at
		} else if ret == 0 || ret == -int64(uapi.EINPROGRESS) {
			s.dest, s.established = at, ret == 0
		}
	case "listen":
		if s := o.socket(proc, fd); s != nil {
			s.listening = true
		}
	case "accept", "accept4":
		s := &socket{family: uapi.AFInet, typ: 1, established: true}
		if from := o.socket(proc, fd); from != nil {
			s.family, s.typ, s.protocol, s.source = from.family, from.typ, from.protocol, from.source
		}
		s.dest, _ = address(e.Args["upeer_sockaddr"])
		o.open(proc, ret, &file{socket: s})
	}
}

const atFDCWD = -100

func cmpText(values ...any) (string, bool) {
	for _, v := range values {
		if s, ok := v.(string); ok {
			return s, true
		}
	}
	return "", false
}

func number(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case uint64:
		return int64(v), true
	}
	return 0, false
}

// open notes a descriptor of a process.
func (o *objects) open(proc string, fd int64, f *file) {
	if fd < 0 || fd >= maxFD || len(o.files) == maxFiles {
		return
	}
	if o.fds[proc] == nil {
		o.fds[proc] = map[int]*file{}
	}
	if o.fds[proc][int(fd)] != nil {
		return
	}
	f.name = fmt.Sprintf("f%d", len(o.files)+1)
	if f.socket != nil {
		o.sockets++
		f.socket.name = fmt.Sprintf("s%d", o.sockets)
	}
	o.files = append(o.files, f)
	o.fds[proc][int(fd)] = f
}

func (o *objects) socket(proc string, fd int64) *socket {
	if f := o.fds[proc][int(fd)]; f != nil {
		return f.socket
	}
	return nil
}

// address decodes a struct sockaddr of IPv4 or IPv6.
func address(values ...any) (netip.AddrPort, bool) {
	for _, v := range values {
		b, ok := v.([]byte)
		if !ok || len(b) < 8 {
			continue
		}
		port := binary.BigEndian.Uint16(b[2:])
		switch family := binary.NativeEndian.Uint16(b); {
		case family == uapi.AFInet:
			return netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[4:8])), port), true
		case family == uapi.AFInet6 && len(b) >= 24:
			return netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[8:24])), port), true
		}
	}
	return netip.AddrPort{}, false
}

// write writes the objects of a scenario.
func (o *objects) write(root *grammar.Node) {
	if len(o.tasks) == 0 {
		return
	}
	list := root.Child("objects")
	used := map[*file]bool{}
	for _, t := range o.tasks {
		n := &grammar.Node{Kind: grammar.Mapping, Tag: "!task"}
		n.Put("pid", grammar.Word(t.pid))
		n.Put("tgid", grammar.Word(t.tgid))
		for _, k := range slices.Sorted(maps.Keys(t.fields)) {
			key := strings.ReplaceAll(k, "->", ".")
			if key == "pid" || key == "tgid" {
				continue
			}
			if rest, ok := strings.CutPrefix(key, "real_parent."); ok {
				if parents := o.byPID[fmt.Sprint(t.fields["real_parent->pid"])]; len(parents) > 0 && (rest == "pid" || rest == "tgid") {
					n.Put("real_parent", grammar.Word("$"+parents[0].name))
					continue
				}
			}
			n.Put(key, argument(t.fields[k], false))
		}
		if fds := o.fds[t.tgid]; len(fds) > 0 {
			table := &grammar.Node{Kind: grammar.Sequence}
			for fd := range slices.Max(slices.Collect(maps.Keys(fds))) + 1 {
				if f := fds[fd]; f != nil {
					used[f] = true
					table.Items = append(table.Items, grammar.Word("$"+f.name))
				} else {
					table.Items = append(table.Items, &grammar.Node{Kind: grammar.Null})
				}
			}
			n.Put("files", table)
		}
		list.Put(t.name, n)
	}
	for _, f := range o.files {
		if used[f] {
			f.write(list)
		}
	}
}

func (f *file) write(list *grammar.Node) {
	n := &grammar.Node{Kind: grammar.Mapping, Tag: "!file"}
	if f.socket == nil {
		n.Put("path", grammar.Quote(f.path))
		if f.flags != "" {
			n.Put("flags", grammar.Word(f.flags))
		}
		list.Put(f.name, n)
		return
	}
	s := f.socket
	sock := &grammar.Node{Kind: grammar.Mapping, Tag: "!sock"}
	for name, v := range map[string]uint64{"family": s.family, "type": s.typ, "protocol": s.protocolOr()} {
		sock.Put(name, grammar.Word(strconv.FormatUint(v, 10)))
	}
	slices.SortFunc(sock.Pairs, func(a, b scenario.Pair) int { return strings.Compare(a.Key.Text, b.Key.Text) })
	if s.typ == 1 {
		state := "TCP_CLOSE"
		switch {
		case s.established:
			state = "TCP_ESTABLISHED"
		case s.listening:
			state = "TCP_LISTEN"
		case s.dest.IsValid():
			state = "TCP_SYN_SENT"
		}
		sock.Put("state", grammar.Word(state))
	}
	put := func(addr, port string, at netip.AddrPort) {
		if at.IsValid() {
			sock.Put(addr, grammar.Quote(at.Addr().String()))
			sock.Put(port, grammar.Word(strconv.Itoa(int(at.Port()))))
		}
	}
	put("source", "sport", s.source)
	put("dest", "dport", s.dest)
	list.Put(s.name, sock)
	whole := &grammar.Node{Kind: grammar.Mapping}
	whole.Put("type", grammar.Word("socket"))
	whole.Put("sk", grammar.Word("$"+s.name))
	list.Put(s.name+"_socket", whole)
	n.Put("mode", grammar.Word("S_IFSOCK|0o777"))
	n.Put("private_data", grammar.Word("$"+s.name+"_socket"))
	list.Put(f.name, n)
}

// protocolOr returns the protocol, that of the type where the call named none.
func (s *socket) protocolOr() uint64 {
	if s.protocol == 0 && (s.family == uapi.AFInet || s.family == uapi.AFInet6) {
		return map[uint64]uint64{1: 6, 2: 17}[s.typ]
	}
	return s.protocol
}
