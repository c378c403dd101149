package repl

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/bpfrun/bpfrun/internal/debug"
)

// maxSourced limits the nesting of sourced files.
const maxSourced = 10

var otherCommands = []*command{
	{
		name: "source", args: "FILE", topic: "other", short: "run the commands in a file, stopping at the first that fails",
		run: func(r *REPL, ctx context.Context, args string) error {
			if args == "" {
				return errors.New("source: no file given")
			}
			if r.depth >= maxSourced {
				return errors.New("source: files are nested too deeply")
			}
			f, err := os.Open(args)
			if err != nil {
				return err
			}
			defer f.Close()
			r.depth++
			defer func() { r.depth-- }()
			if err := r.script(ctx, f, true); err != nil {
				return fmt.Errorf("%s: %w", args, err)
			}
			return nil
		},
		complete: files,
	},
	{name: "help", aliases: []string{"h", "?"}, args: "[COMMAND]", topic: "other", short: "list the commands, or explain one",
		run:      func(r *REPL, ctx context.Context, args string) error { return help(r, ctx, args) },
		complete: func(*REPL, string) []string { return commandNames() }},
	{name: "quit", aliases: []string{"q", "exit"}, topic: "other", short: "end the session",
		run: func(r *REPL, _ context.Context, _ string) error {
			r.quit = true
			return nil
		}},
}

func commandNames() []string {
	out := make([]string, len(table))
	for i, c := range table {
		out[i] = c.name
	}
	sort.Strings(out)
	return out
}

// locations completes functions, helpers and files.
func locations(r *REPL, _ string) []string {
	out := append(r.s.Functions(), r.s.HelperNames()...)
	out = append(out, r.s.InlinedFunctions()...)
	for _, f := range r.s.Files() {
		out = append(out, filepath.Base(f)+":")
	}
	return append(out, "core")
}

// names completes the names at the start of an expression and, after "." and "->", members.
func names(r *REPL, word string) []string {
	for _, tag := range []string{"struct ", "union ", "enum "} {
		if i := strings.LastIndex(word, tag); i >= 0 && !strings.ContainsAny(word[i+len(tag):], " *)") {
			var out []string
			for _, n := range r.s.TypeNames(tag[:len(tag)-1], word[i+len(tag):]) {
				out = append(out, word[:i]+tag+n)
			}
			return out
		}
	}
	at := 0 // start of the last expression
	for i, c := range word {
		if strings.ContainsRune(" (!~+*/%&|^<=,?:[", c) || c == '-' && !strings.HasPrefix(word[i:], "->") || c == '>' && (i == 0 || word[i-1] != '-') {
			at = i + 1
		}
	}
	head, last := word[:at], word[at:]
	cut := max(strings.LastIndex(last, "."), strings.LastIndex(last, "->")+1)
	if cut <= 0 {
		var out []string
		for _, n := range append(r.s.Names(), append(debug.FunctionNames(), "$retval", "$insns", "$pc")...) {
			out = append(out, head+n)
		}
		return out
	}
	base := strings.TrimSuffix(strings.TrimSuffix(last[:cut+1], "->"), ".")
	var out []string
	for _, n := range r.s.Members(base) {
		out = append(out, head+last[:cut+1]+n)
	}
	return out
}

// Do implements readline.AutoCompleter.
func (r *REPL) Do(line []rune, pos int) (ends [][]rune, length int) {
	list, length := r.Complete(string(line[:pos]))
	if len(list) == 1 && !strings.ContainsAny(strings.TrimLeft(string(line[:pos]), " \t"), " \t") {
		list[0] += " " // separates a command from its arguments
	}
	for _, e := range list {
		ends = append(ends, []rune(e))
	}
	return ends, length
}

// maxOffered is the largest number of completions offered at once.
const maxOffered = 200

// Complete returns the possible continuations of the text before the cursor, and how many of its
// last characters the completions share.
func (r *REPL) Complete(text string) (ends []string, length int) {
	text = strings.TrimLeft(text, " \t")
	word, args := text, ""
	i := strings.IndexAny(text, " \t")
	var words []string
	if i < 0 {
		words = commandNames()
		for n := range r.aliases {
			words = append(words, n)
		}
	} else {
		word, args = text[:i], strings.TrimLeft(text[i:], " \t")
		c, err := r.find(strings.SplitN(word, "/", 2)[0])
		if err != nil || c.complete == nil {
			return nil, 0
		}
		if _, rest, ok := strings.Cut(args, " "); ok && strings.HasPrefix(args, "/") { // a format; without a space, a path
			args = rest
		}
		word = args
		words = c.complete(r, word)
	}
	seen := map[string]bool{}
	for _, w := range words {
		if strings.HasPrefix(w, word) && !seen[w] && len(ends) < maxOffered {
			seen[w] = true
			ends = append(ends, w[len(word):])
		}
	}
	sort.Strings(ends)
	return ends, len([]rune(word))
}
