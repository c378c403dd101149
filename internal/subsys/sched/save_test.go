package sched

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// trying tries functions of the scheduler in each operation, twice, and takes them back.
type trying struct {
	*policy
	t    *testing.T
	open *Cursor // of the first queue, for as long as the schedule lasts
}

func (p *trying) Call(cpu int, op Op, args []any) (int64, error) {
	s := p.s
	fields := map[*Task]map[Field]uint64{}
	for t, f := range p.fields {
		fields[t] = maps.Clone(f)
	}
	if p.open == nil {
		p.open = s.Visit(0, true)
	}
	was, back := s.Operation(), s.Save()
	at := Cursor{}
	if p.open != nil {
		at = *p.open
	}
	for range 2 {
		for i, t := range s.tasks {
			s.Kick(i%len(s.cpus), 0)
			s.Insert(t, 1, 5, uint64(i), 0, true)
			s.Insert(t, DSQLocal, 5, 0, 0, false)
			t.gen, t.wakes = t.gen+1, t.wakes+1
			t.Stats.ByCPU[9]++
		}
		s.SetOperation(Operation{in: place{OpTick, 0, s.cpus[0]}, waker: 0, direct: s.tasks[0]})
		if v := s.Visit(0, false); v != nil {
			v.Next()
			v.Next()
		}
		if p.open != nil {
			p.open.Next()
		}
		s.MoveToLocal(1, 0)
		s.CreateDSQ(99, -1)
		s.DestroyDSQ(1)
		s.ReenqueueDSQ(DSQLocal, 0)
		s.groupOf("/x").weight = 7
		s.TakeIdle(0)
		s.OverrideCids(make([]int32, len(s.cpus)))
		s.counts[Counter("x")]++
		s.Fail("tried")
		back()
		p.fields = map[*Task]map[Field]uint64{}
		for t, f := range fields {
			p.fields[t] = maps.Clone(f)
		}
		assert.Equal(p.t, was, s.Operation())
		if p.open != nil {
			assert.Equal(p.t, at, *p.open)
		}
	}
	return p.policy.Call(cpu, op, args)
}

// TestSaveBringsBackWhatOperationsChange: a schedule whose operations are tried before is the same.
func TestSaveBringsBackWhatOperationsChange(t *testing.T) {
	cfg := Config{CPUs: Topology(2, 0, 0, 0), HZ: 250, Duration: 60 * ms, Tasks: several(5)}
	plain := fifo(4 * ms)
	plain.do[OpSelectCPU] = func(a []any) int64 { return int64(plain.s.SelectDefault(a[0].(*Task), a[1].(int), 0, Mask{}, 0)) }
	want := plain.run(t, cfg)
	p := &trying{fifo(4 * ms), t, nil}
	p.do[OpSelectCPU] = func(a []any) int64 { return int64(p.s.SelectDefault(a[0].(*Task), a[1].(int), 0, Mask{}, 0)) }
	s, err := New(cfg, p)
	assert.NoError(t, err)
	p.s = s
	got, err := s.Run(t.Context())
	assert.NoError(t, err)
	assert.Equal(t, text(want), text(got))
	assert.Equal(t, plain.log, p.log)
	assert.Equal(t, want.Calls, got.Calls)
	assert.Equal(t, want.Events, got.Events)
	assert.Equal(t, want.Exit, got.Exit)
}

// TestSaveKnowsWhatLeadsElsewhere: a struct is copied by assignment, and what its fields lead to is
// copied too or does not change.
func TestSaveKnowsWhatLeadsElsewhere(t *testing.T) {
	for _, tt := range []struct {
		state          any
		copied, others []string
	}{
		{
			Sim{},
			[]string{"groups", "tasks", "cpus", "dsqs", "global", "late", "counts", "inited", "result"},
			[]string{"ops", "byName", "direct", "subject", "exit", "dumping"},
		},
		{Task{}, nil, []string{"Spec", "mirror", "dsq"}},
		{links{}, nil, []string{"prev", "next"}},
		{list{}, nil, []string{"first", "last"}},
		{branch{}, nil, []string{"up", "left", "right"}},
		{priq{}, nil, []string{"root"}},
		{spans{}, nil, []string{"core", "llc", "nodes", "nodeOf"}},
		{rq{}, []string{"above", "kicks"}, []string{"curr"}},
		{DSQ{}, []string{"cursors"}, []string{"cpu"}},
		{Cursor{}, nil, []string{"q", "at", "Slice", "Vtime"}},
		{reenqueues{}, []string{"users"}, nil},
		{buffer{}, []string{"list"}, []string{"rq"}},
		{cids{}, []string{"toCPU", "ofCPU", "topo"}, nil},
		{Stats{}, []string{"ByCPU"}, nil},
		{Result{}, []string{"Calls", "Busy"}, []string{"Tasks", "Segments", "Exit"}},
		{group{}, nil, nil},
		{idle{}, nil, nil},
	} {
		var leads []string
		for typ, i := reflect.TypeOf(tt.state), 0; i < typ.NumField(); i++ {
			switch f := typ.Field(i); f.Type.Kind() {
			case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Interface, reflect.Func, reflect.Chan:
				leads = append(leads, f.Name)
			}
		}
		want := slices.Concat(tt.copied, tt.others)
		assert.ElementsMatch(t, want, leads, "%T: copy it in save.go, and name it here", tt.state)
	}
}
