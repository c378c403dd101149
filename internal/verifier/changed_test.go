package verifier_test

import (
	"bytes"
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/conformance/verdicts"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
	"github.com/bpfrun/bpfrun/internal/verifier"
)

// firstPart keeps the first bytes of a log, and ends the verification after them.
type firstPart struct {
	bytes.Buffer
	end func()
}

func (f *firstPart) Write(p []byte) (int, error) {
	if f.Len() > 20000 {
		f.end()
		return len(p), nil
	}
	return f.Buffer.Write(p)
}

// judged verifies a program. It returns the refusal, and a hash of the log's first part.
func judged(t *testing.T, k *verifier.Kernel, p *verifier.Program, memory int64) string {
	ctx, end := context.WithCancel(context.Background())
	defer end()
	log := &firstPart{end: end}
	v, err := verifier.Verify(ctx, k, p, verifier.Options{Log: log, LogLevel: 2, Memory: memory})
	h := fnv.New64a()
	_, _ = h.Write(log.Bytes())
	if err != nil {
		require.ErrorIs(t, err, context.Canceled)
		return fmt.Sprintf("a long log\t%x", h.Sum64())
	}
	return fmt.Sprintf("%v %s\t%d %d %s%s %x", v.Outcome, v.Refusal, v.ProcessedInsns, v.TotalStates, v.Message, v.Missing, h.Sum64())
}

// TestChangedProgramsAreJudgedTheSame makes small changes to the programs at the boundaries of rules
// and to those that are refused, and compares the logs with every instruction's state.
func TestChangedProgramsAreJudgedTheSame(t *testing.T) {
	const changes, memory = 6, 1 << 20
	releases := []string{"5.10.0", "5.15.0", "6.1.0", "6.6.0", "6.12.0", "6.18.0", "7.2.0"}
	var all rewrite.Outcomes
	rng := rand.New(rand.NewPCG(1, 2))
	ask := newAnswers(t)
	lines := func(name string, replay *verdicts.Replayer, l *verdicts.Line, kernels ...string) {
		for i, kernel := range kernels {
			c := *l
			c.Kernel, c.Class, c.SHA256 = kernel, verdicts.ByVerifier, ""
			add := func(name string) {
				k, p, err := replay.Program(&c)
				require.NoError(t, err)
				all.Ask(name, func() string { return judged(t, k, p, memory) })
			}
			add(fmt.Sprint(name, " on ", kernel))
			if c.Generated == nil {
				continue
			}
			insns, err := c.Generated.Insns()
			require.NoError(t, err)
			for n := range changes {
				if n%len(kernels) != i {
					continue
				}
				changed, err := verdicts.Apply(insns, verdicts.Mutate(rng, insns, func(int) bool { return false }))
				require.NoError(t, err)
				g := *c.Generated
				g.SetInsns(changed)
				c.Generated = &g
				add(fmt.Sprint(name, ", change ", n, " on ", kernel))
			}
		}
	}
	for i, b := range readBoundaries(t) {
		replay, kernels := ask.replay, []string{}
		if b.Types != "" {
			replay = ask.newer
		}
		for _, a := range b.Answers {
			kernels = append(kernels, a.Kernel)
		}
		kernels = append(kernels, releases[i%len(releases)], releases[(i+3)%len(releases)])
		lines(fmt.Sprint("boundary ", i), replay, b.Line, kernels...)
	}
	for i, r := range readRefused(t) {
		lines(fmt.Sprint("refused ", i), ask.replay, r.Line, r.Kernel)
		lines(fmt.Sprint("neighbour ", i), ask.replay, r.Neighbour, r.Kernel)
	}
	border := 0
	require.NoError(t, verdicts.ReadFile("../../conformance/verdicts/testdata/border-6.18.jsonl.gz", func(l *verdicts.Line) error {
		border++
		if border%4 == 0 {
			lines(fmt.Sprint("border ", border), ask.replay, l, releases[border/4%len(releases)], releases[(border/4+3)%len(releases)])
		}
		return nil
	}))
	x := newRefusing(t)
	for i, w := range append(readWritten(t), refusedObjects(t)...) {
		for side, text := range w.text {
			k, p := x.program(t, &w, text)
			insns := p.Insns
			for n := range changes {
				if n > 0 {
					var err error
					p.Insns, err = verdicts.Apply(insns, verdicts.Mutate(rng, insns, func(pc int) bool { return insns[pc].Code == decode.ClassLD|0x18 }))
					require.NoError(t, err)
				}
				all.Ask(fmt.Sprint("written ", i, side, ", change ", n), func() string { return judged(t, k, p, memory) })
			}
		}
	}
	all.Compare(t, filepath.Join("testdata", "changed.txt"))
}
