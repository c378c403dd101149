package race

import (
	"context"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/testing/testbtf"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// TestObjectsOfOneEventAreEachActorsOwn: what is kept by the address of a request or a packet
// belongs to one run, and what is kept by a connection or a process if no two runs can have it at
// the same time. What is kept by what they contain or point to does not.
func TestObjectsOfOneEventAreEachActorsOwn(t *testing.T) {
	for _, c := range compilers {
		file := filepath.Join("testdata", c, "own.o")
		m, other := machineOf(t, file, 0), covering(t, file)
		Warm(m)
		Warm(other)
		prepared, err := Prepare(context.Background(), other, nil, time.Time{})
		require.NoError(t, err)
		require.Contains(t, prepared.producers, "made")
		for program, want := range map[string]string{
			"by_request": "", "by_queue": "is lost", "by_sector": "is lost", "by_packet": "", "by_opened": "", "by_read": "is lost", "by_maker": "an update of of_maker",
			"reports_ignoring": "goes on as if it had changed an element of flows", "reports_asking": "",
			"by_state": "", "by_port": "", "by_peer": "is lost", "by_sender": "is lost", "by_record": "",
			"by_destination": "", "by_source": "is lost", "closes": "", "closes receives": "", "closes resends": "is lost",
			"by_process": "", "by_process writes": "", "by_nothing": "is lost",
		} {
			progs := strings.Fields(program)
			meetings := slices.DeleteFunc(Meetings(m, progs, Kernel{Version: 6<<16 | 12<<8}), func(m Meeting) bool {
				return len(progs) == 2 && m.Actors[0].Program == m.Actors[1].Program
			})
			require.NotEmpty(t, meetings, program)
			var got []Finding
			for _, meeting := range meetings {
				r, err := Explore(context.Background(), m, meeting, Config{Preemptions: 2, Prepared: prepared})
				require.NoError(t, err)
				require.NotZero(t, r.Orders, program)
				got = append(got, r.Findings...)
			}
			if want == "" {
				assert.Empty(t, texts(got), "%s: %s", c, program)
				continue
			}
			assert.True(t, slices.ContainsFunc(got, func(f Finding) bool { return !f.Benign && strings.Contains(f.Text, want) }), "%s: %s: %v", c, program, texts(got))
		}
	}
}

// TestAnOwnObjectHasTheSameContents: also what is made only when it is read.
func TestAnOwnObjectHasTheSameContents(t *testing.T) {
	m := machineOf(t, "testdata/clang-19/own.o", 0)
	actors := Apart(m, []Actor{{Program: "by_request", Over: -1}, {Program: "by_request", Over: -1, Input: machine.Input{CPU: 1}}})
	assert.Nil(t, actors[0].Input.Args)
	require.Len(t, actors[1].Input.Args, 1)
	objects, err := m.HookObjects("by_request", machine.Input{})
	require.NoError(t, err)
	for name, v := range actors[1].Input.Args {
		one, own := objects[name], m.Kernel().ObjectAt(uint64(v.(object.Pointer)))
		require.NotSame(t, one, own)
		for _, path := range []string{"q", "__sector", "__data_len", "tag"} {
			a, err := one.Uint(path)
			require.NoError(t, err)
			b, err := own.Uint(path)
			require.NoError(t, err)
			assert.Equal(t, a, b, path)
		}
		list, err := own.Uint("queuelist.next")
		require.NoError(t, err)
		was, err := one.Uint("queuelist.next")
		require.NoError(t, err)
		if was-one.Addr() < one.Size() {
			assert.Equal(t, was-one.Addr(), list-own.Addr(), "an address inside")
		}
		assert.Len(t, before(actors, "by_request"), 2)
	}
}

// TestWhatSharesMemoryOfOneCPUComesFirst: in the middle of each other, before all pairs on two
// CPUs.
func TestWhatSharesMemoryOfOneCPUComesFirst(t *testing.T) {
	m := machineOf(t, "testdata/clang-19/wrong.o", uapi.ReleaseOf(newest.Version))
	meetings := Meetings(m, nil, newest)
	first := slices.IndexFunc(meetings, func(m Meeting) bool { return m.Why == "" })
	require.Greater(t, first, 0)
	for i := range meetings {
		scratch := strings.HasPrefix(meetings[i].Actors[0].Program, "scratch_") && meetings[i].Why != ""
		assert.False(t, scratch && i > first, meetings[i].Name)
	}
}

// TestLocksOfKernelFunctions: bpf_res_spin_lock keeps other CPUs away, bpf_local_irq_save what
// interrupts.
func TestLocksOfKernelFunctions(t *testing.T) {
	spec, err := testbtf.Load("../../../testdata/btf/linux-7.2.13-amd64.btf.xz") // no earlier one has them all
	require.NoError(t, err)
	for _, c := range compilers {
		m := machineOn(t, filepath.Join("testdata", c, "locks.o"), loader.NewTarget("7.2", spec))
		got := findingsOf(t, m, Kernel{Version: m.Linked().Target.Version, Preemptible: true})
		for _, lp := range m.Linked().Programs {
			_, runs := m.ImageOf(lp.Name)
			require.True(t, runs, lp.Name)
		}
		fails := func(f Finding) bool { return !f.Benign }
		for _, right := range []string{"res_right", "irq_right", "irq_right_too"} {
			assert.False(t, slices.ContainsFunc(got[right], fails), "%s: %s: %v", c, right, texts(got[right]))
		}
		for _, wrong := range []string{"res_wrong", "irq_wrong"} {
			assert.True(t, slices.ContainsFunc(got[wrong], fails), "%s: %s: %v", c, wrong, texts(got[wrong]))
		}
	}
}

// TestAnInterruptKeepsFindings: what was found before comes with the error.
func TestAnInterruptKeepsFindings(t *testing.T) {
	m := machineOf(t, "testdata/clang-14/lost.o", 0)
	meeting := Meetings(m, []string{"plain"}, Kernel{Version: 6<<16 | 12<<8})[0]
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	r, err := Explore(ctx, m, meeting, Config{Preemptions: 1, Random: math.MaxInt})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NotNil(t, r)
	assert.NotEmpty(t, r.Findings)
	assert.False(t, r.Complete)
}

// TestProgramsOfSockmapsHaveASocketEach: the kernel holds a TCP socket's lock while they run. Those
// of UDP sockets can meet on one.
func TestProgramsOfSockmapsHaveASocketEach(t *testing.T) {
	for _, c := range compilers {
		m := machineOf(t, filepath.Join("testdata", c, "sockets.o"), 0)
		tcp, udp := m.HookSocket("spend", machine.Input{}), m.HookSocket("note", machine.Input{})
		require.NoError(t, udp.SetUint("sk_protocol", 17))
		for _, tt := range []struct {
			name  string
			progs [2]string
			given [2]*object.Object
			same  bool
		}{
			{"one program", [2]string{"of_socket", "of_socket"}, [2]*object.Object{}, false},
			{"a given one", [2]string{"cut", "note"}, [2]*object.Object{tcp, tcp}, false},
			{"a given UDP socket", [2]string{"of_socket", "of_socket"}, [2]*object.Object{udp, udp}, true},
		} {
			var actors []Actor
			for i, p := range tt.progs {
				a := Actor{Program: p, Over: -1}
				a.Input.Net.Socket = tt.given[i]
				actors = append(actors, a)
			}
			actors = Apart(m, actors)
			first, second := m.HookSocket(tt.progs[0], actors[0].Input), m.HookSocket(tt.progs[1], actors[1].Input)
			assert.Equal(t, tt.same, first == second, tt.name)
			if tt.same {
				continue
			}
			for _, path := range []string{"__sk_common.skc_num", "__sk_common.skc_cookie.counter"} {
				one, err := first.Uint(path)
				require.NoError(t, err)
				other, err := second.Uint(path)
				require.NoError(t, err)
				assert.NotEqual(t, one, other, "%s: %s", tt.name, path)
			}
		}
		for _, meeting := range Meetings(m, []string{"of_socket"}, newest) {
			r, err := Explore(context.Background(), m, meeting, Config{Preemptions: 2})
			require.NoError(t, err)
			assert.NotZero(t, r.Orders)
			assert.Empty(t, texts(r.Findings), "what is kept by a socket's cookie is not shared")
		}
	}
}
