//go:build linux && (amd64 || arm64)

package exec

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func init() {
	tools["spellings"] = spellingTool
	tools["changes"] = changeTool
	tools["working directory"] = workDirTool
	tools["where"] = whereTool
	tools["bound"] = boundTool
	tools["bound child"] = boundChild
	tools["covered"] = coveredTool
}

// spelled are ways to open a file by its absolute path p. They return a descriptor. dir is an empty
// directory.
var spelled = []struct {
	name string
	open func(p, dir string) (int, error)
}{
	{"absolute", func(p, _ string) (int, error) { return opened(p) }},
	{"two slashes", func(p, _ string) (int, error) { return opened("/" + p) }},
	{"dot dot", func(p, _ string) (int, error) { return opened("/usr/.." + p) }},
	{"dots inside", func(p, _ string) (int, error) {
		return opened(path.Dir(p) + "/./../" + path.Base(path.Dir(p)) + "//" + path.Base(p))
	}},
	{"relative to the root", func(p, _ string) (int, error) { return within("/", p[1:]) }},
	{"relative to the first directory", func(p, _ string) (int, error) {
		first, rest, _ := strings.Cut(p[1:], "/")
		return within("/"+first, rest)
	}},
	{"relative inside its directory", func(p, _ string) (int, error) { return within(path.Dir(p), path.Base(p)) }},
	{"relative to a sibling", func(p, _ string) (int, error) {
		return within(path.Dir(p), "../"+path.Base(path.Dir(p))+"/"+path.Base(p))
	}},
	{"after fchdir", func(p, _ string) (int, error) {
		d, err := unix.Open(path.Dir(path.Dir(p)), unix.O_RDONLY|unix.O_DIRECTORY, 0)
		if err != nil {
			return -1, err
		}
		defer unix.Close(d)
		if err := unix.Fchdir(d); err != nil {
			return -1, err
		}
		defer func() { _ = unix.Chdir("/") }()
		return opened(path.Base(path.Dir(p)) + "/" + path.Base(p))
	}},
	{"openat with a directory", func(p, _ string) (int, error) { return below(path.Dir(p), path.Base(p)) }},
	{"openat with a directory above", func(p, _ string) (int, error) {
		return below(path.Dir(path.Dir(p)), path.Base(path.Dir(p))+"/"+path.Base(p))
	}},
	{"openat2 in a root", func(p, _ string) (int, error) {
		d, err := unix.Open("/", unix.O_PATH, 0)
		if err != nil {
			return -1, err
		}
		defer unix.Close(d)
		return unix.Openat2(d, "../.."+p, &unix.OpenHow{Flags: unix.O_RDONLY, Resolve: unix.RESOLVE_IN_ROOT})
	}},
	{"/proc/self/root", func(p, _ string) (int, error) { return opened("/proc/self/root" + p) }},
	{"/proc/thread-self/root", func(p, _ string) (int, error) { return opened("/proc/thread-self/root" + p) }},
	{"/proc/PID/root", func(p, _ string) (int, error) { return opened(fmt.Sprintf("/proc/%d/root%s", os.Getpid(), p)) }},
	{"/proc/PID/task/TID/root", func(p, _ string) (int, error) {
		return opened(fmt.Sprintf("/proc/%d/task/%d/root%s", os.Getpid(), unix.Gettid(), p))
	}},
	{"/proc/self/cwd", func(p, _ string) (int, error) { return within(path.Dir(p), "/proc/self/cwd/"+path.Base(p)) }},
	{"/proc/self/cwd above", func(p, _ string) (int, error) { return within("/", "/proc/self/cwd"+p) }},
	{"/proc/self/fd", func(p, _ string) (int, error) { return byDescriptor("/proc/self/fd", p) }},
	{"/dev/fd", func(p, _ string) (int, error) { return byDescriptor("/dev/fd", p) }},
	{"link to the file", func(p, dir string) (int, error) { return linked(dir, p, "") }},
	{"link to the directory", func(p, dir string) (int, error) { return linked(dir, path.Dir(p), "/"+path.Base(p)) }},
	{"relative link", func(p, dir string) (int, error) {
		up := strings.Repeat("../", strings.Count(dir, "/"))
		return linked(dir, up+p[1:], "")
	}},
	{"link to a link of /proc", func(p, dir string) (int, error) { return linked(dir, "/proc/self/root"+p, "") }},
	{"link with O_EXCL", func(p, dir string) (int, error) {
		name := filepath.Join(dir, "link")
		if err := os.Symlink(p, name); err != nil {
			return -1, err
		}
		defer os.Remove(name)
		return unix.Open(name, unix.O_RDONLY|unix.O_EXCL, 0)
	}},
	{"in a root directory of its own", func(p, _ string) (int, error) {
		first, rest, _ := strings.Cut(p[1:], "/")
		old, err := unix.Open("/", unix.O_PATH, 0)
		if err != nil {
			return -1, err
		}
		defer unix.Close(old)
		if err := unix.Chroot("/" + first); err != nil {
			return opened(p) // no right to
		}
		defer func() { _ = errors.Join(unix.Fchdir(old), unix.Chroot(".")) }()
		return opened("/" + rest)
	}},
}

func opened(p string) (int, error) { return unix.Open(p, unix.O_RDONLY, 0) }

// within opens p in a working directory.
func within(dir, p string) (int, error) {
	if err := unix.Chdir(dir); err != nil {
		return -1, fmt.Errorf("chdir: %w", err)
	}
	defer func() { _ = unix.Chdir("/") }()
	return opened(p)
}

func below(dir, p string) (int, error) {
	d, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(d)
	return unix.Openat(d, p, unix.O_RDONLY, 0)
}

func byDescriptor(fds, p string) (int, error) {
	d, err := unix.Open(path.Dir(p), unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(d)
	return opened(fmt.Sprintf("%s/%d/%s", fds, d, path.Base(p)))
}

func linked(dir, target, rest string) (int, error) {
	name := filepath.Join(dir, "link")
	if err := os.Symlink(target, name); err != nil {
		return -1, err
	}
	defer os.Remove(name)
	return opened(name + rest)
}

// spellingTool opens simulated files in every way, and says in which it gets another file:
// simulated files are memfds, which are files of a tmpfs.
func spellingTool() error {
	runtime.LockOSThread()
	dir, err := os.MkdirTemp("", "spell")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, p := range []string{
		"/sys/kernel/btf/vmlinux", "/proc/sys/kernel/osrelease", "/proc/sys/net/core/bpf_jit_harden", "/sys/kernel/tracing/events/sched/sched_switch/id",
		"/sys/kernel/debug/tracing/tracing_on", "/sys/bus/event_source/devices/kprobe/type", "/sys/devices/system/cpu/possible",
	} {
		for _, s := range spelled {
			fd, err := s.open(p, dir)
			if err != nil {
				fmt.Println(p, s.name, outcomeOf(err))
				continue
			}
			var fs unix.Statfs_t
			name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
			if e := unix.Fstatfs(fd, &fs); err != nil || e != nil || fs.Type != unix.TMPFS_MAGIC || name != p {
				fmt.Println(p, s.name, "is another file", name, err, e)
			}
			unix.Close(fd)
		}
	}
	for other, p := range map[string]string{"/sys/devices/kprobe/type": "/sys/bus/event_source/devices/kprobe/type", "/proc/version": "/proc/sys/kernel/osrelease"} {
		b, err := os.ReadFile(other)
		want, err2 := os.ReadFile(p)
		if err != nil || err2 != nil || !bytes.Contains(b, bytes.TrimSpace(want)) {
			fmt.Println(other, "is not that of", p, err, err2)
		}
	}
	return nil
}

func TestEverySpellingOfASimulatedFileIsThatFile(t *testing.T) {
	r := start(t, "spellings", "")
	assert.Empty(t, r.out)
	assert.Empty(t, r.notes)
	if os.Getuid() == 0 {
		assert.Equal(t, "0 <nil>\n", asNobody(t, "supervise", "spellings"))
	}
}

// changeTool tries to create, remove and write files where the host's tracefs and settings may be.
func changeTool() error {
	try := func(name string, err error) { fmt.Println(name, outcomeOf(err)) }
	if err := os.Chdir("/sys/kernel/tracing"); err != nil {
		return err
	}
	for _, root := range []string{"/sys/kernel/tracing/", "", "/proc/self/cwd/", "/proc/self/root/sys/kernel/tracing/"} {
		try("mkdir", unix.Mkdir(root+"mine", 0o700))
		try("mkdir below", unix.Mkdir(root+"instances/x", 0o700))
		try("mkdir of a file", unix.Mkdir(root+"trace", 0o700))
		try("rmdir", unix.Rmdir(root+"events"))
		try("unlink", unix.Unlink(root+"trace"))
		try("unlink of nothing", unix.Unlink(root+"nothing"))
		try("rename", unix.Rename(root+"trace", "/tmp/trace-of-the-host"))
		try("rename to it", unix.Rename("/etc/hostname", root+"trace"))
		try("rename out of bpffs", unix.Rename("/sys/fs/bpf", root+"trace"))
		_, err := unix.Open(root+"new", unix.O_CREAT|unix.O_WRONLY, 0o600)
		try("create", err)
		try("bind", unix.Mount(root+".", "/mnt", "", unix.MS_BIND, ""))
		try("mount over it", unix.Mount("none", root+".", "tmpfs", 0, ""))
		try("umount", unix.Unmount(root+".", 0))
		_, err = unix.OpenTree(unix.AT_FDCWD, root+".", unix.OPEN_TREE_CLONE)
		try("open_tree", err)
	}
	_, _, e := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, 0, 0)
	try("io_uring_setup", e)
	_, _, e = unix.Syscall(unix.SYS_OPEN_BY_HANDLE_AT, uintptr(0xffffffffffffff9c), 0, 0)
	try("open_by_handle_at", e)
	_, _, e = unix.Syscall(9999, 0, 0, 0)
	try("a later call", e)
	return nil
}

func TestSimulatedPlacesAreNotChangedOnTheHost(t *testing.T) {
	one := "mkdir EPERM\nmkdir below EPERM\nmkdir of a file EEXIST\nrmdir EPERM\nunlink EPERM\nunlink of nothing ENOENT\nrename EPERM\nrename to it EPERM\nrename out of bpffs EXDEV\ncreate ENOENT\n" +
		"bind EPERM\nmount over it EPERM\numount EPERM\nopen_tree EPERM\n"
	want := strings.Repeat(one, 4) + "io_uring_setup ENOSYS\nopen_by_handle_at EPERM\na later call ENOSYS\n"
	r := start(t, "changes", "")
	assert.Equal(t, want, r.out)
	for _, note := range []string{
		`mkdir(2) of "/sys/kernel/tracing/mine" is refused`, `rmdir(2) of "/sys/kernel/tracing/events" is refused`, `unlink(2) of "/sys/kernel/tracing/trace" is refused`,
		`rename(2) of "/sys/kernel/tracing/trace" is refused`, `mount(2) of "/sys/kernel/tracing" is refused`, `umount2(2) of "/sys/kernel/tracing" is refused`,
		"io_uring_setup(2) is refused", "open_by_handle_at(2) is refused",
	} {
		assert.Contains(t, r.notes, note)
	}
	if os.Getuid() == 0 {
		assert.Equal(t, want+"0 <nil>\n", withoutNotes(asNobody(t, "supervise", "changes")))
	}
}

// withoutNotes removes notes from an output.
func withoutNotes(out string) string {
	var b strings.Builder
	for l := range strings.Lines(out) {
		if !strings.HasPrefix(l, "bpfrun exec: ") {
			b.WriteString(l)
		}
	}
	return b.String()
}

// whereTool prints its working directory and what is in it.
func whereTool() error {
	buf := make([]byte, 4096)
	n, err := unix.Getcwd(buf)
	if err != nil {
		return err
	}
	link, err := os.Readlink("/proc/self/cwd")
	list, e := os.ReadDir(".")
	fmt.Println(string(buf[:n-1]), link, len(list), err, e)
	return nil
}

// workDirTool works in simulated directories.
func workDirTool() error {
	where := func() {
		if err := whereTool(); err != nil {
			fmt.Println("getcwd", outcomeOf(err))
		}
	}
	try := func(name string, err error) { fmt.Println(name, outcomeOf(err)) }
	home, err := os.MkdirTemp("", "home")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	if err := errors.Join(unix.Chdir(home), os.WriteFile("file", nil, 0o600)); err != nil {
		return err
	}
	m, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	if err != nil {
		return err
	}
	try("chdir", unix.Chdir("/sys/fs/bpf"))
	where()
	try("mkdir", unix.Mkdir("a", 0o755))
	try("pin", m.Pin("a/m"))
	try("chdir into it", unix.Chdir("a"))
	where()
	_, err = ebpf.LoadPinnedMap("m", nil)
	try("get", err)
	_, err = ebpf.LoadPinnedMap("../a/m", nil)
	try("get by dot dot", err)
	try("rename", unix.Rename("m", "n"))
	try("chdir to a pin", unix.Chdir("n"))
	try("chdir to nothing", unix.Chdir("nothing"))
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := osexec.Command(self, "tool", "where")
	cmd.Stdout = os.Stdout
	try("a child", cmd.Run())
	_, err = os.Stat("../../../../etc/passwd")
	try("a file of the host", err)
	_, err = os.Stat("/etc/passwd")
	try("its absolute path", err)
	var lim unix.Rlimit
	err = unix.Prlimit(0, limitLocks, nil, &lim)
	fmt.Println("limit", lim.Cur == unix.RLIM_INFINITY, err)
	d, err := unix.Open(".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	try("chdir up", unix.Chdir(".."))
	where()
	try("chdir home", unix.Chdir(home)) // where the host has it all the time
	_, err = os.Stat("file")
	try("a file there", err)
	try("fchdir", unix.Fchdir(d))
	where()
	try("chdir to the root", unix.Chdir("/"))
	_, err = os.Stat("etc/passwd")
	try("a file there", err)
	try("chdir to tracefs", unix.Chdir("/sys/kernel/tracing/events/sched/sched_switch"))
	_, err = os.ReadFile("id")
	try("id", err)
	_, err = os.ReadFile("../sched_process_exec/format")
	try("format", err)
	return nil
}

func TestSimulatedDirectoriesAreWorkingDirectories(t *testing.T) {
	want := `chdir ok
/sys/fs/bpf /sys/fs/bpf 0 <nil> <nil>
mkdir ok
pin ok
chdir into it ok
/sys/fs/bpf/a /sys/fs/bpf/a 1 <nil> <nil>
get ok
get by dot dot ok
rename ok
chdir to a pin ENOTDIR
chdir to nothing ENOENT
/sys/fs/bpf/a /sys/fs/bpf/a 1 <nil> <nil>
a child ok
a file of the host EACCES
its absolute path ok
limit true <nil>
chdir up ok
/sys/fs/bpf /sys/fs/bpf 1 <nil> <nil>
chdir home ok
a file there ok
fchdir ok
/sys/fs/bpf/a /sys/fs/bpf/a 1 <nil> <nil>
chdir to the root ok
a file there ok
chdir to tracefs ok
id ok
format ok
`
	r := start(t, "working directory", "")
	assert.Equal(t, want, r.out)
	assert.Contains(t, r.notes, `newfstatat(2) of "/etc/passwd" relative to a simulated directory, or by a simulated link, is refused`)
	if os.Getuid() == 0 {
		assert.Equal(t, want+"0 <nil>\n", withoutNotes(asNobody(t, "supervise", "working directory")))
	}
}

// boundTool starts a child that has mounts of its own.
func boundTool() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := osexec.Command(self, "tool", "bound child")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}, GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	if err := cmd.Run(); err != nil {
		fmt.Println("no user namespace:", err)
	}
	return nil
}

// boundChild reads simulated files where it has mounted the host's file systems again.
func boundChild() error {
	dir, err := os.MkdirTemp("", "bound")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	same := func(p, q string) {
		a, e1 := os.ReadFile(p)
		b, e2 := os.ReadFile(q)
		fmt.Println(strings.TrimPrefix(q, dir), len(a) > 0 && bytes.Equal(a, b), e1, e2)
	}
	for _, p := range []string{"/sys", "/proc"} {
		at := filepath.Join(dir, p)
		if err := errors.Join(os.Mkdir(at, 0o755), unix.Mount(p, at, "", unix.MS_BIND|unix.MS_REC, "")); err != nil {
			return err
		}
	}
	same("/sys/kernel/btf/vmlinux", dir+"/sys/kernel/btf/vmlinux")
	same("/proc/sys/kernel/osrelease", dir+"/proc/sys/kernel/osrelease")
	same("/proc/sys/kernel/osrelease", dir+"/proc/self/root/proc/sys/kernel/osrelease")
	same("/sys/kernel/tracing/available_events", dir+"/sys/kernel/tracing/available_events")
	sub := filepath.Join(dir, "kernel")
	if err := errors.Join(os.Mkdir(sub, 0o755), unix.Mount("/sys/kernel", sub, "", unix.MS_BIND|unix.MS_REC, "")); err != nil {
		return err
	}
	same("/sys/kernel/btf/vmlinux", sub+"/btf/vmlinux")
	want, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err := errors.Join(err, unix.Chroot(dir)); err != nil {
		return err
	}
	b, err := os.ReadFile("/proc/sys/kernel/osrelease")
	fmt.Println(len(b) > 0 && bytes.Equal(b, want), err)
	b, err = os.ReadFile("/kernel/btf/vmlinux")
	fmt.Println(len(b) > 0, err)
	const bpffs = "/sys/fs/bpf"
	err = errors.Join(os.Mkdir(bpffs+"/d", 0o755), os.Symlink(bpffs+"/d/", bpffs+"/l"), os.Symlink("d", bpffs+"/r"), os.Mkdir(bpffs+"/l//x", 0o755), os.Mkdir(bpffs+"/r/y", 0o755))
	list, e := os.ReadDir(bpffs + "/d")
	fmt.Println(list, errors.Join(err, e))
	return nil
}

func TestMountsOfTheHostsFileSystemsAreSimulatedToo(t *testing.T) {
	r := start(t, "bound", "")
	if strings.HasPrefix(r.out, "no user namespace") {
		t.Skip(r.out)
	}
	assert.Equal(t, `/sys/kernel/btf/vmlinux true <nil> <nil>
/proc/sys/kernel/osrelease true <nil> <nil>
/proc/self/root/proc/sys/kernel/osrelease true <nil> <nil>
/sys/kernel/tracing/available_events true <nil> <nil>
/kernel/btf/vmlinux true <nil> <nil>
true <nil>
true <nil>
[d x/ d y/] <nil>
`, r.out)
}

// coveredTool shows what a mount of the host's kernel looks like after coverHost. It runs without a
// supervisor.
func coveredTool() error {
	runtime.LockOSThread()
	dir, err := os.MkdirTemp("", "covered")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := unix.Mount("bpf", dir, "bpf", 0, ""); err != nil {
		fmt.Println("no mount:", err)
		return nil
	}
	defer func() { _ = unix.Unmount(dir, unix.MNT_DETACH) }()
	inside := filepath.Join(dir, "d")
	if err := os.Mkdir(inside, 0o755); err != nil {
		return err
	}
	coverHost()
	_, err = os.Stat(inside)
	fmt.Println("stat", outcomeOf(err))
	fmt.Println("mkdir", outcomeOf(unix.Mkdir(filepath.Join(dir, "e"), 0o755)))
	if err := dropCaps(); err != nil {
		return err
	}
	fmt.Println("umount", outcomeOf(unix.Unmount(dir, unix.MNT_DETACH)))
	info, err := os.ReadFile("/proc/thread-self/mountinfo")
	fmt.Println("listed", strings.Contains(string(keptMounts(string(info), true)), dir), err)
	return nil
}

func TestMountsOfTheHostsKernelAreCovered(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root needs covers")
	}
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := osexec.Command(self, "tool", "covered")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	if err != nil && len(out) == 0 || strings.HasPrefix(string(out), "no mount") {
		t.Skip("no mount namespaces here")
	}
	assert.Equal(t, "stat ENOENT\nmkdir EROFS\numount EPERM\nlisted false <nil>\n", string(out))
}
