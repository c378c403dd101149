package repl

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/internal/debug"
)

var cpuCommand = &command{
	name: "cpu", args: "[N [COMMAND]]", topic: "running", short: "show the CPU that commands are for, or choose one",
	long: "Commands start, step and inspect programs on this CPU; programs on the others stay paused. With COMMAND, run that one command\n" +
		"on CPU N without switching to it. The order in which CPUs execute is part of the run: going back and forward repeats it.",
	run: func(r *REPL, ctx context.Context, args string) error {
		if args == "" {
			r.printf("CPU %d of %d.\n", r.s.CPU(), len(r.s.CPUs()))
			return nil
		}
		word, rest := splitCommand(args)
		n, err := strconv.Atoi(word)
		if err != nil {
			return fmt.Errorf("cpu: %q is not a number of a CPU", word)
		}
		was := r.s.CPU()
		if err := r.s.SelectCPU(n); err != nil {
			return err
		}
		r.list = listing{}
		if rest == "" {
			return r.standing()
		}
		err = r.one(ctx, rest)
		return errors.Join(err, r.s.SelectCPU(was))
	},
}

// standing reports the current position of the selected CPU.
func (r *REPL) standing() error {
	x := r.s.CPUs()[r.s.CPU()]
	switch x.State {
	case debug.Idle:
		r.printf("CPU %d: nothing was started.\n", x.CPU)
	case debug.Ended:
		r.printf("CPU %d: %s\n", x.CPU, endText(x))
	default:
		r.printf("CPU %d, ", x.CPU)
		r.here(false)
	}
	return nil
}

func endText(x debug.CPUInfo) string {
	if x.Result.Fault != nil {
		return fmt.Sprintf("%s was stopped after %d instructions: %s", x.Program, x.Insns, x.Result.Fault.Kind)
	}
	return fmt.Sprintf("%s returned %d after %d instructions.", x.Program, int32(uint32(x.Result.Ret)), x.Insns)
}

// infoCPUs lists the state of each CPU.
func infoCPUs(r *REPL, _ string) error {
	var list []string
	for _, x := range r.s.CPUs() {
		mark := " "
		if x.Selected {
			mark = "*"
		}
		text := "nothing was started"
		switch {
		case x.State == debug.Ended:
			text = endText(x)
		case x.State == debug.Running:
			text = fmt.Sprintf("%s after %s, %s", x.Program, plural(int(x.Insns), "instruction"), x.Place)
		}
		if x.Next {
			text += " [next in the record]"
		}
		list = append(list, fmt.Sprintf("%s %d  %s", mark, x.CPU, text))
	}
	return r.lines(list, "")
}

// cutCPU splits "cpu N" or "on cpu N" off the end of a text; cpu is -1 if there is none.
func cutCPU(text string) (rest string, cpu int, err error) {
	words := strings.Fields(text)
	n := len(words)
	if n < 2 || words[n-2] != "cpu" {
		return text, -1, nil
	}
	cpu, err = strconv.Atoi(words[n-1])
	if err != nil || cpu < 0 {
		return text, -1, fmt.Errorf("%q is not a number of a CPU", words[n-1])
	}
	words = words[:n-2]
	if n := len(words); n > 0 && words[n-1] == "on" {
		words = words[:n-1]
	}
	return strings.Join(words, " "), cpu, nil
}
