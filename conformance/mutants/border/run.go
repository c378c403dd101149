package main

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bpfrun/bpfrun/internal/testing/mutate"
)

// loopFactor is how much more processor time than without mutants, and graceTime how much on top,
// tests may take: a mutant that needs more loops, or makes the product much slower.
const (
	loopFactor = 5
	graceTime  = 5 * time.Second
)

// Words of results that name no test.
const (
	survived  = "survived"
	unreached = "decides in no test"
)

// judge tests the mutants of a sample.
type judge struct {
	options
	mutate.Bench
	sample []mutate.Border
	left   map[int]bool
	bin    map[string]string
	// reachedBy has, by mutant, the tests in which it decides, the quickest first, those of its own
	// package before others.
	reachedBy map[int][]*mutate.Single
	result    map[int]string
}

func run(o *options, stop <-chan os.Signal) error {
	root, err := mutate.Root()
	if err != nil {
		return err
	}
	all, err := packages(root)
	if err != nil {
		return err
	}
	found, err := mutants(root, all, o.packages)
	if err != nil {
		return err
	}
	var sample []mutate.Border
	if o.again == "" {
		sample = mutate.Sample(found, o.n, o.seed)
	} else if sample, err = survivors(found, o.again); err != nil {
		return err
	}
	j := &judge{options: *o, sample: sample, left: map[int]bool{}, bin: map[string]string{},
		reachedBy: map[int][]*mutate.Single{}, result: map[int]string{}}
	fmt.Printf("%d mutants of %d, seed %d\n", len(j.sample), len(found), o.seed)
	if o.list {
		for i := range j.sample {
			fmt.Println(i+1, &j.sample[i])
		}
		return nil
	}
	dir, err := os.MkdirTemp("", "border")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	overlay, err := compiling(root, dir, j.sample, j.left)
	if err != nil {
		return err
	}
	j.Root, j.Dir, j.Overlay = root, dir, overlay
	if err := j.resume(); err != nil {
		return err
	}
	if err := j.surveyAll(all, stop); err != nil {
		return err
	}
	j.judgeAll(stop)
	j.report()
	return nil
}

// resume reads the results of an earlier run of the same sample.
func (j *judge) resume() error {
	if j.results == "" {
		return nil
	}
	known, err := readResults(j.results)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for i := range j.sample {
		if r, ok := known[j.sample[i].String()]; ok {
			j.result[i] = r
		}
	}
	return nil
}

// surveyAll finds out in which tests which mutants decide.
func (j *judge) surveyAll(all []pkg, stop <-chan os.Signal) error {
	own := map[string]bool{}
	for i := range j.sample {
		own[path.Dir(j.sample[i].File)] = !j.left[i] || own[path.Dir(j.sample[i].File)]
	}
	for _, p := range all {
		if j.own && !own[p.rel] || !beginsWith(p.rel, j.tests) {
			continue
		}
		if len(p.TestGoFiles)+len(p.XTestGoFiles) == 0 || strings.HasPrefix(p.rel, "scripts") || strings.HasPrefix(p.rel, "conformance/mutants") {
			continue
		}
		select {
		case <-stop:
			return fmt.Errorf("interrupted")
		default:
		}
		if err := j.survey(p.rel); err != nil {
			fmt.Println("left out:", err)
		}
	}
	for i, by := range j.reachedBy {
		own := path.Dir(j.sample[i].File)
		slices.SortFunc(by, func(a, b *mutate.Single) int {
			return cmp.Or(cmp.Compare(boolInt(b.Pkg == own), boolInt(a.Pkg == own)), cmp.Compare(a.Took, b.Took), strings.Compare(a.Name, b.Name))
		})
	}
	return nil
}

// survey finds out in which tests of a package which mutants decide.
func (j *judge) survey(pkg string) error {
	bin, tests, left, err := j.Singles(pkg, j.longest)
	if err != nil {
		return err
	}
	j.bin[pkg] = bin
	var took time.Duration
	reached := map[int]bool{}
	for t := range tests {
		took += tests[t].Took
		for n := range tests[t].Reached {
			if !j.own || path.Dir(j.sample[n-1].File) == pkg {
				j.reachedBy[n-1] = append(j.reachedBy[n-1], &tests[t])
				reached[n] = true
			}
		}
	}
	fmt.Printf("%s: %d tests, %v, %d mutants decide\n", pkg, len(tests), took.Round(time.Second/10), len(reached))
	if len(left) > 0 {
		fmt.Println("\tleft out, as they fail alone or take too long:", strings.Join(left, " "))
	}
	return nil
}

// judgeAll tests the mutants that have no result yet.
func (j *judge) judgeAll(stop <-chan os.Signal) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	next := 0
	for range j.jobs {
		wg.Go(func() {
			for {
				mu.Lock()
				for next < len(j.sample) && (j.left[next] || j.result[next] != "") {
					next++
				}
				i := next
				next++
				mu.Unlock()
				select {
				case <-stop:
					return
				default:
				}
				if i >= len(j.sample) {
					return
				}
				result := j.judge(i)
				mu.Lock()
				j.result[i] = result
				fmt.Printf("%d/%d %s: %s\n", i+1, len(j.sample), &j.sample[i], result)
				if j.results != "" {
					j.append(i)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

// append adds a result to the results file.
func (j *judge) append(i int) {
	f, err := os.OpenFile(j.results, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = fmt.Fprintf(f, "%s\t%s\n", &j.sample[i], j.result[i])
		f.Close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "border:", err)
	}
}

// judge returns the test that detects a mutant, after its package. The first tests run alone, later
// ones together with others that take as long as all before them: most mutants are detected soon,
// and those that survive start few processes.
func (j *judge) judge(i int) string {
	by := j.reachedBy[i]
	if len(by) == 0 {
		return unreached
	}
	const quick = time.Second
	var spent time.Duration
	for n := 0; n < len(by); {
		pkg, names, sum := by[n].Pkg, []string(nil), time.Duration(0)
		for ; n < len(by) && by[n].Pkg == pkg && (names == nil || sum+by[n].Took <= max(quick, spent)); n++ {
			names, sum = append(names, by[n].Name), sum+by[n].Took
		}
		if spent > 0 && spent+sum > j.budget {
			return survived + " (in the tests that the budget allowed)"
		}
		test, took, err := j.RunTests(pkg, j.bin[pkg], names, loopFactor*sum+graceTime, mutate.EnvFault+"="+strconv.Itoa(i+1))
		if err != nil {
			return err.Error()
		}
		if test != "" {
			return pkg + " " + test
		}
		spent += took
	}
	return survived
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// report prints what was detected by class and by package, and what was not.
func (j *judge) report() {
	type count struct{ all, killed int }
	classes, dirs := map[string]*count{}, map[string]*count{}
	var total count
	for i := range j.sample {
		r := j.result[i]
		if r == "" {
			continue
		}
		killed := isDetected(r)
		add := func(m map[string]*count, key string) {
			if m[key] == nil {
				m[key] = &count{}
			}
			m[key].all++
			if killed {
				m[key].killed++
			}
		}
		add(classes, string(j.sample[i].Class))
		add(dirs, path.Dir(j.sample[i].File))
		total.all++
		if killed {
			total.killed++
		} else {
			fmt.Println(&j.sample[i], "--", r)
		}
	}
	for _, m := range []map[string]*count{classes, dirs} {
		fmt.Println()
		keys := make([]string, 0, len(m))
		for k := range m {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			fmt.Printf("%-32s %3d of %3d\n", k, m[k].killed, m[k].all)
		}
	}
	fmt.Printf("\n%d mutants tested, %d detected (%.1f %%), %d do not compile\n", total.all, total.killed, 100*float64(total.killed)/float64(max(1, total.all)), len(j.left))
}
