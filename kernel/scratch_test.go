package kernel

import (
	"fmt"
	"testing"

	"github.com/bpfrun/bpfrun/mem"
	"github.com/bpfrun/bpfrun/uapi"
)

func show(c *Context, err error) {
	if err != nil {
		fmt.Println("ERR", err)
		return
	}
	fmt.Printf("%s func=%s slots=%d untyped=%v size=%d ret=%v:%#x\n", c.Type, c.Func, c.Slots, c.Untyped, c.Size, c.Returns, c.Ret.Value)
	for _, a := range c.Args {
		fmt.Printf("   %s = %#x", a.Name, a.Value)
		if a.Object != nil {
			fmt.Print(" -> ", a.Object.Role(), " ", a.Object.TypeName())
		}
		fmt.Println()
	}
	if c.Record != nil {
		s := c.k.btf.FormatString(c.Record.layout.typ.ID, c.k.mem.Bytes(c.Region))
		fmt.Println("  ", s)
		if n := int(c.Record.size+7) &^ 7; n < c.Size {
			fmt.Printf("   %q\n", c.k.mem.Bytes(c.Region)[n:])
		}
	}
}

func TestScratch(t *testing.T) {
	k := newEmbedded(t)
	for _, tp := range []string{"sched/sched_switch", "sched/sched_wakeup", "sched/sched_process_exec", "sched/sched_process_exit", "sched/sched_process_fork", "sock/inet_sock_set_state", "block/block_rq_issue", "signal/signal_generate", "net/netif_receive_skb", "tcp/tcp_retransmit_skb", "irq/irq_handler_entry", "irq/softirq_entry", "kmem/kmalloc", "kmem/mm_page_alloc", "syscalls/sys_enter_openat", "syscalls/sys_enter_execve", "syscalls/sys_exit_openat", "raw_syscalls/sys_enter", "sched/sched_stat_runtime", "skb/kfree_skb", "oom/mark_victim", "cgroup/cgroup_mkdir"} {
		fmt.Println("==", tp)
		show(k.NewContext(ContextSpec{ProgType: uapi.ProgTypeTracepoint, AttachTo: tp}))
	}
	for _, f := range []string{"vfs_read", "do_unlinkat", "tcp_v4_connect", "__x64_sys_openat", "tcp_sendmsg", "vfs_open", "oom_kill_process", "inet_csk_accept", "nosuch"} {
		fmt.Println("== kprobe", f)
		show(k.NewContext(ContextSpec{ProgType: uapi.ProgTypeKprobe, AttachTo: f, Section: "kprobe/" + f}))
		show(k.NewContext(ContextSpec{ProgType: uapi.ProgTypeKprobe, AttachTo: f, Section: "kretprobe/" + f}))
	}
	for _, f := range []string{"sched_switch", "sys_enter", "block_rq_issue", "sched_process_exec"} {
		show(k.NewContext(ContextSpec{ProgType: uapi.ProgTypeTracing, Attach: uapi.AttachTraceRawTp, AttachTo: f}))
	}
	for _, f := range []string{"file_open", "bprm_check_security", "task_kill", "socket_connect", "nothere"} {
		show(k.NewContext(ContextSpec{ProgType: uapi.ProgTypeLSM, AttachTo: f}))
	}
	show(k.NewContext(ContextSpec{ProgType: uapi.ProgTypeXDP}))
	show(k.NewContext(ContextSpec{ProgType: uapi.ProgTypeSchedCls}))
	show(k.NewContext(ContextSpec{ProgType: uapi.ProgTypePerfEvent}))
	fmt.Println(k.Err(), len(k.objects))
	skb, _ := k.NewObjectNamed("skb", "sk_buff")
	for _, p := range []string{"len", "data", "head", "tail", "end", "network_header", "transport_header", "protocol", "sk.__sk_common.skc_daddr", "dev.ifindex", "pkt_type"} {
		v, err := skb.Uint(p)
		fmt.Printf("  %s %#x %v\n", p, v, err)
	}
	sk, _ := k.NewObjectNamed("sk", "sock")
	for _, p := range []string{"__sk_common.skc_family", "__sk_common.skc_num", "__sk_common.skc_dport", "__sk_common.skc_net.net.ns.inum", "sk_protocol", "sk_socket.file.f_inode.i_ino", "sk_socket.sk.sk_type"} {
		v, err := sk.Uint(p)
		fmt.Printf("  %s %#x %v\n", p, v, err)
	}
}

func BenchmarkKprobe(b *testing.B) {
	tg := targets()[0]
	b.ReportAllocs()
	for b.Loop() {
		m, _ := mem.New(mem.Config{})
		k, err := New(Config{Mem: m, BTF: tg.spec, Types: tg.types})
		if err != nil {
			b.Fatal(err)
		}
		c, err := k.NewContext(ContextSpec{ProgType: uapi.ProgTypeKprobe, AttachTo: "vfs_read", Section: "kprobe/vfs_read"})
		if err != nil {
			b.Fatal(err)
		}
		k.PidTgid()
		k.Comm()
		m.Load(c.Args[0].Value+64, 8)
		m.Close()
	}
}

func BenchmarkLoad(b *testing.B) {
	k := newEmbedded(b)
	o := k.Current()
	off := o.Addr()
	n := 0
	k.SetSink(func(*Access) { n++ })
	for b.Loop() {
		k.mem.Load(off+2432, 4)
	}
}
