package repl

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// terminal is a debugger on a pseudoterminal of its own.
type terminal struct {
	t       *testing.T
	keys    *os.File
	history string
	cmd     *exec.Cmd

	mu   sync.Mutex
	seen bytes.Buffer
	from int // what was expected already
}

func openTerminal(t *testing.T, object string) *terminal {
	t.Helper()
	return openTerminalWith(t, object, filepath.Join(t.TempDir(), "history"))
}

// openTerminalWith opens one whose history is in a file.
func openTerminalWith(t *testing.T, object, history string) *terminal {
	t.Helper()
	ptmx, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudoterminals: %v", err)
	}
	t.Cleanup(func() { ptmx.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(ptmx.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(ptmx.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetWinsize(int(ptmx.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 12, Col: 200}))
	pts, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudoterminals: %v", err)
	}
	defer pts.Close()
	exe, err := os.Executable()
	require.NoError(t, err)
	x := &terminal{t: t, keys: ptmx, history: history, cmd: exec.Command(exe)}
	x.cmd.Env = append(os.Environ(), terminalObject+"="+object, terminalObject+"_HISTORY="+x.history, "TERM=xterm")
	x.cmd.Stdin, x.cmd.Stdout, x.cmd.Stderr = pts, pts, pts
	x.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := x.cmd.Start(); errors.Is(err, syscall.ENOEXEC) {
		t.Skip("the system cannot start programs of this architecture by itself: emulated")
	} else {
		require.NoError(t, err)
	}
	t.Cleanup(func() {
		_ = x.cmd.Process.Kill()
		_ = x.cmd.Wait()
	})
	go func() {
		b := make([]byte, 4096)
		for {
			n, err := ptmx.Read(b)
			x.mu.Lock()
			x.seen.Write(b[:n])
			x.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	x.expect(prompt)
	return x
}

// press types keys once a line is read: what is typed before has the meaning that the terminal
// gives it while a program runs, where Ctrl-D and Ctrl-C are not keys.
func (x *terminal) press(keys string) {
	x.t.Helper()
	x.mode(false)
	x.send(keys)
}

// mode waits until the terminal makes lines and signals of what is typed, as it does while a
// command is carried out, or no longer does.
func (x *terminal) mode(cooked bool) {
	x.t.Helper()
	for end := time.Now().Add(patience); ; {
		tio, err := unix.IoctlGetTermios(int(x.keys.Fd()), unix.TCGETS)
		require.NoError(x.t, err)
		if (tio.Lflag&unix.ICANON != 0) == cooked && (tio.Lflag&unix.ISIG != 0) == cooked {
			return
		}
		require.True(x.t, time.Now().Before(end), "the mode of the terminal does not change to cooked: %v", cooked)
		time.Sleep(2 * time.Millisecond)
	}
}

func (x *terminal) send(keys string) {
	x.t.Helper()
	_, err := x.keys.WriteString(keys)
	require.NoError(x.t, err)
}

// patience is how long a test waits for what has to come: only a test that fails takes so long.
const patience = 2 * time.Minute

// expect waits until the terminal shows a text after what was expected last.
func (x *terminal) expect(text string) { x.t.Helper(); x.expectOne(text) }

// expectOne waits until the terminal shows one of several texts, and returns the first that it has.
func (x *terminal) expectOne(texts ...string) string {
	x.t.Helper()
	for end := time.Now().Add(patience); ; {
		x.mu.Lock()
		all := x.seen.String()
		x.mu.Unlock()
		for _, text := range texts {
			if i := strings.Index(all[x.from:], text); i >= 0 {
				x.from += i + len(text)
				return text
			}
		}
		if time.Now().After(end) {
			require.FailNow(x.t, "the terminal does not show it", "%q is not in\n%q", texts, all[x.from:])
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func (x *terminal) wait() {
	x.t.Helper()
	done := make(chan error, 1)
	go func() { done <- x.cmd.Wait() }()
	select {
	case err := <-done:
		x.mu.Lock()
		defer x.mu.Unlock()
		assert.NoError(x.t, err, "%s", x.seen.Bytes()[max(x.seen.Len()-4096, 0):])
	case <-time.After(patience):
		require.FailNow(x.t, "the debugger does not end")
	}
}

// TestCompletionOnTerminal: Tab completes commands, functions, and members of what a pointer leads
// to.
func TestCompletionOnTerminal(t *testing.T) {
	x := openTerminal(t, "examples/exec/exec.bpf.o")
	x.press("bre\t")
	x.expect("break ")
	x.press("on_e\t")
	x.expect("on_exec")
	x.press("\r")
	x.expect("Breakpoint 1: on_exec")
	x.press("run\r")
	x.expect("Start of on_exec")
	x.press("p current->real_par\t")
	x.expect("real_parent")
	x.press("->tgi\t\r")
	x.expect("$1 = 23342")
	x.press("p execs_\t\r")
	x.expect("$2 = {}")
	x.press("\r") // nothing: print is not repeated
	x.press("stepi\r")
	x.expect("(insn 1)")
	x.press("\r")
	x.expect("(insn 2)")
	x.press("\x1b[A\r") // the line before again
	x.expect("(insn 3)")
	x.press("quit\r")
	x.wait()
	history, err := os.ReadFile(x.history)
	require.NoError(t, err)
	assert.Contains(t, string(history), "p current->real_parent->tgid")
}

// TestInterruptOnTerminal: Ctrl-C stops what runs and nothing else; at the prompt it drops the
// line.
func TestInterruptOnTerminal(t *testing.T) {
	x := openTerminal(t, "internal/debug/testdata/long.o")
	x.press("run\r")
	x.expect("Start of loop")
	x.press("watch $r10\r") // never changes, and is looked at after every instruction
	x.expect("Watchpoint 1")
	for {
		x.press("continue\r")
		x.expect("continue")
		x.mode(true)
		x.send("\x03")
		if x.expectOne("Interrupted, ", "loop returned") == "Interrupted, " {
			break
		}
		x.press("run\r") // the machine is busy: it ran to its end before the key was there
		x.expect("Start of loop")
	}
	x.expect(prompt)
	x.press("print nonsense\x03")
	x.press("print 40 + 2\r")
	x.expect("$1 = 42")
	x.press("delete 1\rcontinue\r")
	x.expect("loop returned")
	x.press("\x04") // end of the input
	x.wait()
}

// TestPagerOnTerminal: long lists stop after a screenful; commands on several lines have a prompt
// of their own.
func TestPagerOnTerminal(t *testing.T) {
	x := openTerminal(t, "examples/exec/exec.bpf.o")
	x.press("help\r")
	x.expect("-- more")
	x.press("\r")
	x.expect("-- more")
	x.press("q\r")
	x.expect(prompt)
	x.press("set pager off\rhelp\r")
	x.expect("More: help COMMAND.")
	x.press("break 59\rcommands\r")
	x.expect("> ")
	x.press("print 6 * 7\rend\r")
	x.press("run\rcontinue\r")
	x.expect("$1 = 42")
	x.press("quit\r")
	x.wait()
}

// TestLongSessionOnTerminal types all commands of two transcripts, more than 60, and expects each
// line that the transcripts have, in order: no output is lost or merged with what is typed. A
// second session has the history of the first.
func TestLongSessionOnTerminal(t *testing.T) {
	const object = "internal/debug/testdata/locals-O2-dwarf5.o"
	var commands []string
	for _, file := range []string{"testdata/values.cmd", "testdata/locals.cmd"} {
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		first, rest, _ := strings.Cut(string(b), "\n")
		require.Equal(t, "# "+object, first)
		commands = append(commands, strings.Split(strings.TrimSpace(rest), "\n")...)
	}
	require.GreaterOrEqual(t, len(commands), 60)
	x := openTerminal(t, object)
	x.press("set pager off\r")
	want := strings.Split(transcript(t, object, strings.Join(commands, "\n")+"\n"), "\n")
	for _, command := range commands {
		x.press(command + "\r")
		require.Equal(t, prompt+command, want[0])
		x.expect(command)
		for want = want[1:]; len(want) > 0 && !strings.HasPrefix(want[0], prompt); want = want[1:] {
			if line := want[0]; line != "" {
				x.expect(line + "\r\n")
				x.mu.Lock()
				before := x.seen.Bytes()[x.from-len(line)-3]
				x.mu.Unlock()
				require.Contains(t, "\r\n", string(before), "%q does not begin its line", line)
			}
		}
		x.expect(prompt)
	}
	x.press("quit\r")
	x.wait()
	again := openTerminalWith(t, object, x.history)
	again.press("\x1b[A\x1b[A")
	again.expect(commands[len(commands)-1])
	again.press("\x03")
	again.press("quit\r")
	again.wait()
}

// resize gives the terminal another size, which the debugger is told by a signal.
func (x *terminal) resize(rows, cols uint16) {
	x.t.Helper()
	require.NoError(x.t, unix.IoctlSetWinsize(int(x.keys.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: cols}))
}

// TestFullScreenOnTerminal: tui shows source, registers, watches and output, follows steps, and is
// laid out again for another size.
func TestFullScreenOnTerminal(t *testing.T) {
	x := openTerminal(t, "internal/debug/testdata/locals-O1-dwarf5.o")
	x.resize(30, 120)
	x.press("break 45\rrun\rcontinue\r")
	x.expect("Breakpoint 1, fill")
	x.press("display n\r")
	x.expect("1: n = 6")
	x.press("tui\r")
	x.expect("\x1b[?1049h")
	x.expect("locals-O1-dwarf5.o on ")
	x.expect(">  45 ")
	x.expect("seen.delta = delta; // callee")
	x.expect("|r")
	x.expect("1: n = 6")
	x.expect("----")
	x.expect(prompt)
	x.press("print delta + 1\r")
	x.expect(prompt + "print delta + 1") // in the output
	x.expect("= -2")
	x.press("next\r")
	x.expect(">  46 ")
	x.resize(16, 60)
	x.expect("\x1b[H")
	x.expect("fill at locals")
	x.expect(strings.Repeat("-", 60) + "\x1b[K")
	x.press("tui off\r")
	x.expect("\x1b[?1049l")
	x.press("print 1 + 1\r")
	x.expect("= 2")
	x.press("quit\r")
	x.wait()
}

// TestResizeWhileTyping: the line that is edited survives resizes at any time, and the race
// detector, where it is on, finds nothing.
func TestResizeWhileTyping(t *testing.T) {
	x := openTerminal(t, "internal/debug/testdata/locals-O1-dwarf5.o")
	x.press("tui\r")
	x.expect("\x1b[?1049h")
	stop, done := make(chan struct{}), make(chan error)
	go func() {
		for i := uint16(0); ; i++ {
			select {
			case <-stop:
				done <- nil
				return
			case <-time.After(300 * time.Microsecond):
			}
			size := &unix.Winsize{Row: 20 + i%20, Col: 60 + i%80}
			if err := unix.IoctlSetWinsize(int(x.keys.Fd()), unix.TIOCSWINSZ, size); err != nil {
				done <- err
				return
			}
		}
	}()
	for i := range 50 {
		x.press("pri\x1b[D\x1b[C\t\x15")
		x.press(fmt.Sprintf("print %d + 1\r", i))
		x.expect(fmt.Sprintf("= %d", i+1))
	}
	close(stop)
	require.NoError(t, <-done)
	x.press("quit\r")
	x.wait()
}

// TestLayout: every size has its lines, none wider than the terminal, and what sources contain does
// nothing to it.
func TestLayout(t *testing.T) {
	x := &screen{state: panes{title: "title\x07", source: []string{"\ta\x1b]0;x", "b", strings.Repeat("ü", 300)}, at: 1, regs: []string{"r0 1"}, watch: []string{"1: a = 2"}}}
	x.on = true
	_, err := x.Write([]byte("one\ntwo\nthree"))
	require.NoError(t, err)
	for w := 20; w < 130; w += 7 {
		for h := 6; h < 50; h += 3 {
			lines := x.layout(w, h)
			require.Len(t, lines, h-1, "%d x %d", w, h)
			for _, l := range lines {
				for _, code := range []string{"\x1b[7m", "\x1b[1m", "\x1b[0m"} {
					l = strings.ReplaceAll(l, code, "")
				}
				require.LessOrEqual(t, len([]rune(l)), w)
				require.NotContains(t, l, "\x1b")
				require.NotContains(t, l, "\x07")
			}
		}
	}
}
