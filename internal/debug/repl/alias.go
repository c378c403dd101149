package repl

import (
	"context"
	"fmt"
	"os"
	"sort"
	"strings"
)

// maxAliases limits the number of alias expansions of a line.
const maxAliases = 16

// expand replaces the first word of a line until it is no longer an alias.
func (r *REPL) expand(line string) (string, error) {
	for range maxAliases {
		word, args := splitCommand(line)
		text, ok := r.aliases[word]
		if !ok {
			return line, nil
		}
		line = strings.TrimSpace(text + " " + args)
		if first, _ := splitCommand(text); first == word {
			return line, nil // an alias may add arguments to the command of the same name
		}
	}
	return "", fmt.Errorf("aliases are recursive")
}

func alias(r *REPL, _ context.Context, args string) error {
	name, text, given := strings.Cut(args, "=")
	name, text = strings.TrimSpace(name), strings.TrimSpace(text)
	switch {
	case args == "":
		var names []string
		for n := range r.aliases {
			names = append(names, n)
		}
		sort.Strings(names)
		for _, n := range names {
			r.printf("%s = %s\n", n, r.aliases[n])
		}
		if len(names) == 0 {
			r.printf("No aliases.\n")
		}
		return nil
	case !given:
		if n, rest := splitCommand(args); rest != "" { // alias NAME COMMAND
			name, text = n, rest
			break
		}
		if r.aliases[name] == "" {
			return fmt.Errorf("no alias %q", name)
		}
		r.printf("%s = %s\n", name, r.aliases[name])
		return nil
	case text == "":
		if r.aliases[name] == "" {
			return fmt.Errorf("no alias %q", name)
		}
		delete(r.aliases, name)
		return nil
	}
	if name == "" || strings.ContainsAny(name, " \t/") {
		return fmt.Errorf("alias %q: want one word", name)
	}
	if _, err := r.find(text); err != nil {
		return err
	}
	r.aliases[name] = text
	return nil
}

// find returns the command of a line, after alias expansion.
func (r *REPL) find(line string) (*command, error) {
	line, err := r.expand(line)
	if err != nil {
		return nil, err
	}
	word, _ := splitCommand(line)
	return find(word)
}

// transcribe starts or stops writing all input and output to a file.
func transcribe(r *REPL, _ context.Context, args string) error {
	switch args {
	case "":
		if r.log == nil {
			r.printf("No transcript is written.\n")
		} else {
			r.printf("The transcript goes to %s.\n", r.log.Name())
		}
		return nil
	case "off":
		if r.log == nil {
			return fmt.Errorf("no transcript is being written")
		}
		name := r.log.Name()
		err := r.log.Close()
		r.log = nil
		if err != nil {
			return err
		}
		r.printf("The transcript is in %s.\n", name)
		return nil
	}
	f, err := os.OpenFile(args, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return err
	}
	if r.log != nil {
		_ = r.log.Close() // unwritten data of the previous transcript is lost
	}
	r.log = f
	r.printf("The transcript goes to %s.\n", args)
	return nil
}

// Close closes the transcript.
func (r *REPL) Close() error {
	if r.log == nil {
		return nil
	}
	f := r.log
	r.log = nil
	return f.Close()
}
