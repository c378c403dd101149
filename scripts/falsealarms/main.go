// Command falsealarms compiles correct programs with many compilers and options, runs them on many
// kernels with both engines, and fails if bpfrun reports a problem, a warning or a finding for any
// of them. With --wrong it also compiles programs with mistakes, and fails if bpfrun does not find
// them: a check that finds nothing anywhere has no false alarms either.
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

	"github.com/bpfrun/bpfrun/internal/app/report"
)

// list is a flag that may be repeated.
type list []string

func (l *list) String() string     { return strings.Join(*l, ",") }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }

func main() {
	var clangs, kernels, mistaken list
	c := checker{seen: map[string]bool{}}
	flag.Var(&clangs, "clang", "compiler `COMMAND`, which may have arguments; repeatable")
	flag.Var(&kernels, "btf", "`KERNEL` as of bpfrun; repeatable")
	flag.Var(&mistaken, "wrong", "`SOURCE` with mistakes in the lines that end in /* wrong */, which must be found; repeatable")
	flag.StringVar(&c.bpfrun, "bpfrun", "./bpfrun", "the command to test")
	least := flag.Int("least", 5, "at least `N` kernels")
	flag.Parse()
	c.kernels = kernels
	if err := c.run(clangs, mistaken, *least, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "falsealarms:", err)
		os.Exit(1)
	}
}

// checker runs objects and collects what is wrong with the results.
type checker struct {
	bpfrun  string
	kernels []string
	// seen are the kernels that there were results for; wrong are problems, in words.
	seen  map[string]bool
	wrong []string
	// runs and refused count the programs that ran, and those that a kernel rightly refuses;
	// mistakes those that were found.
	runs, refused, mistakes int
}

func (c *checker) run(clangs, mistaken []string, least int, sources []string) error {
	dir, err := os.MkdirTemp(".", "falsealarms-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	correct, err := compileAll(clangs, dir, sources)
	if err != nil {
		return err
	}
	if len(correct) == 0 {
		return fmt.Errorf("no objects: name sources and compilers")
	}
	if err := c.each(correct, c.judge); err != nil {
		return err
	}
	for _, source := range mistaken {
		marked, err := markedLines(source)
		if err != nil {
			return err
		}
		objects, err := compileAll(clangs, dir, []string{source})
		if err != nil {
			return err
		}
		err = c.each(objects, func(d *report.RunDocument) []string { return c.judgeMistakes(d, marked) })
		if err != nil {
			return err
		}
	}
	for _, w := range c.wrong {
		fmt.Println(w)
	}
	if len(c.seen) < least {
		return fmt.Errorf("%d kernels, want %d (make corpus fetches more)", len(c.seen), least)
	}
	fmt.Printf("%d runs of %d objects on %d kernels with both engines: %d false alarms, %d mistakes found (%d programs rightly refused: the kernel is older than what they use)\n",
		c.runs, len(correct), len(c.seen), len(c.wrong), c.mistakes, c.refused)
	if len(c.wrong) > 0 {
		return fmt.Errorf("a correct program was found fault with, or a mistake was not found")
	}
	return nil
}

// each runs objects on all kernels with both engines and judges the results.
func (c *checker) each(objects []string, judge func(d *report.RunDocument) []string) error {
	for _, engine := range []string{"interp", "jit"} {
		for part := range slices.Chunk(objects, 40) {
			args := append([]string{"--json", "--engine", engine}, part...)
			for _, k := range c.kernels {
				args = append(args, "--btf", k)
			}
			cmd := exec.Command(c.bpfrun, args...)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			var docs report.Documents
			if jsonErr := json.Unmarshal(out, &docs); jsonErr != nil {
				return fmt.Errorf("%s: %w (%v)\n%s", c.bpfrun, jsonErr, err, stderr.String())
			}
			for _, d := range docs.Results {
				if d.Target != nil {
					c.seen[d.Target.Name] = true
				}
				for _, p := range judge(d) {
					c.wrong = append(c.wrong, engine+": "+p)
				}
			}
			for line := range strings.Lines(stderr.String()) {
				c.wrong = append(c.wrong, engine+": "+strings.TrimSpace(line))
			}
		}
	}
	return nil
}

func compileAll(clangs []string, dir string, sources []string) ([]string, error) {
	var objects []string
	for _, clang := range clangs {
		made, err := compile(clang, dir, sources)
		if err != nil {
			return nil, err
		}
		fmt.Printf("%s: %d objects\n", clang, len(made))
		objects = append(objects, made...)
	}
	return objects, nil
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

// rightly reports whether a kernel refuses an object for something that it does not know. -mcpu
// determines which instructions compilers emit: v3 and later have atomic operations that return a
// value (Linux 5.12), which clang 22 uses for __sync_fetch_and_add even if the value is unused.
// Helpers are newer than a kernel in programs with callbacks, and a kernel for another processor has
// no x86 registers, of which programs of kretprobes read the result.
func rightly(object, message string) bool {
	return strings.Contains(message, "not known to this kernel: helper") ||
		strings.Contains(message, "pt_regs.ax does not exist in the kernel") ||
		strings.Contains(message, "instruction is newer than the kernel") && (strings.HasSuffix(object, "-v3.o") || strings.HasSuffix(object, "-v4.o"))
}

func place(d *report.RunDocument) string {
	if d.Target == nil {
		return d.Object
	}
	return d.Object + " on " + d.Target.Name
}

// judge lists the problems that bpfrun reports for a correct program. A hook that the kernel lacks
// is not a false alarm.
func (c *checker) judge(d *report.RunDocument) (problems []string) {
	problem := func(text string) { problems = append(problems, place(d)+": "+text) }
	if d.Error != nil {
		problem(d.Error.Message)
	}
	for _, w := range d.Warnings {
		problem(w)
	}
	for _, p := range d.Programs {
		if p.Status != "ok" && p.Status != "absent" {
			text := p.Status
			if p.Error != nil && rightly(d.Object, p.Error.Message) {
				c.refused++
				continue
			}
			if p.Error != nil {
				text += ": " + p.Error.Message
			}
			problem(p.Name + ": " + text)
		}
		for _, r := range p.Runs {
			c.runs++
			if r.Fault != nil {
				problem(p.Name + ": " + r.Fault.Text)
			}
			for _, w := range r.Warnings {
				problem(p.Name + ": " + w)
			}
			for _, f := range r.Findings {
				problem(fmt.Sprintf("%s: %s: %s at %s", p.Name, f.Kind, f.Text, f.Source))
			}
			if r.Validation == nil {
				continue
			}
			for _, f := range r.Validation.Findings {
				problem(fmt.Sprintf("%s: %s: %s at %s", p.Name, f.Kind, f.Text, f.Source))
			}
		}
	}
	return problems
}

// markedLines returns the numbers of a source's lines that end in a mark.
func markedLines(source string) (map[string]bool, error) {
	text, err := os.ReadFile(source)
	if err != nil {
		return nil, err
	}
	marked := map[string]bool{}
	for i, line := range strings.Split(string(text), "\n") {
		if strings.HasSuffix(line, "/* wrong */") {
			marked[fmt.Sprint(i+1)] = true
		}
	}
	if len(marked) == 0 {
		return nil, fmt.Errorf("%s: no line ends in /* wrong */", source)
	}
	return marked, nil
}

// judgeMistakes lists the marked lines without a finding, and findings elsewhere. Where a kernel
// does not know the helper of a program, the object says nothing about its lines.
func (c *checker) judgeMistakes(d *report.RunDocument, marked map[string]bool) (problems []string) {
	found, complete := map[string]bool{}, true
	for _, p := range d.Programs {
		complete = complete && p.Status == "ok"
		for _, r := range p.Runs {
			list := r.Findings
			if r.Validation != nil {
				for _, f := range r.Validation.Findings {
					list = append(list, report.RunFinding{Kind: string(f.Kind), Program: f.Program, Source: f.Source, Text: f.Text})
				}
			}
			for _, f := range list {
				_, rest, _ := strings.Cut(f.Source, ".c:")
				line, _, _ := strings.Cut(rest, ":")
				if !marked[line] {
					problems = append(problems, fmt.Sprintf("%s: %s: %s: %s at %s", place(d), p.Name, f.Kind, f.Text, f.Source))
				}
				found[line] = true
			}
		}
	}
	c.mistakes += len(found)
	for line := range marked {
		if complete && !found[line] {
			problems = append(problems, fmt.Sprintf("%s: the mistake in line %s was not found", place(d), line))
		}
	}
	return problems
}
