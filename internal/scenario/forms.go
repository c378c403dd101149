package scenario

import (
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
)

var fileForm = &grammar.Form{Name: "scenario", Doc: "A scenario file: kernel objects, maps and runs for one BPF object, and their expected results.", Members: []grammar.Member{
	{Name: "description", Doc: "What the file is about.", Shape: grammar.Text},
	{Name: "object", Doc: "The BPF object, relative to this file. The default is the object beside the file: NAME.bpf.o or NAME.o for NAME.yaml.", Shape: grammar.Text},
	{Name: "since", Doc: "The oldest kernel to run on (5.17); on older kernels the runs are skipped.", Shape: grammar.Release},
	{Name: "arch", Doc: "The architecture to run on (x86, arm64, arm, riscv, s390); on others the runs are skipped.", Shape: grammar.Text},
	{Name: "kernels", Doc: "The kernels to run on when there is no --btf: releases (6.12, 6.12-arm64; see bpfrun kernels), files, directories and globs relative to this file, or embedded.", Shape: grammar.ListOf(grammar.Release)},
	{Name: "verify", Doc: "Whether the verifier decides which programs run, as on a kernel; the default is true. With false all run, like with --no-verify.", Shape: grammar.ShapeOf(grammar.ShapeBool)},
	{Name: "kernel", Doc: "The simulated machine.", Shape: grammar.FormOf(kernelForm)},
	{Name: "objects", Doc: "Kernel objects by name. The values are fields of the object's type (a field called type or like is written .type, .like). Refer to an object as $name.", Shape: grammar.MapOf(grammar.Anything)},
	{Name: "maps", Doc: "Contents of maps before the runs, by map name: keys and values in terms of their BTF types; numbers in network byte order may be written as htons(53), an IPv4 address or htonl(N), and cpu_to_be64(N), and a struct in6_addr as an IPv6 address, as in kernel objects, contexts and expectations; a plain number is what is stored. Keys of task, socket, inode and cgroup storage are owners: the $name of an object; for tasks also the pid or the name (comm), for cgroups the id or the path. Elements of a map of maps are names of maps, or the contents of a new map. The key inner defines the inner map if the object leaves that to user space: {type: hash, key_size: 4, value_size: 8, max_entries: 16}.", Shape: grammar.MapOf(grammar.Anything)},
	{Name: "globals", Doc: "Global variables, set before loading.", Shape: grammar.MapOf(grammar.Anything)},
	{Name: "hooks", Doc: "Functions and tracepoints that programs are attached to, in place of those that their section names say, as PROGRAM: FUNCTION or PROGRAM: CATEGORY/TRACEPOINT (--attach).", Shape: grammar.MapOf(grammar.Text)},
	{Name: "attach", Doc: "Extensions (freplace), fentry and fexit programs that are attached to functions of other programs, as PROGRAM: TARGET or PROGRAM: TARGET:FUNCTION. They run when the target does; without a function it is the one that the section names, else the whole target. What they send, print and change belongs to the run of the target.", Shape: grammar.MapOf(grammar.Text)},
	{Name: "defaults", Doc: "Defaults for the members of every run; mappings such as args and expect are merged member by member.", Shape: grammar.FormOf(defaultsForm)},
	{Name: "runs", Doc: "The runs. Each starts from a fresh machine unless it is part of sequence.", Shape: grammar.ListOf(grammar.FormOf(runForm)), Required: true, Unless: "race"},
	{Name: "race", Doc: "Programs that run at the same time, each item a run of its own. A file with races needs no runs.", Shape: grammar.ListOf(grammar.FormOf(raceForm))},
	{Name: "sequence", Doc: "Names of runs that share one machine, in this order.", Shape: grammar.ListOf(grammar.Text)},
	{Name: "invariants", Doc: "What holds after every run of a program, as expressions in the debugger's language.", Shape: grammar.ListOf(grammar.FormOf(invariantForm))},
	{Name: "vary", Doc: "Maps and global variables that programs write, and whose contents are input of bpfrun fuzz all the same. Without it they get their contents by events only.", Shape: grammar.ListOf(grammar.Text)},
	{Name: "ignore", Doc: "Findings that are no mistakes, each with the reason. They are neither reported nor counted.", Shape: grammar.ListOf(grammar.FormOf(ignoreForm))},
}}

var ignoreForm = &grammar.Form{Name: "ignore", Doc: "Findings that are no mistakes.", Members: []grammar.Member{
	{Name: "kind", Doc: "The kind of the findings: leak, overread, wrong-field, packet, limit, data-race, ...", Shape: grammar.Text, Required: true},
	{Name: "prog", Doc: "The program that they are about (default: every program).", Shape: grammar.Text},
	{Name: "reason", Doc: "Why they are no mistakes.", Shape: grammar.Text, Required: true},
}}

var invariantForm = &grammar.Form{Name: "invariant", Doc: "What holds after every run of a program. Expressions name maps (flows[{saddr = 1}].packets), global variables, pkt (pkt.ip.ttl), ctx, arguments of the hook, enumerators, $retval (the low 32 bits, signed) and $events (runs so far, this one included). Besides the debugger's functions there are old(E), the number that E was before the run; unchanged(X) of a map, a variable or pkt; has(E), whether an element, record or header exists; sum(MAP) and sum(MAP, MEMBER) over all elements and CPUs; count(MAP), its elements (of an array, those that are not zero); sent(BUFFER), the records of this run.", Members: []grammar.Member{
	{Name: "name", Doc: "What the invariant says, for reports (default: the expression).", Shape: grammar.Text},
	{Name: "prog", Doc: "The program after whose runs it holds (default: every program).", Shape: grammar.Text},
	{Name: "when", Doc: "For which runs it holds (default: all): an expression that is not 0. Runs in which it has no value, because an element or a header does not exist, are left out.", Shape: grammar.Text},
	{Name: "holds", Doc: "The expression that is not 0.", Shape: grammar.Text, Required: true},
}}

var kernelForm = &grammar.Form{Name: "kernel", Doc: "The simulated machine.", Members: []grammar.Member{
	{Name: "cpus", Doc: "Number of CPUs.", Shape: grammar.Integer},
	{Name: "clock", Doc: "The clocks.", Shape: grammar.FormOf(clockForm)},
	{Name: "random", Doc: "The first random numbers programs get.", Shape: grammar.ListOf(grammar.Integer)},
	{Name: "values", Doc: "What fields of kernel objects that were not set read as: zero (default), or default: made-up values, as in runs without a file.", Shape: grammar.Text},
	{Name: "seed", Doc: "Seed for all values that are not set.", Shape: grammar.Integer},
	{Name: "kconfig", Doc: "Values of CONFIG_ externs.", Shape: grammar.MapOf(grammar.OneOf(grammar.Text, grammar.Integer))},
	{Name: "ksyms", Doc: "Values of kernel variables.", Shape: grammar.MapOf(grammar.Anything)},
	{Name: "network", Doc: "Interfaces, routes and neighbours.", Shape: grammar.FormOf(networkForm)},
	{Name: "xattrs", Doc: "Extended attributes of files, by absolute path and name ({/bin/true: {user.origin: here}}), as bpf_get_file_xattr reads them.", Shape: grammar.MapOf(grammar.MapOf(grammar.Text))},
}}

var clockForm = &grammar.Form{Name: "clock", Doc: "The clocks at the start.", Members: []grammar.Member{
	{Name: "boot", Doc: "Time since boot, including suspend.", Shape: grammar.Duration},
	{Name: "mono", Doc: "Monotonic time.", Shape: grammar.Duration},
	{Name: "real", Doc: "Time since 1970.", Shape: grammar.Duration},
	{Name: "step", Doc: "How far each helper call advances the clocks; 0 stops them.", Shape: grammar.Duration},
	{Name: "hz", Doc: "Timer ticks per second.", Shape: grammar.Integer},
}}

var runForm = &grammar.Form{Name: "run", Doc: "One run of a program.", Members: runMembers([]grammar.Member{
	{Name: "name", Doc: "Name of the run (default: the program's name).", Shape: grammar.Text},
	{Name: "prog", Doc: "The program. Required, except with chain and with simulations that call the programs.", Shape: grammar.Text},
	{Name: "chain", Doc: "Programs attached to one hook, in the order in which the kernel runs them (tc, tcx, netkit, cgroups, LSM, netfilter, probes): all get the same context, and run until one decides. Arguments, context and packet are those of the first. ret is what the last one that ran returned; all other expectations are about all of them. expect.chain has the verdict.", Shape: grammar.ListOf(grammar.Text)},
	{Name: "each", Doc: "Parameters: the run is made once for each item of a list of mappings ([{port: 80, verdict: XDP_PASS}, ...]), or for all combinations of a mapping of lists ({port: [80, 443], proto: [tcp, udp]}). ${port} in any string or key of the run stands for the parameter's value; $${ is a literal ${. If the run's name uses no parameter, all of them are appended to it.", Shape: grammar.OneOf(grammar.ListOf(grammar.MapOf(grammar.Anything)), grammar.MapOf(grammar.ListOf(grammar.Anything)))},
	{Name: "since", Doc: "The oldest kernel for this run; on older kernels it is skipped.", Shape: grammar.Release},
	{Name: "arch", Doc: "The architecture for this run; on others it is skipped.", Shape: grammar.Text},
	{Name: "current", Doc: "The task it runs in: the $name of an object.", Shape: grammar.Text},
	{Name: "cpu", Doc: "The CPU it runs on.", Shape: grammar.Integer},
	{Name: "args", Doc: "Arguments of the hook, or fields of a tracepoint, by name; ret is the return value.", Shape: grammar.MapOf(grammar.Anything)},
	{Name: "function", Doc: "The function that the run is of, for programs that trace many (kprobe.multi, kprobe.session, fentry.multi, uprobe.multi, ...). The default is the one with the shortest name that the pattern matches. Cookies are those of the function: set cookie.", Shape: grammar.Text},
	{Name: "functions", Doc: "The functions that the program runs for, one after the other on the same maps and variables: all that its pattern matches (all), or by name; {vfs_read: 1, vfs_write: 2} also gives the cookie that it is attached to each with. args are those of every function. ret is what the last call returned, expect.functions has each; all other expectations are about all of them.", Shape: grammar.OneOf(grammar.Text, grammar.ListOf(grammar.Text), grammar.MapOf(grammar.OneOf(grammar.Integer, grammar.FormOf(tracedForm))))},
	{Name: "cookie", Doc: "The cookie the program is attached with (bpf_get_attach_cookie, bpf_usdt_cookie).", Shape: grammar.Integer},
	{Name: "usdt", Doc: "Where the arguments of a USDT probe are, as its note says: SIZE@WHERE each (-4@%edi 8@-16(%rbp) 8@$5 on x86, -4@[sp,12] 8@x0 on arm64), or @FILE for the note in a binary, with #N for the Nth of several places. The values in args go there, and libbpf's maps say where. Without it the arguments are constants in these maps.", Shape: grammar.Text},
	{Name: "elements", Doc: "What an iterator visits, instead of the existing objects: the arguments of each call by name. The final call without an element follows.", Shape: grammar.ListOf(grammar.MapOf(grammar.Anything))},
	{Name: "map", Doc: "The map whose elements an iterator visits.", Shape: grammar.Text},
	{Name: "helpers", Doc: "What helpers and kfuncs return: a value for every call, a list of values for successive calls, or {fail_at: N, errno: E} for call N only: {bpf_ringbuf_reserve: {fail_at: 1}} makes the first reservation fail, {bpf_map_update_elem: {fail_at: 2, errno: E2BIG}} the second update.", Shape: grammar.MapOf(grammar.OneOf(grammar.Integer, grammar.Text, grammar.ListOf(grammar.Integer), grammar.FormOf(overrideForm)))},
	{Name: "packet", Doc: "The packet: an expression such as eth/ip(src=10.0.0.1,ttl=63)/tcp(dport=80,flags=S)/'GET /', hex digits, @FILE with raw bytes, or @CAPTURE#N with packet N of a pcap or pcapng file.", Shape: grammar.Text},
	{Name: "pcap", Doc: "A pcap or pcapng file: the program runs on each of its packets, with the captured time between them. ret then counts verdicts.", Shape: grammar.Text},
	{Name: "truncate", Doc: "Before the full packet, also run the program on truncated copies of it, each from the same state: all for every length that the kernel passes, or a list of lengths. A fault at any length fails the run; expect.truncated counts verdicts, and everything else in expect applies to the full packet.", Shape: grammar.OneOf(grammar.Text, grammar.ListOf(grammar.Integer))},
	{Name: "ctx", Doc: "The context, for program types that take one: hex digits, @FILE, or members of the struct that the program declares it as. The bounds of an XDP packet remain those of the packet unless data_end is set.", Shape: grammar.OneOf(grammar.Text, grammar.MapOf(grammar.Anything))},
	{Name: "context", Doc: "Inputs of networking and cgroup programs besides the packet.", Shape: grammar.FormOf(contextForm)},
	{Name: "unset_stack", Doc: "What happens when the program reads stack bytes that were never written, such as the padding of a key: warn (the default), fail, or ignore. With --strict it is a fault. Older kernels refuse such reads; newer ones read whatever was there (the warning says which).", Shape: grammar.Text},
	{Name: "after", Doc: "Simulated time that passes before the run.", Shape: grammar.Duration},
	{Name: "settle", Doc: "Simulated time that passes after the run, before expectations are checked.", Shape: grammar.Duration},
	{Name: "repeat", Doc: "How often the program runs. Expectations apply to the last run, those about events to all runs.", Shape: grammar.Integer},
	{Name: "expect", Doc: "The expected results.", Shape: grammar.FormOf(expectForm)},
})}

// defaultsForm has the members that several runs may share.
var defaultsForm = &grammar.Form{Name: "defaults", Doc: "Defaults for members of runs.", Members: func() []grammar.Member {
	var out []grammar.Member
	for _, m := range runForm.Members {
		if m.Name != "name" && m.Name != "each" {
			m.Required = false
			out = append(out, m)
		}
	}
	return out
}()}

var overrideForm = &grammar.Form{Name: "override", Doc: "What calls of a helper return.", Members: []grammar.Member{
	{Name: "fail_at", Doc: "Only this call of the helper in the run, counted from 1, gets this result; all others work as usual. Without errno and ret it returns 0, which is NULL for helpers that return pointers. Without fail_at every call gets this result.", Shape: grammar.Integer},
	{Name: "errno", Doc: "The error it returns: EFAULT, -EFAULT or 14.", Shape: grammar.OneOf(grammar.Text, grammar.Integer)},
	{Name: "ret", Doc: "The value it returns.", Shape: grammar.OneOf(grammar.Integer, grammar.Text)},
}}

var expectForm = &grammar.Form{Name: "expect", Doc: "The expected results of a run. Anything not listed is not checked, except that an unexpected fault always fails.", Members: expectMembers([]grammar.Member{
	{Name: "ret", Doc: "Return value: a number, a verdict's name, an error (-EPERM). The low 32 bits are compared, or all 64 with u64:. For a pcap, the value for every packet, or {XDP_DROP: 3, XDP_PASS: 97}.", Shape: grammar.OneOf(grammar.Integer, grammar.Text, grammar.MapOf(grammar.Integer))},
	{Name: "chain", Doc: "What the programs of a chain decided.", Shape: grammar.FormOf(expectChainForm)},
	{Name: "functions", Doc: "What the program did for each of several functions, by name.", Shape: grammar.MapOf(grammar.FormOf(expectFunctionForm))},
	{Name: "truncated", Doc: "Return values for the truncated packets (truncate): one value for every length, or {XDP_DROP: 20, XDP_PASS: 7}.", Shape: grammar.OneOf(grammar.Integer, grammar.Text, grammar.MapOf(grammar.Integer))},
	{Name: "maps", Doc: "Map elements. Only the members listed are compared; null means that the element does not exist; !exact that there are no others. An element of a map of maps is compared by the contents of its inner map.", Shape: grammar.MapOf(grammar.Anything)},
	{Name: "globals", Doc: "Global variables.", Shape: grammar.MapOf(grammar.Anything)},
	{Name: "others", Doc: "unchanged: all maps, global variables and buffers not listed here are as they were before the run (arrays of more than 1 MiB are not compared).", Shape: grammar.Text},
	{Name: "ringbuf", Doc: "Records of ring buffers by map: all of them in order, or their number. as: gives the record's type.", Shape: grammar.MapOf(grammar.Anything)},
	{Name: "perf", Doc: "Records of perf buffers, as for ringbuf.", Shape: grammar.MapOf(grammar.Anything)},
	{Name: "trace", Doc: "Lines of bpf_printk, all of them in order.", Shape: grammar.OneOf(grammar.Text, grammar.ListOf(grammar.Text))},
	{Name: "output", Doc: "What an iterator wrote, as user space reads it.", Shape: grammar.Text},
	{Name: "effects", Doc: "Effects outside of maps, all of them in order: a kind (signal, redirect, rc-keydown) or a kind and its number.", Shape: grammar.ListOf(grammar.Text)},
	{Name: "kernel", Doc: "Fields of kernel objects after the run, as OBJECT.path or nested.", Shape: grammar.MapOf(grammar.Anything)},
	{Name: "reads", Doc: "Kernel fields that the run must have read, as TYPE.path; -> and . both follow pointers.", Shape: grammar.ListOf(grammar.Text)},
	{Name: "helpers", Doc: "How often helpers were called.", Shape: grammar.MapOf(grammar.Integer)},
	{Name: "receiver", Doc: "The socket that gets the packet of an sk_reuseport program, by name; null for none, because the program did not return SK_PASS. Those that share the port with the context's socket (context: {sk: $NAME}) are candidates. Without a selection (bpf_sk_select_reuseport) the hash of the flow decides.", Shape: grammar.Text},
	{Name: "fault", Doc: "The kind of fault the run ends with; true for any, false for none.", Shape: grammar.OneOf(grammar.Text, grammar.ShapeOf(grammar.ShapeBool))},
	{Name: "status", Doc: "The program's status: ok, absent, refused, not-simulated, fault.", Shape: grammar.Text},
	{Name: "packet", Doc: "The packet after the run: fields by path (ip.ttl: 63, tcp.csum: right, vlan: null for no such layer, payload: text, len: 60), the whole packet as an expression or hex digits, or unchanged.", Shape: grammar.OneOf(grammar.Text, grammar.MapOf(grammar.Anything))},
	{Name: "ctx", Doc: "The context after the run, as hex digits or members.", Shape: grammar.OneOf(grammar.Text, grammar.MapOf(grammar.Anything))},
	{Name: "findings", Doc: "What the run finds without being asked: none, or the kinds of all findings, such as [packet].", Shape: grammar.OneOf(grammar.Text, grammar.ListOf(grammar.Text))},
})}

// tags lists the tags of values, for the documentation and for messages.
var tags = []struct{ name, doc string }{
	{"!hex", "bytes as hex digits"},
	{"!file", "a struct file: {path, ino, mode, flags, size, dev} and any field"},
	{"!dentry", "a struct dentry with its parents: {path} and any field"},
	{"!sock", "a struct sock: {family, protocol, type, state, source, dest, sport, dport, reuseport} and any field; socket lookups find it, and it may be put into sockmaps and reuseport_sockarrays"},
	{"!conn", "a struct nf_conn: {protocol, source, dest, sport, dport, zone, expires} of the first packet (expires: seconds left) and any field; bpf_xdp_ct_lookup and bpf_skb_ct_lookup find it"},
	{"!flow", "a struct flow_offload of the module nf_flow_table: {protocol, source, dest, sport, dport, iif, oif, expires} of the first packet (iif: the index of the interface at which it arrives, 1 by default; oif: of that at which replies arrive, by default the same; expires: seconds left, 30 by default) and any field; its connection is in the table of connections; bpf_xdp_flow_lookup finds it at these interfaces"},
	{"!task", "a task_struct with default content: {children: [$a], threads: [$b], files: [$f, null], cgroup: $c} and any field; lists are linked as in the kernel"},
	{"!skb", "a sk_buff with the default packet, and any field"},
	{"!cgroup", "a struct cgroup with its ancestors: {path, id} and any field"},
	{"!mm", "an mm_struct with default content: {args: [strings], env: [strings], areas: [{start, end, flags, pgoff, file}], user: {ADDRESS: string or !hex}} and any field"},
	{"!bprm", "a linux_binprm with default content: {path} and any field"},
	{"!pt_regs", "a struct pt_regs set up as for a call: {args: [values], ret, ip, sp} and any field"},
	{"!inode", "a struct inode with default content"},
	{"!user", "user memory with a string or bytes, or with an array of pointers to several, which ends with null, for a list of them ([ls, -l]); the value is its address"},
	{"!list", "a list_head: {via: member, of: [$a, $b]}"},
	{"!percpu", "a list of values, one for each CPU"},
	{"!sum", "in expectations: the sum over all CPUs"},
	{"!any", "in expectations: any value"},
	{"!ne", "in expectations: not this value"},
	{"!lt", "in expectations: less than"},
	{"!le", "in expectations: at most"},
	{"!gt", "in expectations: greater than"},
	{"!ge", "in expectations: at least"},
	{"!match", "in expectations: a regular expression that the string matches"},
	{"!exact", "in expectations: the map has these elements and no others"},
}
