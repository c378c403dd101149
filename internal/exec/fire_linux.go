//go:build linux && (amd64 || arm64)

package exec

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
)

// progress is how far a step has come: it is interrupted whenever a buffer becomes full, so that
// the tool can read.
type progress struct {
	line, times int // the next line, and how often it has fired
	loops       []running
	waits       bool
	read        uint64    // what the tool had read when the step was interrupted
	since       time.Time // when that was
	flooded     bool      // the tool does not read, so that the rest of the step does not wait for it
}

// resume fires the events of a step up to its end, or until a buffer that the tool reads is more
// than half full. It returns whether the step is at its end.
func (s *supervisor) resume(step Step, now time.Time) bool {
	at := &s.progress
	if at.waits {
		if p := s.sys.Pressure(); p.Crowded && p.Read == at.read && !s.unreadable(now) {
			return false
		} else if p.Crowded && p.Read == at.read {
			at.flooded = true
		}
		at.waits = false
	}
	for at.line < len(step) {
		if s.called(now) {
			return false
		}
		l := step[at.line]
		switch {
		case l.Auto:
			step = slices.Replace(slices.Clone(step), at.line, at.line+1, s.invent()...)
			s.cfg.Events.Steps[s.step] = step
			continue
		case l.Loop != nil:
			at.loops = append(at.loops, running{l.Loop, at.line + 1, 0})
		case l.End:
			r := &at.loops[len(at.loops)-1]
			if r.loop.Every > 0 {
				_, _ = s.hit(Line{Text: l.Text, Pass: r.loop.Every})
			}
			if r.times++; r.times < r.loop.Count {
				at.line = r.first
				continue
			}
			at.loops = at.loops[:len(at.loops)-1]
		case l.Pass > 0 && l.open == nil:
			_, _ = s.hit(l)
		default:
			l, err := l.bind(at.loops)
			if err != nil {
				s.note(fmt.Sprintf("event of line %d: %v", l.Number, err))
				break
			}
			if l.Pass > 0 {
				_, _ = s.hit(l)
				break
			}
			if !s.fires(l, now) {
				return at.line == len(step)
			}
		}
		at.line, at.times = at.line+1, 0
	}
	s.progress = progress{}
	s.levels()
	return true
}

// fires fires a line as often as it says. It returns false, with the next line to fire noted, if
// the step has to wait for the tool.
func (s *supervisor) fires(l Line, now time.Time) bool {
	at := &s.progress
	for at.times < l.Repeat {
		at.times++
		if _, err := s.once(l); err != nil {
			if errors.Is(err, bpfsys.ErrNoHook) {
				s.unmatched(l.Event.Hook, l.Repeat-at.times+1)
			}
			return true
		}
		if s.crowded(now) || at.times < l.Repeat && s.called(now) {
			if at.times == l.Repeat {
				at.line, at.times = at.line+1, 0
			}
			s.levels()
			s.quiet.reset(now)
			return false
		}
	}
	return true
}

// longTurn is how long a step may fire events while a call of the tool waits to be served.
const longTurn = 50 * time.Millisecond

// called reports whether a step that began to fire at a time has to let the tool make a call: a
// signal or a timer of its own woke it.
func (s *supervisor) called(began time.Time) bool {
	if time.Since(began) < longTurn || !s.pending() {
		return false
	}
	s.levels()
	s.quiet.reset(began)
	return true
}

// crowded reports whether the step has to wait for the tool, and notes that it does.
func (s *supervisor) crowded(now time.Time) bool {
	at := &s.progress
	if s.cfg.NoWait || at.flooded {
		return false
	}
	p := s.sys.Pressure()
	if p.Crowded {
		at.waits, at.read, at.since = true, p.Read, now
	}
	return p.Crowded
}

// unreadable reports whether a tool that waits does not read a crowded buffer: not when its
// timeouts have passed either.
func (s *supervisor) unreadable(now time.Time) bool {
	limit := pause
	if l := s.quiet.last; l != nil && l.longest > 0 {
		limit += min(2*l.longest, soon)
	}
	return now.Sub(s.progress.since) >= limit
}

// stuck reports whether a tool that was told of a crowded buffer has long not read it: the rest of
// the step does not wait for it.
func (s *supervisor) stuck(now time.Time) bool {
	at := &s.progress
	if !at.waits || now.Sub(at.since) < stubborn || s.sys.Pressure().Read != at.read {
		return false
	}
	at.waits, at.flooded = false, true
	return true
}

// hit fires an event's hook as often as its line says and returns how many programs ran.
func (s *supervisor) hit(l Line) (int, error) {
	if l.Pass > 0 {
		err := s.sys.Pass(l.Pass)
		if err != nil {
			s.note(l.Text + ": " + err.Error())
		}
		return 0, err
	}
	ran := 0
	for range l.Repeat {
		n, err := s.once(l)
		if ran += n; err != nil {
			return ran, err
		}
	}
	s.levels()
	return ran, nil
}

// once fires an event's hook and returns how many programs ran.
func (s *supervisor) once(l Line) (int, error) {
	fired, err := s.sys.Fire(l.Event)
	if err != nil {
		if errors.Is(err, bpfsys.ErrNoHook) {
			return 0, fmt.Errorf("%w%s; programs are attached to %s", err, s.nearest(l.Event.Hook), s.hooks())
		}
		s.note("event " + l.Text + ": " + err.Error())
		return 0, err
	}
	if s.cfg.Fired != nil {
		s.cfg.Fired(l.Event.Hook, fired)
	}
	for _, f := range fired {
		s.logf("event %s: program %s returned %d", l.Event.Hook, f.Program, int64(f.Ret))
		if f.Err != nil {
			s.note("event " + l.Text + ": " + f.Err.Error())
		}
	}
	return len(fired), nil
}

// nearest says that the kernel lacks a hook whose name looks like a mistyped one.
func (s *supervisor) nearest(hook string) string {
	names := s.cfg.System.Target.Misspelt(hook)
	if len(names) == 0 {
		return ""
	}
	return ", which the kernel does not have (nearest: " + strings.Join(names, ", ") + ")"
}

// unheard are the events that no program was attached for.
type unheard struct {
	hooks []string // in the order in which they came
	times map[string]int
	had   string // what programs were attached to when the first one came
}

// maxUnheard limits the hooks that are counted.
const maxUnheard = 1 << 12

// unmatched counts events that found no program.
func (s *supervisor) unmatched(hook string, n int) {
	u := &s.unheard
	if u.times == nil {
		u.times, u.had = map[string]int{}, s.hooks()
	}
	if u.times[hook] == 0 {
		if len(u.hooks) == maxUnheard {
			hook = u.hooks[maxUnheard-1]
		} else {
			u.hooks = append(u.hooks, hook)
		}
	}
	u.times[hook] += n
}

// sayUnheard notes in one line which events found no program.
func (s *supervisor) sayUnheard() {
	u := &s.unheard
	if len(u.hooks) == 0 {
		return
	}
	const shown = 12
	var list []string
	total := 0
	for i, h := range u.hooks {
		n := u.times[h]
		if total += n; i < shown {
			text := h
			if n > 1 {
				text += fmt.Sprintf(" (%d times)", n)
			}
			list = append(list, text+s.nearest(h))
		}
	}
	if more := len(u.hooks) - shown; more > 0 {
		list = append(list, fmt.Sprintf("%d more hooks", more))
	}
	events := "1 event"
	if total > 1 {
		events = fmt.Sprintf("%d events", total)
	}
	s.note(fmt.Sprintf("%s found no program: %s; programs were attached to %s", events, strings.Join(list, ", "), u.had))
}

// sayLosses notes the records that did not fit into the tool's buffers.
func (s *supervisor) sayLosses() {
	s.logMu.Lock() // calls of a thread that outlived the tool are still served
	s.notes = 0    // however much else was said
	s.logMu.Unlock()
	for _, l := range s.sys.Losses() {
		s.note(lossText(l))
	}
}

func lossText(l bpfsys.Loss) string {
	name, records, holds := l.Map, "records of %s were", ""
	if name == "" {
		name = "a map without a name"
	}
	if l.Records == 1 {
		records = "record of %s was"
	}
	if l.Holds > 0 { // else they were too large for any buffer
		holds = fmt.Sprintf(": its buffer of %d bytes was full", l.Holds)
	}
	return fmt.Sprintf("%d "+records+" lost%s", l.Records, name, holds)
}
