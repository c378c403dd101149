//go:build linux && (amd64 || arm64)

package exec

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func init() {
	tools["mounts"] = mountTool
	tools["mounted pins"] = mountedPinTool
	tools["token"] = tokenTool
	tools["token child"] = tokenChild
}

// outcomeOf returns the name of an errno, or "ok".
func outcomeOf(err error) string {
	var e unix.Errno
	if errors.As(err, &e) {
		return unix.ErrnoName(e)
	}
	if err != nil {
		return err.Error()
	}
	return "ok"
}

// fsconfig calls fsconfig(2) with any arguments.
func fsconfig(fd int, cmd int, key, value unsafe.Pointer, aux int) error {
	return fsconfigAt(fd, cmd, key, uintptr(value), aux)
}

// fsconfigAt takes a value at any address: the race detector does not let an unsafe.Pointer point
// nowhere.
//
//go:uintptrescapes
func fsconfigAt(fd int, cmd int, key unsafe.Pointer, value uintptr, aux int) error {
	_, _, e := unix.Syscall6(unix.SYS_FSCONFIG, uintptr(fd), uintptr(cmd), uintptr(key), value, uintptr(aux), 0)
	if e != 0 {
		return e
	}
	return nil
}

func cstr(s string) unsafe.Pointer { return unsafe.Pointer(&append([]byte(s), 0)[0]) }

// mountTool mounts bpffs in the ways that kernels have, right and wrong. It makes no call of
// bpf(2), so that it also runs at the host.
func mountTool() error {
	step := func(name string, err error) { fmt.Printf("%s: %s\n", name, outcomeOf(err)) }
	dir, err := os.MkdirTemp("", "bpffs")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		return err
	}
	magic := func(p string) bool {
		var st unix.Statfs_t
		return unix.Statfs(p, &st) == nil && uint32(st.Type) == magicBPF
	}
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	if err := errors.Join(os.Mkdir(one, 0o755), os.Mkdir(two, 0o755)); err != nil {
		return err
	}
	step("mount", unix.Mount("bpf", one, "bpf", 0, ""))
	fmt.Println("magic", magic(one), magic(two))
	step("mkdir", os.Mkdir(filepath.Join(one, "a"), 0o755))
	_, err = os.Stat(filepath.Join(two, "a"))
	step("not elsewhere", err)
	step("mkdir with a dot", os.Mkdir(filepath.Join(one, "a.b"), 0o755))
	step("rename out of it", os.Rename(filepath.Join(one, "a"), filepath.Join(two, "a")))
	step("remove the mount point", unix.Rmdir(one))
	step("mount on a file", unix.Mount("bpf", file, "bpf", 0, ""))
	step("mount on nothing", unix.Mount("bpf", filepath.Join(dir, "none"), "bpf", 0, ""))
	step("bad option", unix.Mount("bpf", two, "bpf", 0, "delegate_maps=x"))
	step("options", unix.Mount("bpf", two, "bpf", 0, "mode=0700,unknown=1,delegate_maps=hash:ARRAY,delegate_progs=0x1"))
	step("mount over it", unix.Mount("bpf", one, "bpf", 0, ""))
	_, err = os.Stat(filepath.Join(one, "a"))
	step("it covers the first", err)
	step("umount", unix.Unmount(one, 0))
	_, err = os.Stat(filepath.Join(one, "a"))
	step("the first is back", err)
	step("umount the first", unix.Unmount(one, 0))
	fmt.Println("magic", magic(one), magic(two))

	_, err = unix.Fsopen("bpf", 0x10)
	step("fsopen with flags", err)
	fd, err := unix.Fsopen("bpf", unix.FSOPEN_CLOEXEC)
	step("fsopen", err)
	_, err = unix.Fsmount(fd, 0, 0)
	step("fsmount before it is created", err)
	step("string", fsconfig(fd, 1, cstr("delegate_cmds"), cstr("map_create:PROG_LOAD"), 0))
	step("string of an option that it has not", fsconfig(fd, 1, cstr("colour"), cstr("red"), 0))
	step("string without a value", fsconfig(fd, 1, cstr("delegate_cmds"), nil, 0))
	step("string that is nowhere", fsconfigAt(fd, 1, cstr("delegate_cmds"), 1, 0))
	step("string of no number", fsconfig(fd, 1, cstr("delegate_cmds"), cstr("12x"), 0))
	step("string that is too long", fsconfig(fd, 1, cstr("delegate_cmds"), cstr(strings.Repeat("1", 400)), 0))
	step("key that is too long", fsconfig(fd, 1, cstr(strings.Repeat("1", 400)), cstr("1"), 0))
	step("unknown command", fsconfig(fd, 77, nil, nil, 0))
	step("create with a key", fsconfig(fd, 6, cstr("x"), nil, 0))
	step("closed descriptor", fsconfig(900, 6, nil, nil, 0))
	step("create", fsconfig(fd, 6, nil, nil, 0))
	step("create again", fsconfig(fd, 6, nil, nil, 0))
	step("string after that", fsconfig(fd, 1, cstr("delegate_cmds"), cstr("any"), 0))
	_, err = unix.Fsmount(fd, 0x10, 0)
	step("fsmount with flags", err)
	mnt, err := unix.Fsmount(fd, unix.FSMOUNT_CLOEXEC, 0)
	step("fsmount", err)
	_, err = unix.Fsmount(fd, 0, 0)
	step("fsmount again", err)
	step("move without a flag", unix.MoveMount(mnt, "", unix.AT_FDCWD, one, 0))
	step("move to nothing", unix.MoveMount(mnt, "", unix.AT_FDCWD, filepath.Join(dir, "none"), unix.MOVE_MOUNT_F_EMPTY_PATH))
	step("move to a file", unix.MoveMount(mnt, "", unix.AT_FDCWD, file, unix.MOVE_MOUNT_F_EMPTY_PATH))
	step("move", unix.MoveMount(mnt, "", unix.AT_FDCWD, one, unix.MOVE_MOUNT_F_EMPTY_PATH))
	fmt.Println("magic", magic(one))
	b, err := os.ReadFile("/proc/self/mountinfo")
	fmt.Println("listed", strings.Contains(string(b), " "+one+" "), err)
	step("mkdir there", unix.Mkdirat(mnt, "b", 0o755))
	_, err = os.Stat(filepath.Join(one, "b"))
	step("by the path", err)
	step("umount", errors.Join(unix.Close(mnt), unix.Close(fd), unix.Unmount(one, 0), unix.Unmount(two, 0)))
	return nil
}

const mountSteps = `mount: ok
magic true false
mkdir: ok
not elsewhere: ENOENT
mkdir with a dot: EPERM
rename out of it: EXDEV
remove the mount point: EBUSY
mount on a file: ENOTDIR
mount on nothing: ENOENT
bad option: EINVAL
options: ok
mount over it: ok
it covers the first: ENOENT
umount: ok
the first is back: ok
umount the first: ok
magic false true
fsopen with flags: EINVAL
fsopen: ok
fsmount before it is created: EINVAL
string: ok
string of an option that it has not: ok
string without a value: EINVAL
string that is nowhere: EFAULT
string of no number: EINVAL
string that is too long: EINVAL
key that is too long: EINVAL
unknown command: ENOTSUP
create with a key: EINVAL
closed descriptor: EBADF
create: ok
create again: EBUSY
string after that: EBUSY
fsmount with flags: EINVAL
fsmount: ok
fsmount again: EBUSY
move without a flag: ENOENT
move to nothing: ENOENT
move to a file: EINVAL
move: ok
magic true
listed true <nil>
mkdir there: ok
by the path: ok
umount: ok
`

// TestMountsOfBPFFS compares with the host, in a mount namespace of its own, where the test runs as
// root.
func TestMountsOfBPFFS(t *testing.T) {
	if os.Getuid() == 0 {
		self, err := os.Executable()
		require.NoError(t, err)
		cmd := osexec.Command(self, "tool", "mounts")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
		out, err := cmd.CombinedOutput()
		if strings.HasPrefix(string(out), "mount: ok") { // else a container, or a kernel without bpffs
			require.NoError(t, err)
			require.Equal(t, mountSteps, string(out), "the host's kernel")
		}
	}
	r := start(t, "mounts", "")
	require.Zero(t, r.code, "%s%s", r.out, r.notes)
	assert.Equal(t, mountSteps, r.out)
}

// mountedPinTool pins in a bpffs that it mounts, by path and by descriptor.
func mountedPinTool() error {
	dir, err := os.MkdirTemp("", "bpffs")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := unix.Mount("bpf", dir, "bpf", 0, ""); err != nil {
		return err
	}
	m, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	if err != nil {
		return err
	}
	if err := m.Pin(filepath.Join(dir, "m")); err != nil {
		return err
	}
	if _, err := ebpf.LoadPinnedMap("/sys/fs/bpf/m", nil); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("it is pinned in the other bpffs too: %w", err)
	}
	if err := os.Chdir(filepath.Dir(dir)); err != nil {
		return err
	}
	again, err := ebpf.LoadPinnedMap(filepath.Join(filepath.Base(dir), "m"), nil)
	if err != nil {
		return fmt.Errorf("relative to the working directory: %w", err)
	}
	list, err := os.ReadDir(filepath.Base(dir))
	fmt.Println(again.Type(), len(list), err)
	info, err := m.Info()
	if err != nil {
		return err
	}
	id, _ := info.ID()
	if err := errors.Join(m.Close(), again.Close()); err != nil {
		return err
	}
	before := gone(id)
	if err := unix.Unmount(dir, 0); err != nil {
		return err
	}
	fmt.Println("kept", !before, "freed", gone(id))
	return nil
}

func TestPinsInAMountedBPFFS(t *testing.T) {
	r := start(t, "mounted pins", "")
	assert.Equal(t, "Array 1 <nil>\nkept true freed true\n", r.out)
	assert.Empty(t, r.notes)
}

// tokenTool delegates to a child in its own user namespace.
func tokenTool() error {
	for _, grants := range []string{"", "delegate_cmds=map_create", "delegate_cmds=map_create,delegate_maps=array", "delegate_cmds=map_create,delegate_maps=any"} {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		self, err := os.Executable()
		if err != nil {
			return err
		}
		cmd := osexec.Command(self, "tool", "token child")
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS, AmbientCaps: []uintptr{21, 39},
			UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}},
		}
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		cmd.ExtraFiles = []*os.File{os.NewFile(uintptr(pair[1]), "child")}
		if err := cmd.Start(); err != nil {
			fmt.Println("no user namespace:", err)
			return nil
		}
		cmd.ExtraFiles[0].Close()
		buf := make([]byte, unix.CmsgSpace(4))
		_, n, _, _, err := unix.Recvmsg(pair[0], []byte{0}, buf, 0)
		if err != nil {
			return err
		}
		msgs, err := unix.ParseSocketControlMessage(buf[:n])
		if err != nil || len(msgs) != 1 {
			return fmt.Errorf("no descriptor: %w %s", err, out.String())
		}
		fds, err := unix.ParseUnixRights(&msgs[0])
		if err != nil {
			return err
		}
		for option := range strings.SplitSeq(grants, ",") {
			if k, v, ok := strings.Cut(option, "="); ok {
				if err := unix.FsconfigSetString(fds[0], k, v); err != nil {
					return err
				}
			}
		}
		if err := unix.FsconfigCreate(fds[0]); err != nil {
			return fmt.Errorf("create: %w", err)
		}
		if _, err := unix.Write(pair[0], []byte{1}); err != nil {
			return err
		}
		err = cmd.Wait()
		fmt.Printf("%q: %s", grants, out.String())
		if err != nil {
			return err
		}
		unix.Close(pair[0])
		unix.Close(fds[0])
	}
	return nil
}

// bpfCall calls bpf(2) with attributes of 32-bit words.
func bpfCall(cmd int, attr ...uint32) (int, error) {
	r, _, e := unix.Syscall(unix.SYS_BPF, uintptr(cmd), uintptr(unsafe.Pointer(&attr[0])), uintptr(4*len(attr)))
	if e != 0 {
		return -1, e
	}
	return int(r), nil
}

func tokenChild() error {
	const tokenCreate, tokenFlag = 36, 1 << 16
	var steps []string
	step := func(name string, err error) { steps = append(steps, name+" "+outcomeOf(err)) }
	fd, err := unix.Fsopen("bpf", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return err
	}
	step("delegate", unix.FsconfigSetString(fd, "delegate_maps", "any"))
	own, err := unix.Fsopen("bpf", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return err
	}
	step("create", unix.FsconfigCreate(own))
	step("create again", unix.FsconfigCreate(own))
	if err := unix.Sendmsg(3, []byte{0}, unix.UnixRights(fd), nil, 0); err != nil {
		return err
	}
	if _, err := unix.Read(3, []byte{0}); err != nil {
		return err
	}
	mnt, err := unix.Fsmount(fd, unix.FSMOUNT_CLOEXEC, 0)
	if err != nil {
		return err
	}
	_, err = bpfCall(tokenCreate, 0, 900)
	step("closed", err)
	_, err = bpfCall(tokenCreate, 0, 0)
	step("no bpffs", err)
	if err := unix.Mkdirat(mnt, "d", 0o755); err != nil {
		return err
	}
	d, err := unix.Openat(mnt, "d", unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	_, err = bpfCall(tokenCreate, 0, uint32(d))
	step("not the root", err)
	_, err = bpfCall(tokenCreate, 1, uint32(d))
	step("flags", err)
	_, err = bpfCall(tokenCreate, 0, uint32(mnt))
	step("O_PATH", err)
	root, err := unix.Openat(mnt, ".", unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	token, err := bpfCall(tokenCreate, 0, uint32(root))
	step("token", err)
	hash := func(flags, fd uint32) []uint32 {
		return []uint32{1, 4, 4, 1, flags, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, fd}
	}
	if token >= 0 {
		_, err = bpfCall(0, hash(tokenFlag, uint32(token))...)
		step("hash", err)
		_, err = bpfCall(0, append([]uint32{2}, hash(tokenFlag, uint32(token))[1:]...)...)
		step("array", err)
		_, err = bpfCall(0, append([]uint32{15}, hash(tokenFlag, uint32(token))[1:]...)...) // sockmap
		step("sockmap", err)
	}
	_, err = bpfCall(0, hash(tokenFlag, uint32(root))...)
	step("no token", err)
	_, err = bpfCall(0, hash(tokenFlag, 900)...)
	step("closed token", err)
	fmt.Println(strings.Join(steps, ", "))
	return nil
}

const tokenSteps = `"": delegate EPERM, create EPERM, create again EBUSY, closed EBADF, no bpffs EINVAL, not the root EINVAL, flags EINVAL, O_PATH EBADF, token ENOENT, no token EINVAL, closed token EBADF
"delegate_cmds=map_create": delegate EPERM, create EPERM, create again EBUSY, closed EBADF, no bpffs EINVAL, not the root EINVAL, flags EINVAL, O_PATH EBADF, token ok, hash EPERM, array EPERM, sockmap EPERM, no token EINVAL, closed token EBADF
"delegate_cmds=map_create,delegate_maps=array": delegate EPERM, create EPERM, create again EBUSY, closed EBADF, no bpffs EINVAL, not the root EINVAL, flags EINVAL, O_PATH EBADF, token ok, hash EPERM, array ok, sockmap EPERM, no token EINVAL, closed token EBADF
"delegate_cmds=map_create,delegate_maps=any": delegate EPERM, create EPERM, create again EBUSY, closed EBADF, no bpffs EINVAL, not the root EINVAL, flags EINVAL, O_PATH EBADF, token ok, hash ok, array ok, sockmap ok, no token EINVAL, closed token EBADF
`

// TestTokens compares with what Linux 6.18 answered to the same program.
func TestTokens(t *testing.T) {
	r := start(t, "token", "")
	if strings.HasPrefix(r.out, "no user namespace") {
		t.Skip(r.out)
	}
	require.Zero(t, r.code, "%s%s", r.out, r.notes)
	assert.Equal(t, tokenSteps, r.out)
}

// TestMountsOfTheHostsKernelAreHidden: a loader takes tracefs from any place of the list.
func TestMountsOfTheHostsKernelAreHidden(t *testing.T) {
	const info = `22 28 0:20 / /proc rw,nosuid shared:5 - proc proc rw
30 22 0:26 / /sys/kernel/tracing rw shared:7 - tracefs tracefs rw
31 22 0:26 / /mnt/trace rw - tracefs tracefs rw
32 22 0:7 / /sys/kernel/debug rw shared:8 - debugfs debugfs rw
33 22 0:7 / /mnt/debug rw - debugfs debugfs rw
34 22 0:30 / /sys/fs/bpf rw shared:9 - bpf bpf rw
35 22 0:31 / /mnt/a-b rw - tmpfs tracefs rw
short - line
`
	assert.Equal(t, `22 28 0:20 / /proc rw,nosuid shared:5 - proc proc rw
32 22 0:7 / /sys/kernel/debug rw shared:8 - debugfs debugfs rw
35 22 0:31 / /mnt/a-b rw - tmpfs tracefs rw
short - line
`, string(keptMounts(info, true)))
	const mounts = `proc /proc proc rw 0 0
tracefs /sys/kernel/tracing tracefs rw 0 0
nodev /mnt/trace tracefs rw 0 0
debugfs /sys/kernel/debug debugfs rw 0 0
debugfs /mnt/debug debugfs rw 0 0
none /run/bpf bpf rw 0 0
tracefs /mnt/t tmpfs rw 0 0
`
	assert.Equal(t, `proc /proc proc rw 0 0
debugfs /sys/kernel/debug debugfs rw 0 0
tracefs /mnt/t tmpfs rw 0 0
`, string(keptMounts(mounts, false)))
}
