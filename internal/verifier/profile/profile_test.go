package profile_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/internal/verifier/profile"
	"github.com/bpfrun/bpfrun/loader"
)

// made returns the profile of a program on the rules of a release.
func made(t *testing.T, object, program string, release since.Release) (*profile.Profile, *verifier.Verdict) {
	t.Helper()
	obj, err := loader.Open("../../../testdata/objects/" + object)
	require.NoError(t, err)
	spec, err := embedded.Spec()
	require.NoError(t, err)
	linked, err := obj.Load(loader.NewTarget(embedded.Name, spec), loader.LoadOptions{LinkOnly: true, Only: []string{program}})
	require.NoError(t, err)
	lp, ok := linked.Program(program)
	require.True(t, ok)
	p, err := verifier.FromLinked(linked, lp)
	require.NoError(t, err)
	k := verifier.KernelOf(linked.Target)
	k.Release = release
	plain, err := verifier.Verify(context.Background(), k, p, verifier.Options{})
	require.NoError(t, err)
	costs := &verifier.Costs{}
	v, err := verifier.Verify(context.Background(), k, p, verifier.Options{Costs: costs})
	require.NoError(t, err)
	assert.Equal(t, plain, v, "recording does not change the verdict")
	return profile.New(k, p, v, costs, nil), v
}

var releases = []since.Release{since.R(5, 10), since.R(6, 1), since.R(6, 12), since.R(6, 18), since.R(7, 2)}

// Every processed instruction and every state is in each of the views once.
func TestNothingIsLostOrCountedTwice(t *testing.T) {
	for _, release := range releases {
		for _, c := range [][2]string{{"clang-14/costly.o", "options"}, {"clang-14/costly.o", "labels"}, {"clang-14/costly.o", "counted"}, {"clang-22/faults.o", "err_endless_loop"}} {
			t.Run(release.String()+"/"+c[1], func(t *testing.T) {
				p, v := made(t, c[0], c[1], release)
				insns, states := 0, 0
				for _, l := range p.Lines {
					insns, states = insns+l.Processed, states+l.States
				}
				assert.Equal(t, v.ProcessedInsns, insns)
				assert.Equal(t, v.TotalStates, states)

				var b bytes.Buffer
				require.NoError(t, profile.WritePprof(&b, []*profile.Profile{p}))
				read, err := pprof.Parse(&b)
				require.NoError(t, err)
				var sum [2]int64
				for _, s := range read.Sample {
					sum[0] += s.Value[0]
					sum[1] += s.Value[1]
				}
				if v.Outcome == verifier.Accepted {
					assert.Equal(t, [2]int64{int64(v.ProcessedInsns), int64(v.TotalStates)}, sum)
				}

				b.Reset()
				require.NoError(t, profile.WriteSpeedscope(&b, []*profile.Profile{p}))
				var file struct {
					Shared   struct{ Frames []struct{ Name string } }
					Profiles []struct {
						EndValue int64
						Samples  [][]int
						Weights  []int64
					}
				}
				require.NoError(t, json.Unmarshal(b.Bytes(), &file))
				require.Len(t, file.Profiles, 2)
				for i, x := range file.Profiles {
					assert.Equal(t, sum[i], x.EndValue)
					require.Len(t, x.Weights, len(x.Samples))
					for _, stack := range x.Samples {
						for _, frame := range stack {
							assert.Less(t, frame, len(file.Shared.Frames))
						}
					}
				}
			})
		}
	}
}

func TestWhatCostsIsNamed(t *testing.T) {
	for _, c := range []struct {
		program string
		release since.Release
		advice  string
		apart   string // the register that keeps states apart
	}{
		{"options", since.R(6, 12), "make kind_at global", "R7"},
		{"labels", since.R(6, 12), "R1 kept a path", "R1"},
		{"counted", since.R(6, 12), "use bpf_for (6.4)", "R2"},
		{"counted", since.R(6, 1), "use bpf_loop", "R2"},
		{"counted", since.R(5, 10), "neither bpf_loop (5.17) nor bpf_for (6.4)", "R2"},
	} {
		t.Run(c.program+" on "+c.release.String(), func(t *testing.T) {
			p, _ := made(t, "clang-14/costly.o", c.program, c.release)
			var advice []string
			for _, a := range p.Advice {
				advice = append(advice, a.Text)
			}
			assert.Contains(t, strings.Join(advice, "\n"), c.advice)
			var apart []string
			for _, a := range p.Apart {
				apart = append(apart, a.Place)
			}
			assert.Contains(t, apart, c.apart)
		})
	}
}

func TestLoopsAndHottestPath(t *testing.T) {
	p, v := made(t, "clang-14/costly.o", "counted", since.R(6, 12))
	require.Len(t, p.Loops, 1)
	l := p.Loops[0]
	assert.Equal(t, "counted", l.Kind)
	assert.Equal(t, 1, l.Entered)
	assert.GreaterOrEqual(t, l.Turns, 249)
	assert.Greater(t, p.Share(l.Processed), 90.0)
	require.NotEmpty(t, p.Hot)
	most := v.ProcessedInsns
	for _, s := range p.Hot {
		assert.LessOrEqual(t, s.Below, most)
		most = s.Below
	}
	assert.Equal(t, 250, p.Hot[len(p.Hot)-1].Times, "the turns are one row")
}

func TestSourceIsAnnotated(t *testing.T) {
	p, _ := made(t, "clang-14/costly.o", "counted", since.R(6, 12))
	read := func(name string) ([]string, bool) {
		b, err := os.ReadFile("../../../testdata/src/costly.bpf.c")
		return strings.Split(string(b), "\n"), err == nil && strings.HasSuffix(name, "costly.bpf.c")
	}
	var b bytes.Buffer
	require.NoError(t, p.WriteAnnotated(&b, read))
	assert.Regexp(t, `(?m)^ +4148 +79\.7% +283 +516 +95\s+if \(v\[i\] > 7\)$`, b.String())
	assert.Regexp(t, `(?m)^ +\d+  /\* A loop whose turns are all walked\. \*/$`, b.String(), "lines without code are there, too")
	b.Reset()
	require.NoError(t, p.WriteAnnotated(&b, func(string) ([]string, bool) { return nil, false }))
	assert.Regexp(t, `(?m)^ +4148 .* 95  .*if \(v\[i\] > 7\)$`, b.String(), "without the file, the object's own lines")
	b.Reset()
	require.NoError(t, profile.WriteHTML(&b, `<"&>`, []*profile.Profile{p, p}, read))
	assert.NotContains(t, b.String(), `<"&>`)
	assert.Contains(t, b.String(), `style="--heat:100%"`)
	assert.NotRegexp(t, `(?:src|href)="https?:`, b.String(), "the page needs nothing from elsewhere")
}

// Loops have the kind of what ends them.
func TestKindsOfLoops(t *testing.T) {
	for _, c := range []struct{ object, program, want string }{
		{"clang-14/needs.o", "iterates", "iterator"}, {"clang-22-v4/isa_v4.o", "may_goto", "may_goto"},
	} {
		p, _ := made(t, c.object, c.program, since.R(6, 12))
		require.NotEmpty(t, p.Loops, c.program)
		for _, l := range p.Loops {
			assert.Equal(t, c.want, l.Kind, c.program)
		}
	}
}
