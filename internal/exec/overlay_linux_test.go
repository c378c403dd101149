//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/ringbuf"
	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"
)

func init() {
	tools["tasks"] = tasksTool
	tools["sysnet"] = sysNetTool
	tools["cpus"] = cpusTool
}

// tasksTool reads what /proc says of the tasks whose events it gets.
func tasksTool() error {
	if _, err := os.ReadFile("/proc/7770001/comm"); err == nil {
		return fmt.Errorf("there is a task before its event")
	}
	return readRing(func(r *ringbuf.Reader) error {
		r.SetDeadline(time.Now().Add(10 * time.Second))
		if _, err := r.Read(); err != nil {
			return err
		}
		for _, name := range []string{"comm", "cmdline", "cgroup", "stat", "task/7770001/comm", "task/1/comm", "nothing"} {
			b, err := os.ReadFile("/proc/7770001/" + name)
			fmt.Printf("%s %s %q\n", name, outcomeOf(err), strings.SplitAfterN(string(b), " S ", 2)[0])
		}
		status, err := os.ReadFile("/proc/7770001/status")
		for l := range strings.Lines(string(status)) {
			if f := strings.Fields(l); len(f) > 1 && (f[0] == "Name:" || f[0] == "Tgid:" || f[0] == "Pid:" || f[0] == "Uid:") {
				fmt.Println(f[0], f[1])
			}
		}
		fmt.Println(outcomeOf(err))
		exe, err := os.Readlink("/proc/7770001/exe")
		fmt.Println("exe", filepath.IsAbs(exe), outcomeOf(err))
		info, err := os.Lstat("/proc/7770001/exe")
		fmt.Println("link", err == nil && info.Mode()&os.ModeSymlink != 0)
		ns, err := os.Readlink("/proc/7770001/ns/mnt")
		var st unix.Stat_t
		_ = unix.Stat("/proc/7770001/ns/mnt", &st)
		fmt.Println("namespace", ns == fmt.Sprintf("mnt:[%d]", st.Ino), outcomeOf(err))
		list, err := os.ReadDir("/proc/7770001")
		fmt.Println(len(list), outcomeOf(err))
		maps, err := os.ReadFile("/proc/7770001/maps")
		fmt.Println("maps", strings.Contains(string(maps), " r-xp "), strings.Contains(string(maps), "/"), outcomeOf(err))
		own, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", os.Getpid()))
		fmt.Println("own", strings.TrimSpace(string(own)) == filepath.Base(os.Args[0])[:min(15, len(filepath.Base(os.Args[0])))], outcomeOf(err))
		return nil
	})
}

func TestTasksOfEventsAreInProc(t *testing.T) {
	r := start(t, "tasks", "sched_switch task.comm=simulated task.pid=7770001 task.cred.uid.val=1234\n")
	assert.Equal(t, `comm ok "simulated\n"
cmdline ok "/usr/bin/simulated\x00--config\x00/etc/simulated.conf\x00"
cgroup ok "0::/system.slice/app.service\n"
stat ok "7770001 (simulated) S "
task/7770001/comm ok "simulated\n"
task/1/comm ENOENT ""
nothing ENOENT ""
Name: simulated
Tgid: 7770001
Pid: 7770001
Uid: 1234
ok
exe true ok
link true
namespace true ok
13 ok
maps true false ok
own true ok
`, r.out, "%s", r.notes)
}

// sysNetTool creates devices and asks sysfs, /proc and ioctl(2) about them.
func sysNetTool() error {
	runtime.LockOSThread()
	look := func(names ...string) {
		for _, name := range names {
			b, err := os.ReadFile("/sys/class/net/" + name)
			fmt.Printf("%s %s %q\n", name, outcomeOf(err), b)
		}
	}
	list := func() {
		entries, err := os.ReadDir("/sys/class/net")
		has := map[string]bool{}
		for _, e := range entries {
			has[e.Name()] = e.IsDir()
		}
		lo, known := has["lo"]
		fmt.Println("lo", known, lo, "pair0", has["pair0"], outcomeOf(err))
		dev, err := os.ReadFile("/proc/net/dev")
		fmt.Println("/proc/net/dev", strings.Contains(string(dev), "    lo:"), strings.Contains(string(dev), " pair0:       0"), outcomeOf(err))
	}
	ask := func(name string) {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return
		}
		defer unix.Close(fd)
		q, _ := unix.NewIfreq(name)
		err = unix.IoctlIfreq(fd, unix.SIOCGIFINDEX, q)
		fmt.Println(name, "index", q.Uint32(), outcomeOf(err))
		index := q.Uint32()
		err = unix.IoctlIfreq(fd, unix.SIOCGIFMTU, q)
		fmt.Println(name, "mtu", q.Uint32(), outcomeOf(err))
		err = unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, q)
		fmt.Printf("%s flags %#x %s\n", name, q.Uint16(), outcomeOf(err))
		q, _ = unix.NewIfreq("")
		q.SetUint32(index)
		err = unix.IoctlIfreq(fd, unix.SIOCGIFNAME, q)
		fmt.Println(q.Name(), outcomeOf(err))
	}
	for range 2 {
		list()
		c, err := converse()
		if err != nil {
			return err
		}
		add := appendAttribute(make([]byte, ifinfomsgSize), unix.IFLA_IFNAME, []byte("pair0\x00"))
		le.PutUint32(add[4:], 7000)
		add = appendAttribute(add, unix.IFLA_LINKINFO, appendAttribute(nil, unix.IFLA_INFO_KIND, []byte("veth\x00")))
		add = appendAttribute(add, unix.IFLA_MTU, le.AppendUint32(nil, 1400))
		if _, e, err := c.ask(unix.RTM_NEWLINK, unix.NLM_F_CREATE|unix.NLM_F_EXCL, add); e != 0 || err != nil {
			return fmt.Errorf("pair0: %v %v", e, err)
		}
		list()
		look("pair0/ifindex", "pair0/iflink", "pair0/mtu", "pair0/operstate", "pair0/statistics/rx_bytes", "pair0/flags", "pair0/nothing", "nothing/mtu")
		ask("pair0")
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return err
		}
		look("lo/ifindex", "lo/type", "lo/operstate")
		ask("eth999")
		unix.Close(c.fd)
	}
	return nil
}

func TestSimulatedDevicesAreInSysfs(t *testing.T) {
	r := start(t, "sysnet", "", func(c *Config) { c.Root = true })
	of := func(first, peer string) string {
		return first + "/proc/net/dev true false ok\nlo true true pair0 true ok\n/proc/net/dev true true ok\n" +
			"pair0/ifindex ok \"7000\\n\"\npair0/iflink ok \"" + peer + "\\n\"\npair0/mtu ok \"1400\\n\"\npair0/operstate ok \"down\\n\"\npair0/statistics/rx_bytes ok \"0\\n\"\npair0/flags ok \"0x1002\\n\"\n" +
			"pair0/nothing ENOENT \"\"\nnothing/mtu ENOENT \"\"\npair0 index 7000 ok\npair0 mtu 1400 ok\npair0 flags 0x1002 ok\npair0 ok\n" +
			"lo/ifindex ok \"1\\n\"\nlo/type ok \"772\\n\"\nlo/operstate ok \"down\\n\"\neth999 index 0 ENODEV\neth999 mtu 0 ENODEV\neth999 flags 0x0 ENODEV\n ENODEV\n"
	}
	first, rest, _ := strings.Cut(r.out, "lo/ifindex")
	assert.Contains(t, first, "pair0/ifindex ok \"7000\\n\"\n", r.notes)
	assert.Contains(t, first, "/proc/net/dev true true ok\n")
	assert.Contains(t, first, "lo true")
	assert.Contains(t, first, "pair0 index 7000 ok\npair0 mtu 1400 ok\npair0 flags 0x1002 ok\npair0 ok\n")
	_, second, _ := strings.Cut(rest, "eth999 flags 0x0 ENODEV\n ENODEV\n")
	assert.Equal(t, of("lo true true pair0 false ok\n", "2"), second)
}

// cpusTool lists the processors.
func cpusTool() error {
	for _, name := range []string{"online", "kernel_max", "cpu1/topology/core_id", "cpu1/topology/thread_siblings", "cpu0/topology/core_siblings", "cpu0/cpufreq/scaling_cur_freq", "cpu1/online", "cpu0/online", "cpu2/online", "smt/active"} {
		b, err := os.ReadFile("/sys/devices/system/cpu/" + name)
		fmt.Printf("%s %s %q\n", name, outcomeOf(err), b)
	}
	list, err := filepath.Glob("/sys/devices/system/cpu/cpu[0-9]*")
	fmt.Println(len(list), outcomeOf(err))
	fd, err := ebpf.PossibleCPU()
	fmt.Println(fd, outcomeOf(err))
	return nil
}

func TestProcessorsAreInSysfs(t *testing.T) {
	assert.Equal(t, `online ok "0-1\n"
kernel_max ok "8191\n"
cpu1/topology/core_id ok "1\n"
cpu1/topology/thread_siblings ok "2\n"
cpu0/topology/core_siblings ok "3\n"
cpu0/cpufreq/scaling_cur_freq ok "2000000\n"
cpu1/online ok "1\n"
cpu0/online ENOENT ""
cpu2/online ENOENT ""
smt/active ok "0\n"
2 ok
2 ok
`, start(t, "cpus", "").out)
}
