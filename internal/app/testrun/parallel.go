package testrun

import (
	"context"
	"runtime"
	"slices"
	"sync"
)

// InParallel calls do(0) to do(n-1) on all CPUs, until ctx ends.
func InParallel(ctx context.Context, n int, do func(i int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	wg.Wait()
}

// byKernel returns the order in which jobs run: file order, unless there are more kernels than stay
// open. Then jobs are grouped by kernel, so that each kernel is opened once.
func byKernel(jobs []*Job) []*Job {
	if kernelsOf(jobs) <= idleKernels {
		return jobs
	}
	first := map[string]int{}
	for i, j := range jobs {
		if _, ok := first[j.Source.Path]; !ok {
			first[j.Source.Path] = i
		}
	}
	jobs = slices.Clone(jobs)
	slices.SortStableFunc(jobs, func(a, b *Job) int { return first[a.Source.Path] - first[b.Source.Path] })
	return jobs
}

// kernelsOf returns the number of kernels that jobs run on.
func kernelsOf(jobs []*Job) int {
	paths := map[string]bool{}
	for _, j := range jobs {
		paths[j.Source.Path] = true
	}
	return len(paths)
}
