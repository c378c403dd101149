//go:build linux && (amd64 || arm64)

package exec

import (
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"os/signal"
	"runtime/debug"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/bpfsys"
	"github.com/bpfrun/bpfrun/uapi"
)

// supervisor serves the calls of one program and its children.
type supervisor struct {
	cfg      Config
	sys      *bpfsys.System
	listener int
	inotify  int
	quit     int // an eventfd that is written to when the tool has ended
	tool     int // process id of the program, 0 before it runs
	guard    int // of its parent, see guard

	mu         sync.Mutex // serves one call at a time
	logMu      sync.Mutex
	files      map[uint64]*file // by inode
	dev        uint64           // of all memfds
	watches    map[int]*file
	threads    map[uint32]*process
	procs      map[int]*process
	sharing    *file               // whose first mapping is made
	replies    map[uint64][][]byte // answers of netlink by inode of the socket
	probes     map[string]*probeFile
	cgroups    map[string]uint64 // that the program made, with their ids
	lastCgroup uint64
	polled     bool // something of ours was put into an epoll instance or polled
	sleeps     []sleeper
	served     uint64 // calls that were taken from the listener
	polls      map[*polling]bool
	xdpModes   map[uint32]uint32 // flags of how devices got their XDP programs
	told       map[string]bool   // notes

	quiet quiet
	step  int // next of the events
	notes int
}

// Run runs the program until it ends and returns its exit status: 128 and the signal's number when a signal ended it. The error is why it could not be run.
func Run(cfg Config) (int, error) {
	if len(cfg.Args) == 0 {
		return 0, errors.New("no program to run")
	}
	path, err := osexec.LookPath(cfg.Args[0])
	if err != nil {
		return 0, err
	}
	s := &supervisor{
		cfg: cfg, files: map[uint64]*file{}, watches: map[int]*file{}, threads: map[uint32]*process{}, procs: map[int]*process{},
		replies: map[uint64][][]byte{}, cgroups: map[string]uint64{}, probes: map[string]*probeFile{}, polls: map[*polling]bool{}, xdpModes: map[uint32]uint32{}, told: map[string]bool{},
		listener: -1, inotify: -1, quit: -1,
	}
	defer s.close()
	raiseFiles()
	sys := cfg.System
	sys.Memory = func(name string, size int) (bpfsys.Memory, error) { return s.newShared(name, size) }
	sys.Freed = s.freed
	sys.Wake = s.woken
	sys.Note = s.note
	if sys.UID = uint32(os.Getuid()); cfg.Root {
		sys.UID = 0
	}
	if sys.HasDevice == nil {
		sys.HasDevice = hasDevice
	}
	if s.sys, err = bpfsys.New(sys); err != nil {
		return 0, err
	}
	if s.quit, err = unix.Eventfd(0, unix.EFD_CLOEXEC); err != nil {
		return 0, fmt.Errorf("eventfd: %w", err)
	}
	if s.inotify, err = unix.InotifyInit1(unix.IN_CLOEXEC); err != nil {
		return 0, fmt.Errorf("inotify: %w", err)
	}
	return s.run(path)
}

// close gives back what a session held: this process may run another one.
func (s *supervisor) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.files {
		s.drop(f)
	}
	if s.sys != nil {
		s.sys.Close()
	}
	for _, p := range s.procs {
		unix.Close(p.pidfd)
	}
	clear(s.procs)
	for _, fd := range []*int{&s.listener, &s.inotify, &s.quit} {
		if *fd >= 0 {
			unix.Close(*fd)
		}
		*fd = -1
	}
}

// raiseFiles lets this process have as many descriptors as it may: each object has one.
func raiseFiles() {
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &r) == nil && r.Cur < r.Max {
		r.Cur = r.Max
		_ = unix.Setrlimit(unix.RLIMIT_NOFILE, &r)
	}
}

func (s *supervisor) run(path string) (int, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	theirs := os.NewFile(uintptr(pair[1]), "supervisor")
	defer theirs.Close()
	guard := os.NewFile(uintptr(pair[0]), "guard") // its end is the end of the program
	defer guard.Close()
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	user := "user"
	if s.cfg.Root {
		user = "root"
	}
	cmd := osexec.Command(self, append([]string{childWord, user, path}, s.cfg.Args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.cfg.Stdin, s.cfg.Stdout, s.cfg.Stderr
	cmd.ExtraFiles = []*os.File{theirs}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	theirs.Close()
	s.guard = cmd.Process.Pid
	if s.listener, err = receive(pair[0], s.guard); err != nil {
		guard.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return 0, err
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, unix.SIGTERM, unix.SIGHUP)
	var threads sync.WaitGroup
	done := make(chan struct{})
	defer func() {
		close(done)
		signal.Stop(signals)
		close(signals)
		_, _ = unix.Write(s.quit, []byte{1, 0, 0, 0, 0, 0, 0, 0})
		threads.Wait()
	}()
	threads.Go(func() { s.forward(signals) })
	threads.Go(s.closes)
	threads.Go(s.serve)
	threads.Go(func() { s.watch(done) })
	if s.cfg.Socket != "" {
		stop, err := s.listen(s.cfg.Socket)
		if err != nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			return 0, err
		}
		defer stop()
	}
	_, _ = unix.Write(pair[0], []byte{1})
	status, told := s.follow(pair[0])
	err = cmd.Wait()
	if !told {
		s.killLeft()
	}
	s.ended()
	if told {
		if status.Signaled() {
			return 128 + int(status.Signal()), nil
		}
		return status.ExitStatus(), nil
	}
	var exit *osexec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		return exit.ExitCode(), nil // it has written why
	}
	return 0, fmt.Errorf("start the guard process: %w", err)
}

// follow learns of the program from its parent: its process id, then how it ended; false when the parent was killed or could not start it.
func (s *supervisor) follow(fd int) (unix.WaitStatus, bool) {
	pid, ok := readWord(fd)
	if !ok {
		return 0, false
	}
	s.mu.Lock()
	s.tool = int(pid)
	s.mu.Unlock()
	status, ok := readWord(fd)
	return unix.WaitStatus(status), ok
}

func readWord(fd int) (uint32, bool) {
	b := make([]byte, 4)
	for {
		n, err := unix.Read(fd, b)
		if err != unix.EINTR {
			return le.Uint32(b), n == len(b)
		}
	}
}

// killLeft ends the processes that are known when the guard cannot.
func (s *supervisor) killLeft() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.procs {
		_ = unix.PidfdSendSignal(p.pidfd, unix.SIGKILL, nil, 0)
	}
}

// receive fetches the listener from the child, which tells its descriptor.
func receive(fd, pid int) (int, error) {
	theirs, ok := readWord(fd)
	if !ok {
		return 0, errors.New("the child process ended before the supervisor could attach")
	}
	pidfd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return 0, fmt.Errorf("pidfd_open: %w", err)
	}
	defer unix.Close(pidfd)
	l, err := unix.PidfdGetfd(pidfd, int(theirs), 0)
	if err != nil {
		return 0, fmt.Errorf("pidfd_getfd: %w: a container's seccomp profile may forbid it (docker run --security-opt seccomp=unconfined)", err)
	}
	return l, nil
}

// forward passes signals on that were meant for this process alone. SIGINT of a terminal reaches the program too.
func (s *supervisor) forward(signals <-chan os.Signal) {
	for sig := range signals {
		if n, ok := sig.(unix.Signal); ok && (n != unix.SIGINT || !terminal()) {
			s.mu.Lock()
			if s.tool > 0 {
				_ = unix.Kill(s.tool, n)
			}
			s.mu.Unlock()
		}
	}
}

// terminal reports whether this process is in the foreground of a terminal, which sends SIGINT to all of its group.
func terminal() bool {
	f, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer f.Close()
	pgrp, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
	return err == nil && pgrp == unix.Getpgrp()
}

func (s *supervisor) logf(format string, args ...any) {
	if s.cfg.Log == nil {
		return
	}
	s.logMu.Lock()
	defer s.logMu.Unlock()
	fmt.Fprintf(s.cfg.Log, format+"\n", args...)
}

// maxNotes limits the lines for the user.
const maxNotes = 200

// note tells the user something, once.
func (s *supervisor) note(text string) {
	if s.cfg.Notes == nil {
		return
	}
	s.logMu.Lock()
	defer s.logMu.Unlock()
	if s.notes > maxNotes {
		return
	}
	if s.told[text] {
		return
	}
	s.told[text] = true
	if s.notes++; s.notes > maxNotes {
		text = "further notes are suppressed"
	}
	fmt.Fprintf(s.cfg.Notes, "bpfrun exec: %s\n", strings.TrimRight(text, "\n"))
}

// freed follows the end of an object: its descriptor here closes.
func (s *supervisor) freed(o bpfsys.Object) {
	if f, ok := (*bpfsys.Tag(o)).(*file); ok {
		s.drop(f)
	}
}

func (s *supervisor) newShared(name string, size int) (bpfsys.Memory, error) {
	// The first mapping of an object that has descriptors already is of their inode.
	if f := s.sharing; f != nil {
		return newMemory(f.fd, size)
	}
	fd, err := unix.MemfdCreate("bpfrun:"+name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, err
	}
	m, err := newMemory(fd, size)
	unix.Close(fd)
	if err != nil {
		return nil, err
	}
	return m, nil
}

func (s *supervisor) reply(n *notif, val int64, e unix.Errno) {
	r := notifResp{ID: n.ID, Val: val, Error: -int32(e)}
	if e != 0 {
		r.Val = 0
		s.logf("-> %s", unix.ErrnoName(e))
	}
	_ = s.send(&r)
}

// host lets the call go to the host's kernel.
func (s *supervisor) host(n *notif) {
	r := notifResp{ID: n.ID, Flags: flagContinue}
	_ = s.send(&r)
}

// result replies with what package bpfsys gives.
func (s *supervisor) result(n *notif, r bpfsys.Result) {
	if r.Note != "" {
		s.note(r.Note)
	}
	if r.Errno != 0 || r.File == nil {
		if r.File != nil && r.File.Object != nil {
			s.sys.Release(r.File.Object)
		}
		s.reply(n, r.Val, unix.Errno(r.Errno))
		return
	}
	o := r.File.Object
	f, err := s.fileOf(o)
	if err != nil {
		s.logf("no file for %s %s: %v", o.Kind(), o.Name(), err)
		s.sys.Release(o)
		s.reply(n, 0, unix.ENFILE)
		return
	}
	if it, ok := o.(*bpfsys.Iter); ok && f.open == 0 {
		_, _ = unix.Write(f.fd, it.Text())
	}
	flags := int(r.File.Access) | unix.O_CLOEXEC
	if open := f.open; !s.give(n, f, flags) && f.open == open {
		s.sys.Release(o)
	}
}

// serve handles notified calls until nobody is left who could make one.
func (s *supervisor) serve() {
	p := []unix.PollFd{{Fd: int32(s.listener), Events: unix.POLLIN}, {Fd: int32(s.quit), Events: unix.POLLIN}}
	for {
		if _, err := unix.Poll(p, -1); err != nil && err != unix.EINTR || p[1].Revents != 0 {
			return
		}
		if p[0].Revents&unix.POLLIN == 0 {
			if p[0].Revents != 0 {
				return // nobody is left
			}
			continue
		}
		// Under the lock, so that whoever has it sees each call at the listener or served. It does not block: the call is there, and stays counted
		// when its thread is killed (ENOENT).
		s.mu.Lock()
		var n notif
		if s.recv(&n) == 0 {
			s.served++
			s.handle(&n)
		}
		s.mu.Unlock()
	}
}

// pending reports whether a call waits to be served.
func (s *supervisor) pending() bool { return ready(s.listener, unix.POLLIN) }

// handle serves one call. A panic is a bug here, which must not leave the program waiting.
func (s *supervisor) handle(n *notif) {
	defer func() {
		if r := recover(); r != nil {
			s.note(fmt.Sprintf("internal error in call %d: %v\n%s", n.NR, r, debug.Stack()))
			s.reply(n, 0, unix.EIO)
		}
	}()
	c := &call{s: s, n: n}
	if h := handlers[int(n.NR)]; h != nil {
		h(c)
		return
	}
	s.host(n)
}

// ended tells of what was left over.
func (s *supervisor) ended() {
	if ev := s.cfg.Events; ev != nil && s.step < len(ev.Steps) && len(ev.Steps[s.step]) > 0 {
		s.note(fmt.Sprintf("the program ended before step %d of %d of its events", s.step+1, len(ev.Steps)))
	}
}

func errnoOf(e uapi.Errno) unix.Errno { return unix.Errno(e) }
