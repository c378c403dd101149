package bench

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/jit"
	"github.com/bpfrun/bpfrun/vm"
)

// A contender runs a program on one machine. Its figures are the best of windows that alternate
// with the others'.
type contender struct {
	name string
	// prepare returns what measures one window, in nanoseconds a run; nil when the program cannot
	// run there.
	prepare func(t *testing.T, c *comparison) func() float64
}

// comparison is one program with what the contenders need of it.
type comparison struct {
	name  string
	p     *program
	ret   uint64
	insns uint64
	dir   string // holds code and input as files
}

// window times runs for at least 3 ms by the processor time of this thread, and gives the best of
// several such times: other work on the machine must not decide.
func window(run func()) float64 {
	const times = 5
	best := 0.0
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for n, done := 1, 0; done < times; {
		start := clock()
		for range n {
			run()
		}
		d := clock() - start
		if d < 3*time.Millisecond {
			n *= 2
			continue
		}
		done++
		if ns := float64(d.Nanoseconds()) / float64(n); best == 0 || ns < best {
			best = ns
		}
	}
	return best
}

func stepper(slice uint64) func(t *testing.T, c *comparison) func() float64 {
	return func(t *testing.T, c *comparison) func() float64 {
		return func() float64 {
			return window(func() {
				if c.p.run(slice) != vm.Done {
					t.Fatal(c.p.m.Thread().Status(), c.p.m.Thread().StopReason(), c.p.m.Thread().Fault())
				}
			})
		}
	}
}

// jitRuns runs a program as native code.
func jitRuns(t *testing.T, c *comparison) func() float64 {
	if !jit.Supported() {
		return nil
	}
	p := load(t, c.name)
	p.compile(t)
	return func() float64 {
		return window(func() {
			if p.run(1<<40) != vm.Done || p.m.Thread().Ret() != c.ret {
				t.Fatal(p.m.Thread().Ret(), p.m.Thread().Fault())
			}
		})
	}
}

func plainRuns(t *testing.T, c *comparison) func() float64 {
	if usesMaps(c.name) {
		return nil
	}
	x := plain{mem: input()}
	return func() float64 {
		return window(func() {
			ret, err := x.run(c.p.linked.Insns)
			if err != nil || ret != c.ret {
				t.Fatal(ret, err)
			}
		})
	}
}

// external is a program of others/: it prints the result and its best time.
func external(t *testing.T, c *comparison, cmd string, args ...string) func() float64 {
	once := func() (float64, error) {
		out, err := exec.Command(cmd, args...).Output()
		if err != nil {
			return 0, err
		}
		f := strings.Fields(string(out))
		if len(f) != 2 {
			return 0, fmt.Errorf("%s printed %q", cmd, out)
		}
		ret, err := strconv.ParseUint(strings.TrimPrefix(f[0], "0x"), 16, 64)
		if err != nil {
			return 0, err
		}
		if ret != c.ret {
			return 0, fmt.Errorf("%s returns %#x, want %#x", cmd, ret, c.ret)
		}
		return strconv.ParseFloat(f[1], 64)
	}
	if _, err := once(); err != nil {
		t.Logf("%s: %s: %v", c.name, filepath.Base(cmd), err)
		return nil
	}
	return func() float64 {
		ns, err := once()
		if err != nil {
			t.Fatal(err)
		}
		return ns
	}
}

// compiler finds a C compiler: $BENCH_CC, or the first of the usual names.
func compiler() string {
	for _, name := range []string{os.Getenv("BENCH_CC"), "clang", "clang-14", "cc", "gcc"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path
		}
	}
	return ""
}

func nativeRuns(t *testing.T, c *comparison) func() float64 {
	cc := compiler()
	if cc == "" || usesMaps(c.name) {
		return nil
	}
	bin := filepath.Join(c.dir, "native")
	// Without -fno-builtin, as one would compile it.
	cmd := exec.Command(cc, "-O2", "-w", "-DNATIVE", "-DENTRY="+c.name, "-Itestdata", "-Iothers", "-o", bin, "others/native.c", "testdata/"+c.name+".bpf.c")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Logf("%s: %s\n%s", c.name, err, out)
		return nil
	}
	return external(t, c, bin, filepath.Join(c.dir, "input"))
}

// otherRuns is a machine whose command an environment variable names.
func otherRuns(variable string, args ...string) func(t *testing.T, c *comparison) func() float64 {
	return func(t *testing.T, c *comparison) func() float64 {
		cmd := os.Getenv(variable)
		if cmd == "" || usesMaps(c.name) {
			return nil
		}
		return external(t, c, cmd, append(args, filepath.Join(c.dir, "code"), filepath.Join(c.dir, "input"))...)
	}
}

// geomean is the geometric mean.
func geomean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += math.Log(x)
	}
	return math.Exp(sum / float64(len(v)))
}

// TestCompare measures all contenders in the same run and prints a table of ratios in Markdown:
// BENCH_COMPARE=1.
func TestCompare(t *testing.T) {
	if os.Getenv("BENCH_COMPARE") == "" {
		t.Skip("BENCH_COMPARE is not set")
	}
	compare(t, []contender{
		{"bpfrun", stepper(1 << 40)}, {"step", stepper(1)}, {"plain", plainRuns}, {"native", nativeRuns}, {"kernel JIT", kernelRuns},
		{"uBPF", otherRuns("BENCH_UBPF", "interp")}, {"uBPF JIT", otherRuns("BENCH_UBPF", "jit")}, {"mimic", otherRuns("BENCH_MIMIC")},
	})
}

// TestCompareJIT is TestCompare for native code: BENCH_JIT=1.
func TestCompareJIT(t *testing.T) {
	if os.Getenv("BENCH_JIT") == "" {
		t.Skip("BENCH_JIT is not set")
	}
	compare(t, []contender{
		{"bpfrun JIT", jitRuns}, {"native", nativeRuns}, {"kernel JIT", kernelRuns}, {"uBPF JIT", otherRuns("BENCH_UBPF", "jit")},
		{"interpreter", stepper(1 << 40)},
	})
}

// compare prints the table: the first contender's time, and by the others' divided.
func compare(t *testing.T, contenders []contender) {
	const rounds = 8
	ratios := make([][]float64, len(contenders)) // against the first
	perInsn := make([][]float64, len(contenders))
	fmt.Printf("| program | instructions | ns/insn |")
	for _, c := range contenders[1:] {
		fmt.Printf(" %s |", c.name)
	}
	fmt.Printf("\n|---|---:|---:|%s\n", strings.Repeat("---:|", len(contenders)-1))
	only := regexp.MustCompile(os.Getenv("BENCH_ONLY"))
	for _, name := range names(t) {
		if !only.MatchString(name) {
			continue
		}
		c := &comparison{name: name, p: load(t, name), dir: t.TempDir()}
		require.Equal(t, vm.Done, c.p.run(1<<40))
		c.ret, c.insns = c.p.m.Thread().Ret(), c.p.m.Thread().Insns()
		require.NoError(t, os.WriteFile(filepath.Join(c.dir, "input"), input(), 0o666))
		require.NoError(t, os.WriteFile(filepath.Join(c.dir, "code"), decode.Marshal(c.p.linked.Insns, binary.LittleEndian), 0o666))
		windows := make([]func() float64, len(contenders))
		for i, x := range contenders {
			windows[i] = x.prepare(t, c)
		}
		best := make([]float64, len(contenders))
		for range rounds {
			for i, w := range windows {
				if w == nil {
					continue
				}
				if ns := w(); best[i] == 0 || ns < best[i] {
					best[i] = ns
				}
			}
		}
		fmt.Printf("| %s | %d | %.2f |", name, c.insns, best[0]/float64(c.insns))
		for i := range contenders {
			if best[i] == 0 {
				fmt.Printf(" – |")
				continue
			}
			perInsn[i] = append(perInsn[i], best[i]/float64(c.insns))
			if i > 0 {
				ratios[i] = append(ratios[i], best[0]/best[i])
				fmt.Printf(" %s |", ratio(best[0]/best[i]))
			}
		}
		fmt.Println()
	}
	fmt.Printf("| **geomean** | | %.2f |", geomean(perInsn[0]))
	for i := range contenders[1:] {
		if len(ratios[i+1]) == 0 {
			fmt.Printf(" – |")
			continue
		}
		fmt.Printf(" **%s** |", ratio(geomean(ratios[i+1])))
	}
	fmt.Println()
}

// ratio prints two significant digits below ten.
func ratio(x float64) string {
	switch {
	case x >= 9.95:
		return fmt.Sprintf("%.0f", x)
	case x >= 0.995:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.2f", x)
}
