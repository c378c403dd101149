//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	"os"
	osexec "os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

func init() {
	tools["tc refusals"] = func() error { return tcTool(false) }
	tools["tc"] = func() error { return tcTool(true) }
}

// tcBody returns a struct tcmsg of device lo with attributes.
func tcBody(ifindex, handle, parent, info uint32, kind string, options []byte) []byte {
	b := le.AppendUint32(make([]byte, 4), ifindex)
	b = le.AppendUint32(le.AppendUint32(le.AppendUint32(b, handle), parent), info)
	if kind != "" {
		b = appendAttribute(b, tcaKind, append([]byte(kind), 0))
	}
	if options != nil {
		b = appendAttribute(b, tcaOptions, options)
	}
	return b
}

// tcTool sends messages about qdiscs and filters. Without attaching it sends only those that attach
// nothing, so that it also runs at the host.
func tcTool(attaching bool) error {
	c, err := converse()
	if err != nil {
		return err
	}
	const (
		lo, clsact    = 1, 0xfffffff1
		create        = unix.NLM_F_CREATE | unix.NLM_F_EXCL
		all, ip       = 0x0300, 0x0008 // ETH_P_ALL and ETH_P_IP in network byte order
		in, out, none = uint32(bpfsys.TCIngress), uint32(bpfsys.TCEgress), 0
	)
	step := func(name string, typ uapi.RouteMessage, flags uint16, body []byte) [][]byte {
		answers, e, err := c.ask(uint16(typ), flags, body)
		switch {
		case err != nil:
			fmt.Printf("%s: %v\n", name, err)
		case e != 0:
			fmt.Printf("%s: %s\n", name, unix.ErrnoName(e))
		default:
			fmt.Printf("%s: ok\n", name)
		}
		return answers
	}
	word := func(typ uint16, v uint32) []byte { return appendAttribute(nil, typ, le.AppendUint32(nil, v)) }
	options := func(fd uint32) []byte {
		return append(append(word(tcaBPFFD, fd), appendAttribute(nil, tcaBPFName, []byte("f\x00"))...), word(tcaBPFFlags, tcBPFDirect)...)
	}
	add, del, get := uapi.RouteNewtfilter, uapi.RouteDeltfilter, uapi.RouteGettfilter
	step("delete a qdisc of a device that never had one", uapi.RouteDelqdisc, 0, tcBody(lo, 0, clsact, 0, "clsact", nil))
	for _, kind := range []string{"ingress", "clsact"} {
		step("qdisc "+kind, uapi.RouteNewqdisc, create, tcBody(lo, bpfsys.TCClsactMajor, clsact, 0, kind, nil))
		for _, parent := range []uint32{none, bpfsys.TCClsactMajor, bpfsys.TCClsactMajor | 5, in, out, 1 << 16} {
			at := fmt.Sprintf("%x: ", parent)
			step(at+"add", add, create, tcBody(lo, 0, parent, 1<<16|all, "bpf", options(900)))
			step(at+"replace", add, 0, tcBody(lo, 1, parent, 1<<16|all, "bpf", options(900)))
			step(at+"get", get, 0, tcBody(lo, 1, parent, 1<<16|all, "bpf", nil))
			step(at+"list", get, unix.NLM_F_DUMP, tcBody(lo, 0, parent, 0, "", nil))
			step(at+"delete", del, 0, tcBody(lo, 1, parent, 1<<16|all, "bpf", nil))
			step(at+"flush", del, 0, tcBody(lo, 0, parent, none, "", nil))
		}
		step("delete the qdisc", uapi.RouteDelqdisc, 0, tcBody(lo, 0, clsact, 0, kind, nil))
	}
	step("filter without a qdisc", add, create, tcBody(lo, 0, in, 1<<16|all, "bpf", options(900)))
	step("delete a qdisc that is none", uapi.RouteDelqdisc, 0, tcBody(lo, 0, clsact, 0, "clsact", nil))
	step("qdisc of no device", uapi.RouteNewqdisc, create, tcBody(9999, bpfsys.TCClsactMajor, clsact, 0, "clsact", nil))
	step("qdisc", uapi.RouteNewqdisc, create, tcBody(lo, bpfsys.TCClsactMajor, clsact, 0, "clsact", nil))
	step("qdisc again", uapi.RouteNewqdisc, create, tcBody(lo, bpfsys.TCClsactMajor, clsact, 0, "clsact", nil))
	step("qdisc of the other kind", uapi.RouteNewqdisc, create, tcBody(lo, bpfsys.TCClsactMajor, clsact, 0, "ingress", nil))
	listed := 0
	for _, m := range step("list of qdiscs", uapi.RouteGetqdisc, unix.NLM_F_DUMP, tcBody(0, 0, 0, 0, "", nil)) {
		if t, ok := parseTC(m); ok && t.kind == "clsact" && t.ifindex == lo {
			listed++
		}
	}
	fmt.Println("listed", listed)
	step("filter of no device", add, create, tcBody(9999, 0, in, 1<<16|all, "bpf", options(900)))
	step("filter of no hook", add, create, tcBody(lo, 0, bpfsys.TCClsactMajor|0xffe0, 1<<16|all, "bpf", options(900)))
	step("filter of a closed descriptor", add, create, tcBody(lo, 0, in, 1<<16|all, "bpf", options(900)))
	step("filter of no program", add, create, tcBody(lo, 0, in, 1<<16|all, "bpf", options(0)))
	step("filter without options", add, create, tcBody(lo, 0, in, 1<<16|all, "bpf", nil))
	step("filter without a program", add, create, tcBody(lo, 0, in, 1<<16|all, "bpf", word(tcaBPFFlags, 1)))
	step("filter with unknown flags", add, create, tcBody(lo, 0, in, 1<<16|all, "bpf", append(word(tcaBPFFD, 900), word(tcaBPFFlags, 2)...)))
	step("filter with a short descriptor", add, create, tcBody(lo, 0, in, 1<<16|all, "bpf", appendAttribute(nil, tcaBPFFD, []byte{1})))
	step("replace without a filter", add, 0, tcBody(lo, 1, in, 1<<16|all, "bpf", options(900)))
	step("get without filters", get, 0, tcBody(lo, 1, in, 1<<16|all, "bpf", nil))
	step("get of no priority", get, 0, tcBody(lo, 1, in, all, "bpf", nil))
	step("delete without filters", del, 0, tcBody(lo, 1, in, 1<<16|all, "bpf", nil))
	step("flush with a handle", del, 0, tcBody(lo, 1, in, none, "", nil))
	step("flush", del, 0, tcBody(lo, 0, in, none, "", nil))
	step("short message", add, create, make([]byte, 8))
	if attaching {
		show := func(answers [][]byte) {
			for _, m := range answers {
				if t, ok := parseTC(m); ok && t.typ == add {
					name := ""
					attributes(t.options, func(typ uint16, data []byte) {
						if typ == tcaBPFName {
							name = strings.TrimRight(string(data), "\x00")
						}
					})
					fmt.Printf("  %x: handle %d priority %d protocol %#x %s\n", t.parent, t.handle, t.priority(), t.protocol(), name)
				}
			}
		}
		var fds []uint32
		for i := range int32(3) {
			p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: fmt.Sprint("p", i), Type: ebpf.SchedCLS, License: "GPL", Instructions: asm.Instructions{
				asm.Mov.Imm(asm.R0, []int32{-1, 2, 0}[i]), asm.Return(),
			}})
			if err != nil {
				return err
			}
			fds = append(fds, uint32(p.FD()))
		}
		show(step("add", add, create|unix.NLM_F_ECHO, tcBody(lo, 0, in, 5<<16|all, "bpf", options(fds[1]))))
		show(step("add before it", add, create|unix.NLM_F_ECHO, tcBody(lo, 0, in, 3<<16|all, "bpf", options(fds[0]))))
		show(step("add after it", add, create|unix.NLM_F_ECHO, tcBody(lo, 7, in, 9<<16|all, "bpf", options(fds[2]))))
		show(step("add at a priority of the kernel's choice", add, create|unix.NLM_F_ECHO, tcBody(lo, 0, out, all, "bpf", options(fds[0]))))
		show(step("and another", add, create|unix.NLM_F_ECHO, tcBody(lo, 0, out, all, "bpf", options(fds[0]))))
		step("add again", add, create, tcBody(lo, 7, in, 9<<16|all, "bpf", options(fds[2])))
		step("another protocol", add, create, tcBody(lo, 7, in, 9<<16|ip, "bpf", options(fds[2])))
		show(step("replace", add, unix.NLM_F_CREATE|unix.NLM_F_REPLACE|unix.NLM_F_ECHO, tcBody(lo, 7, in, 9<<16|all, "bpf", options(fds[1]))))
		show(step("get", get, 0, tcBody(lo, 7, in, 9<<16|all, "bpf", nil)))
		step("get of another handle", get, 0, tcBody(lo, 8, in, 9<<16|all, "bpf", nil))
		show(step("list", get, unix.NLM_F_DUMP, tcBody(lo, 0, in, 0, "", nil)))
		show(step("list of no parent", get, unix.NLM_F_DUMP, tcBody(lo, 0, none, 0, "", nil)))
		show(step("list of a priority", get, unix.NLM_F_DUMP, tcBody(lo, 0, in, 5<<16, "", nil)))
		show(step("list of a protocol", get, unix.NLM_F_DUMP, tcBody(lo, 0, in, ip, "", nil)))
		if err := sleepUntilFired(); err != nil {
			return err
		}
		step("delete", del, 0, tcBody(lo, 7, in, 9<<16|all, "bpf", nil))
		step("delete again", del, 0, tcBody(lo, 7, in, 9<<16|all, "bpf", nil))
		step("delete a priority", del, 0, tcBody(lo, 0, in, 5<<16|all, "bpf", nil))
		show(step("list", get, unix.NLM_F_DUMP, tcBody(lo, 0, in, 0, "", nil)))
		step("delete the qdisc", uapi.RouteDelqdisc, 0, tcBody(lo, 0, clsact, 0, "clsact", nil))
		step("ingress qdisc", uapi.RouteNewqdisc, create, tcBody(lo, bpfsys.TCClsactMajor, clsact, 0, "ingress", nil))
		show(step("add to the qdisc", add, create|unix.NLM_F_ECHO, tcBody(lo, 0, bpfsys.TCClsactMajor, 5<<16|all, "bpf", options(fds[1]))))
		show(step("add to a class", add, create|unix.NLM_F_ECHO, tcBody(lo, 0, bpfsys.TCClsactMajor|9, 3<<16|all, "bpf", options(fds[0]))))
		show(step("list", get, unix.NLM_F_DUMP, tcBody(lo, 0, in, 0, "", nil)))
		step("flush", del, 0, tcBody(lo, 0, bpfsys.TCClsactMajor, none, "", nil))
		show(step("list", get, unix.NLM_F_DUMP, tcBody(lo, 0, in, 0, "", nil)))
		step("delete the ingress qdisc", uapi.RouteDelqdisc, 0, tcBody(lo, 0, clsact, 0, "ingress", nil))
		step("qdisc again", uapi.RouteNewqdisc, create, tcBody(lo, bpfsys.TCClsactMajor, clsact, 0, "clsact", nil))
	}
	step("delete the qdisc", uapi.RouteDelqdisc, 0, tcBody(lo, 0, clsact, 0, "clsact", nil))
	step("list without a qdisc", get, 0, tcBody(lo, 1, in, 1<<16|all, "bpf", nil))
	return nil
}

// sleepUntilFired waits for the session's only event.
func sleepUntilFired() error {
	return unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &unix.Timespec{Sec: 1}, nil)
}

const tcRefusals = `delete a qdisc of a device that never had one: ENOENT
qdisc ingress: ok
0: add: EINVAL
0: replace: EINVAL
0: get: EINVAL
0: list: ok
0: delete: EINVAL
0: flush: EINVAL
ffff0000: add: EBADF
ffff0000: replace: ENOENT
ffff0000: get: EINVAL
ffff0000: list: ok
ffff0000: delete: ENOENT
ffff0000: flush: ok
ffff0005: add: EBADF
ffff0005: replace: ENOENT
ffff0005: get: EINVAL
ffff0005: list: ok
ffff0005: delete: ENOENT
ffff0005: flush: ok
fffffff2: add: EBADF
fffffff2: replace: ENOENT
fffffff2: get: EINVAL
fffffff2: list: ok
fffffff2: delete: ENOENT
fffffff2: flush: ok
fffffff3: add: EBADF
fffffff3: replace: ENOENT
fffffff3: get: EINVAL
fffffff3: list: ok
fffffff3: delete: ENOENT
fffffff3: flush: ok
10000: add: EINVAL
10000: replace: EINVAL
10000: get: EINVAL
10000: list: ok
10000: delete: EINVAL
10000: flush: EINVAL
delete the qdisc: ok
qdisc clsact: ok
0: add: EINVAL
0: replace: EINVAL
0: get: EINVAL
0: list: ok
0: delete: EINVAL
0: flush: EINVAL
ffff0000: add: EINVAL
ffff0000: replace: EINVAL
ffff0000: get: EINVAL
ffff0000: list: ok
ffff0000: delete: EINVAL
ffff0000: flush: EINVAL
ffff0005: add: ENOENT
ffff0005: replace: ENOENT
ffff0005: get: ENOENT
ffff0005: list: ok
ffff0005: delete: ENOENT
ffff0005: flush: ENOENT
fffffff2: add: EBADF
fffffff2: replace: ENOENT
fffffff2: get: EINVAL
fffffff2: list: ok
fffffff2: delete: ENOENT
fffffff2: flush: ok
fffffff3: add: EBADF
fffffff3: replace: ENOENT
fffffff3: get: EINVAL
fffffff3: list: ok
fffffff3: delete: ENOENT
fffffff3: flush: ok
10000: add: EINVAL
10000: replace: EINVAL
10000: get: EINVAL
10000: list: ok
10000: delete: EINVAL
10000: flush: EINVAL
delete the qdisc: ok
filter without a qdisc: EINVAL
delete a qdisc that is none: EINVAL
qdisc of no device: ENODEV
qdisc: ok
qdisc again: EEXIST
qdisc of the other kind: EEXIST
list of qdiscs: ok
listed 1
filter of no device: ENODEV
filter of no hook: ENOENT
filter of a closed descriptor: EBADF
filter of no program: EINVAL
filter without options: EINVAL
filter without a program: EINVAL
filter with unknown flags: EINVAL
filter with a short descriptor: ERANGE
replace without a filter: ENOENT
get without filters: EINVAL
get of no priority: ENOENT
delete without filters: ENOENT
flush with a handle: ENOENT
flush: ok
short message: EINVAL
`

const tcEnd = `delete the qdisc: ok
list without a qdisc: EINVAL
`

// TestTCFilters compares what attaches nothing with the host, in a network namespace of its own,
// where the test runs as root.
func TestTCFilters(t *testing.T) {
	if os.Getuid() == 0 {
		self, err := os.Executable()
		require.NoError(t, err)
		cmd := osexec.Command(self, "tool", "tc refusals")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
		out, err := cmd.CombinedOutput()
		if strings.Contains(string(out), "\nqdisc: ok\n") { // else a container, or a kernel without clsact
			require.NoError(t, err)
			require.Equal(t, tcRefusals+tcEnd, string(out), "the host's kernel")
		}
	}
	r := start(t, "tc refusals", "")
	require.Zero(t, r.code, "%s%s", r.out, r.notes)
	assert.Equal(t, tcRefusals+tcEnd, r.out)

	r = start(t, "tc", "clock\ntcx_ingress packet="+strings.Repeat("00", 64)+"\n")
	require.Zero(t, r.code, "%s%s", r.out, r.notes)
	assert.Equal(t, tcRefusals+`add: ok
  fffffff2: handle 1 priority 5 protocol 0x300 f
add before it: ok
  fffffff2: handle 1 priority 3 protocol 0x300 f
add after it: ok
  fffffff2: handle 7 priority 9 protocol 0x300 f
add at a priority of the kernel's choice: ok
  fffffff3: handle 1 priority 49152 protocol 0x300 f
and another: ok
  fffffff3: handle 1 priority 49151 protocol 0x300 f
add again: EEXIST
another protocol: EINVAL
replace: ok
  fffffff2: handle 7 priority 9 protocol 0x300 f
get: ok
  fffffff2: handle 7 priority 9 protocol 0x300 f
get of another handle: ENOENT
list: ok
  fffffff2: handle 1 priority 3 protocol 0x300 f
  fffffff2: handle 1 priority 5 protocol 0x300 f
  fffffff2: handle 7 priority 9 protocol 0x300 f
list of no parent: ok
list of a priority: ok
  fffffff2: handle 1 priority 5 protocol 0x300 f
list of a protocol: ok
delete: ok
delete again: ENOENT
delete a priority: ok
list: ok
  fffffff2: handle 1 priority 3 protocol 0x300 f
delete the qdisc: ok
ingress qdisc: ok
add to the qdisc: ok
  ffff0000: handle 1 priority 5 protocol 0x300 f
add to a class: ok
  ffff0009: handle 1 priority 3 protocol 0x300 f
list: ok
  fffffff2: handle 1 priority 3 protocol 0x300 f
  fffffff2: handle 1 priority 5 protocol 0x300 f
flush: ok
list: ok
delete the ingress qdisc: ok
qdisc again: ok
`+tcEnd, r.out)
}
