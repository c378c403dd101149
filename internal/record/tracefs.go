package record

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Live reads events of the running kernel through tracefs. They are switched on in an instance of
// their own, a ring buffer that nobody else uses, which is removed at the end with all that was
// switched on; other users of ftrace notice nothing.
type Live struct {
	// Tracefs is where tracefs is mounted.
	Tracefs string
	// Instance is the name of the instance, which must not exist.
	Instance string
	// Events are names such as "sched:sched_switch" or "syscalls:sys_enter_openat".
	Events []string
	// BufferKB is the size of the buffer of each processor.
	BufferKB int

	// Replaced in tests, whose directories make and hold files as others do.
	mkdir, rmdir func(string) error
}

// ErrLive is wrapped by errors of tracefs.
var ErrLive = errors.New("tracefs")

// ErrNoTracefs means that the directory is no mounted tracefs.
var ErrNoTracefs = fmt.Errorf("%w: it is not mounted there", ErrLive)

// maxLiveEvents limits the events that are switched on.
const maxLiveEvents = 256

// Record switches the events on, writes what happens until the context ends or enough was written,
// and switches them off. Whatever fails, the instance is removed.
func (l *Live) Record(ctx context.Context, r *Recorder) (err error) {
	if len(l.Events) == 0 || len(l.Events) > maxLiveEvents {
		return fmt.Errorf("%w: want 1 to %d events", ErrLive, maxLiveEvents)
	}
	for _, e := range l.Events {
		system, name, ok := strings.Cut(e, ":")
		if !ok || !isWord(strings.ReplaceAll(system, "-", "_")) || !isWord(name) {
			return fmt.Errorf("%w: %q: want SYSTEM:EVENT, such as sched:sched_switch", ErrLive, e)
		}
	}
	dir := filepath.Join(l.Tracefs, "instances", l.Instance)
	if l.mkdir == nil {
		l.mkdir, l.rmdir = func(dir string) error { return os.Mkdir(dir, 0o700) }, os.Remove
	}
	if err := l.mkdir(dir); errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%w: %s has no directory instances", ErrNoTracefs, l.Tracefs)
	} else if err != nil {
		return fmt.Errorf("%w: an instance for this recording: %w", ErrLive, err)
	}
	on := []string{}
	defer func() { err = errors.Join(err, l.restore(dir, on)) }()
	if l.BufferKB > 0 {
		if err := set(dir, "buffer_size_kb", fmt.Sprint(l.BufferKB)); err != nil {
			return err
		}
	}
	pipe, err := openPipe(filepath.Join(dir, "trace_pipe"))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrLive, err)
	}
	for _, e := range l.Events {
		file := "events/" + strings.Replace(e, ":", "/", 1) + "/enable"
		on = append(on, file) // switched off also where it is not known whether it was switched on
		if err := set(dir, file, "1"); err != nil {
			pipe.Close()
			return err
		}
	}
	return l.follow(ctx, pipe, r)
}

// follow reads the pipe until the context ends.
func (l *Live) follow(ctx context.Context, pipe io.ReadCloser, r *Recorder) error {
	var once sync.Once
	shut := func() { once.Do(func() { pipe.Close() }) }
	defer shut()
	stop := context.AfterFunc(ctx, shut)
	defer stop()
	err := r.text(bufio.NewReaderSize(pipe, 64<<10), newFtrace(r))
	if ctx.Err() != nil {
		return nil // the pipe was closed, so that a read failed
	}
	return err
}

// restore switches off what was switched on, and removes the instance.
func (l *Live) restore(dir string, on []string) error {
	var errs []error
	for _, file := range on {
		if err := set(dir, file, "0"); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	if err := l.rmdir(dir); err != nil {
		errs = append(errs, fmt.Errorf("%w: remove the instance: %w", ErrLive, err))
	}
	return errors.Join(errs...)
}

func set(dir, file, value string) error {
	f, err := os.OpenFile(filepath.Join(dir, file), os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrLive, err)
	}
	_, err = f.WriteString(value)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("%w: %w", ErrLive, err)
	}
	return nil
}
