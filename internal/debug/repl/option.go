package repl

import (
	"context"
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// option is an option of set and show.
type option struct {
	short string
	get   func(r *REPL) string
	set   func(r *REPL, value string) error
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func parseOnOff(value string, to *bool) error {
	switch value {
	case "on", "1", "yes", "":
		*to = true
	case "off", "0", "no":
		*to = false
	default:
		return fmt.Errorf("%q: want on or off", value)
	}
	return nil
}

// options are the options of set and show, by name.
var options = map[string]option{
	"color": {
		"colours", func(r *REPL) string { return onOff(r.cfg.Color) },
		func(r *REPL, v string) error { return parseOnOff(v, &r.cfg.Color) },
	},
	"listsize": {
		"number of lines that list shows", func(r *REPL) string { return strconv.Itoa(r.listSize) },
		func(r *REPL, v string) error {
			n, err := strconv.Atoi(v)
			if err != nil || n < 1 || n > 10000 {
				return fmt.Errorf("%q: want a number of lines", v)
			}
			r.listSize = n
			return nil
		},
	},
	"print": {
		"how values are printed: set print pretty on|off, set print elements N|unlimited", func(r *REPL) string { return r.showPrint() },
		func(r *REPL, v string) error { return r.setPrint(v) },
	},
	"pager": {
		"stop after each screenful on a terminal", func(r *REPL) string { return onOff(r.paging) },
		func(r *REPL, v string) error { return parseOnOff(v, &r.paging) },
	},
	"direction": {
		"direction of step, next, continue and similar commands: forward or reverse", func(r *REPL) string {
			if r.s.Reverse {
				return "reverse"
			}
			return "forward"
		},
		func(r *REPL, v string) error {
			if v != "forward" && v != "reverse" {
				return fmt.Errorf("%q: want forward or reverse", v)
			}
			r.s.Reverse = v == "reverse"
			return nil
		},
	},
}

// optionAliases maps gdb's names to options.
var optionAliases = map[string]string{"pagination": "pager", "exec-direction": "direction", "style": "color"}

func findOption(word string) (option, string, bool) {
	if a, ok := optionAliases[word]; ok {
		word = a
	}
	o, ok := options[word]
	return o, word, ok
}

func optionNames() []string {
	var out []string
	for n := range options {
		out = append(out, n)
	}
	sort.Strings(out)
	return out
}

// setCommand makes an assignment or changes an option.
func setCommand(r *REPL, _ context.Context, args string) error {
	word, rest := splitCommand(args)
	switch word {
	case "":
		return fmt.Errorf("set: want EXPR = VALUE, or an option: %s", strings.Join(optionNames(), ", "))
	case "var", "variable":
		args = rest
	default:
		if o, _, ok := findOption(word); ok && !strings.HasPrefix(rest, "=") {
			return o.set(r, rest)
		}
	}
	_, err := r.s.Assign(args)
	return err
}

func show(r *REPL, _ context.Context, args string) error {
	names := optionNames()
	if args != "" {
		_, name, ok := findOption(args)
		if !ok {
			return fmt.Errorf("no option %q (options: %s)", args, strings.Join(names, ", "))
		}
		names = []string{name}
	}
	for _, n := range names {
		r.printf("%-10s %-8s %s\n", n, options[n].get(r), options[n].short)
	}
	return nil
}
