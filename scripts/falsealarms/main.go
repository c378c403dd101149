// Command falsealarms compiles correct programs with many compilers and options, runs them on many kernels with both engines, and fails
// if bpfrun reports a problem, a warning or a finding for any of them. With --wrong it also compiles programs with mistakes, and fails if
// bpfrun does not find them: a check that finds nothing anywhere has no false alarms either.
//
//	go run ./scripts/falsealarms --clang clang-14 --clang clang-19 --btf embedded --btf 'corpus/btf/*.btf.xz' \
//		--wrong testdata/src/wrongfields.bpf.c testdata/falsealarms/*.c
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/report"
)

// list is a flag that may be repeated.
type list []string

func (l *list) String() string     { return strings.Join(*l, ",") }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }

func main() {
	var clangs, kernels list
	var bpfrun string
	flag.Var(&clangs, "clang", "compiler `COMMAND`, which may have arguments; repeatable")
	flag.Var(&kernels, "btf", "`KERNEL` as of bpfrun; repeatable")
	flag.StringVar(&bpfrun, "bpfrun", "./bpfrun", "the command to test")
	least := flag.Int("least", 5, "at least `N` kernels")
	flag.Parse()
	if err := run(clangs, kernels, bpfrun, *least, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "falsealarms:", err)
		os.Exit(1)
	}
}

func run(clangs, kernels []string, bpfrun string, least int, sources []string) error {
	dir, err := os.MkdirTemp(".", "falsealarms-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var objects []string
	for _, clang := range clangs {
		made, err := compile(clang, dir, sources)
		if err != nil {
			return err
		}
		fmt.Printf("%s: %d objects\n", clang, len(made))
		objects = append(objects, made...)
	}
	if len(objects) == 0 {
		return fmt.Errorf("no objects: name sources and compilers")
	}
	var wrong []string
	total, old, seen := 0, 0, map[string]bool{}
	for _, engine := range []string{"interp", "jit"} {
		for part := range slices.Chunk(objects, 40) {
			args := append([]string{"--json", "--engine", engine}, part...)
			for _, k := range kernels {
				args = append(args, "--btf", k)
			}
			cmd := exec.Command(bpfrun, args...)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			var docs report.Documents
			if jsonErr := json.Unmarshal(out, &docs); jsonErr != nil {
				return fmt.Errorf("%s: %w (%v)\n%s", bpfrun, jsonErr, err, stderr.String())
			}
			for _, d := range docs.Results {
				if d.Target != nil {
					seen[d.Target.Name] = true
				}
				n, no, problems := judge(d)
				total, old = total+n, old+no
				for _, p := range problems {
					wrong = append(wrong, engine+": "+p)
				}
			}
			for line := range strings.Lines(stderr.String()) {
				wrong = append(wrong, engine+": "+strings.TrimSpace(line))
			}
		}
	}
	for _, w := range wrong {
		fmt.Println(w)
	}
	if len(seen) < least {
		return fmt.Errorf("%d kernels, want %d (make corpus fetches more)", len(seen), least)
	}
	fmt.Printf("%d runs of %d objects on %d kernels with both engines: %d false alarms (%d programs rightly refused: their instructions are newer than the kernel)\n",
		total, len(objects), len(seen), len(wrong), old)
	if len(wrong) > 0 {
		return fmt.Errorf("a correct program was found fault with")
	}
	return nil
}

// compile compiles every source with every combination of options that the compiler supports.
func compile(clang, dir string, sources []string) ([]string, error) {
	command := strings.Fields(clang)
	name := filepath.Base(command[len(command)-1])
	var out []string
	for _, cpu := range []string{"v1", "v2", "v3", "v4"} {
		for _, opt := range []string{"-O1", "-O2", "-Os"} {
			for _, src := range sources {
				obj := filepath.Join(dir, fmt.Sprintf("%s-%s%s-%s.o", strings.TrimSuffix(filepath.Base(src), ".bpf.c"), name, opt, cpu))
				args := append(slices.Clone(command[1:]), "-target", "bpfel", "-mcpu="+cpu, opt, "-g", "-Wall", "-Wno-unused-function",
					"-D__TARGET_ARCH_x86", "-Iexamples/include", "-c", src, "-o", obj)
				text, err := exec.Command(command[0], args...).CombinedOutput()
				if cpu == "v4" && err != nil && strings.Contains(string(text), "v4") {
					return out, nil // the compiler is too old for v4 instructions
				}
				if err != nil {
					return nil, fmt.Errorf("%s %s: %w\n%s", clang, strings.Join(args, " "), err, text)
				}
				out = append(out, obj)
			}
		}
	}
	return out, nil
}

// newer is part of bpfrun's message for instructions that a kernel does not know. -mcpu determines which instructions compilers emit: v3
// and later have atomic operations that return a value (Linux 5.12), which clang 22 uses for __sync_fetch_and_add even if the value is
// unused.
const newer = "instruction is newer than the kernel"

// judge lists the problems that bpfrun reports for a correct program. A hook that the kernel lacks is not a false alarm, nor is an object
// for -mcpu=v3 or v4 that an old kernel rightly refuses.
func judge(d *report.RunDocument) (runs, refused int, problems []string) {
	where := d.Object
	if d.Target != nil {
		where += " on " + d.Target.Name
	}
	if d.Error != nil {
		problems = append(problems, where+": "+d.Error.Message)
	}
	for _, w := range d.Warnings {
		problems = append(problems, where+": "+w)
	}
	for _, p := range d.Programs {
		if p.Status != "ok" && p.Status != "absent" {
			text := p.Status
			if p.Error != nil && strings.Contains(p.Error.Message, newer) && (strings.HasSuffix(d.Object, "-v3.o") || strings.HasSuffix(d.Object, "-v4.o")) {
				refused++
				continue
			}
			if p.Error != nil {
				text += ": " + p.Error.Message
			}
			problems = append(problems, where+": "+p.Name+": "+text)
		}
		for _, r := range p.Runs {
			runs++
			if r.Fault != nil {
				problems = append(problems, where+": "+p.Name+": "+r.Fault.Text)
			}
			for _, w := range r.Warnings {
				problems = append(problems, where+": "+p.Name+": "+w)
			}
		}
	}
	return runs, refused, problems
}
