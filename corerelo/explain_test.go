package corerelo

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestExplain(t *testing.T) {
	task := func(m ...mem) *ty { return structure("task_struct", m...) }
	disk := structure("gendisk", member("major", tInt))
	local := task(member("state", tLong), member("disk", ptr(disk)), member("freebind", tU32), member("arr", array(8, tInt)))
	thread := structure("thread_info", member("state", tLong))
	tests := []struct {
		name   string
		target []*ty
		step   step
		hints  []HintKind
		text   string
	}{
		{
			"renamed by underscores", []*ty{task(member("__state", tU32), member("exit_state", tInt))}, field(local, "0:0", poisoned),
			[]HintKind{HintNearMember},
			"struct task_struct has no member state\nthe kernel has task_struct.__state (unsigned int)",
		},
		{
			"moved into a nested struct", []*ty{task(member("x", tInt), member("thread_info", thread))}, field(local, "0:0", poisoned),
			[]HintKind{HintMoved},
			"struct task_struct has no member state\nthe kernel has it as task_struct.thread_info.state (long)",
		},
		{
			"same type one pointer away", []*ty{task(member("q", ptr(structure("queue", member("d", ptr(disk))))))}, field(local, "0:1", poisoned),
			[]HintKind{HintSameType},
			"struct task_struct has no member disk\nthe kernel has a struct gendisk * in task_struct.q->d",
		},
		{
			"became a flag", []*ty{task(member("flags", tLong)), enum("", 4, false, val{"T_FLAGS_FREEBIND", 1})}, field(local, "0:2", poisoned),
			[]HintKind{HintFlag},
			"struct task_struct has no member freebind\nit may have become a flag: the kernel has enum <anon>::T_FLAGS_FREEBIND",
		},
		{
			"incompatible type", []*ty{task(member("state", ptr(tInt)))}, field(local, "0:0", poisoned),
			[]HintKind{HintChanged},
			"task_struct.state is int *, the program expects long\ntask_struct.state has another type: int *",
		},
		{
			"array too short", []*ty{task(member("arr", array(4, tInt)))}, field(local, "0:3:5", poisoned),
			nil, "task_struct.arr has 4 elements, the program takes element 5",
		},
		{
			"type of another kind", []*ty{union("task_struct", member("state", tLong))}, field(local, "0:0", poisoned),
			[]HintKind{HintOtherKind},
			"struct task_struct does not exist in the kernel\nthe kernel has union task_struct, which is not a candidate for a struct",
		},
		{
			"only a forward declaration", []*ty{fwd("task_struct", false)}, field(local, "0:0", poisoned),
			[]HintKind{HintForward},
			"struct task_struct does not exist in the kernel\nthe kernel only declares task_struct without its members",
		},
		{
			"type of a similar name", []*ty{structure("task_strct", member("state", tLong))}, typ(local, TypeExists, is(0)),
			[]HintKind{HintNearType},
			"struct task_struct does not exist in the kernel\nthe nearest name in the kernel is struct task_strct",
		},
		{
			"enumerator of a similar name and in another enum",
			[]*ty{enum("e", 4, false, val{"A_VALUES", 1}), enum("f", 4, false, val{"A_VALUE", 1})},
			enumval(enum("e", 4, false, val{"A_VALUE", 1}), "0", poisoned),
			[]HintKind{HintNearValue, HintOtherEnum},
			"enum e has no enumerator A_VALUE\nthe kernel has enum e::A_VALUES\nthe kernel has it in another enum: enum f::A_VALUE",
		},
		{
			"size cannot be adjusted", []*ty{task(member("state", tInt))}, field(local, "0:0", poisoned).load(8, 0),
			nil, "task_struct.state has 4 bytes (int) in the kernel, 8 (long) in the program: a direct load or store cannot be adjusted",
		},
		{"nothing to explain", []*ty{local}, field(local, "0:0", is(0)), nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := rule{target: tt.target, steps: []step{tt.step}}.build(t)
			r := NewResolver(f.local, Target{BTF: f.target})
			rel, err := r.Resolve(f.records[0])
			require.NoError(t, err)
			var kinds []HintKind
			for _, h := range r.Hints(rel) {
				kinds = append(kinds, h.Kind)
			}
			assert.Equal(t, tt.hints, kinds)
			assert.Equal(t, tt.text, r.Explain(rel))
		})
	}
}

func TestNames(t *testing.T) {
	near := func(want string, names ...string) []string {
		var n nearest
		for _, name := range names {
			n.offer(want, name)
		}
		return n.best(3)
	}
	assert.Equal(t, []string{"__state", "states"}, near("state", "pid", "states", "__state"))
	assert.Equal(t, []string{"i_atime_sec"}, near("i_atime", "i_atime_sec", "i_uid"))
	assert.Equal(t, []string{"recieve"}, near("receive", "recieve", "x"))
	assert.Empty(t, near("", "a"))
	assert.Equal(t, 1, distance("ab", "ba", 9))
	assert.Equal(t, 3, distance("", "abc", 9))
}

func TestFixupText(t *testing.T) {
	s := structure("s", member("a", tInt), member("f", tInt))
	f := rule{target: []*ty{structure("s")}, steps: []step{field(s, "0:1", poisoned)}}.build(t)
	rel, err := NewResolver(f.local, Target{BTF: f.target}).Resolve(f.records[0])
	require.NoError(t, err)
	assert.Equal(t, "7: <invalid CO-RE relocation>\nfailed to resolve CO-RE relocation <byte_off> [1] struct s.f (0:1 @ offset 4)\n", rel.FixupText(7))
}

func TestWords(t *testing.T) {
	for k := Kind(0); k.Valid(); k++ {
		got, ok := ParseKind(k.String())
		assert.True(t, ok)
		assert.Equal(t, k, got)
		classes := 0
		for _, is := range []bool{k.IsField(), k.IsType(), k.IsEnumval()} {
			if is {
				classes++
			}
		}
		assert.Equal(t, 1, classes, k)
	}
	_, ok := ParseKind("nonsense")
	assert.False(t, ok)
	assert.Equal(t, "unknown", Kind(13).String())
	assert.Equal(t, len(reasonNames), int(IncompatibleRoot)+1)
	assert.Equal(t, len(hintNames), int(HintFlag)+1)
	assert.Equal(t, len(stageNames), int(StagePatch)+1)
	assert.Equal(t, len(fieldNames), int(FieldPoison)+1)
	assert.Equal(t, len(poisonNames), int(PoisonKfunc)+1)
}
