//go:build linux && amd64

package exec

import (
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bpfrun/bpfrun/internal/testing/testsize"
)

// sockets are what the events of toolValues name.
const (
	web   = "tcp:10.1.2.3:34567-93.184.216.34:443"
	web6  = "tcp:[fd00::1]:40000-[fd00::2]:8080"
	shell = "tcp:10.1.2.3:22-10.9.9.9:55555"
)

// toolValues are tools of Debian 12's libbpf-tools, what happens, and what they must print of it:
// words that follow each other in one line.
var toolValues = []struct {
	command, events string
	want            []string
}{
	{"opensnoop", "syscall/openat filename=/a/name ret=9 task.comm=one task.pid=41\nsyscall/openat filename=/b ret=-13 task.comm=two task.pid=42 task.tgid=40\nsyscall/open filename=/c flags=1 ret=3 task.comm=three task.pid=43",
		[]string{"41 one 9 0 /a/name", "40 two -1 13 /b", "43 three 3 0 /c"}},
	{"execsnoop -x -U", "syscall/execve filename=/usr/bin/ls \"argv=[ls -l /tmp]\" ret=0 task.comm=ls task.pid=501 task.real_parent->tgid=500 task.cred->uid.val=1005\n" +
		"syscall/execve filename=/no/such \"argv=[such a]\" ret=-2 task.comm=sh task.pid=502 task.real_parent->tgid=500 task.cred->uid.val=0",
		[]string{"1005 ls 501 500 0 /usr/bin/ls -l /tmp", "0 sh 502 500 -2 /no/such a"}},
	{"exitsnoop", "sched_process_exit task.comm=bash task.pid=77 task.exit_code=768 task.real_parent->tgid=70\nsched_process_exit task.comm=cat task.pid=78 task.exit_code=11 task.real_parent->tgid=71",
		[]string{"bash 77 70 77", "code 3", "cat 78 71 78", "signal 11 (Segmentation fault)"}},
	{"killsnoop", "syscall/kill pid=42 sig=15 ret=0 task.comm=bash task.pid=77\nsyscall/kill pid=43 sig=9 ret=-3 task.comm=sh task.pid=78", []string{"77 bash 15 42 0", "78 sh 9 43 -3"}},
	{"sigsnoop -n", "signal/signal_generate sig=9 errno=0 code=0 comm=cat pid=42 group=1 result=0 task.comm=bash task.pid=77", []string{"77 bash SIGKILL 42 0"}},
	{"capable", "cap_capable cap=12 task.comm=bash task.pid=77 task.cred->uid.val=1005 ret=-1\ncap_capable cap=21 task.comm=sh task.pid=78 task.cred->uid.val=0 ret=0",
		[]string{"1005 77 bash 12 CAP_NET_ADMIN 0 deny", "0 78 sh 21 CAP_SYS_ADMIN 0 allow"}},
	{"drsnoop", "mm_vmscan_direct_reclaim_begin task.comm=java task.pid=31\npass 4ms\nmm_vmscan_direct_reclaim_end nr_reclaimed=37 task.comm=java task.pid=31", []string{"java 31 4.00", " 37"}},
	{"gethostlatency", "uprobe arg1=example.org ret=0 task.comm=curl task.pid=9", []string{"9 curl", "example.org"}},
	{"bashreadline", "uprobe//bin/bash ret=\"echo hello\" task.comm=bash task.pid=78", []string{"78 echo hello"}},
	{"mountsnoop", "syscall/mount dev_name=/dev/sdb2 dir_name=/mnt/x type=xfs flags=1 data=ro ret=-16 task.comm=mount task.pid=90 task.tgid=89",
		[]string{"mount 89 90", `mount("/dev/sdb2", "/mnt/x", "xfs", MS_RDONLY, "ro") = -EBUSY`}},
	{"oomkill", "oom_kill_process oc.chosen->tgid=55 oc.chosen->comm=victim oc.totalpages=1234 task.comm=hungry task.pid=90", []string{`Triggered by PID 90 ("hungry"), OOM kill of PID 55 ("victim"), 1234 pages`}},
	{"solisten", "inet_listen sock.sk->__sk_common.skc_num=8080 sock.sk->__sk_common.skc_rcv_saddr=0x0100007f backlog=77 ret=0 task.comm=nginx task.pid=80", []string{"80 nginx 0 77 TCPv4 8080 127.0.0.1"}},
	{"hardirqs 1 1", "clock\nirq_handler_entry irq=4 action.name=eth7\npass 3ms\nirq_handler_exit irq=4 action.name=eth7", []string{"eth7 3003"}},
	{"softirqs 1 1", "clock\nsoftirq_entry vec_nr=6\npass 5ms\nsoftirq_exit vec_nr=6", []string{"tasklet 5003"}},
	{"syscount -P -i 1 -d 1", "clock\nsys_exit id=0 ret=5 repeat=7 task.comm=cat task.pid=44\nsys_exit id=1 ret=5 repeat=3 task.comm=dd task.pid=45", []string{"44 cat 7", "45 dd 3"}},
	{"syscount -L -m -i 1 -d 1", "clock\nsys_enter id=257 task.pid=44\npass 6ms\nsys_exit id=257 ret=5 task.pid=44", []string{"openat 1 6.00"}},
	{"runqslower 100", "sched_wakeup p.pid=50 p.comm=dd\npass 2ms\nsched_switch next.pid=50 next.comm=dd prev.comm=make prev.pid=40", []string{"dd 50 200"}},
	{"runqlat -P -m 1 1", "clock\nsched_wakeup p.pid=50 p.comm=dd\npass 20ms\nsched_switch next.pid=50 prev.pid=40 prev.__state=1", []string{"pid = 50 dd", "16 -> 31 : 1"}},
	{"cpudist -P 1 1", "clock\nsched_switch prev.pid=40 next.pid=50\npass 3ms\nsched_switch prev.pid=50 prev.comm=dd next.pid=40", []string{"pid = 50 dd", "2048 -> 4095 : 1"}},
	{"offcputime 1", "clock\nsched_switch prev.pid=4190040 prev.comm=make next.pid=4190050\npass 3ms\nsched_switch prev.pid=4190050 next.pid=4190040 next.comm=make", []string{"make (4190040)", "301"}},
	{"wakeuptime 1", "clock\nsched_switch prev.pid=4190040 prev.comm=make next.pid=4190050\npass 3ms\nsched_wakeup p.pid=4190040 p.comm=make task.comm=dd task.pid=7", []string{"target: make", "waker: dd"}},
	{"klockstat", "clock\nmutex_lock task.pid=70\npass 7ms\nmutex_unlock task.pid=70", []string{"7.0 ms 1 7.0 ms 7.0 ms"}},
	{"filetop -C 1 1", "clock\nvfs_read file.f_path.dentry->d_name.name=data.log count=8192 repeat=3 task.comm=reader task.pid=12\nvfs_write file.f_path.dentry->d_name.name=data.log count=2048 task.comm=reader task.pid=12",
		[]string{"12 reader 3 1 24 2 R data.log"}},
	{"vfsstat 1 1", "clock\nvfs_read repeat=4\nvfs_write repeat=3\nvfs_open repeat=2\nvfs_fsync\nvfs_create repeat=6", []string{"4 3 1 2 6"}},
	{"biolatency -m 1 1", "clock\nblock_rq_issue\npass 20ms\nblock_rq_complete", []string{"16 -> 31 : 1"}},
	{"biotop -C 1 1", "clock\nblk_account_io_start req.__data_len=8192 task.comm=dd task.pid=50\nblk_mq_start_request rq.__data_len=8192\npass 2ms\nblk_account_io_done req.__data_len=8192",
		[]string{"50 dd R 8 0", "1 8 2.00"}},
	{"biopattern 1 1", "clock\nblock_rq_complete dev=8388608 sector=100 nr_sector=16\nblock_rq_complete dev=8388608 sector=116 nr_sector=16\nblock_rq_complete dev=8388608 sector=132 nr_sector=16\n" +
		"block_rq_complete dev=8388608 sector=900 nr_sector=16", []string{"33 66 3 24"}},
	{"bitesize 1 1", "clock\nblock_rq_issue rq.__data_len=8192 task.comm=dd task.pid=50", []string{"Process Name = dd", "8 -> 15 : 1"}},
	{"funclatency -m vfs_read", "clock\nkprobe/vfs_read task.pid=5\npass 9ms\nkretprobe/vfs_read task.pid=5", []string{"8 -> 15 : 1"}},
	{"cpufreq -d 1", "clock\npower/cpu_frequency frequency=1500000 cpu_id=1\nperf_event cpu=1 repeat=3 task.comm=java task.pid=71", []string{"java : count", "1400 :"}},
	{"llcstat 1", "clock\nperf_event repeat=3 task.comm=db task.pid=66 sample_period=1000", []string{"66 db 0 6000 6000 0.00%"}},
	{"tcpconnect", "tcp_v4_connect sk=" + web + " ret=0 task.comm=curl task.pid=99\ntcp_v6_connect sk=" + web6 + " ret=0 task.comm=wget task.pid=98\ntcp_v4_connect sk=" + shell + " ret=-111 task.comm=no task.pid=97",
		[]string{"99 curl 4 10.1.2.3 93.184.216.34 443", "98 wget 6 fd00::1 fd00::2 8080"}},
	{"tcpconnlat", "tcp_v4_connect sk=" + web + ",syn_sent task.comm=curl task.pid=99\npass 30ms\ntcp_rcv_state_process sk=" + web + ",syn_sent", []string{"99 curl 4 10.1.2.3 93.184.216.34 443 30.00"}},
	{"tcplife", "inet_sock_set_state sk=" + web + " newstate=1 oldstate=2 task.comm=curl task.pid=99\npass 70ms\ninet_sock_set_state sk=" + web + " newstate=7 oldstate=1 task.comm=curl task.pid=99",
		[]string{"99 curl 10.1.2.3 34567 93.184.216.34 443"}},
	{"tcpstates", "inet_sock_set_state sk=" + web + " newstate=1 oldstate=2 task.comm=curl task.pid=99\npass 7ms\ninet_sock_set_state sk=" + web + " newstate=7 oldstate=1 task.comm=curl task.pid=99",
		[]string{"99 curl 10.1.2.3 34567 93.184.216.34 443 SYN_SENT -> ESTABLISHED 0.000", "99 curl 10.1.2.3 34567 93.184.216.34 443 ESTABLISHED -> CLOSE 7.00"}},
	{"tcptracer", "tcp_v4_connect sk=" + web + " ret=0 task.comm=curl task.pid=99\ntcp_set_state sk=" + web + " state=1 task.comm=curl task.pid=99\ntcp_close sk=" + web + " task.comm=curl task.pid=99\n" +
		"inet_csk_accept ret=" + shell + " task.comm=sshd task.pid=44",
		[]string{"C 99 curl 4 10.1.2.3 93.184.216.34 34567 443", "X 99 curl 4 10.1.2.3 93.184.216.34 34567 443", "A 44 sshd 4 10.1.2.3 10.9.9.9 22 55555"}},
	{"tcptop -C 1 1", "clock\ntcp_sendmsg sk=" + web + " size=30000 task.comm=curl task.pid=99\ntcp_cleanup_rbuf sk=" + web + " copied=7168 task.comm=curl task.pid=99",
		[]string{"99 curl 10.1.2.3:34567 93.184.216.34:443 7 29"}},
	{"tcpsynbl 1 1", "clock\ntcp_v4_syn_recv_sock sk.sk_ack_backlog=3 sk.sk_max_ack_backlog=128", []string{"backlog_max = 128", "2 -> 3 : 1"}},
}

// TestToolsPrintTheValuesOfEvents compares what tools print with what the events say: ids, names,
// files, addresses, ports, results and times.
func TestToolsPrintTheValuesOfEvents(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	t.Setenv("PATH", strings.Join(append(filepath.SplitList(os.Getenv("BPFRUN_TOOLS")), "/usr/sbin", "/sbin", os.Getenv("PATH")), ":"))
	t.Setenv("TZ", "UTC")
	t.Setenv("LC_ALL", "C")
	for _, tt := range testsize.Some(6, toolValues) {
		t.Run(tt.command, func(t *testing.T) {
			words := strings.Fields(tt.command)
			if _, err := osexec.LookPath(words[0]); err != nil {
				t.Skipf("%v: Debian 12's package libbpf-tools has it", err)
			}
			r := start(t, "", tt.events+"\n", func(c *Config) { c.Args, c.Root = words, true })
			for _, want := range tt.want {
				in := func(line string) bool { return strings.Contains(strings.Join(strings.Fields(line), " "), want) }
				assert.True(t, slices.ContainsFunc(strings.Split(r.out, "\n"), in), "no line has %q:\n%s%s", want, r.out, r.notes)
			}
			assert.NotContains(t, r.notes, "no program there takes")
			assert.NotContains(t, r.notes, "bpfrun exec: event ")
		})
	}
}
