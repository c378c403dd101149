package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

// options are the flags.
type options struct {
	pairs, runs int
	seed        uint64
	time, order time.Duration
	clang       string
	fifo        bool
}

func main() {
	var o options
	flag.IntVar(&o.pairs, "pairs", 50, "compare `N` pairs")
	flag.IntVar(&o.runs, "runs", 1_000_000, "run each pair `N` times on the kernel")
	flag.Uint64Var(&o.seed, "seed", 1, "the first pair's `SEED`")
	flag.DurationVar(&o.time, "time", 5*time.Minute, "stop the kernel's runs after `TIME`; pairs get equal parts")
	flag.DurationVar(&o.order, "order", 20*time.Second, "leave out pairs whose orders take longer than `TIME`")
	flag.BoolVar(&o.fifo, "fifo", false, "run programs with real-time priority, some milliseconds at a time: on a busy machine they do not meet otherwise")
	flag.StringVar(&o.clang, "clang", "clang", "the `COMPILER`")
	flag.Parse()
	if err := o.compare(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "races:", err)
		os.Exit(1)
	}
}

// compile compiles pairs.
func (o *options) compile(dir string, pairs []*pair) (string, error) {
	src, obj := filepath.Join(dir, "races.bpf.c"), filepath.Join(dir, "races.bpf.o")
	if err := os.WriteFile(src, []byte(source(pairs)), 0o600); err != nil {
		return "", err
	}
	cmd := exec.Command(o.clang, "-target", "bpf", "-g", "-O2", "-mcpu=v3", "-I/usr/include/x86_64-linux-gnu", "-c", src, "-o", obj)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", o.clang, err, out)
	}
	return obj, nil
}

// candidate is a pair with the outcomes that race calls possible.
type candidate struct {
	*pair
	all, sequential map[outcome]bool
}

// compare compares the outcomes of all pairs.
func (o *options) compare(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "races")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var pairs []*pair
	for i := range 2 * o.pairs { // some may have too many orders
		pairs = append(pairs, generate(o.seed+uint64(i)))
	}
	object, err := o.compile(dir, pairs)
	if err != nil {
		return err
	}
	list, left, err := o.orders(ctx, object, pairs)
	if err != nil {
		return err
	}
	h, err := newHost(object, o.fifo)
	if err != nil {
		return err
	}
	end := time.Now().Add(o.time)
	runs, seen, wrong, between := 0, 0, 0, 0
	for i, c := range list {
		got, err := h.run(c.pair, o.runs, time.Now().Add(time.Until(end)/time.Duration(len(list)-i)))
		if err != nil {
			return fmt.Errorf("pair %d: %w", c.seed, err)
		}
		n, unsequential := 0, 0
		for out, times := range got {
			n += times
			if !c.sequential[out] {
				unsequential++
			}
			if !c.all[out] {
				wrong++
				fmt.Printf("pair %d: the kernel has an outcome that no order has, %d times: %x\n%s---\n%s", c.seed, times, out, c.bodies[0], c.bodies[1])
			}
		}
		fmt.Printf("pair %d: %d runs, %d outcomes, %d of them of no sequential order; possible are %d and %d\n", c.seed, n, len(got), unsequential, len(c.all), len(c.all)-sequentialOf(&c))
		runs, seen, between = runs+n, seen+len(got), between+unsequential
	}
	fmt.Printf("%d pairs (%d left out), %d runs: %d outcomes, %d of them of no sequential order; %d that race does not call possible\n", len(list), left, runs, seen, between, wrong)
	if wrong > 0 {
		return fmt.Errorf("%d outcomes are not possible", wrong)
	}
	return nil
}

// sequentialOf counts the possible outcomes of sequential orders.
func sequentialOf(c *candidate) (n int) {
	for out := range c.all {
		if c.sequential[out] {
			n++
		}
	}
	return n
}

// orders follows the orders of pairs until there are enough whose orders are few enough.
func (o *options) orders(ctx context.Context, object string, pairs []*pair) (list []candidate, left int, err error) {
	obj, err := loader.Open(object)
	if err != nil {
		return nil, 0, err
	}
	spec, err := embedded.Spec()
	if err != nil {
		return nil, 0, err
	}
	linked, err := obj.Load(loader.NewTarget(embedded.Name, spec), loader.LoadOptions{})
	if err != nil {
		return nil, 0, err
	}
	m, err := machine.New(linked, machine.Config{Uncovered: true, Unwatched: true, Restores: true, CPUs: 2, MaxInsns: 1 << 20})
	if err != nil {
		return nil, 0, err
	}
	defer m.Close()
	var why []string
	for _, p := range pairs {
		if len(list) == o.pairs {
			break
		}
		all, sequential, err := possible(ctx, m, p, o.order)
		if err != nil {
			left++
			why = append(why, fmt.Sprintf("pair %d: %v", p.seed, err))
			continue
		}
		list = append(list, candidate{p, all, sequential})
	}
	if len(list) == 0 {
		return nil, left, fmt.Errorf("no pair can be compared: %s", strings.Join(why, "; "))
	}
	return list, left, nil
}
