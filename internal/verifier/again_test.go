package verifier

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// TestMemoryTakenAgainIsZero: what a verification takes looks like new memory, whatever those
// before left in it, and no two parts of it overlap.
func TestMemoryTakenAgainIsZero(t *testing.T) {
	var kept sync.Pool
	for round := range 3 {
		a := again[hist]{kept: &kept}
		seen := map[*hist]bool{}
		for n := range 200 {
			values := a.take(1 + n%40)
			require.Len(t, values, 1+n%40)
			require.Equal(t, len(values), cap(values), "an append must not reach what others take")
			for i := range values {
				require.Equal(t, hist{}, values[i], "round %d", round)
				require.False(t, seen[&values[i]])
				seen[&values[i]] = true
				values[i] = hist{prev: &values[i], idx: int32(n)}
			}
		}
		require.Greater(t, len(a.pieces), 1)
		a.leave()
		var left []*piece[hist]
		for p, ok := kept.Get().(*piece[hist]); ok; p, ok = kept.Get().(*piece[hist]) {
			left = append(left, p)
			require.Equal(t, make([]hist, len(p.values)), p.values, "round %d: an ended verification left something", round)
		}
		for _, p := range left {
			kept.Put(p)
		}
	}
	aux := takeAux(10)
	aux[3].mapp = 7
	e := explorer{position: &position{subject: subject{aux: aux}}}
	e.leave()
	assert.Nil(t, e.aux)
	for range 5 {
		assert.Equal(t, make([]insnAux, 20), takeAux(20))
	}
}

// TestVerdictsDependOnNoVerificationBefore verifies programs of many shapes one after another, in
// both orders and at the same time: verdicts, figures and logs are always the same.
func TestVerdictsDependOnNoVerificationBefore(t *testing.T) {
	texts := []string{
		"r0 = 0\nexit",
		"r0 = r5\nexit", // refused: not initialised
		"r6 = r1\n*(u64 *)(r10 - 8) = r6\n*(u64 *)(r10 - 16) = r10\nr0 = 0\nexit",
		"*(u64 *)(r1 + 0) = r1\nr0 = 0\nexit",
		"r6 = 0\nr0 = 0\nr0 += r6\nr6 += 1\nif r6 < 40 goto -3\nexit",
		"r1 = 7\ncall f\nexit\nf:\n*(u64 *)(r10 - 8) = r1\nr0 = *(u64 *)(r10 - 8)\nexit",
		"r6 = *(u32 *)(r1 + 0)\n" + strings.Repeat("if r6 > 5 goto +1\nr6 += 1\n*(u64 *)(r10 - 64) = r6\n", 30) + "r0 = 0\nexit",
		"r2 = *(u64 *)(r10 - 256)\nr0 = 0\nexit",
	}
	type job struct {
		name string
		k    *Kernel
		p    *Program
	}
	var jobs []job
	for i, text := range texts {
		insns, err := decode.Assemble(text)
		require.NoError(t, err, text)
		for _, release := range []since.Release{since.R(5, 10), since.R(6, 1), since.R(6, 12), since.R(6, 18), since.R(7, 2)} {
			jobs = append(jobs, job{fmt.Sprintf("%d on %s", i, release), &Kernel{Release: release}, &Program{Name: "p", Type: uapi.ProgTypeSocketFilter, Insns: insns}})
		}
	}
	run := func(j job) (*Verdict, string) {
		var log bytes.Buffer
		v, err := Verify(context.Background(), j.k, j.p, Options{Log: &log, LogLevel: 2})
		assert.NoError(t, err, j.name)
		text, _, _ := strings.Cut(log.String(), "verification time") // which differs
		return v, text
	}
	verdicts, logs, outcomes := make([]*Verdict, len(jobs)), make([]string, len(jobs)), map[Outcome]int{}
	for i, j := range jobs {
		verdicts[i], logs[i] = run(j)
		outcomes[verdicts[i].Outcome]++
	}
	assert.Greater(t, outcomes[Accepted], 10)
	assert.Greater(t, outcomes[Refused], 5)
	for i := len(jobs) - 1; i >= 0; i-- {
		v, log := run(jobs[i])
		assert.Equal(t, verdicts[i], v, jobs[i].name)
		assert.Equal(t, logs[i], log, jobs[i].name)
	}
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for n := range jobs {
				i := (n*7 + worker*11) % len(jobs)
				v, log := run(jobs[i])
				assert.Equal(t, verdicts[i], v, jobs[i].name)
				assert.Equal(t, logs[i], log, jobs[i].name)
			}
		})
	}
	wg.Wait()
}
