//go:build linux && (amd64 || arm64)

package exec

import (
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"os/signal"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/visible"
)

// supervisor serves the calls of one tool and its children.
type supervisor struct {
	cfg      Config
	sys      *bpfsys.System
	listener int
	inotify  int
	quit     int          // eventfd, written when the tool has ended
	tool     atomic.Int64 // process id of the tool, 0 before it runs
	guard    int          // process id of the tool's parent, see guard

	mu         sync.Mutex // held while a call is served
	logMu      sync.Mutex
	files      map[uint64]*file // by inode
	dev        uint64           // device number of all memfds
	watches    map[int]*file
	closing    map[*file]time.Time // files of which a descriptor was closed, since when
	threads    map[uint32]*process
	procs      map[int]*process
	manyProcs  int // number of processes at which those that have ended are looked for
	due        dueTimer
	sharing    *file               // object whose first mapping is being made
	replies    map[uint64][][]byte // pending netlink answers by inode of the socket
	poked      map[uint64]bool     // sockets that were made ready for them
	probes     map[string]*probeFile
	cgroups    map[string]uint64 // created by the tool, with their ids
	lastCgroup uint64
	joined     map[string]*file // files of cgroups that ids of tasks were written to
	polled     bool             // a simulated file was polled or put into an epoll instance
	counted    bool             // a perf event was opened
	sleeps     []sleeper
	served     uint64 // calls received from the listener
	polls      map[*polling]bool
	netns      map[uint32]membership // of threads, once one has left the initial network namespace
	// routeSockets are the namespaces of NETLINK_ROUTE sockets that are not in the initial one, by
	// inode.
	routeSockets map[uint64]uint32
	ingress      map[bpfsys.Device]bool // devices that have, or had, a clsact or ingress qdisc
	watchers     map[uint64]*watcher    // sockets of NETLINK_ROUTE that joined groups, by inode
	told         map[string]bool        // notes already written
	callNames    map[int32]string
	mounts       []mountPoint      // of bpffs, in the order in which the tool mounted them
	starts       int               // execve(2) that the guard has still to make: of the tool, and of the shell beside it
	guardNS      map[string]uint64 // inodes of the guard's namespaces, once it has made a call
	mountTables  map[mountKey]*mountTable
	tables       map[uint32]threadTable // of threads other than the first of their process
	workDirs     []workDir
	workDirIDs   map[workDir]int

	// seen are the ids of processes that ever made a notified call.
	seen     map[int]bool
	families map[int]genericFamily // of generic netlink, by the numbers that the host gave them

	quiet    quiet
	lives    lives
	begun    map[int]*begun // calls of --live whose exit is to be fired, by thread
	invented map[string]int // calls whose results programs saw that are not the real ones
	// dentries are the working directories and programs of processes as kernel objects, creds and
	// nsproxies their credentials and namespaces; shown are the pages of processes' memory that
	// programs find, shownOrder these in the order in which they came, and shownNext the one that a
	// new page replaces.
	dentries   map[string]*object.Object
	identities identities
	creds      map[string]*object.Object
	nsproxies  map[string]*object.Object
	shown      map[uint64]bool
	shownOrder []uint64
	shownNext  int
	beside     *os.File // the pipe that starts the command of Config.Run; nil without one
	went       bool     // that command was started
	step       int      // index of the next step of the events
	progress   progress
	unheard    unheard
	timedOut   bool // Config.Timeout has passed
	busyStep   int  // the step that the tool keeps waiting, and since when
	busy       time.Time
	held       int  // calls that wait in sockets, see hold
	killable   bool // no signal interrupts a call that was received, unless it ends the process
	compiles   bool // it would have compiled with them
	headers    bool // the tool looked for headers of the simulated kernel that are not installed
	notes      int
}

// Run runs the tool until it ends and returns its exit status: 128 plus the signal's number when a
// signal ended it. An error means that the tool could not be run. From the call on, other processes
// of the same user cannot trace this process (prctl(2) PR_SET_DUMPABLE).
func Run(cfg Config) (int, error) {
	if len(cfg.Args) == 0 {
		return 0, errors.New("no program to run")
	}
	if err := checkTarget(&cfg.System); err != nil {
		return 0, err
	}
	path, err := osexec.LookPath(cfg.Args[0])
	if err != nil {
		return 0, err
	}
	s := &supervisor{
		cfg: cfg, files: map[uint64]*file{}, watches: map[int]*file{}, threads: map[uint32]*process{}, procs: map[int]*process{},
		replies: map[uint64][][]byte{}, poked: map[uint64]bool{}, cgroups: map[string]uint64{}, joined: map[string]*file{}, probes: map[string]*probeFile{}, polls: map[*polling]bool{}, routeSockets: map[uint64]uint32{}, ingress: map[bpfsys.Device]bool{}, told: map[string]bool{}, callNames: map[int32]string{},
		mountTables: map[mountKey]*mountTable{}, tables: map[uint32]threadTable{}, workDirIDs: map[workDir]int{},
		listener: -1, inotify: -1, quit: -1,
	}
	if cfg.Run != "" && cfg.Events == nil {
		s.cfg.Events = &Events{Steps: []Step{nil}}
	} else if cfg.Events != nil { // lines are replaced by what they stand for
		ev := *cfg.Events
		ev.Steps = slices.Clone(ev.Steps)
		s.cfg.Events = &ev
	}
	defer s.close()
	if err := unreachable(); err != nil {
		return 0, err
	}
	if own, err := os.Readlink("/proc/self"); err != nil || own != strconv.Itoa(os.Getpid()) {
		return 0, errors.New("/proc does not show the processes of this PID namespace: mount proc there first (unshare --mount-proc)")
	}
	raiseFiles()
	sys := cfg.System
	sys.Memory = func(name string, size int) (bpfsys.Memory, error) { return s.newShared(name, size) }
	sys.Freed = s.freed
	sys.Wake = s.woken
	sys.Note = s.note
	sys.Release = cfg.Release
	if cfg.RealClock {
		sys.Clock = hostTimes
	}
	if sys.UID = uint32(os.Getuid()); cfg.Root {
		sys.UID = 0
	}
	sys.OpenSockets = s.openSockets
	var netns unix.Stat_t
	if unix.Stat("/proc/self/ns/net", &netns) == nil { // also that of tools
		sys.NetnsInode = uint32(netns.Ino)
	}
	if sys.HasDevice == nil {
		sys.HasDevice, sys.DeviceNamed = hasDevice, deviceNamed
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

// close releases what a session holds, since this process may run another one.
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
		p.close()
	}
	clear(s.procs)
	for _, w := range s.watchers {
		unix.Close(w.fd)
	}
	clear(s.watchers)
	s.dropMountTables()
	s.dropTables()
	for _, fd := range []*int{&s.listener, &s.inotify, &s.quit} {
		if *fd >= 0 {
			unix.Close(*fd)
		}
		*fd = -1
	}
}

// unreachable denies other processes of this user the memory and the descriptors of this one:
// ptrace(2), process_vm_writev(2), pidfd_getfd(2) and the files in /proc that they protect.
// Processes that are started are reachable again after their execve(2).
func unreachable() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("PR_SET_DUMPABLE: %w", err)
	}
	return nil
}

// raiseFiles raises this process's limit of open files to the maximum: each object needs a
// descriptor.
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
	guard := os.NewFile(uintptr(pair[0]), "guard") // end of file on it means that the tool ended
	defer guard.Close()
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	user := "user"
	if s.cfg.Root {
		user = "root"
	}
	if s.cfg.Live {
		user += "+live"
	}
	args := []string{childWord, user, path}
	files := []*os.File{theirs} // which this process closes when they are inherited
	if s.cfg.Run != "" {
		wait, start, err := os.Pipe()
		if err != nil {
			return 0, err
		}
		defer start.Close()
		files, s.beside = append(files, wait), start
		args[1] += "+run"
		args = append(args, s.cfg.Run)
	}
	s.starts = len(files)
	cmd := osexec.Command(self, append(args, s.cfg.Args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.cfg.Stdin, s.cfg.Stdout, s.cfg.Stderr
	cmd.ExtraFiles = files
	err = cmd.Start()
	for _, f := range files {
		f.Close()
	}
	if err != nil {
		return 0, err
	}
	s.guard = cmd.Process.Pid
	if s.listener, err = s.receive(pair[0], s.guard); err != nil {
		guard.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return 0, err
	}
	s.wakeHere()
	s.killable = hostSince(5, 19)
	if !hostCgroups() {
		s.ownsCgroups()
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
	s.sayLosses()
	s.sayUnheard()
	s.sayInvented()
	if told {
		code := status.ExitStatus()
		if status.Signaled() {
			code = 128 + int(status.Signal())
		}
		if s.quiet.asked == 0 {
			s.sayAbsent(code != 0)
		}
		return code, nil
	}
	var exit *osexec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		return exit.ExitCode(), nil // the child has written why
	}
	return 0, fmt.Errorf("%w: %w", ErrGuard, err)
}

// follow receives from the guard the tool's process id, then its wait status; ok is false when the
// guard was killed or could not start the tool.
func (s *supervisor) follow(fd int) (unix.WaitStatus, bool) {
	pid, ok := readWord(fd)
	if !ok {
		return 0, false
	}
	s.tool.Store(int64(pid))
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

// killLeft kills the known processes when the guard no longer can.
func (s *supervisor) killLeft() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.procs {
		_ = unix.PidfdSendSignal(p.pidfd, unix.SIGKILL, nil, 0)
	}
}

// receive copies the filter's listener from the child, which sends its descriptor's number and
// waits.
func (s *supervisor) receive(fd, pid int) (int, error) {
	theirs, ok := readWord(fd)
	if !ok {
		return 0, errors.New("the child process ended before the supervisor could attach")
	}
	pidfd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return -1, fmt.Errorf("pidfd_open: %w", err)
	}
	defer unix.Close(pidfd)
	l, err := unix.PidfdGetfd(pidfd, int(theirs), 0)
	if err != nil {
		return 0, fmt.Errorf("pidfd_getfd: %w: %s", err, advice)
	}
	if err := s.usable(pid); err != nil {
		unix.Close(l)
		return -1, err
	}
	return l, nil
}

// forward passes on signals that only this process received. SIGINT of a terminal reaches the tool
// as well. It takes no lock: a tool can make the call that is being served wait, by memory that it
// provides itself (userfaultfd(2), files of its own FUSE server).
func (s *supervisor) forward(signals <-chan os.Signal) {
	for sig := range signals {
		if n, ok := sig.(unix.Signal); ok && (n != unix.SIGINT || !terminal()) {
			if tool := int(s.tool.Load()); tool > 0 {
				_ = unix.Kill(tool, n)
			}
		}
	}
}

// terminal reports whether this process is in a terminal's foreground process group, all of which
// gets SIGINT.
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
	visible.Fprintf(s.cfg.Log, format+"\n", args...)
}

// maxNotes limits the notes of a session.
const maxNotes = 200

// note writes a note for the user, once.
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
	visible.Fprintf(s.cfg.Notes, "bpfrun exec: %s\n", strings.TrimRight(text, "\n"))
}

// freed closes the descriptor of an object that was freed.
func (s *supervisor) freed(o bpfsys.Object) {
	if f, ok := (*bpfsys.Tag(o)).(*file); ok {
		s.drop(f)
	}
}

func (s *supervisor) newShared(name string, size int) (bpfsys.Memory, error) {
	// The first mapping of an object that already has descriptors must use their inode.
	if f := s.sharing; f != nil {
		return newMemory(f.fd, size)
	}
	fd, err := s.memfd(name)
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
	if b := s.begun[int(n.PID)]; b != nil {
		ret := r.Val
		if e != 0 {
			ret = -int64(e)
		}
		b.ret = &ret
	}
	_ = s.send(&r)
}

// host lets the host's kernel serve the call.
func (s *supervisor) host(n *notif) {
	r := notifResp{ID: n.ID, Flags: flagContinue}
	_ = s.send(&r)
}

// result replies with the result of a bpfsys call.
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

// serve handles notified calls until no process is left that could make one.
func (s *supervisor) serve() {
	p := []unix.PollFd{{Fd: int32(s.listener), Events: unix.POLLIN}, {Fd: int32(s.quit), Events: unix.POLLIN}}
	for {
		if _, err := unix.Poll(p, -1); err != nil && err != unix.EINTR || p[1].Revents != 0 {
			return
		}
		if p[0].Revents&unix.POLLIN == 0 {
			if p[0].Revents != 0 {
				return // no process is left
			}
			continue
		}
		// Received under the lock, so that each call is either pending at the listener or served
		// when the lock is free. This does not block: a call is pending, and stays so when its
		// thread is killed (ENOENT).
		s.mu.Lock()
		var n notif
		if s.recv(&n) == 0 {
			s.served++
			s.handle(&n)
			s.arm()
		}
		s.mu.Unlock()
	}
}

// pending reports whether a call waits at the listener.
func (s *supervisor) pending() bool { return ready(s.listener, unix.POLLIN) }

// handle serves one call. A panic is a bug of ours; the tool gets an error instead of waiting
// forever.
func (s *supervisor) handle(n *notif) {
	defer func() {
		if r := recover(); r != nil {
			s.note(fmt.Sprintf("internal error in call %d: %v\n%s", n.NR, r, debug.Stack()))
			s.reply(n, 0, unix.EIO)
		}
	}()
	c := &call{s: s, n: n}
	c.lives()
	c.live()
	if s.cfg.Live && c.sockets() {
		return
	}
	if h := handlers()[int(n.NR)]; h != nil && (!s.cfg.Live || ruled(n, s.cfg.Root)) {
		h(c)
		return
	}
	s.host(n)
}

// ended notes what was left over when the tool ended. The watch may still be about a step.
func (s *supervisor) ended() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ev := s.cfg.Events; ev != nil && s.tool.Load() > 0 && s.step < len(ev.Steps) && len(ev.Steps[s.step]) > 0 {
		s.note(fmt.Sprintf("the program ended before step %d of %d of its events", s.step+1, len(ev.Steps)))
	}
}

func errnoOf(e uapi.Errno) unix.Errno { return unix.Errno(e) }
