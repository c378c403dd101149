package repl

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/internal/debug"
	"github.com/bpfrun/bpfrun/internal/visible"
	"github.com/bpfrun/bpfrun/internal/worded"
)

// runMoreCommands are further commands that run the program.
var runMoreCommands = []*command{
	{
		name: "advance", args: "LOCATION", topic: "running", short: "run to a location, or to where the function returns", repeat: same,
		run: func(r *REPL, ctx context.Context, args string) error {
			if args == "" {
				return errors.New("advance: no location given")
			}
			return until(r, ctx, args)
		},
		complete: locations,
	},
	{
		name: "kernel", args: "[KERNEL]", topic: "running", short: "switch to another kernel, at the same point of the run",
		long: "KERNEL is anything --btf takes: a file, host or embedded. The new run stops at the same instruction, reached for the same time.\n" +
			"Breakpoints are set again; watchpoints and changes are dropped. Without an argument, print the kernel.",
		run: func(r *REPL, ctx context.Context, args string) error {
			if args == "" {
				r.printf("%s\n", r.s.Linked().Target.Name)
				return nil
			}
			st, err := r.s.SwitchKernel(ctx, args)
			if err != nil {
				return err
			}
			r.printf("Kernel: %s\n", r.s.Linked().Target.Name)
			if r.s.State() == debug.Idle {
				for _, n := range st.Notes {
					r.printf("%s\n", n)
				}
				return nil
			}
			return r.stop(st, nil)
		},
		complete: files,
	},
	{
		name: "packet", args: "[N|FILE|PACKET]", topic: "running", short: "choose the input packet for the next run",
		long: "N is a packet of the capture, from 1; FILE opens another capture; @FILE takes the bytes of a packet; PACKET is an expression such as\n" +
			"eth/ip(ttl=63)/tcp(dport=80) or hex digits. It applies from the next run on. Without an argument, print the current packet.",
		run: choosePacket, complete: files,
	},
}

func choosePacket(r *REPL, _ context.Context, args string) error {
	list := r.s.Packets()
	switch n, err := strconv.Atoi(args); {
	case args == "":
		switch p := r.s.Input().Packet; {
		case r.s.PacketNumber() > 0:
			r.printf("Packet %d of %d: %s\n", r.s.PacketNumber(), len(list), visible.Lines(debug.PacketText(p)))
		case p != nil:
			r.printf("%s\n", visible.Lines(debug.PacketText(p)))
		default:
			r.printf("The default packet.\n")
		}
		return nil
	case err == nil && len(args) < 8:
		if err := r.s.ChoosePacket(n); err != nil {
			return err
		}
	default:
		if _, err := os.Stat(args); err == nil {
			packets, err := debug.ReadPackets(args)
			if err == nil {
				err = r.s.SetPackets(packets)
			}
			if err != nil {
				return err
			}
			break
		}
		p, err := debug.LoadPacket(args)
		if err != nil {
			return err
		}
		r.s.SetPacket(p)
	}
	return choosePacket(r, nil, "")
}

// infoPackets lists the packets of the capture.
func infoPackets(r *REPL, _ string) error {
	var list []string
	for i, p := range r.s.Packets() {
		mark := " "
		if i+1 == r.s.PacketNumber() {
			mark = "*"
		}
		list = append(list, fmt.Sprintf("%s%d: %s", mark, i+1, visible.Lines(debug.PacketText(p))))
	}
	return r.lines(list, "No capture is open.")
}

var stopMoreCommands = []*command{
	{
		name: "clear", args: "[LOCATION]", topic: "stopping", short: "delete the breakpoints at a location, or here",
		run: func(r *REPL, _ context.Context, args string) error {
			places := []debug.Place{r.s.Here()}
			if args != "" {
				var err error
				if places, _, err = r.s.Locate(args); err != nil {
					return err
				}
			}
			n := 0
			for _, b := range r.s.Breakpoints() {
				for _, p := range places {
					if b.At(p) {
						if err := r.s.Delete(b.ID); err != nil {
							return err
						}
						r.printf("Deleted breakpoint %d.\n", b.ID)
						n++
						break
					}
				}
			}
			if n == 0 {
				return errors.New("no breakpoint there")
			}
			return nil
		},
		complete: locations,
	},
}

var lookMoreCommands = []*command{
	{
		name: "ptype", args: "TYPE|EXPR", topic: "looking", short: "show the declaration of a type, or of an expression's type",
		run: func(r *REPL, _ context.Context, args string) error {
			if args == "" {
				return errors.New("ptype: nothing given")
			}
			text, err := r.s.Declaration(args)
			if err != nil {
				return err
			}
			r.printf("%s\n", visible.Lines(text))
			return nil
		},
		complete: names,
	},
	{
		name: "printf", args: "\"FORMAT\", EXPR...", topic: "looking", short: "print values in a format: %d %u %x %c %s %p %%",
		run: printfCommand, complete: names,
	},
	{
		name: "echo", args: "TEXT", topic: "looking", short: "print a text; \\n ends a line",
		run: func(r *REPL, _ context.Context, args string) error {
			text, err := strconv.Unquote(`"` + strings.ReplaceAll(strings.Trim(args, `"`), `"`, `\"`) + `"`)
			if err != nil {
				text = args
			}
			r.printf("%s", visible.Lines(text))
			return nil
		},
	},
}

// printfCommand is C's printf with the debugger's expressions as arguments.
func printfCommand(r *REPL, _ context.Context, args string) error {
	if !strings.HasPrefix(args, `"`) {
		return errors.New(`printf: want "FORMAT", EXPR...`)
	}
	end := 1
	for end < len(args) && args[end] != '"' {
		if args[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(args) {
		return errors.New("printf: unterminated format")
	}
	text, err := strconv.Unquote(args[:end+1])
	if err != nil {
		return fmt.Errorf("printf: %s: %w", args[:end+1], worded.Error(err))
	}
	var exprs []string
	if rest := strings.TrimSpace(args[end+1:]); rest != "" {
		if !strings.HasPrefix(rest, ",") {
			return errors.New("printf: want a comma after the format")
		}
		exprs = splitArgs(rest[1:])
	}
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '%' {
			out.WriteByte(text[i])
			continue
		}
		for i++; i < len(text) && strings.IndexByte("0123456789-+# .lhzj", text[i]) >= 0; i++ {
		}
		if i == len(text) {
			return errors.New("printf: the format ends in the middle of a conversion")
		}
		if text[i] == '%' {
			out.WriteByte('%')
			continue
		}
		letter, ok := map[byte]byte{'d': 'd', 'i': 'd', 'u': 'u', 'x': 'x', 'X': 'x', 'o': 'o', 'c': 'c', 's': 's', 'p': 'x'}[text[i]]
		if !ok {
			return fmt.Errorf("printf: unknown conversion %%%c", text[i])
		}
		if len(exprs) == 0 {
			return errors.New("printf: too few values for the format")
		}
		v, err := r.s.Eval(exprs[0])
		if err != nil {
			return err
		}
		exprs = exprs[1:]
		word := r.s.Format(v, debug.FormatOptions{Letter: letter})
		if text[i] == 'x' || text[i] == 'X' {
			word = strings.TrimPrefix(word, "0x")
		}
		if letter == 's' {
			if u, err := strconv.Unquote(word); err == nil {
				word = u
			}
		}
		out.WriteString(word)
	}
	if len(exprs) > 0 {
		return errors.New("printf: too many values for the format")
	}
	r.printf("%s", visible.Lines(out.String()))
	return nil
}

// splitArgs splits at the commas outside brackets and quotes.
func splitArgs(text string) []string {
	var out []string
	depth, quote, from := 0, byte(0), 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quote != 0:
			if c == '\\' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			depth--
		case c == ',' && depth == 0:
			out = append(out, strings.TrimSpace(text[from:i]))
			from = i + 1
		}
	}
	return append(out, strings.TrimSpace(text[from:]))
}

var otherMoreCommands = []*command{
	{
		name: "alias", args: "[NAME = COMMAND]", topic: "other", short: "define a name for a command, or list all aliases",
		long: "NAME = with nothing after it removes the alias. Arguments are appended to the command.",
		run:  alias, complete: func(*REPL, string) []string { return commandNames() },
	},
	{
		name: "transcript", aliases: []string{"logging"}, args: "[FILE|off]", topic: "other", short: "also write all input and output to a file",
		run: transcribe, complete: files,
	},
	{
		name: "show", args: "[OPTION]", topic: "other", short: "show the options (set OPTION VALUE changes them)",
		run: show, complete: func(*REPL, string) []string { return optionNames() },
	},
	{
		name: "directory", args: "[DIRECTORY|FROM=TO]", topic: "other", short: "show or set the directories where source files are searched",
		run: func(r *REPL, _ context.Context, args string) error {
			if from, to, ok := strings.Cut(args, "="); ok {
				r.s.MapSource(strings.TrimSpace(from), strings.TrimSpace(to))
				return nil
			}
			if args != "" {
				if st, err := os.Stat(args); err != nil {
					return err
				} else if !st.IsDir() {
					return fmt.Errorf("%s is not a directory", args)
				}
				r.s.AddSourceDir(args)
				return nil
			}
			return r.lines(r.s.SourceDirs(), "No search directories: source files are found only under the names in the line information.")
		},
		complete: files,
	},
	{
		name: "apropos", args: "WORD", topic: "other", short: "find commands by a word in their help",
		run: func(r *REPL, _ context.Context, args string) error {
			if args == "" {
				return errors.New("apropos: no word given")
			}
			low := strings.ToLower(args)
			var list []string
			for _, c := range table {
				if strings.Contains(strings.ToLower(c.usage()+" "+c.short+" "+c.long), low) {
					list = append(list, fmt.Sprintf("%-34s %s", c.usage(), c.short))
				}
			}
			return r.lines(list, "No command matches.")
		},
	},
}

// files completes file names.
func files(_ *REPL, word string) []string {
	found, err := filepath.Glob(globEscape(word) + "*")
	if err != nil {
		return nil
	}
	return found
}

// globEscape escapes a text so that it matches only itself.
func globEscape(s string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}
