//go:build linux && (amd64 || arm64)

package exec

import (
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func init() {
	tools["live"] = liveTool
}

// liveTool counts its own system calls and those of a child.
func liveTool() error {
	runtime.LockOSThread() // a call ends with the next one of its thread
	defer runtime.UnlockOSThread()
	counts, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 4})
	if err != nil {
		return err
	}
	counter := func(name string, typ ebpf.ProgramType, slot int32) (*ebpf.Program, error) {
		return ebpf.NewProgram(&ebpf.ProgramSpec{Name: name, Type: typ, License: "GPL", Instructions: asm.Instructions{
			asm.LoadMapPtr(asm.R1, counts.FD()),
			asm.StoreImm(asm.RFP, -4, int64(slot), asm.Word),
			asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, -4),
			asm.FnMapLookupElem.Call(),
			asm.JEq.Imm(asm.R0, 0, "out"),
			asm.Mov.Imm(asm.R1, 1),
			asm.StoreXAdd(asm.R0, asm.R1, asm.DWord),
			asm.Mov.Imm(asm.R0, 0).WithSymbol("out"), asm.Return(),
		}})
	}
	for i, name := range []string{"sys_enter_getppid", "sys_exit_getppid", "sys_enter_execve"} {
		p, err := counter(name, ebpf.TracePoint, int32(i))
		if err != nil {
			return err
		}
		l, err := link.Tracepoint("syscalls", name, p, nil)
		if err != nil {
			return err
		}
		defer l.Close()
	}
	p, err := counter("probe", ebpf.Kprobe, 3)
	if err != nil {
		return err
	}
	l, err := link.Kprobe("sys_getppid", p, nil)
	if err != nil {
		return err
	}
	defer l.Close()
	for range 3 {
		unix.Getppid()
	}
	// Calls of which some are served, and these are not.
	if fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0); err != nil || unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 4096) != nil {
		return fmt.Errorf("socket: %w", err)
	}
	if _, err := unix.Socket(unix.AF_XDP, unix.SOCK_RAW, 0); err != unix.EAFNOSUPPORT {
		return fmt.Errorf("AF_XDP: %w", err)
	}
	var files, same unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		return err
	}
	files.Cur = 100
	if err := errors.Join(unix.Setrlimit(unix.RLIMIT_NOFILE, &files), unix.Getrlimit(unix.RLIMIT_NOFILE, &same)); err != nil || same.Cur != 100 {
		return fmt.Errorf("limit %d: %w", same.Cur, err)
	}
	if err := osexec.Command("/bin/true").Run(); err != nil {
		return err
	}
	if err := sameCaps(); err != nil {
		return err
	}
	for i, name := range []string{"enter", "exit", "execve", "kprobe"} {
		var n uint64
		if err := counts.Lookup(uint32(i), &n); err != nil {
			return err
		}
		fmt.Println(name, n)
	}
	return nil
}

// sameCaps fails if capget(2) tells of other capabilities than /proc does.
func sameCaps() error {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&hdr, &data[0]); err != nil {
		return err
	}
	status, err := os.ReadFile("/proc/thread-self/status")
	if want := fmt.Sprintf("CapEff:\t%08x%08x\n", data[1].Effective, data[0].Effective); err != nil || !strings.Contains(string(status), want) {
		return fmt.Errorf("capget: want %s in %s: %w", want, status, err)
	}
	return nil
}

func TestLiveSystemCallsFireTheirHooks(t *testing.T) {
	r := start(t, "live", "", func(c *Config) { c.Live = true })
	assert.Equal(t, "enter 3\nexit 3\nexecve 1\nkprobe 3\n", r.out)
	assert.Zero(t, r.code)
	assert.Contains(t, r.notes, "--live: tasks (ids, names, parents), arguments of calls and many results are real")
	r = start(t, "live", "")
	assert.Equal(t, "enter 0\nexit 0\nexecve 0\nkprobe 0\n", r.out, "without --live")
}

// TestACommandBesideTheToolIsSeen: what a command does, tools print as it was: programs, arguments
// and parents, files with the descriptors and errors that they got, exit statuses. The tool is
// asked to end only when the command has ended, however long it does nothing.
func TestACommandBesideTheToolIsSeen(t *testing.T) {
	t.Setenv("PATH", os.Getenv("BPFRUN_TOOLS")+":/usr/sbin:"+os.Getenv("PATH"))
	for _, tt := range []struct {
		tool, run string
		want, not []string
	}{
		{"execsnoop", `cat "/no such" 2>/dev/null; sleep 0.5; ls -d /`, []string{"ls ", "/usr/bin/cat /no such", "/usr/bin/ls -d /", "  0 /usr/bin"}, []string{"arg1"}},
		{"opensnoop", "cat /etc/passwd /no/such >/dev/null 2>&1; true", []string{"3   0 /etc/passwd", "-1   2 /no/such"}, nil},
		{"exitsnoop", "sh -c 'exit 3'; true", []string{"code 3"}, nil},
		{"bpftrace -e 'tracepoint:syscalls:sys_exit_close { @[args->ret] = count() } tracepoint:syscalls:sys_exit_write { @w = count() }'", "echo >&-; echo x >/dev/null", []string{"@[0]"}, nil},
	} {
		name, _, _ := strings.Cut(tt.tool, " ")
		t.Run(name, func(t *testing.T) {
			if _, err := osexec.LookPath(name); err != nil {
				t.Skip(err)
			}
			r := start(t, "", "", func(c *Config) {
				c.Args, c.Root, c.RealClock, c.Live, c.Run = []string{"/bin/sh", "-c", "exec " + tt.tool}, true, true, true, tt.run
			})
			for _, w := range tt.want {
				assert.Contains(t, r.out, w, r.notes)
			}
			for _, w := range tt.not {
				assert.NotContains(t, r.out, w)
			}
			if name == "bpftrace" {
				assert.Contains(t, r.notes, "--live: invented are the results of ")
				assert.Contains(t, r.notes, "write")
			}
		})
	}
}

// TestProgramsSeeFunctionsAndCredentialsOfRealTasks: functions in the lives of tasks are hooks, and
// their tasks have the ids that the tool knows and the namespaces that they are in.
func TestProgramsSeeFunctionsAndCredentialsOfRealTasks(t *testing.T) {
	tool, err := osexec.LookPath("bpftrace")
	if err != nil {
		t.Skip(err)
	}
	script := `kprobe:wake_up_new_task { printf("new %s\n", ((struct task_struct *)arg0)->comm); }
kprobe:security_bprm_committing_creds { $b = (struct linux_binprm *)arg0; printf("exec %s as %d\n", str($b->filename), $b->cred->uid.val); }
kprobe:do_exit { printf("exit %s %d\n", comm, arg0); }
kprobe:acct_process { printf("last %s uid %d live %d mnt %u\n", comm, uid, curtask->signal->live.counter, curtask->nsproxy->mnt_ns->ns.inum); }
kprobe:disassociate_ctty { printf("tty %s %d\n", comm, arg0); }
tracepoint:syscalls:sys_exit_execve { printf("execve %d\n", args->ret); }`
	var mnt unix.Stat_t
	require.NoError(t, unix.Stat("/proc/self/ns/mnt", &mnt))
	for _, root := range []bool{true, false} {
		uid := os.Getuid()
		if root {
			uid = 0
		}
		r := start(t, "", "", func(c *Config) {
			c.Args, c.Root, c.RealClock, c.Live, c.Run = []string{tool, "-e", script}, root, true, true, "/bin/ls -d /no/such 2>/dev/null; /no/such 2>/dev/null; /etc/passwd 2>/dev/null; true"
		})
		if !root && uid != 0 {
			assert.Contains(t, r.out, "root", "bpftrace wants to be root")
			continue
		}
		for _, want := range []string{
			"new sh\n", fmt.Sprintf("exec /bin/ls as %d\n", uid), "exit ls 512\n", fmt.Sprintf("last ls uid %d live 0 mnt %d\n", uid, mnt.Ino), "tty ls 1\n", "execve 0\n", "execve -2\n", "execve -13\n",
		} {
			assert.Contains(t, r.out, want, r.notes)
		}
	}
}

// TestProgramsRunOnTheCPUsOfRealTasks that are bound to one.
func TestProgramsRunOnTheCPUsOfRealTasks(t *testing.T) {
	tool, err := osexec.LookPath("bpftrace")
	if err != nil || os.Getuid() != 0 || runtime.NumCPU() < 2 {
		t.Skip("needs bpftrace, root and two processors")
	}
	script := `tracepoint:syscalls:sys_enter_getppid { printf("call %d\n", cpu); } tracepoint:sched:sched_process_exit /comm == "sh"/ { printf("end %d\n", cpu); }`
	r := start(t, "", "", func(c *Config) {
		c.Args, c.Root, c.RealClock, c.Live, c.Run = []string{tool, "-e", script}, true, true, true, "taskset -c 1 sh -c true"
	})
	assert.Contains(t, r.out, "call 1\n", r.notes)
	assert.Contains(t, r.out, "end 1\n")
}

// TestProgramsSeeCredentialsThatATaskTakes: from the call on that follows the one that sets them.
func TestProgramsSeeCredentialsThatATaskTakes(t *testing.T) {
	tool, err := osexec.LookPath("bpftrace")
	if err != nil || os.Getuid() != 0 {
		t.Skip("needs bpftrace and root")
	}
	script := `tracepoint:syscalls:sys_enter_setresuid { printf("enter %d\n", uid); } tracepoint:syscalls:sys_exit_setresuid { printf("exit %d\n", uid); }`
	r := start(t, "", "", func(c *Config) {
		c.Args, c.Root, c.RealClock, c.Live, c.Run = []string{tool, "-e", script}, true, true, true, "setpriv --reuid=65534 --keep-groups true 2>/dev/null; true"
	})
	assert.Contains(t, r.out, "enter 0\nexit 65534\n", r.notes)
}

// TestACommandBesideTheToolOfAUserRuns: the guard, which starts both, has closed its memory.
func TestACommandBesideTheToolOfAUserRuns(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("the user must change")
	}
	start(t, "exit7", "") // skips where there is no supervision
	assert.Equal(t, "beside\n130 <nil>\n", asNobody(t, "supervise", "asleep", "echo beside"))
}

// TestACommandWithoutLiveRunsToo, and its events come after it has begun.
func TestACommandWithoutLiveRunsToo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ran")
	r := start(t, "count", "sched_switch repeat=2\n", func(c *Config) { c.Run = "echo yes >" + file })
	assert.Equal(t, "2\n", r.out, r.notes)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, "yes\n", string(text))
}
