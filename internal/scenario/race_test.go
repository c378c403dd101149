package scenario

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/loader"
)

// raceRunner opens a scenario for the objects of package race.
func raceRunner(t *testing.T, object, text string) (*Runner, error) {
	t.Helper()
	f, err := Parse("s.yaml", []byte(text))
	if f == nil {
		return nil, err
	}
	obj, openErr := loader.Open("../find/race/testdata/clang-14/" + object)
	require.NoError(t, openErr)
	spec, specErr := embedded.Spec()
	require.NoError(t, specErr)
	r, err := Open(f, obj, loader.NewTarget("6.12", spec), Options{})
	if r != nil {
		t.Cleanup(r.Close)
	}
	return r, err
}

// sockets are two connections of a tenant that has room for one message.
const sockets = "objects: {a: !sock {}, b: !sock {}}\nmaps: {left: {0: 5}}\n"

// TestRaces: all orders, one order, and threads of user space.
func TestRaces(t *testing.T) {
	for _, tt := range []struct {
		name, object, text string
		fails              string // "" passes
	}{
		{"a lost update in some order", "lost.o", "race: [{actors: [{prog: plain}, {prog: plain}]}]", "an update of hits is lost"},
		{"without preemptions there is none", "lost.o", "race: [{actors: [{prog: plain}, {prog: plain}], preemptions: 0}]", ""},
		{"one operation", "lost.o", "race: [{actors: [{prog: atomic}, {prog: atomic}, {prog: atomic}]}]", ""},
		{"the order that fails", "lost.o", "race: [{actors: [{prog: plain}, {name: other, prog: plain}], schedule: [plain 9, other 12]}]", "plain writes what it computed before other changed it"},
		{"an order that does not", "lost.o", "race: [{actors: [{prog: plain}, {name: other, prog: plain}], schedule: [plain 12, other 12]}]", ""},
		{"user space reads and writes mapped memory", "right.o", "race: [{actors: [{prog: pair_atomic}, {user: [read pair_map 0 packets, write pair_map 0 packets 0]}]}]", "an update of pair_map.packets is lost: user space writes"},
		{"user space only reads", "right.o", "race: [{actors: [{prog: pair_atomic}, {user: [lookup pair_map 0, read pair_map 0 bytes]}]}]", ""},
		{"user space drains a map", "right.o", "maps: {first_map: {7: 1}}\nrace: [{actors: [{prog: first_adds}, {user: [lookup first_map 7 as count, delete first_map 7]}]}]", "because of what it looked up"},
		{"user space sets what is not there", "right.o", "race: [{actors: [{prog: freed_once}, {user: [update resources 7 5 noexist]}]}]", ""},
		{"user space takes a queue's element", "right.o", "race: [{actors: [{prog: queue_work}, {user: [pop work]}]}]", ""},
		{"records are read meanwhile", "right.o", "race: [{actors: [{prog: ticket_sent}, {user: [consume tickets]}]}]", ""},
		{"in the middle of another program", "wrong.o", "kernel: {values: default}\nrace: [{actors: [{prog: scratch_switch}, {prog: scratch_unlink, over: scratch_switch}]}]", "changes scratch_map[0] while"},
		{"an invariant of all runs", "lost.o", "invariants: [{name: each counts, holds: 'sum(hits) == $events'}, {holds: '$retval == XDP_PASS'}]\nrace: [{actors: [{prog: plain}, {prog: plain}]}]", "each counts: "},
		{"an invariant that holds", "lost.o", "invariants: [{holds: 'sum(hits) == $events'}]\nrace: [{actors: [{prog: atomic}, {prog: atomic}]}]", ""},
		{"a timer's callback", "later.o", "race: [{actors: [{prog: repeat_resets}, {prog: repeat_begins, callback: repeats}]}]", "before repeats changed it"},
		{"a timer's callback that its program waits for", "later.o", "race: [{before: [stop_right], actors: [{prog: stopping_right}, {prog: stop_right, callback: stops_right}]}]", ""},
		{"a worker in the middle of which a packet comes", "later.o", "kernel: {values: default}\nrace: [{before: [work_begins], actors: [{prog: work_begins, callback: work}, {prog: work_packet, over: work}]}]", "work_packet changes scratch[0] while work uses it"},
		{"the order in which a callback fails", "later.o", "race: [{actors: [{prog: counts}, {prog: counts, callback: tick}], schedule: [counts 22, tick 7, counts 3]}]", "before tick changed it"},
		{"two sockets", "sockets.o", sockets + "race: [{actors: [{prog: spend, packet: \"eth/ip/tcp/'?A34'\", context: {sk: $a}}, {prog: spend, packet: \"eth/ip/tcp/'?A34'\", context: {sk: $b}}]}]", "an update of left[0] is lost"},
		{"what two sockets send", "sockets.o", sockets + "race: [{actors: [{prog: note, context: {sk: $a, message: '?A3'}}, {prog: note, context: {sk: $b, message: !hex 00 41}}]}]", "an update of sent[0] is lost"},
		{"after a run with an input of its own", "sockets.o", sockets + "race: [{before: [{prog: spend, cpu: 1, packet: \"eth/ip/tcp/'?A34'\"}], actors: [{prog: spend, packet: \"eth/ip/tcp/'?A34'\", context: {sk: $a}}, {prog: spend, packet: \"eth/ip/tcp/'?A34'\", context: {sk: $b}}]}]", ""},
		{"after a run of it", "wrong.o", "race: [{before: [double_free], actors: [{prog: double_free}, {prog: double_free}]}]", "because of what it looked up"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := raceRunner(t, tt.object, tt.text)
			require.NoError(t, err)
			results, err := r.All(context.Background(), nil)
			require.NoError(t, err)
			require.Len(t, results, 1)
			if tt.fails == "" {
				assert.Empty(t, results[0].Failed())
				return
			}
			require.NotEmpty(t, results[0].Failed())
			found := ""
			for _, e := range results[0].Failed() {
				found += e.Got + "\n"
			}
			assert.Contains(t, found, tt.fails)
		})
	}
}

// TestMistakesInRaces are found before anything runs, with their places.
func TestMistakesInRaces(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"race: {}", "s.yaml:1:7: race: want a list"},
		{"race: [{actors: [{prog: plain}]}]", "want a list of two to 4 actors"},
		{"race: [{actors: [{prog: plane}, {prog: plain}]}]", `s.yaml:1:25: unknown program "plane" (nearest: plain)`},
		{"race: [{actors: [{prog: plain}, {prog: plain, callback: tick}]}]", `unknown callback "tick"`},
		{"race: [{actors: [{prog: plain}, {prog: plain, over: other}]}]", `unknown actor "other"`},
		{"race: [{actors: [{prog: plain}, {prog: plain, over: plain, enters: soon}]}]", `unknown way to interrupt "soon"`},
		{"race: [{actors: [{prog: plain}, {name: b, prog: plain, over: b}]}]", "over: a program interrupts another one"},
		{"race: [{actors: [{prog: plain}, {user: [look hits 0]}]}]", `unknown call "look" (nearest: lookup)`},
		{"race: [{actors: [{prog: plain}, {user: [lookup hit 0]}]}]", `unknown map "hit" (nearest: hits)`},
		{"race: [{actors: [{prog: plain}, {user: [lookup hits]}]}]", "takes 1 to 3 words after its name, got 0"},
		{"race: [{actors: [{prog: plain}, {user: [update hits 0 5 perhaps]}]}]", `unknown flag "perhaps"`},
		{"race: [{actors: [{prog: plain}, {user: []}]}]", "user: want a list of calls"},
		{"race: [{actors: [{user: [lookup hits 0]}, {user: [lookup hits 0]}]}]", "one of the actors must be a program"},
		{"race: [{actors: [{prog: plain}, {prog: plain}], schedule: [plain]}]", "want an actor and its instructions"},
		{"race: [{actors: [{prog: plain}, {prog: plain}], schedule: [plane 3]}]", `unknown turn "plane 3"`},
		{"race: [{actors: [{prog: plain}, {prog: plain}], before: [plane]}]", `unknown program "plane"`},
		{"race: [{actors: [{prog: plain}, {prog: plain}], before: [{prog: plane}]}]", `s.yaml:1:65: unknown program "plane"`},
		{"race: [{actors: [{prog: plain}, {prog: plain}], before: [{prog: plain, over: plain}]}]", `unknown key of race before "over"`},
		{"race: [{actors: [{prog: plain}, {prog: plain}], before: [{prog: plain, packet: zz}]}]", "zz"},
		{"race: [{actors: [{prog: plain}, {prog: plain}], before: [{cpu: 0}]}]", "prog"},
		{"race: [{actors: [{prog: plain}, {prog: plain, context: {message: hi}}]}]", "context.message: programs of type xdp have no such input"},
		{"race: [{actors: [{prog: plain}, {prog: plain}], before: plain}]", "want a list of programs"},
		{"race: [{actors: [{prog: plain, cpu: 7}, {prog: plain}]}]", "cpu 7: the machine has 2 CPUs"},
		{"race: [{actors: [{prog: plain}, {prog: plain}]}, {actors: [{prog: plain}, {prog: plain}]}]", "is already there"},
		{"kernel: {values: any}\nrace: [{actors: [{prog: plain}, {prog: plain}]}]", `unknown kind of values "any"`},
	} {
		_, err := raceRunner(t, "lost.o", tt.text)
		if assert.Error(t, err, tt.text) {
			assert.Contains(t, err.Error(), tt.want, tt.text)
		}
	}
}

// TestASchedulesTurnsMustFit: a turn that cannot be made is named.
func TestASchedulesTurnsMustFit(t *testing.T) {
	r, err := raceRunner(t, "lost.o", "race: [{actors: [{prog: plain}, {name: b, prog: plain}], schedule: [plain 9, b 100]}]")
	require.NoError(t, err)
	_, err = r.All(context.Background(), nil)
	assert.ErrorContains(t, err, "s.yaml:1:78: schedule: turn 2: b has ended")
}

// TestARaceIsStaged with the program whose turn comes first, and the order of the others.
func TestARaceIsStaged(t *testing.T) {
	r, err := raceRunner(t, "lost.o", "race: [{name: r, actors: [{prog: plain}, {name: b, prog: atomic}], schedule: [b 3, plain 9]}]")
	require.NoError(t, err)
	st, err := r.Stage(context.Background(), r.File().Runs[0])
	require.NoError(t, err)
	assert.Equal(t, "atomic", st.Prog)
	require.Len(t, st.Others, 1)
	assert.Equal(t, "plain", st.Others[0].Prog)
	assert.Equal(t, []StagedTurn{{1, 3}, {0, 9}}, st.Turns)
}
