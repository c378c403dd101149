//go:build linux

package bench

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	cbtf "github.com/cilium/ebpf/btf"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/btffile"
	"github.com/bpfrun/bpfrun/loader"
)

// coreChild makes the test binary do one contender's work and print its figures: "ENGINE MODE BTF N
// [OBJECT]". Every contender has a process of its own, so that its peak of memory is its own.
const coreChild = "BENCH_CORE_CHILD"

// figures are the best wall and processor time in nanoseconds, and the peak of resident memory in
// bytes.
type figures struct{ wall, cpu, rss float64 }

func (f *figures) keep(g figures) {
	if f.wall == 0 || g.wall < f.wall {
		f.wall = g.wall
	}
	if f.cpu == 0 || g.cpu < f.cpu {
		f.cpu = g.cpu
	}
	f.rss = max(f.rss, g.rss)
}

func runCore(name string, args ...string) (figures, error) {
	cmd := exec.Command(name, args...)
	if name == os.Args[0] {
		cmd = exec.Command(name, "-test.run", "^TestCoreChild$")
		cmd.Env = append(os.Environ(), coreChild+"="+strings.Join(args, " "))
	}
	out, err := cmd.CombinedOutput()
	line, _, _ := strings.Cut(string(out), "\n")
	f := strings.Fields(line)
	if err != nil || len(f) != 3 {
		return figures{}, fmt.Errorf("%v: %v\n%s", args, err, out)
	}
	var v [3]float64
	for i := range v {
		if v[i], err = strconv.ParseFloat(f[i], 64); err != nil {
			return figures{}, err
		}
	}
	return figures{v[0], v[1], v[2] * 1024}, nil
}

// TestCoreChild is not a test: it is the process of one contender.
func TestCoreChild(t *testing.T) {
	args := strings.Fields(os.Getenv(coreChild))
	if len(args) == 0 {
		t.Skip(coreChild + " is not set")
	}
	n, err := strconv.Atoi(args[3])
	require.NoError(t, err)
	once := map[string]func([]string) error{"bpfrun": oursOnce, "cilium": ciliumOnce}[args[0]]
	var best figures
	for range n {
		start, cpu := time.Now(), processorTime(t)
		require.NoError(t, once(args[1:]))
		best.keep(figures{wall: float64(time.Since(start)), cpu: processorTime(t) - cpu})
	}
	fmt.Printf("%.0f %.0f %d\n", best.wall, best.cpu, peakMemory(t))
}

// processorTime is that of all threads of this process, in nanoseconds.
func processorTime(t *testing.T) float64 {
	var ts unix.Timespec
	require.NoError(t, unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts))
	return float64(ts.Nano())
}

// peakMemory is the peak of resident memory in KiB. getrusage's would be the parent's.
func peakMemory(t *testing.T) int {
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	require.NoError(t, err)
	return kib
}

var parsedFile []byte // libbpf parses from memory too

func oursOnce(args []string) (err error) {
	mode, types := args[0], args[1]
	if mode == "parse" {
		if parsedFile == nil {
			if parsedFile, err = os.ReadFile(types); err != nil {
				return err
			}
		}
		_, err = btf.Parse(parsedFile, nil)
		return err
	}
	obj, err := loader.Open(args[3])
	if err != nil {
		return err
	}
	var spec *btf.Spec
	if obj.NeedsKernelTypes() {
		if spec, err = btffile.Load(types, nil); err != nil {
			return err
		}
	}
	l, err := obj.Load(loader.NewTarget(filepath.Base(types), spec), loader.LoadOptions{LinkOnly: args[0] == "relocate"})
	if err != nil {
		return err
	}
	return l.Err
}

func ciliumOnce(args []string) (err error) {
	mode, types := args[0], args[1]
	if mode == "parse" {
		if parsedFile == nil {
			if parsedFile, err = os.ReadFile(types); err != nil {
				return err
			}
		}
		_, err = cbtf.LoadSpecFromReader(bytes.NewReader(parsedFile))
		return err
	}
	f, err := os.Open(types)
	if err != nil {
		return err
	}
	defer f.Close()
	target, err := cbtf.LoadSpecFromReader(f)
	if err != nil {
		return err
	}
	spec, err := ebpf.LoadCollectionSpec(args[3])
	if err != nil {
		return err
	}
	for _, p := range spec.Programs {
		var relos []*cbtf.CORERelocation
		var insns []*asm.Instruction
		for i := range p.Instructions {
			if r := cbtf.CORERelocationMetadata(&p.Instructions[i]); r != nil {
				relos, insns = append(relos, r), append(insns, &p.Instructions[i])
			}
		}
		fixups, err := cbtf.CORERelocate(relos, []*cbtf.Spec{target}, binary.LittleEndian, func(cbtf.Type) (cbtf.TypeID, error) { return 1, nil })
		if err != nil {
			return err
		}
		for i := range fixups {
			if err := fixups[i].Apply(insns[i]); err != nil {
				return err
			}
		}
		if err := p.Instructions.Marshal(new(bytes.Buffer), binary.LittleEndian); err != nil && !strings.Contains(err.Error(), "reference") {
			return err
		}
	}
	return nil
}

// buildLibbpf links others/libbpf.c with the libbpf that BENCH_LIBBPF names, as compiler arguments:
// "-I/usr/include -lbpf".
func buildLibbpf(t *testing.T) string {
	flags := os.Getenv("BENCH_LIBBPF")
	if flags == "" {
		return ""
	}
	bin := filepath.Join(t.TempDir(), "libbpf")
	args := append([]string{"-O2", "-Iothers", "-I../conformance/libbpf", "-o", bin, "others/libbpf.c"}, strings.Fields(flags)...)
	out, err := exec.Command("gcc", append(args, "-lelf", "-lz")...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return bin
}

// shape is that of a generated object: programs that read chains of kernel fields.
type shape struct {
	name     string
	programs int
	shared   int // subprograms that several programs call
	calls    int // subprograms a program calls
	reads    int // chains of fields that a function reads
}

// shapes are those of the largest tools: many small programs, and fewer large ones with subprograms
// they share, as many of both as tracee has. The second has 309,845 instructions and 41,676
// relocations (clang 14), tracee 419,000 and 29,856.
var shapes = []shape{
	{name: "large object", programs: 1400, reads: 9},
	{name: "large object with shared subprograms", programs: 320, shared: 96, calls: 2, reads: 26},
}

// kernelTypes are the types and the read of a field that generated objects begin with.
const kernelTypes = `#define __core __attribute__((preserve_access_index))
typedef unsigned int u32; typedef unsigned long long u64;
static long (*const probe_read_kernel)(void *, u32, const void *) = (void *)113;
struct qstr { const unsigned char *name; } __core;
struct super_block { unsigned int s_dev; unsigned long s_magic; } __core;
struct inode { unsigned short i_mode; unsigned long i_ino; struct super_block *i_sb; unsigned int i_flags; } __core;
struct dentry { struct dentry *d_parent; struct qstr d_name; struct inode *d_inode; unsigned int d_flags; } __core;
struct vfsmount { struct dentry *mnt_root; int mnt_flags; } __core;
struct path { struct vfsmount *mnt; struct dentry *dentry; } __core;
struct file { struct path f_path; struct inode *f_inode; unsigned int f_flags; long long f_pos; } __core;
struct mm_struct { struct file *exe_file; unsigned long arg_start, arg_end, start_code, start_stack; } __core;
struct ns_common { unsigned int inum; } __core;
struct pid_namespace { struct ns_common ns; unsigned int level; } __core;
struct uts_namespace { struct ns_common ns; } __core;
struct nsproxy { struct pid_namespace *pid_ns_for_children; struct uts_namespace *uts_ns; } __core;
struct cred { unsigned int uid, gid, euid, egid; unsigned long cap_effective; } __core;
struct signal_struct { int group_exit_code; } __core;
struct task_struct { int pid, tgid, exit_code; unsigned int flags; unsigned long long start_time; struct task_struct *real_parent, *group_leader;
	struct mm_struct *mm; const struct cred *cred, *real_cred; struct nsproxy *nsproxy; struct signal_struct *signal; } __core;
#define R(p, f) ({ probe_read_kernel(&v, sizeof((p)->f), &(p)->f); (__typeof__((p)->f))v; })
#define READS(x) asm volatile("" ::: "memory"); x // without it the compiler keeps all offsets at hand, and the stack overflows
`

// kernelFields are values that are read from a task t.
var kernelFields = []string{
	"R(t, pid)", "R(t, tgid)", "R(t, exit_code)", "R(t, flags)", "R(t, start_time)", "R(R(t, real_parent), pid)", "R(R(t, group_leader), tgid)",
	"R(R(t, mm), arg_start)", "R(R(t, mm), start_stack)", "R(R(R(t, mm), exe_file), f_flags)", "R(R(R(R(t, mm), exe_file), f_path.dentry), d_flags)",
	"(u64)R(R(R(R(t, mm), exe_file), f_path.dentry), d_name.name)", "R(R(R(R(t, mm), exe_file), f_inode), i_ino)",
	"R(R(R(R(R(t, mm), exe_file), f_inode), i_sb), s_dev)", "R(R(R(t, nsproxy), pid_ns_for_children), ns.inum)", "R(R(R(t, nsproxy), uts_ns), ns.inum)",
	"R(R(t, cred), uid)", "R(R(t, real_cred), euid)", "R(R(t, signal), group_exit_code)", "R(R(R(R(t, mm), exe_file), f_path.mnt), mnt_flags)",
	"R(R(R(R(R(t, real_parent), mm), exe_file), f_inode), i_mode)", "R(R(R(R(t, real_parent), real_parent), group_leader), pid)",
}

// body is what a function of number n does with a task.
func (s *shape) body(b *strings.Builder, n int) {
	for r := range s.reads {
		read := kernelFields[(n+r)%len(kernelFields)]
		fmt.Fprintf(b, "READS(sum = sum * %d + %s); sum ^= sum >> %d; sum += (sum << %d) ^ %d;\n", 31+r, read, 1+r%30, 1+(n+r)%20, n*s.reads+r)
	}
}

// source is the object as C.
func (s *shape) source() string {
	var b strings.Builder
	b.WriteString(kernelTypes)
	for n := range s.shared {
		fmt.Fprintf(&b, "static __attribute__((noinline)) u64 s%d(struct task_struct *t, u64 sum) {\nu64 v = 0;\n", n)
		s.body(&b, n)
		b.WriteString("return sum; }\n")
	}
	for p := range s.programs {
		fmt.Fprintf(&b, "__attribute__((section(\"kprobe/f%d\"), used)) int p%d(u64 *ctx) {\nstruct task_struct *t = (void *)ctx[0]; u64 sum = 0, v = 0;\n", p, p)
		s.body(&b, s.shared+p)
		for c := range s.calls {
			fmt.Fprintf(&b, "sum += s%d(t, sum);\n", (p*s.calls+c)%s.shared)
		}
		b.WriteString("return sum; }\n")
	}
	b.WriteString("char _license[] __attribute__((section(\"license\"))) = \"GPL\";\n")
	return b.String()
}

// build compiles an object, in the directory BENCH_BIG, where it stays for the next time, if that
// is set.
func (s *shape) build(t *testing.T) string {
	dir := os.Getenv("BENCH_BIG")
	if dir == "" {
		dir = t.TempDir()
	}
	src, obj := filepath.Join(dir, strconv.Itoa(s.programs)+".bpf.c"), filepath.Join(dir, strconv.Itoa(s.programs)+".bpf.o")
	if have, err := os.ReadFile(src); err != nil || string(have) != s.source() {
		require.NoError(t, os.WriteFile(src, []byte(s.source()), 0o666))
		out, err := exec.Command("clang", "-target", "bpf", "-O2", "-g", "-mcpu=v3", "-c", "-o", obj, src).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	o, err := loader.Open(obj)
	require.NoError(t, err)
	insns, relos := 0, 0
	for _, f := range o.Functions {
		insns += len(f.Insns)
	}
	for _, s := range o.Ext.CORE {
		relos += len(s.Records)
	}
	t.Logf("%s: %d instructions, %d relocations", s.name, insns, relos)
	return obj
}

// TestCoreCompare measures BTF and CO-RE against libbpf and cilium/ebpf in the same run and prints
// a table in Markdown: BENCH_CORE=1, BENCH_LIBBPF with the compiler arguments for libbpf,
// BPFRUN_CORPUS for real tools.
func TestCoreCompare(t *testing.T) {
	if os.Getenv("BENCH_CORE") == "" {
		t.Skip("BENCH_CORE is not set")
	}
	types := filepath.Join(t.TempDir(), rawName+".btf")
	require.NoError(t, os.WriteFile(types, rawTypes(t), 0o666))
	libbpf := buildLibbpf(t)
	type task struct {
		name, mode, object string
		n                  int
	}
	tasks := []task{{"parse of the kernel's BTF", "parse", "", 10}}
	for _, path := range startObjects(t) {
		name, _, _ := strings.Cut(filepath.Base(path), ".")
		tasks = append(tasks, task{name, "relocate", path, 5})
	}
	if _, err := exec.LookPath("clang"); err == nil {
		for _, s := range shapes {
			tasks = append(tasks, task{s.name, "relocate", s.build(t), 1})
		}
	}
	fmt.Println("| work | bpfrun ms, cpu ms, MB | libbpf | ratio of wall, cpu | cilium/ebpf | ratio of wall, cpu |\n|---|---:|---:|---:|---:|---:|")
	for _, x := range tasks {
		var best [3]figures
		var failed [3]error
		for range 8 {
			for i, args := range [][]string{{os.Args[0], "bpfrun"}, {libbpf}, {os.Args[0], "cilium"}} {
				if args[0] == "" || failed[i] != nil {
					continue
				}
				args = append(args, x.mode, types, strconv.Itoa(x.n), x.object)
				f, err := runCore(args[0], args[1:]...)
				if failed[i] = err; err != nil {
					t.Log(err)
					continue
				}
				best[i].keep(f)
			}
		}
		fmt.Printf("| %s | %s |", x.name, best[0])
		for _, b := range best[1:] {
			if b.wall == 0 {
				fmt.Print(" – | – |")
				continue
			}
			fmt.Printf(" %s | %s, %s |", b, ratio(best[0].wall/b.wall), ratio(best[0].cpu/b.cpu))
		}
		fmt.Println()
	}
}

func (f figures) String() string {
	return fmt.Sprintf("%.1f, %.1f, %.0f", f.wall/1e6, f.cpu/1e6, f.rss/1e6)
}
