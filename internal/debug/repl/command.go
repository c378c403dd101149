package repl

import (
	"context"
	"fmt"
	"io"
	"sort"
	"strings"

	"github.com/bpfrun/bpfrun/internal/nearest"
	"github.com/bpfrun/bpfrun/internal/visible"
)

// repeat is the effect of an empty line after a command.
type repeat uint8

const (
	never repeat = iota // no effect
	same                // repeat with the same arguments
	bare                // repeat without arguments
)

// command is a row of the command table.
type command struct {
	name    string
	aliases []string
	args    string // "[N]"
	topic   string
	short   string // one line, without a full stop
	long    string // more lines
	repeat  repeat
	run     func(r *REPL, ctx context.Context, args string) error
	// complete returns completions for the last word of the arguments.
	complete func(r *REPL, word string) []string
}

// topics in the order shown by help.
var topics = []string{"running", "going back", "stopping", "looking", "changing", "other"}

// table holds all commands. It is filled at startup because help refers to it.
var table []*command

func init() {
	for _, group := range [][]*command{
		runCommands, {traceCommand}, runMoreCommands, {cpuCommand}, backCommands, stopCommands, stopMoreCommands, lookCommands, {whyCommand, verifierCommand}, lookMoreCommands, {lastCommand},
		changeCommands, {jumpCommand}, otherCommands, {tuiCommand}, otherMoreCommands,
	} {
		table = append(table, group...)
	}
}

// find returns the command with a name, an alias, or a unique prefix of a name.
func find(word string) (*command, error) {
	var starts []*command
	for _, c := range table {
		if c.name == word {
			return c, nil
		}
		for _, a := range c.aliases {
			if a == word {
				return c, nil
			}
		}
		if word != "" && strings.HasPrefix(c.name, word) {
			starts = append(starts, c)
		}
	}
	switch len(starts) {
	case 1:
		return starts[0], nil
	case 0:
		if near := nearest.Names(word, words(), min(2, len(word)/3)); len(near) > 0 {
			return nil, fmt.Errorf("no command %q (nearest: %s)", word, strings.Join(near, ", "))
		}
		return nil, fmt.Errorf("no command %q (try help)", word)
	}
	names := make([]string, len(starts))
	for i, c := range starts {
		names[i] = c.name
	}
	sort.Strings(names)
	return nil, fmt.Errorf("%q is ambiguous: %s", word, strings.Join(names, ", "))
}

// words returns the names and aliases of all commands in table order.
func words() []string {
	var out []string
	for _, c := range table {
		out = append(append(out, c.name), c.aliases...)
	}
	return out
}

func (c *command) usage() string {
	text := c.name
	if c.args != "" {
		text += " " + c.args
	}
	return text
}

func help(r *REPL, _ context.Context, args string) error {
	for _, topic := range topics {
		if args == topic {
			r.topic(topic)
			return nil
		}
	}
	if args != "" && args != "all" {
		word, _ := splitCommand(args)
		c, err := r.find(word)
		if err != nil {
			return err
		}
		r.printf("%s\n", c.usage())
		if len(c.aliases) > 0 {
			r.printf("short: %s\n", strings.Join(c.aliases, ", "))
		}
		r.printf("\n%s.\n", c.short)
		if c.long != "" {
			r.printf("\n%s\n", visible.Lines(c.long))
		}
		return nil
	}
	for i, topic := range topics {
		if i > 0 {
			r.printf("\n")
		}
		r.topic(topic)
	}
	r.printf("\nNames may be cut short where that is not ambiguous. An empty line repeats. More: help COMMAND.\n")
	return nil
}

// topic lists the commands of a topic.
func (r *REPL) topic(topic string) {
	r.printf("%s:\n", r.paint(bold, topic))
	for _, c := range table {
		if c.topic == topic {
			name := c.usage()
			if len(c.aliases) > 0 {
				name += " (" + strings.Join(c.aliases, ", ") + ")"
			}
			r.printf("  %-34s %s\n", name, c.short)
		}
	}
}

// WriteCommands writes the command table as Markdown.
func WriteCommands(w io.Writer) {
	for _, topic := range topics {
		visible.Fprintf(w, "### %s\n\n| command | short | what it does |\n|---|---|---|\n", strings.ToUpper(topic[:1])+topic[1:])
		for _, c := range table {
			if c.topic != topic {
				continue
			}
			aliases := ""
			if len(c.aliases) > 0 {
				aliases = "`" + strings.Join(c.aliases, "`, `") + "`"
			}
			text := c.short
			if c.long != "" {
				text += ". " + strings.TrimSuffix(strings.ReplaceAll(c.long, "\n", " "), ".")
			}
			visible.Fprintf(w, "| `%s` | %s | %s |\n", escape(c.usage()), aliases, escape(text))
		}
		visible.Fprintln(w)
	}
}

func escape(s string) string { return strings.ReplaceAll(s, "|", "\\|") }

// IsCommand reports whether a line begins with a command or a user-defined alias.
func (r *REPL) IsCommand(line string) bool {
	word, _ := splitCommand(strings.TrimSpace(line))
	_, err := r.find(word)
	return err == nil
}
